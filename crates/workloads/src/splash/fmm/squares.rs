//! Squares of the plane: how they are divided, and which of them touch.

use num_complex::Complex64;

/// A square, by its centre and side. Sides and coordinates of centres are sums of few powers of two, so comparisons are exact.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Square {
    pub centre: Complex64,
    pub side: f64,
}

/// The parts of a square.
pub const PARTS: usize = 4;

/// The largest power of two that is not above a positive number; 0 of 0.
fn power_within(number: f64) -> f64 {
    /// The bits of a double beside its sign and its exponent.
    const FRACTION: u64 = (1 << (f64::MANTISSA_DIGITS - 1)) - 1;
    f64::from_bits(number.to_bits() & !FRACTION)
}

/// A power of two, or its negative, above a number.
fn above(number: f64) -> f64 {
    if number > 0.0 { 2.0 * power_within(number) } else { -power_within(-number) }
}

impl Square {
    /// The square that holds all places between `low` and `high`: SPLASH-2's program takes the next powers of two as its borders.
    pub fn around(low: Complex64, high: Complex64) -> Self {
        let (right, top) = (above(high.re), above(high.im));
        let (left, bottom) = (-above(-low.re), -above(-low.im));
        let side = (right - left).max(top - bottom);
        Self { centre: Complex64::new(left + side / 2.0, bottom + side / 2.0), side }
    }

    /// The number of the part that a place is in: counted against the clock, from the upper right.
    pub fn part_of(self, place: Complex64) -> usize {
        match (place.im > self.centre.im, place.re > self.centre.re) {
            (true, true) => 0,
            (true, false) => 1,
            (false, false) => 2,
            (false, true) => 3,
        }
    }

    /// A part.
    pub fn part(self, number: usize) -> Self {
        let quarter = self.side / 4.0;
        let (right, up) = (matches!(number, 0 | 3), matches!(number, 0 | 1));
        let shift = |positive: bool| if positive { quarter } else { -quarter };
        Self { centre: self.centre + Complex64::new(shift(right), shift(up)), side: self.side / 2.0 }
    }

    /// Whether a place is in it, as [`Self::part_of`] puts those on borders.
    pub fn contains(self, place: Complex64) -> bool {
        let (low, high) = (self.centre - self.corner(), self.centre + self.corner());
        place.re > low.re && place.re <= high.re && place.im > low.im && place.im <= high.im
    }

    fn corner(self) -> Complex64 {
        Complex64::new(self.side / 2.0, self.side / 2.0)
    }

    /// Distances of the centres along both axes.
    fn apart(self, other: Self) -> [f64; 2] {
        let distance = self.centre - other.centre;
        [distance.re.abs(), distance.im.abs()]
    }

    /// Whether they have a border or a corner in common, and neither is in the other.
    pub fn touches(self, other: Self) -> bool {
        let reach = (self.side + other.side) / 2.0;
        let [x, y] = self.apart(other);
        x == reach && y <= reach || y == reach && x <= reach
    }

    /// Whether one as large as the larger one fits between them.
    pub fn is_far_from(self, other: Self) -> bool {
        let reach = 2.0 * self.side.max(other.side);
        self.apart(other).into_iter().any(|distance| distance >= reach)
    }

    /// Whether it is larger than another one and around it.
    pub fn is_around(self, other: Self) -> bool {
        self.side > other.side && self.apart(other).into_iter().all(|distance| distance <= self.side / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(f64, f64) -> Complex64 = Complex64::new;

    #[test]
    fn borders_are_powers_of_two() {
        let square = Square::around(AT(-0.3, 0.3), AT(2.0, 1.0));
        // From -0.5 to 4, and upwards from 0.25.
        assert_eq!(square, Square { centre: AT(1.75, 2.5), side: 4.5 });
        assert_eq!(Square::around(AT(-3.0, -3.0), AT(-1.0, -2.5)).centre, AT(-2.5, -2.5));
        assert_eq!(Square::around(AT(0.0, 0.0), AT(0.0, 0.0)).side, 0.0);
    }

    #[test]
    fn a_place_is_in_the_part_that_it_belongs_to() {
        let square = Square { centre: AT(1.0, 1.0), side: 2.0 };
        for number in 0..PARTS {
            let part = square.part(number);
            assert_eq!(square.part_of(part.centre), number);
            assert!(part.contains(part.centre) && square.contains(part.centre) && square.is_around(part));
            assert!(!part.is_around(square) && !part.touches(square));
            assert!((0..PARTS).filter(|&other| other != number).all(|other| part.touches(square.part(other))));
        }
        assert!(square.part(2).contains(AT(1.0, 1.0)) && !square.part(0).contains(AT(1.0, 1.0)));
    }

    #[test]
    fn squares_of_a_grid_are_far_from_all_that_they_do_not_touch() {
        let middle = Square { centre: AT(4.5, 4.5), side: 1.0 };
        for x in 0..9 {
            for y in 0..9 {
                let other = Square { centre: AT(f64::from(x) + 0.5, f64::from(y) + 0.5), side: 1.0 };
                let is_near = (3..=5).contains(&x) && (3..=5).contains(&y);
                assert_eq!(middle.is_far_from(other), !is_near);
                assert_eq!(middle.touches(other), is_near && other != middle);
            }
        }
    }
}
