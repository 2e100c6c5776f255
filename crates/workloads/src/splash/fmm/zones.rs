//! Costs of boxes, and which of them are whose: the tree is cut into zones of equal cost (costzones, Singh and others 1995).

use std::ops::Range;

use super::boxes::{APART, COST, Link, MOST_BODIES, PART_COUNT, TOLD, TREE_COST};
use super::grid::Grid;
use super::passes;
use super::squares::PARTS;
use crate::thread::Thread;

/// Instructions to compare costs with the bounds of a zone.
const ZONE: u32 = 8;

/// The boxes of a thread: its leaves, and those with parts by their levels. The latest one of each list comes first.
#[derive(Default)]
pub struct Own {
    leaves: Vec<usize>,
    divided: Vec<Vec<usize>>,
}

impl Own {
    /// Puts a box into its list.
    pub fn put<R, T: Thread<Region = R>>(&mut self, link: Link, grid: &Grid<'_, R>, thread: &mut T) {
        let (number, list) = match link {
            Link::Nothing => return,
            Link::Leaf(number) => (number, &mut self.leaves),
            Link::Divided(number) => {
                let level = grid.boxes.level(number, thread) as usize;
                if self.divided.len() <= level {
                    self.divided.resize_with(level + 1, Vec::new);
                }
                (number, &mut self.divided[level])
            }
        };
        grid.boxes.set_next(number, list.last().copied(), thread);
        list.push(number);
    }

    /// The leaves.
    pub fn leaves(&self) -> impl Iterator<Item = usize> {
        self.leaves.iter().rev().copied()
    }

    /// Each box, larger ones first and leaves last.
    pub fn downwards(&self) -> impl Iterator<Item = Link> {
        let divided = self.divided.iter().flat_map(|level| level.iter().rev());
        divided.map(|&number| Link::Divided(number)).chain(self.leaves().map(Link::Leaf))
    }

    /// Each box, leaves first, and then smaller ones before larger ones.
    pub fn upwards(&self) -> impl Iterator<Item = Link> {
        let divided = self.divided.iter().rev().flat_map(|level| level.iter().rev());
        self.leaves().map(Link::Leaf).chain(divided.map(|&number| Link::Divided(number)))
    }
}

/// The order in which the parts of a box follow each other, along Hilbert's curve: from the first one on, against the clock or with
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Curve {
    first: usize,
    is_forward: bool,
}

impl Curve {
    /// The curve of the whole square.
    const WHOLE: Self = Self { first: 0, is_forward: true };

    /// The part that comes at a time, and the curve in it.
    fn part(self, time: usize) -> (usize, Self) {
        let step = if self.is_forward { 1 } else { PARTS - 1 };
        let part = (self.first + time * step) % PARTS;
        let inner = match time {
            0 => Self { is_forward: !self.is_forward, ..self },
            3 => Self { first: (self.first + 2) % PARTS, is_forward: !self.is_forward },
            _ => self,
        };
        (part, inner)
    }
}

/// The cost of a leaf by those of its bodies: the most frequent one, or the mean of such, for each.
fn leaf_cost(costs: &[u64]) -> u64 {
    let times = |cost: u64| costs.iter().filter(|&&other| other == cost).count();
    let most = costs.iter().map(|&cost| times(cost)).max().unwrap_or(0);
    let firsts = costs.iter().enumerate().filter(|&(place, cost)| !costs[..place].contains(cost));
    let (sum, count) = firsts.fold(
        (0, 0),
        |(sum, count), (_, &cost)| {
            if times(cost) == most { (sum + cost, count + 1) } else { (sum, count) }
        },
    );
    sum * costs.len() as u64 / u64::max(count, 1)
}

