//! The cost of instructions beside their number: they wait for one another's results.
//!
//! Where blocks of code are counted, each issues in as many slots as it has instructions and references, a cycle having as many as
//! the processor issues. That is all if no result is late. Here results are: an instruction begins when it has issued and its operands
//! are there, and is done when the latency of its operation has passed ([`machine::description::LatencySpec`]; a load takes what one
//! that hits does, since misses are the simulator's). Instructions issue in order, each when the one a window before it and all before
//! that are done. Slots in which none can issue are what a block costs beside its instructions.
//!
//! Between blocks there is what is still late: registers, words of memory and units that do one operation at a time, each with the
//! number of slots by which it is late behind the next instruction. So a loop costs the longer of its issue and of its recurrence,
//! the latency from an iteration's result to the next one's, whether it is one block or several, and what depends on nothing overlaps.
//! At the end of a block nothing may be later than a window behind: that is as much as the window holds if it is full of
//! instructions that issue one in a slot.
//!
//! Late results form a state with a number, of which programs have few: loops come back to the same. The effect of a block on a
//! state is computed once and remembered, so that a block costs the host a comparison and two additions.
//!
//! Limits: branches are predicted right; a loaded value that depends on a store to an address that cannot be seen to be the same is
//! there as if it did not; what functions return is there when they are called, as blocks are charged as a whole when they are
//! entered; the x87's registers are never late; words of the stack that the compiler does not announce (with gcc those of volatile
//! local variables, too) are taken for registers.

mod flow;
mod operation;
mod origin;
mod place;
mod state;

use rustc_hash::FxHashMap;

use super::branches::{Callee, Target};
use super::state::Single;

use flow::Flow;
pub use operation::Latencies;
#[cfg(test)]
pub use origin::Referred;
pub use origin::{MOST_REFERENCES, NONE, Origin, Origins, Pointer, WORDS};
pub use place::REGISTERS;
use state::{Late, follow};

/// No state.
pub const NO_STATE: u32 = u32::MAX;

/// States that are told apart at most before all are forgotten that no thread is in.
const MOST_STATES: usize = 1 << 16;

/// Places for the passages that were computed last.
const REMEMBERED: usize = 1 << 15;

/// Effect of a block on a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// The state before, the block, and the state behind it.
    pub from: u32,
    block: u32,
    pub to: u32,
    /// Slots in which nothing issues.
    pub stalls: u32,
}

/// Blocks of code, and the states between them.
pub struct Pipeline {
    latencies: Latencies,
    flows: Vec<Flow>,
    states: Vec<Box<[Late]>>,
    numbers: FxHashMap<Box<[Late]>, u32>,
    remembered: Vec<Passage>,
}

/// The processor's pipeline; none where the program is not simulated.
pub static PIPELINE: Single<Option<Pipeline>> = Single::new(None);

impl Pipeline {
    /// That of a processor with these latencies.
    pub fn new(latencies: Latencies) -> Self {
        let mut new = Self {
            latencies,
            flows: Vec::new(),
            states: Vec::new(),
            numbers: FxHashMap::default(),
            remembered: Vec::new(),
        };
        new.forget();
        new
    }

    /// A block is met for the first time: `code`, which begins at `at` and issues in `slots` slots; `further` has
    /// the program's code from an address on. Returns the block's number, how many of its instructions only keep values across
    /// calls of instrumentation, for which no slots are used, and where its values come from.
    pub(super) fn add<'c>(
        &mut self,
        code: &[u8],
        at: usize,
        slots: u32,
        callee: impl Fn(Target) -> Callee,
        further: impl Fn(usize) -> &'c [u8],
    ) -> (u32, u32, Origins) {
        let (flow, origins) = flow::read(code, at, slots, callee, further, &self.latencies);
        let kept = flow.kept;
        self.flows.push(flow);
        ((self.flows.len() - 1) as u32, kept, origins)
    }

    /// Effect of block number `block` on the state `from`.
    pub fn pass(&mut self, from: u32, block: u32) -> Passage {
        // Fibonacci hashing: the upper bits of a product with the golden ratio.
        let hash = (u64::from(from) << 32 | u64::from(block)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (hash >> (64 - REMEMBERED.trailing_zeros())) as usize;
        let known = self.remembered[place];
        if (known.from, known.block) == (from, block) {
            return known;
        }
        let (late, stalls) = follow(&self.flows[block as usize], &self.states[from as usize], self.latencies.window);
        let passage = Passage { from, block, to: self.number(late), stalls };
        self.remembered[place] = passage;
        passage
    }

    /// The number of a state.
    fn number(&mut self, late: Box<[Late]>) -> u32 {
        if let Some(&number) = self.numbers.get(&late) {
            return number;
        }
        let number = self.states.len() as u32;
        self.states.push(late.clone());
        self.numbers.insert(late, number);
        number
    }

    /// Whether there are so many states that most should be forgotten.
    pub fn is_full(&self) -> bool {
        self.states.len() >= MOST_STATES
    }

    /// Forgets all states but those `in_use`, which get other numbers.
    pub fn keep<'s>(&mut self, in_use: impl IntoIterator<Item = &'s mut u32>) {
        let before = self.forget();
        for number in in_use {
            *number = self.number(before[*number as usize].clone());
        }
    }

    fn forget(&mut self) -> Vec<Box<[Late]>> {
        let before = std::mem::take(&mut self.states);
        self.numbers.clear();
        let none = Passage { from: NO_STATE, block: 0, to: NO_STATE, stalls: 0 };
        self.remembered = vec![none; REMEMBERED];
        self.number(Box::default());
        before
    }
}

#[cfg(test)]
mod tests;
