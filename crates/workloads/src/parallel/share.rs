//! Shares of a loop: which of its iterations a thread does, decided before it starts (static schedules of OpenMP).

use std::iter::StepBy;
use std::ops::Range;

use crate::program::Shape;
use crate::thread::Thread;

/// One thread's place among those that share loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Its number.
    pub number: usize,
    /// How many threads there are.
    pub threads: usize,
}

impl Share {
    /// The place of thread `number` of a program.
    pub fn new(shape: &Shape, number: usize) -> Self {
        Self { number, threads: shape.threads() }
    }

    /// Its iterations of `count` if each thread has as many as any other, but for one, and they follow each other: the default
    /// schedule. No iteration at all if there are fewer than threads and it is not its turn.
    #[inline]
    pub fn block(self, count: usize) -> Range<usize> {
        let start = |number| number * count / self.threads;
        start(self.number)..start(self.number + 1)
    }

    /// The thread whose [`Share::block`] of `count` has iteration `index`.
    #[inline]
    pub fn owner(threads: usize, count: usize, index: usize) -> usize {
        ((index + 1) * threads - 1) / count
    }

    /// Its iterations of `count` if they are dealt round: a schedule of chunks of one.
    #[inline]
    pub fn cyclic(self, count: usize) -> StepBy<Range<usize>> {
        // The range is empty, not reversed, if its turn never comes.
        (self.number.min(count)..count).step_by(self.threads)
    }

    /// Its iterations of `count` if `chunk` at a time are dealt round: a static schedule of that chunk.
    #[inline]
    pub fn chunks(self, count: usize, chunk: usize) -> impl Iterator<Item = usize> {
        self.cyclic(count.div_ceil(chunk)).flat_map(move |number| number * chunk..count.min((number + 1) * chunk))
    }

    /// Work of the first thread while the others wait for it at a barrier.
    #[inline]
    pub fn single<T: Thread>(self, thread: &mut T, body: impl FnOnce(&mut T)) {
        if self.number == 0 {
            body(thread);
        }
        thread.barrier();
    }

    /// A parallel loop: its block of `count` iterations, and a barrier at the end, as the language puts one.
    #[inline]
    pub fn parallel_for<T: Thread>(self, thread: &mut T, count: usize, mut body: impl FnMut(&mut T, usize)) {
        self.block(count).for_each(|index| body(thread, index));
        thread.barrier();
    }
}

/// The threads of a column and of a row if all are put in a grid, as square as their number allows and not wider than high:
/// borders between rows of a matrix are in fewer lines than those between columns.
pub(crate) fn thread_grid(threads: usize) -> (usize, usize) {
    let fits = |across: &usize| threads.is_multiple_of(*across) && across * across <= threads;
    let across = (1..=threads).filter(fits).max().unwrap_or(1);
    (threads / across, across)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_square_as_can_be() {
        let grids = [1, 2, 8, 13, 16, 63].map(thread_grid);
        assert_eq!(grids, [(1, 1), (2, 1), (4, 2), (13, 1), (4, 4), (9, 7)]);
    }

    #[test]
    fn every_iteration_has_one_thread() {
        for (threads, count) in [(1, 5), (3, 7), (4, 8), (8, 3), (7, 100), (63, 64)] {
            let shares = || (0..threads).map(|number| Share { number, threads });
            let blocks: Vec<usize> = shares().flat_map(|share| share.block(count)).collect();
            assert_eq!(blocks, (0..count).collect::<Vec<_>>());
            let mut dealt: Vec<usize> = shares().flat_map(|share| share.cyclic(count)).collect();
            dealt.sort_unstable();
            assert_eq!(dealt, blocks);
            for chunk in [1, 2, 5, 200] {
                let mut chunks: Vec<usize> = shares().flat_map(|share| share.chunks(count, chunk)).collect();
                chunks.sort_unstable();
                assert_eq!(chunks, blocks);
                let whose =
                    |index: usize| shares().position(|share| share.chunks(count, chunk).any(|each| each == index));
                assert!((0..count).all(|index| whose(index) == Some(index / chunk % threads)));
            }
            for share in shares() {
                assert!(share.block(count).all(|index| Share::owner(threads, count, index) == share.number));
                assert!(share.block(count).len().abs_diff(count / threads) <= 1);
            }
        }
    }
}
