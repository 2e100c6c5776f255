//! What the explorer needs of a system: an initial state, the steps out of a state, and a canonical encoding.

use std::fmt::Display;

/// A property that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which property.
    pub property: Property,
    /// What was found, in words.
    pub detail: String,
}

/// The properties that every protocol must have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Property {
    /// At most one writer, and no reader beside a writer.
    SingleWriter,
    /// Every load returns the last store, and every store changes the last contents.
    LatestValue,
    /// When nothing is outstanding, the directory agrees with the caches, and memory with both.
    DirectoryAgreement,
    /// What a directory keeps in a store that its lines share is exactly what the lines have of it.
    StoreAccounting,
    /// No message reaches an agent in a state in which it cannot be handled.
    ExpectedMessage,
    /// As long as something is outstanding, something can move.
    DeadlockFreedom,
    /// A home grants no request while, since its last grant, it has been too busy for one of higher priority: new requests
    /// do not overtake nacked ones for ever.
    BoundedOvertaking,
    /// What a program's loads return is what they could if all processors took turns, one access at a time (Lamport, "How to
    /// make a multiprocessor computer that correctly executes multiprocess programs", 1979). Of litmus tests.
    SequentialConsistency,
    /// From every state everything outstanding can be completed without new accesses: under strong fairness, it will be.
    EventualCompletion,
}

impl Property {
    /// A short name.
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
            Self::EventualCompletion => "eventual completion",
        }
    }
}

/// A system to be explored: finite, and deterministic but for the choice of the step.
pub trait Model: Sync {
    /// A state, in a form that steps can be taken from.
    type State: Clone;
    /// One step.
    type Step: Copy + Display;

    /// Where everything starts.
    fn initial(&self) -> Self::State;

    /// Calls `visit` with every step possible in `state` and the state after it, or the property that it breaks.
    fn steps(&self, state: &Self::State, visit: &mut impl FnMut(Self::Step, Result<Self::State, Violation>));

    /// Whether the step belongs to the system (a message is handled, a retry is sent) rather than to its users, who are
    /// free never to take one.
    fn is_internal(&self, step: Self::Step) -> bool;

    /// Appends the canonical encoding: states that differ only in the names of interchangeable parts encode alike.
    fn encode(&self, state: &Self::State, bytes: &mut Vec<u8>);

    /// A state with this encoding.
    fn decode(&self, bytes: &[u8]) -> Self::State;

    /// Whether nothing is outstanding.
    fn is_quiescent(&self, state: &Self::State) -> bool;

    /// One line that shows the whole state.
    fn describe(&self, state: &Self::State) -> String;
}
