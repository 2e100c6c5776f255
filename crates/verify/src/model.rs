//! Interface of a system to the explorer: an initial state, the steps out of a state, and a canonical encoding.

use std::fmt::Display;

/// A violation of a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Property violated.
    pub property: Property,
    /// Description of the violation.
    pub detail: String,
}

/// Properties of every protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Property {
    /// Single writer: at most one writer, and no reader beside a writer.
    SingleWriter,
    /// Latest value: every load returns the last store, and every store changes the last contents.
    LatestValue,
    /// Directory agreement: when nothing is outstanding, the directory agrees with the caches, and memory with both.
    DirectoryAgreement,
    /// Store accounting: the entries in use of a store that lines share are exactly those that the lines hold.
    StoreAccounting,
    /// Expected message: no message reaches an agent in a state in which it cannot be handled.
    ExpectedMessage,
    /// Deadlock freedom: as long as something is outstanding, some internal step is possible.
    DeadlockFreedom,
    /// Bounded overtaking: a home grants no request if, since its last grant, it has NACKed one of higher priority
    /// because it was busy. New requests therefore do not overtake NACKed ones for ever.
    BoundedOvertaking,
    /// Sequential consistency, a property of litmus tests: the loads of a program return results that are possible if
    /// all processors take turns, one access at a time (Lamport, "How to make a multiprocessor computer that correctly
    /// executes multiprocess programs", 1979).
    SequentialConsistency,
    /// Processors' order, a property of litmus tests of processors that reorder: the loads of a program return results that
    /// an atomic memory allows with such processors.
    ProcessorOrder,
    /// Eventual completion: from every state, everything outstanding can complete without new accesses; under strong
    /// fairness, it will.
    EventualCompletion,
}

impl Property {
    /// Short name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleWriter => "single writer",
            Self::LatestValue => "latest value",
            Self::DirectoryAgreement => "directory agreement",
            Self::StoreAccounting => "store accounting",
            Self::ExpectedMessage => "expected message",
            Self::DeadlockFreedom => "deadlock freedom",
            Self::BoundedOvertaking => "bounded overtaking",
            Self::SequentialConsistency => "sequential consistency",
            Self::ProcessorOrder => "processors' order",
            Self::EventualCompletion => "eventual completion",
        }
    }
}

/// A system to be explored: finite, and deterministic except for the choice of the step.
pub trait Model: Sync {
    /// A state, in a form from which steps are taken.
    type State: Clone;
    /// One step.
    type Step: Copy + Display;

    /// Initial state.
    fn initial(&self) -> Self::State;

    /// Calls `visit` with every step possible in `state`, and with the state after it or the property that it violates.
    fn steps(&self, state: &Self::State, visit: &mut dyn FnMut(Self::Step, Result<Self::State, Violation>));

    /// Whether the step is internal to the system (a message is handled, a retry is sent), and not a step of a
    /// processor, which may never occur.
    fn is_internal(&self, step: Self::Step) -> bool;

    /// Appends the canonical encoding: states that differ only in the names of interchangeable parts have equal
    /// encodings.
    fn encode(&self, state: &Self::State, bytes: &mut Vec<u8>);

    /// Decodes a state with this encoding.
    fn decode(&self, bytes: &[u8]) -> Self::State;

    /// Whether nothing is outstanding.
    fn is_quiescent(&self, state: &Self::State) -> bool;

    /// Description of the whole state in one line.
    fn describe(&self, state: &Self::State) -> String;
}
