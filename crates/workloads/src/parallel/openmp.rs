//! Fork and join, as OpenMP programs have them: a master that works alone, and a team that it calls for parallel sections.
//!
//! All threads go through the same [`Team::parallel`] and [`Team::master`] in the same order. What is the master's alone others
//! skip: of its results they learn through shared memory. Loops inside a section are shared by [`Share`], sums by
//! [`Reduction`](super::Reduction), or wrongly by [`SharedSums`]; critical sections are those of [`Locks`](super::Locks).

use super::array::Array;
use super::share::Share;
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// The only word of a team's region: how many sections the master has opened.
const FORK: usize = 0;
/// Number of the thread that works alone between sections.
const MASTER: usize = 0;

/// One thread's place in a team, in the manner of SGI's libmp: slaves spin on the word that opens the next section, and each
/// section ends at a barrier (FLASH dissertation 6.3). Sections alone are measured, from the fork to the join, which leaves out
/// what the master does alone (4.2.1).
#[derive(Debug)]
pub struct Team<'r, R> {
    region: &'r R,
    share: Share,
    /// Sections so far.
    forks: u64,
    /// Whether sections are measured.
    measured: bool,
}

impl<'r, R> Team<'r, R> {
    /// The region that it wants: a page at the master's.
    pub fn plan(shape: &Shape) -> RegionPlan {
        RegionPlan::first_touch(shape, 1, |_| MASTER)
    }

    /// The place of thread `number` in the team of all threads; `region` was so planned.
    pub fn new(shape: &Shape, region: &'r R, number: usize) -> Self {
        Self { region, share: Share::new(shape, number), forks: 0, measured: true }
    }

    /// Round `round` of `rounds` that are alike begins. Its sections are measured unless it is one of the first `unmeasured`, or
    /// the last. Published programs have thousands of rounds: that the first finds caches empty, and lines that nobody has
    /// read yet and no write has to invalidate, is nothing there, and half of two rounds.
    pub fn begin_round(&mut self, round: u64, rounds: u64, unmeasured: u64) {
        self.measured = round >= unmeasured.min(rounds.saturating_sub(1));
    }

    /// Work of the master alone, while the others wait for the next section. Nothing for them.
    pub fn master<T: Thread<Region = R>, V>(&self, thread: &mut T, body: impl FnOnce(&mut T) -> V) -> Option<V> {
        (self.share.number == MASTER).then(|| body(thread))
    }

    /// The thread's place in loops that are shared.
    pub fn share(&self) -> Share {
        self.share
    }

    /// A parallel section: every thread does `body`, and goes on when all have. Returns what its own returned.
    pub fn parallel<T: Thread<Region = R>, V>(&mut self, thread: &mut T, body: impl FnOnce(&mut T, Share) -> V) -> V {
        self.fork(thread);
        let value = body(thread, self.share);
        self.join(thread);
        value
    }

    /// The beginning of a parallel section, where [`Team::parallel`] cannot have its body in one piece.
    pub fn fork<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        let before = self.forks;
        self.forks += 1;
        if self.share.number == MASTER {
            thread.measure(self.measured);
            thread.store_release(self.region, FORK, self.forks);
        } else {
            // The join of a section is before the fork of the next: no count is ever missed.
            thread.await_change(self.region, FORK, before);
            thread.measure(self.measured);
        }
    }

    /// The end of a parallel section: waits for all.
    pub fn join<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        thread.barrier();
        thread.measure(false);
    }

    /// A parallel section that is not measured: what the published programs do once in hours, such as to touch their memory
    /// first, would be a good part of a few rounds.
    pub fn prepare<T: Thread<Region = R>, V>(&mut self, thread: &mut T, body: impl FnOnce(&mut T, Share) -> V) -> V {
        thread.barrier();
        let value = body(thread, self.share);
        thread.barrier();
        value
    }

    /// A parallel loop that is a section of its own: each thread has iterations that follow each other.
    pub fn parallel_for<T: Thread<Region = R>>(
        &mut self,
        thread: &mut T,
        count: usize,
        mut body: impl FnMut(&mut T, usize),
    ) {
        self.parallel(thread, |thread, share| share.block(count).for_each(|index| body(thread, index)));
    }
}

/// Sums of which each thread has its part in shared memory, parts of all threads next to each other: what a parallel loop
/// leaves behind if nobody says that its variables are reductions. Every addition stores to a line that others store to
/// (FLASH dissertation 6.2.3).
#[derive(Debug)]
pub struct SharedSums<'r, R> {
    parts: Array<'r, R, f64>,
    share: Share,
}

impl<'r, R> SharedSums<'r, R> {
    /// The region that `variables` sums want, wherever it is touched first.
    pub fn plan(shape: &Shape, variables: usize) -> RegionPlan {
        RegionPlan::unplaced(shape, variables * shape.threads())
    }

    /// The sums of thread `number`, in a region so planned.
    pub fn new(shape: &Shape, region: &'r R, number: usize) -> Self {
        Self { parts: Array::new(region), share: Share::new(shape, number) }
    }

    fn word(&self, variable: usize, number: usize) -> usize {
        variable * self.share.threads + number
    }

    /// Makes the thread's part of a sum zero.
    pub fn clear<T: Thread<Region = R>>(&self, thread: &mut T, variable: usize) {
        self.parts.store(thread, self.word(variable, self.share.number), 0.0);
    }

    /// Adds to the thread's part of a sum: a load, an instruction, a store.
    pub fn add<T: Thread<Region = R>>(&self, thread: &mut T, variable: usize, addend: f64) {
        let word = self.word(variable, self.share.number);
        let part = self.parts.load(thread, word);
        thread.instructions(1);
        self.parts.store(thread, word, part + addend);
    }

    /// The sum, after a barrier: a load and two instructions a thread, always in the same order.
    pub fn total<T: Thread<Region = R>>(&self, thread: &mut T, variable: usize) -> f64 {
        (0..self.share.threads).fold(0.0, |sum, number| {
            thread.instructions(2);
            sum + self.parts.load(thread, self.word(variable, number))
        })
    }
}
