//! Kinds of evidence for a diagnosis, of which a simulator gives all and a computer those that it has.

use serde::{Deserialize, Serialize};

/// A kind of evidence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Costs of loads and stores, at which data, and why they missed.
    Misses,
    /// Costs of refills of the translation buffer.
    Translation,
    /// Which threads touch which pages, first and later.
    Touches,
    /// On which nodes memory is.
    Residence,
    /// For how long threads wait for locks.
    Locks,
    /// For how long threads run, and for how long they wait for a processor.
    RunQueue,
    /// How often threads change processors.
    Moves,
    /// The same program on fewer processors.
    FewerProcessors,
}

impl Evidence {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Misses,
        Self::Translation,
        Self::Touches,
        Self::Residence,
        Self::Locks,
        Self::RunQueue,
        Self::Moves,
        Self::FewerProcessors,
    ];
}
