//! Litmus tests: a few processors, each with a few loads and stores, and the results that sequential consistency
//! allows.

use std::collections::HashSet;

use protocol::Access;

use super::order::{Order, Way};

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
    /// Order in which the processors perform their accesses.
    pub order: Order,
    /// Order whose results are allowed: the processors', or a stricter one, to show that the difference can be observed.
    pub allowed: Order,
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
        order: Order::Sequential,
        allowed: Order::Sequential,
    };

    /// Store buffering: two processors store and then load the other's line, and at least one of them observes the
    /// other's store.
    pub const STORE_BUFFERING: Self = Self {
        name: "store-buffering",
        programs: &[&[load(Y), store(X), load(Y)], &[load(X), store(Y), load(X)]],
        evictions: true,
        order: Order::Sequential,
        allowed: Order::Sequential,
    };

    /// Independent reads of independent writes: two readers of two independent stores agree on their order.
    pub const INDEPENDENT_READS: Self = Self {
        name: "independent-reads",
        programs: &[&[store(X)], &[store(Y)], &[load(Y), load(X), load(Y)], &[load(X), load(Y), load(X)]],
        evictions: false,
        order: Order::Sequential,
        allowed: Order::Sequential,
    };

    /// Every litmus test of processors that keep program order.
    pub const ALL: [Self; 3] = [Self::MESSAGE_PASSING, Self::STORE_BUFFERING, Self::INDEPENDENT_READS];

    /// Litmus tests of processors that reorder: the protocol must relax nothing beyond their order.
    pub const REORDERED: [Self; 4] = [
        Self::MESSAGE_PASSING.reordered("message-passing/x86", Order::Tso),
        Self::STORE_BUFFERING.reordered("store-buffering/x86", Order::Tso),
        Self::MESSAGE_PASSING.reordered("message-passing/arm", Order::Arm),
        Self::STORE_BUFFERING.reordered("store-buffering/arm", Order::Arm),
    ];

    /// Every litmus test.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::REORDERED)
    }

    /// The same programs on processors of another order, whose results are those that an atomic memory allows in it.
    #[must_use]
    pub const fn reordered(self, name: &'static str, order: Order) -> Self {
        Self { name, order, allowed: order, ..self }
    }

    /// Results of the loads in each run on an atomic memory, one access at a time, in the allowed order.
    pub fn outcomes(&self) -> HashSet<Loads> {
        let mut outcomes = HashSet::new();
        let start = Turn { performed: [0; MAX_PROCESSORS], stored: [false; LINES], loads: Loads::default() };
        take_turns(self, start, &mut outcomes);
        outcomes
    }
}

/// Results of loads: for each processor, in program order, one bit per load, the first the most significant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Loads(pub [u8; MAX_PROCESSORS]);

impl Loads {
    /// Sets the result of a processor's instruction `index`, a load of its program.
    #[must_use]
    pub fn with(mut self, program: Program, processor: usize, index: usize, value: bool) -> Self {
        let after = program[index + 1..].iter().filter(|instruction| instruction.access == Access::Load).count();
        self.0[processor] |= u8::from(value) << after;
        self
    }
}

/// State of a run on an atomic memory.
#[derive(Clone, Copy)]
struct Turn {
    /// Instructions that each processor has performed, a bit each.
    performed: [u8; MAX_PROCESSORS],
    stored: [bool; LINES],
    loads: Loads,
}

/// Extends a run by each possible next access.
fn take_turns(litmus: &Litmus, turn: Turn, outcomes: &mut HashSet<Loads>) {
    let mut ended = true;
    for (processor, &program) in litmus.programs.iter().enumerate() {
        for (index, &Instruction { access, line }) in program.iter().enumerate() {
            if turn.performed[processor] >> index & 1 == 1 {
                continue;
            }
            ended = false;
            let Some(way) = litmus.allowed.way(program, turn.performed[processor], index) else { continue };
            let mut next = turn;
            next.performed[processor] |= 1 << index;
            if access == Access::Store {
                next.stored[line] = true;
            } else {
                let value = way == Way::Forwarded || turn.stored[line];
                next.loads = next.loads.with(program, processor, index, value);
            }
            take_turns(litmus, next, outcomes);
        }
    }
    if ended {
        outcomes.insert(turn.loads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forbidden outcome of each test is not among the sequential ones, and other outcomes are.
    #[test]
    fn the_forbidden_outcomes_are_the_known_ones() {
        let outcomes = Litmus::MESSAGE_PASSING.outcomes();
        // Loads of x, y, x: new y and old x.
        assert!(!outcomes.contains(&Loads([0b010, 0, 0, 0])));
        assert_eq!(outcomes.len(), 5, "000 001 011 111 101: {outcomes:?}");
        let outcomes = Litmus::STORE_BUFFERING.outcomes();
        assert!(!outcomes.contains(&Loads([0b00, 0b00, 0, 0])));
        assert!(outcomes.contains(&Loads([0b00, 0b01, 0, 0])));
        let outcomes = Litmus::INDEPENDENT_READS.outcomes();
        assert!(!outcomes.contains(&Loads([0, 0, 0b010, 0b010])));
        assert!(outcomes.contains(&Loads([0, 0, 0b010, 0b011])));
    }

    /// Store buffers let both loads of store buffering return 0, and no more; Arm's processors also pass messages late.
    #[test]
    fn processors_relax_what_they_are_known_to_relax() {
        let [passing_x86, buffering_x86, passing_arm, buffering_arm] =
            Litmus::REORDERED.map(|litmus| litmus.outcomes());
        let (both_zero, late) = (Loads([0b00, 0b00, 0, 0]), Loads([0b010, 0, 0, 0]));
        assert!(buffering_x86.contains(&both_zero) && buffering_arm.contains(&both_zero));
        assert!(!passing_x86.contains(&late) && passing_arm.contains(&late));
        assert_eq!(passing_x86, Litmus::MESSAGE_PASSING.outcomes());
        // Loads of one line keep their order on Arm, too: x read as 1 and then as 0.
        assert!(!passing_arm.contains(&Loads([0b100, 0, 0, 0])));
    }
}
