//! Variables of a thread of its own that SPLASH-2's program has in shared memory, where its compilers cannot keep them in registers.

use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// The words in which the variables are, behind the page in front of them: in the order of SPLASH-2's structure, with pointers and
/// whole numbers of 32 bits.
const FORCES: usize = 16;
const SKIPPED: usize = 18;
const PLACE: usize = 19;
const POTENTIAL: usize = 22;
const ACCELERATION: usize = 23;
const APART: usize = 26;
const DISTANCE: usize = 29;
const LOOKED_AT: usize = 30;
const WORDS: usize = 56;

/// A thread's variables for a walk through the tree. What they hold is in the walk itself.
pub struct Own<'r, R> {
    region: &'r R,
    first: usize,
}

impl<'r, R> Own<'r, R> {
    /// Words from a thread's variables to the next: there is a page before and behind them.
    fn stride(shape: &Shape) -> usize {
        2 * shape.page_words + WORDS
    }

    /// The region that the variables of all threads want.
    pub fn plan(shape: &Shape) -> RegionPlan {
        RegionPlan::unplaced(shape, shape.threads() * Self::stride(shape))
    }

    /// Those of a thread.
    pub fn new(shape: &Shape, region: &'r R, thread: usize) -> Self {
        Self { region, first: thread * Self::stride(shape) + shape.page_words }
    }

    fn load<T: Thread<Region = R>>(&self, words: impl IntoIterator<Item = usize>, thread: &mut T) {
        for word in words {
            thread.load_unused(self.region, self.first + word);
        }
    }

    fn store<T: Thread<Region = R>>(&self, words: impl IntoIterator<Item = usize>, thread: &mut T) {
        for word in words {
            thread.store_unused(self.region, self.first + word);
        }
    }

    /// A walk begins: the place of the body, and sums of nothing.
    pub fn begin<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.store(FORCES..ACCELERATION + 3, thread);
    }

    /// A node is looked at: how far it is away.
    pub fn look<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.measure(thread);
        self.store([LOOKED_AT], thread);
    }

    /// The distance of a body or node.
    pub fn measure<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.load(PLACE..PLACE + 3, thread);
        self.store(APART..APART + 3, thread);
        self.load(APART..APART + 3, thread);
        self.store([DISTANCE], thread);
    }

    /// A force is added.
    pub fn pull<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.load([LOOKED_AT, DISTANCE, POTENTIAL], thread);
        self.store([DISTANCE, POTENTIAL], thread);
        self.load(APART..APART + 3, thread);
        self.load(ACCELERATION..ACCELERATION + 3, thread);
        self.store(ACCELERATION..ACCELERATION + 3, thread);
        self.load([FORCES], thread);
        self.store([FORCES], thread);
    }

    /// Whether a body is the one that forces are for.
    pub fn compare<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.load([SKIPPED], thread);
    }

    /// The walk ends: its sums are the body's.
    pub fn end<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.load(FORCES..FORCES + 2, thread);
        self.load(POTENTIAL..ACCELERATION + 3, thread);
    }
}
