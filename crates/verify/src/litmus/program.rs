//! Litmus tests: a few processors, each with a few loads and stores, and the results that sequential consistency
//! allows.

use std::collections::HashSet;

use protocol::Access;

/// Lines of a litmus test.
pub const LINES: usize = 2;
/// Most processors of a litmus test.
pub const MAX_PROCESSORS: usize = 4;

/// One access of a program to one of two lines. Every line is 0 at first; a store makes it 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// [`Access::Load`] or [`Access::Store`].
    pub access: Access,
    /// The line, 0 (`x`) or 1 (`y`).
    pub line: usize,
}

/// Instructions of one processor, in program order.
pub type Program = &'static [Instruction];

/// A litmus test. At most one processor stores to each line.
///
/// A reader begins with a load of the line that it reads last: relaxed orders show in a copy that is then invalidated
/// late.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Litmus {
    /// Name in the literature.
    pub name: &'static str,
    /// One program per processor.
    pub programs: &'static [Program],
    /// Whether caches evict in between: four processors with evictions would have millions of states.
    pub evictions: bool,
}

const fn load(line: usize) -> Instruction {
    Instruction { access: Access::Load, line }
}

const fn store(line: usize) -> Instruction {
    Instruction { access: Access::Store, line }
}

const X: usize = 0;
const Y: usize = 1;

impl Litmus {
    /// Message passing: a reader that observes the second store also observes the first. Processor 0 is the reader: in
    /// a protocol with a home it is on the home node, and a protocol may treat stores at the home differently from
    /// others.
    pub const MESSAGE_PASSING: Self = Self {
        name: "message-passing",
        programs: &[&[load(X), load(Y), load(X)], &[store(X), store(Y)]],
        evictions: true,
    };

    /// Store buffering: two processors store and then load the other's line, and at least one of them observes the
    /// other's store.
    pub const STORE_BUFFERING: Self = Self {
        name: "store-buffering",
        programs: &[&[load(Y), store(X), load(Y)], &[load(X), store(Y), load(X)]],
        evictions: true,
    };

    /// Independent reads of independent writes: two readers of two independent stores agree on their order.
    pub const INDEPENDENT_READS: Self = Self {
        name: "independent-reads",
        programs: &[&[store(X)], &[store(Y)], &[load(Y), load(X), load(Y)], &[load(X), load(Y), load(X)]],
        evictions: false,
    };

    /// Every litmus test.
    pub const ALL: [Self; 3] = [Self::MESSAGE_PASSING, Self::STORE_BUFFERING, Self::INDEPENDENT_READS];

    /// Results of the loads in each run in which processors take turns, one access at a time.
    pub fn sequential_outcomes(&self) -> HashSet<Loads> {
        let mut outcomes = HashSet::new();
        take_turns(self.programs, &mut [0; MAX_PROCESSORS], [false; LINES], Loads::default(), &mut outcomes);
        outcomes
    }
}

/// Results of loads: for each processor, in program order, one bit per load, the first the most significant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Loads(pub [u8; MAX_PROCESSORS]);

impl Loads {
    /// Adds one load of a processor.
    #[must_use]
    pub fn with(mut self, processor: usize, value: bool) -> Self {
        self.0[processor] = self.0[processor] << 1 | u8::from(value);
        self
    }
}

/// Extends a run by each possible next access.
fn take_turns(
    programs: &[Program],
    counters: &mut [usize; MAX_PROCESSORS],
    stored: [bool; LINES],
    loads: Loads,
    outcomes: &mut HashSet<Loads>,
) {
    let mut ended = true;
    for (processor, program) in programs.iter().enumerate() {
        let Some(&Instruction { access, line }) = program.get(counters[processor]) else { continue };
        ended = false;
        let (mut stored, mut loads) = (stored, loads);
        if access == Access::Store {
            stored[line] = true;
        } else {
            loads = loads.with(processor, stored[line]);
        }
        counters[processor] += 1;
        take_turns(programs, counters, stored, loads, outcomes);
        counters[processor] -= 1;
    }
    if ended {
        outcomes.insert(loads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forbidden outcome of each test is not among the sequential ones, and other outcomes are.
    #[test]
    fn the_forbidden_outcomes_are_the_known_ones() {
        let outcomes = Litmus::MESSAGE_PASSING.sequential_outcomes();
        // Loads of x, y, x: new y and old x.
        assert!(!outcomes.contains(&Loads([0b010, 0, 0, 0])));
        assert_eq!(outcomes.len(), 5, "000 001 011 111 101: {outcomes:?}");
        let outcomes = Litmus::STORE_BUFFERING.sequential_outcomes();
        assert!(!outcomes.contains(&Loads([0b00, 0b00, 0, 0])));
        assert!(outcomes.contains(&Loads([0b00, 0b01, 0, 0])));
        let outcomes = Litmus::INDEPENDENT_READS.sequential_outcomes();
        assert!(!outcomes.contains(&Loads([0, 0, 0b010, 0b010])));
        assert!(outcomes.contains(&Loads([0, 0, 0b010, 0b011])));
    }
}