impl<R> Grid<'_, R> {
    /// The boxes that the thread has put into the tree and that are still there, in lists.
    pub fn own<T: Thread<Region = R>>(&mut self, thread: &mut T) -> Own {
        let mut own = Own::default();
        self.put.sort_unstable();
        self.put.dedup();
        let top = self.top(thread).number();
        for &number in &self.put {
            if self.boxes.parent(number, thread).is_some() || top == Some(number) {
                own.put(self.boxes.link(number, thread), self, thread);
            }
        }
        own
    }

    /// Finds the cost of a box, and of it with all in it, when those of its parts are known.
    pub fn sum_up<T: Thread<Region = R>>(&self, link: Link, terms: usize, thread: &mut T) {
        let (number, cost) = match link {
            Link::Nothing => return,
            Link::Divided(number) => {
                let parts = self.boxes.half(number, PART_COUNT, thread);
                self.boxes.await_half(number, TOLD, parts, thread);
                let apart = self.boxes.half(number, APART.count, thread);
                (number, u64::from(apart) * passes::cost(passes::apart(terms)) + 1)
            }
            Link::Leaf(number) => {
                let mut costs = [0; MOST_BODIES];
                let count = self.boxes.body_count(number, thread).min(MOST_BODIES);
                for (place, cost) in costs[..count].iter_mut().enumerate() {
                    let body = self.boxes.body(number, place, thread);
                    *cost = self.bodies.cost(body, thread);
                    thread.instructions(4 * place as u32);
                }
                (number, leaf_cost(&costs[..count]).max(1))
            }
        };
        self.boxes.release_half(number, TOLD, 0, thread);
        self.boxes.set_half(number, COST, cost as u32, thread);
        self.boxes.add(number, TREE_COST, cost, thread);
        let all = u64::from(self.boxes.half(number, TREE_COST, thread));
        if let Some(parent) = self.boxes.parent(number, thread) {
            self.locks.critical(thread, self.lock_of(parent), |thread| {
                self.boxes.add(parent, TREE_COST, all, thread);
                self.tell(parent, thread);
            });
        }
    }

    /// Counts a part that has told its parent something, under the parent's lock.
    pub fn tell<T: Thread<Region = R>>(&self, parent: usize, thread: &mut T) {
        let told = self.boxes.acquire_half(parent, TOLD, thread);
        self.boxes.release_half(parent, TOLD, told + 1, thread);
    }

    /// Gives `take` the boxes of a thread's zone: the tree is walked along a curve, and its boxes are cut where the sum of costs passes
    /// an equal share. A box with parts comes before the last one of them.
    pub fn zone<T: Thread<Region = R>>(
        &self,
        number: usize,
        threads: usize,
        thread: &mut T,
        mut take: impl FnMut(&mut T, Link),
    ) {
        let top = self.top(thread);
        let Some(root) = top.number() else { return };
        let total = self.boxes.half(root, TREE_COST, thread);
        let cut = |number: usize| u64::from(total) * number as u64 / threads as u64;
        self.zone_of(top, 0, &(cut(number)..cut(number + 1)), Curve::WHOLE, thread, &mut take);
    }

    fn zone_of<T: Thread<Region = R>>(
        &self,
        link: Link,
        mut before: u64,
        zone: &Range<u64>,
        curve: Curve,
        thread: &mut T,
        take: &mut impl FnMut(&mut T, Link),
    ) {
        thread.instructions(ZONE);
        let Link::Divided(whole) = link else {
            if zone.contains(&before) {
                take(thread, link);
            }
            return;
        };
        for time in 0..PARTS {
            if before >= zone.end {
                return;
            }
            let (part, inner) = curve.part(time);
            let part = self.boxes.part_link(whole, part, thread);
            if let Some(number) = part.number() {
                let all = u64::from(self.boxes.half(number, TREE_COST, thread));
                if before + all >= zone.start {
                    self.zone_of(part, before, zone, inner, thread, take);
                }
                before += all;
            }
            if time == 2 {
                if zone.contains(&before) {
                    take(thread, link);
                }
                before += u64::from(self.boxes.half(whole, COST, thread));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that follow each other touch, three levels deep.
    #[test]
    fn the_curve_does_not_jump() {
        use crate::splash::fmm::squares::Square;
        use num_complex::Complex64;

        fn walk(square: Square, curve: Curve, levels: u32, places: &mut Vec<Square>) {
            if levels == 0 {
                return places.push(square);
            }
            for time in 0..PARTS {
                let (part, inner) = curve.part(time);
                walk(square.part(part), inner, levels - 1, places);
            }
        }
        let mut places = Vec::new();
        walk(Square { centre: Complex64::default(), side: 8.0 }, Curve::WHOLE, 3, &mut places);
        assert_eq!(places.len(), 64);
        assert!(places.windows(2).all(|pair| (pair[0].centre - pair[1].centre).norm() == 1.0));
    }

    #[test]
    fn a_leaf_costs_what_most_of_its_bodies_did() {
        assert_eq!(leaf_cost(&[]), 0);
        assert_eq!(leaf_cost(&[7]), 7);
        assert_eq!(leaf_cost(&[2, 9, 9]), 27);
        assert_eq!(leaf_cost(&[2, 2, 4, 4, 100]), 15);
    }
}
