//! Where the points of a box are whose planes are cut into pieces, one of each plane for a thread.

use std::ops::Range;

use super::gas::BLOCK;
use crate::parallel::{Share, thread_grid};
use crate::program::{RegionPlan, Shape};

/// Words of a state.
const STATE: usize = 5;
/// Blocks for each point of a plane: its own, and those of three neighbours.
pub const KINDS: usize = 4;

/// Threads in a grid, each with the same columns of every plane: their states lie together, on whole pages.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// Threads down and across the grid.
    grid: [usize; 2],
    side: usize,
    planes: usize,
    /// Words of a piece of states, and of a piece of blocks for one plane.
    words: usize,
    scratch_words: usize,
}

impl Pieces {
    /// `planes` planes of `side` by `side` points.
    pub fn new(shape: &Shape, side: usize, planes: usize) -> Self {
        let (down, across) = thread_grid(shape.threads());
        // Whoever is at the rim has walls besides.
        let [inside, all] = [0, 2].map(|walls| {
            let longest = |threads: usize| (side - 2).div_ceil(threads) + if threads == 1 { walls } else { walls / 2 };
            longest(down) * longest(across)
        });
        let pages = |words: usize| words.next_multiple_of(shape.page_words);
        let (words, scratch_words) = (pages(planes * all * STATE), pages(KINDS * inside * BLOCK));
        Self { grid: [down, across], side, planes, words, scratch_words }
    }

    /// The region that a field of states wants.
    pub fn plan(&self, shape: &Shape) -> RegionPlan {
        RegionPlan::unplaced(shape, shape.threads() * self.words)
    }

    /// The region that blocks of a plane want.
    pub fn scratch_plan(&self, shape: &Shape) -> RegionPlan {
        RegionPlan::unplaced(shape, shape.threads() * self.scratch_words)
    }

    /// How many planes, and points along an edge of one.
    pub fn sides(&self) -> [usize; 3] {
        [self.planes, self.side, self.side]
    }

    /// Where a thread is in the grid: down, across.
    fn place(&self, number: usize) -> [usize; 2] {
        [number / self.grid[1], number % self.grid[1]]
    }

    /// The rows and the columns of the piece at a place.
    fn of_place(&self, place: [usize; 2]) -> [Range<usize>; 2] {
        // Points that are computed are shared; walls go to the pieces next to them.
        [0, 1].map(|axis| {
            let (number, threads) = (place[axis], self.grid[axis]);
            let inside = Share { number, threads }.block(self.side - 2);
            let start = if number == 0 { 0 } else { inside.start + 1 };
            start..if number + 1 == threads { self.side } else { inside.end + 1 }
        })
    }

    /// The rows and the columns of a thread's piece, those on the rim included.
    pub fn own(&self, number: usize) -> [Range<usize>; 2] {
        self.of_place(self.place(number))
    }

    /// The rows and the columns of a thread's piece that are not on the rim.
    pub fn inside(&self, number: usize) -> [Range<usize>; 2] {
        self.own(number).map(|range| {
            let start = range.start.max(1);
            start..range.end.min(self.side - 1).max(start)
        })
    }

    /// The word at which the state of a point begins.
    pub fn word(&self, [plane, row, column]: [usize; 3]) -> usize {
        let owner = |axis: usize, number: usize| match number {
            0 => 0,
            last if last + 1 == self.side => self.grid[axis] - 1,
            inside => Share::owner(self.grid[axis], self.side - 2, inside - 1),
        };
        let place = [owner(0, row), owner(1, column)];
        let [rows, columns] = self.of_place(place);
        let before = (plane * rows.len() + row - rows.start) * columns.len() + column - columns.start;
        (place[0] * self.grid[1] + place[1]) * self.words + before * STATE
    }

    /// The words of blocks that come with a number if pieces are counted as they are stored: down the grid first.
    pub fn stored(&self, number: usize) -> Range<usize> {
        number * self.scratch_words..(number + 1) * self.scratch_words
    }

