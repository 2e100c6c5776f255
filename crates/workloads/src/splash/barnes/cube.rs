//! The cube that the octree divides: around all bodies, with whole numbers for places in it.

use crate::parallel::{Array, cost};
use crate::program::{RegionPlan, Shape};
use crate::splash::vector::Vector;
use crate::thread::Thread;

/// Instructions to compare a place with the bounds so far.
pub const BOUND: u32 = 6;
/// Instructions to make a coordinate a whole number, beside the division.
const ROUND: u32 = 4;

/// Levels below the root.
pub const LEVELS: u32 = 30;

/// The place of a body in the cube: bits from the highest one on say in which half it is.
pub type Coordinates = [u32; 3];

/// The octant of a cell of level `level` that a place is in: a bit for each axis.
pub fn octant(at: Coordinates, level: u32) -> usize {
    (0..3).map(|axis| ((at[axis] >> (LEVELS - 1 - level) & 1) as usize) << axis).sum()
}

/// The level of the smallest cell that two places are in.
pub fn common_level(one: Coordinates, other: Coordinates) -> u32 {
    let apart = (0..3).fold(0, |apart, axis| apart | one[axis] ^ other[axis]);
    apart.leading_zeros() - (u32::BITS - LEVELS)
}

/// The lowest and the highest coordinates of bodies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    lowest: Vector,
    highest: Vector,
}

impl Bounds {
    /// Those of no bodies.
    pub const NONE: Self = Self { lowest: [f64::INFINITY; 3], highest: [f64::NEG_INFINITY; 3] };

    /// Those of a body more.
    pub fn with(self, place: Vector) -> Self {
        self.and(Self { lowest: place, highest: place })
    }

    fn and(self, other: Self) -> Self {
        Self {
            lowest: std::array::from_fn(|axis| self.lowest[axis].min(other.lowest[axis])),
            highest: std::array::from_fn(|axis| self.highest[axis].max(other.highest[axis])),
        }
    }
}

/// The cube around all bodies.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cube {
    corner: Vector,
    pub side: f64,
}

impl Cube {
    /// The smallest one, and a little more.
    fn around(bounds: Bounds) -> Self {
        let extents = (0..3).map(|axis| bounds.highest[axis] - bounds.lowest[axis]);
        // Bodies may all be in one place.
        let extent = extents.fold(f64::MIN_POSITIVE.sqrt(), f64::max);
        Self { corner: bounds.lowest.map(|lowest| lowest - extent / 1e5), side: 1.00002 * extent }
    }

    /// The place of a body as whole numbers.
    pub fn coordinates<T: Thread>(&self, place: Vector, thread: &mut T) -> Coordinates {
        thread.instructions(3 * (cost::DIVISION + ROUND));
        let part = |axis: usize| (place[axis] - self.corner[axis]) / self.side;
        std::array::from_fn(|axis| (part(axis) * f64::from(1 << LEVELS)) as u32)
    }
}

/// The bounds of all bodies, in shared memory. All threads widen them under a lock, and read them after a barrier. Two places take
/// turns: one is made empty while the other is in use.
pub struct SharedBounds<'r, R> {
    region: &'r R,
    apart: usize,
    turn: usize,
}

impl<'r, R> SharedBounds<'r, R> {
    /// Words of a place.
    const WORDS: usize = 6;

    /// Words from a place to the next.
    fn apart(shape: &Shape) -> usize {
        Self::WORDS.next_multiple_of(shape.line_words)
    }

    /// The region that they want.
    pub fn plan(shape: &Shape) -> RegionPlan {
        RegionPlan::unplaced(shape, 2 * Self::apart(shape))
    }

    pub fn new(shape: &Shape, region: &'r R) -> Self {
        Self { region, apart: Self::apart(shape), turn: 0 }
    }

    /// The words of both places.
    pub fn words(shape: &Shape) -> impl Iterator<Item = usize> {
        let apart = Self::apart(shape);
        [0, apart].into_iter().flat_map(|first| first..first + Self::WORDS)
    }

    fn corners(&self, turn: usize) -> [Array<'r, R, Vector>; 2] {
        [0, 3].map(|word| Array::from(self.region, turn * self.apart + word))
    }

    fn load<T: Thread<Region = R>>(&self, turn: usize, thread: &mut T) -> Bounds {
        let [lowest, highest] = self.corners(turn).map(|corner| corner.load(thread, 0));
        Bounds { lowest, highest }
    }

    fn store<T: Thread<Region = R>>(&self, turn: usize, bounds: Bounds, thread: &mut T) {
        let [lowest, highest] = self.corners(turn);
        lowest.store(thread, 0, bounds.lowest);
        highest.store(thread, 0, bounds.highest);
    }

    /// Makes the bounds empty that are widened next. One thread does that.
    pub fn clear<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.store(self.turn, Bounds::NONE, thread);
    }

    /// Widens the bounds to a thread's own, under a lock.
    pub fn widen<T: Thread<Region = R>>(&self, own: Bounds, thread: &mut T) {
        let bounds = self.load(self.turn, thread);
        thread.instructions(BOUND);
        if bounds.and(own) != bounds {
            self.store(self.turn, bounds.and(own), thread);
        }
    }

    /// The cube within the bounds, which nobody widens any longer. The next ones are in the other place.
    pub fn cube<T: Thread<Region = R>>(&mut self, thread: &mut T) -> Cube {
        let bounds = self.load(self.turn, thread);
        thread.instructions(BOUND);
        self.turn = 1 - self.turn;
        Cube::around(bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octants_are_bits_of_coordinates() {
        let at = [0b101 << (LEVELS - 3), 0b011 << (LEVELS - 3), 0];
        assert_eq!([0, 1, 2].map(|level| octant(at, level)), [0b001, 0b010, 0b011]);
        assert_eq!(common_level(at, [at[0], 0b010 << (LEVELS - 3), 0]), 2);
        assert_eq!(common_level(at, at), LEVELS);
    }

    #[test]
    fn all_bodies_are_in_the_cube() {
        let places = [[-1.0, 5.0, 0.25], [3.0, 4.0, 0.5], [0.0, 4.5, 0.0]];
        let cube = Cube::around(places.into_iter().fold(Bounds::NONE, Bounds::with));
        for place in places {
            let parts = (0..3).map(|axis| (place[axis] - cube.corner[axis]) / cube.side);
            assert!(parts.into_iter().all(|part| (0.0..1.0).contains(&part)), "{place:?}");
        }
        assert!((cube.side - 4.0).abs() < 1e-3);
    }
}
