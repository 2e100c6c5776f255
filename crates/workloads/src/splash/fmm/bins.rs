//! Which bodies are in which box: a stable sort by counts, in every time step.

use num_complex::Complex64;

use super::BODY_WORDS;
use super::boxes::Square;
use crate::Blocks;
use crate::parallel::{Array, Share};
use crate::thread::Thread;

/// Instructions to find the box of a place and count it, beside loads and the store: the bits of both coordinates interleave.
const COUNT: u32 = 24;
/// Instructions to add one count to a sum, beside load and store: addresses, loop.
const ADD: u32 = 4;

/// The bodies of each box of the lowest level, and the regions that sorting them takes.
pub struct Bins<'r, R> {
    pub level: u32,
    pub share: Share,
    pub bodies: &'r R,
    /// Bodies, box after box; of a box, in the order of their numbers.
    pub order: Array<'r, R, u64>,
    /// Where the bodies of each box start in the order; and where the last ones end.
    pub starts: Array<'r, R, u64>,
    pub region: &'r R,
    /// In `region`, of each thread: how many bodies its boxes have, and its counts.
    pub blocks: Blocks,
}

impl<R> Bins<'_, R> {
    fn counts(&self, thread: usize) -> Array<'_, R, u64> {
        Array::from(self.region, self.blocks.word(thread, 1))
    }

    fn sum(&self, thread: usize) -> Array<'_, R, u64> {
        Array::from(self.region, self.blocks.word(thread, 0))
    }

    fn leaf<T: Thread<Region = R>>(&self, body: usize, thread: &mut T) -> usize {
        let place: Complex64 = Array::from(self.bodies, body * BODY_WORDS).load(thread, 0);
        thread.instructions(COUNT);
        Square::of(self.level, place).number
    }

    /// Sorts `bodies` bodies. Ends with a barrier.
    pub fn sort<T: Thread<Region = R>>(&self, bodies: usize, thread: &mut T) {
        let (share, leaves) = (self.share, Square::count(self.level));
        let own = self.counts(share.number);
        for leaf in 0..leaves {
            own.store(thread, leaf, 0);
        }
        for body in share.block(bodies) {
            let leaf = self.leaf(body, thread);
            let count = own.load_dependent(thread, leaf);
            own.store(thread, leaf, count + 1);
        }
        thread.barrier();
        let mut sum = 0;
        for leaf in share.block(leaves) {
            for number in 0..share.threads {
                sum += self.counts(number).load(thread, leaf);
                thread.instructions(ADD);
            }
        }
        self.sum(share.number).store(thread, 0, sum);
        thread.barrier();
        self.place(thread);
        thread.barrier();
        for body in share.block(bodies) {
            let leaf = self.leaf(body, thread);
            let place = own.load_dependent(thread, leaf);
            own.store(thread, leaf, place + 1);
            self.order.store(thread, place as usize, body as u64);
        }
        thread.barrier();
    }

    /// Turns counts into places: of the boxes of its share, each thread says where they start, for itself and for each thread's
    /// bodies in them.
    fn place<T: Thread<Region = R>>(&self, thread: &mut T) {
        let leaves = Square::count(self.level);
        let mut next = 0;
        for number in 0..self.share.number {
            next += self.sum(number).load(thread, 0);
            thread.instructions(ADD);
        }
        for leaf in self.share.block(leaves) {
            self.starts.store(thread, leaf, next);
            for number in 0..self.share.threads {
                let counts = self.counts(number);
                let count = counts.load(thread, leaf);
                counts.store(thread, leaf, next);
                next += count;
                thread.instructions(ADD);
            }
        }
        if self.share.number + 1 == self.share.threads {
            self.starts.store(thread, leaves, next);
        }
    }
}