    /// The number, as they are stored, of the piece of blocks that a thread uses.
    pub fn used(&self, number: usize) -> usize {
        let [down, across] = self.place(number);
        across * self.grid[0] + down
    }

    /// How many waves go through the pieces of all planes but the first and the last.
    pub fn waves(&self) -> usize {
        self.planes - 2 + self.grid[0] + self.grid[1] - 2
    }

    /// Which plane's piece a thread computes in a wave, if any: after those above it, left of it and in the plane before. If
    /// `back`, waves come from the last plane and the lower right.
    pub fn plane(&self, number: usize, wave: usize, back: bool) -> Option<usize> {
        let place = self.place(number);
        let before: usize = (0..2).map(|axis| if back { self.grid[axis] - 1 - place[axis] } else { place[axis] }).sum();
        let step = wave.checked_sub(before).filter(|&step| step < self.planes - 2)?;
        Some(if back { self.planes - 2 - step } else { step + 1 })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use units::NodeId;

    use super::*;

    fn shape(threads: usize) -> Shape {
        let homes = (0..threads as u16).map(NodeId).collect();
        Shape { homes, nodes: threads, line_words: 4, page_words: 32, seed: 0, locks: Default::default() }
    }

    #[test]
    fn every_state_has_words_of_its_own_in_its_owners_piece() {
        for threads in [1, 2, 6, 13, 63] {
            let (shape, planes) = (shape(threads), 4);
            let pieces = Pieces::new(&shape, 10, planes);
            let mut words = BTreeSet::new();
            for number in 0..threads {
                let [rows, columns] = pieces.own(number);
                for (row, column) in rows.flat_map(|row| columns.clone().map(move |column| (row, column))) {
                    for word in (0..planes).map(|plane| pieces.word([plane, row, column])) {
                        assert_eq!((word / pieces.words, (word + STATE - 1) / pieces.words), (number, number));
                        assert!(words.insert(word) && words.range(word - word.min(4)..word).next().is_none());
                    }
                }
            }
            assert_eq!(words.len(), 10 * 10 * planes);
        }
    }

    #[test]
    fn waves_come_after_what_they_need() {
        for (threads, back) in [(1, false), (6, false), (6, true), (63, true)] {
            let (planes, pieces) = (5, Pieces::new(&shape(threads), 20, 5));
            let mut done = BTreeSet::new();
            for wave in 0..pieces.waves() {
                let now: Vec<_> = (0..threads).filter_map(|at| Some((at, pieces.plane(at, wave, back)?))).collect();
                for &(number, plane) in &now {
                    let [down, across] = pieces.place(number);
                    let towards =
                        |at: usize, last: usize| if back { (at < last).then_some(at + 1) } else { at.checked_sub(1) };
                    let above = towards(down, pieces.grid[0] - 1).map(|down| down * pieces.grid[1] + across);
                    let left = towards(across, pieces.grid[1] - 1).map(|across| down * pieces.grid[1] + across);
                    let before = towards(plane, planes - 1).filter(|plane| (1..planes - 1).contains(plane));
                    let needed =
                        [above.map(|at| (at, plane)), left.map(|at| (at, plane)), before.map(|plane| (number, plane))];
                    assert!(needed.into_iter().flatten().all(|each| done.contains(&each)), "{number} {plane}");
                }
                done.extend(now);
            }
            assert_eq!(done.len(), threads * (planes - 2));
        }
    }

    /// Stored down the grid and used across it: few threads use what has their number, but every piece has one user.
    #[test]
    fn blocks_are_stored_in_another_order_than_threads_are_numbered() {
        let pieces = Pieces::new(&shape(63), 20, 5);
        let used: BTreeSet<_> = (0..63).map(|number| pieces.used(number)).collect();
        assert_eq!(used, (0..63).collect());
        assert!((0..63).filter(|&number| pieces.used(number) == number).count() < 6);
    }
}
