//! The square, halved again and again: which boxes there are, and which are near each other.

use num_complex::Complex64;

/// A box of the square: its level, 0 for the whole, and its number there. The four parts of a box have numbers that follow each
/// other (Morton's order), so that neighbours in number are neighbours in the square, mostly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Square {
    pub level: u32,
    pub number: usize,
}

/// Every second bit.
fn spread(number: usize) -> usize {
    (0..16).map(|bit| (number >> bit & 1) << (2 * bit)).sum()
}

fn gather(number: usize) -> usize {
    (0..16).map(|bit| (number >> (2 * bit) & 1) << bit).sum()
}

impl Square {
    /// How many boxes a level has.
    pub fn count(level: u32) -> usize {
        1 << (2 * level)
    }

    /// The box of a place in the square of side 1.
    pub fn of(level: u32, place: Complex64) -> Self {
        let side = 1_usize << level;
        let at = |part: f64| ((part * side as f64) as usize).min(side - 1);
        Self { level, number: spread(at(place.re)) | spread(at(place.im)) << 1 }
    }

    /// Its number among the boxes of all levels.
    pub fn index(self) -> usize {
        (Self::count(self.level) - 1) / 3 + self.number
    }

    fn at(self) -> [usize; 2] {
        [gather(self.number), gather(self.number >> 1)]
    }

    /// Its middle.
    pub fn centre(self) -> Complex64 {
        let side = (1_usize << self.level) as f64;
        let [x, y] = self.at().map(|at| (at as f64 + 0.5) / side);
        Complex64::new(x, y)
    }

    /// The box that it is a part of.
    pub fn parent(self) -> Self {
        Self { level: self.level - 1, number: self.number / 4 }
    }

    /// Its parts.
    pub fn parts(self) -> impl Iterator<Item = Self> {
        (0..4).map(move |part| Self { level: self.level + 1, number: 4 * self.number + part })
    }

    /// The boxes of its level that touch it, and itself.
    pub fn near(self) -> impl Iterator<Item = Self> {
        let side = 1_usize << self.level;
        let around = |at: usize| at.saturating_sub(1)..(at + 2).min(side);
        let [x, y] = self.at().map(around);
        let number = move |x: usize, y: usize| spread(x) | spread(y) << 1;
        y.flat_map(move |y| x.clone().map(move |x| Self { level: self.level, number: number(x, y) }))
    }

    /// The boxes that are not near it, but whose parents are near its parent: those whose effect it has to find out itself.
    pub fn apart(self) -> impl Iterator<Item = Self> {
        let [x, y] = self.at();
        let touches = move |other: &Self| {
            let [across, up] = other.at();
            across.abs_diff(x) <= 1 && up.abs_diff(y) <= 1
        };
        self.parent().near().flat_map(Self::parts).filter(move |other| !touches(other))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn places_are_in_their_boxes() {
        for level in 0..6 {
            for number in 0..Square::count(level) {
                let each = Square { level, number };
                assert_eq!(Square::of(level, each.centre()), each);
            }
        }
        assert_eq!(Square { level: 2, number: 0 }.index(), 5);
    }

    /// Near boxes of the lowest level, and the boxes apart from it and from those that it is in, are the whole square, once.
    #[test]
    fn what_is_near_and_what_is_apart_is_all() {
        let level = 4;
        for number in 0..Square::count(level) {
            let leaf = Square { level, number };
            let mut covered: Vec<usize> = leaf.near().map(|each| each.number).collect();
            let mut inside = leaf;
            while inside.level >= 2 {
                for apart in inside.apart() {
                    let leaves = Square::count(level - apart.level);
                    covered.extend(apart.number * leaves..(apart.number + 1) * leaves);
                }
                inside = inside.parent();
            }
            assert_eq!(covered.len(), Square::count(level));
            assert_eq!(covered.into_iter().collect::<BTreeSet<_>>().len(), Square::count(level));
        }
    }
}
