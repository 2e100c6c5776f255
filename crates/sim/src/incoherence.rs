//! Disagreements between processors, directory and memory, as errors.

use protocol::{CopyState, Rights, Version};
use thiserror::Error;
use units::{CpuId, LineAddr, NodeId, Time};

use crate::part::CachedCopy;
use crate::wire::sci_ring::Imbalance;

/// A line on which processors, directory and memory disagree: a fault of the simulator or of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Incoherence {
    /// A load returned contents that were not the newest, or were older than the memory order allows.
    #[error("processor {cpu} loaded {found:?} of {line:?} at {at}; {last:?} had been stored before")]
    StaleLoad {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The contents that it loaded.
        found: Version,
        /// The contents that the last store made.
        last: Version,
        /// The time.
        at: Time,
    },
    /// A store did not follow the previous one, so that one of them is lost.
    #[error("processor {cpu} stored {made:?} of {line:?} at {at}, after {last:?}")]
    StaleStore {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The contents that it made.
        made: Version,
        /// The contents that the previous store made.
        last: Version,
        /// The time.
        at: Time,
    },
    /// An access was performed on a copy that does not permit it.
    #[error("processor {cpu} accessed {line:?} at {at} while its copy was {state:?}")]
    NoRight {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The state of its copy.
        state: CopyState,
        /// The time.
        at: Time,
    },
    /// A request starves by repeated NACKs.
    #[error("the request of processor {cpu} for {line:?} was refused {refusals} times")]
    Starved {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The number of NACKs.
        refusals: u32,
    },
    /// A line does not contain all stores at the end.
    #[error(
        "{line:?} contains {contents:?} in the end, after {performed:?} was stored; programs have issued {issued:?}"
    )]
    LostStore {
        /// The line.
        line: LineAddr,
        /// Its contents.
        contents: Version,
        /// The contents that the last store made.
        performed: Version,
        /// The contents that all issued stores should have made.
        issued: Version,
    },
    /// Something is unfinished at the end.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// A ring has lost a packet or made one.
    #[error(transparent)]
    Ring(#[from] Imbalance),
    /// An owner coexists with another copy.
    #[error("{line:?} is owned by processor {owner} and also held by processor {other}")]
    OwnerNotAlone {
        /// The line.
        line: LineAddr,
        /// The processor with the exclusive or modified copy.
        owner: CpuId,
        /// A processor with another copy.
        other: CpuId,
    },
    /// A shared copy differs from memory.
    #[error("processor {cpu} shares {found:?} of {line:?}; memory has {memory:?}")]
    SharedDiffers {
        /// The processor with the shared copy.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// Its contents.
        found: Version,
        /// The contents in memory.
        memory: Version,
    },
    /// The directory does not list a copy.
    #[error("processor {cpu} has {line:?} in state {state:?}, but its directory entry is {directory}")]
    UnknownCopy {
        /// The processor.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The state of the copy.
        state: CopyState,
        /// The state of the entry.
        directory: &'static str,
    },
}

/// Something left over when no message is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("nothing is under way any more, but node {node} has {count} {what}")]
pub struct Unfinished {
    /// The node.
    pub node: NodeId,
    /// The number of items.
    pub count: usize,
    /// The kind of item.
    pub what: &'static str,
}

impl Unfinished {
    /// Requires that no item of this kind is left.
    ///
    /// # Errors
    /// The items left.
    pub fn none(node: NodeId, count: usize, what: &'static str) -> Result<(), Self> {
        if count == 0 { Ok(()) } else { Err(Self { node, count, what }) }
    }
}

impl Incoherence {
    /// Compares the copies of a line with each other and with memory: an owner has the only copy, and an unmodified
    /// copy equals memory.
    ///
    /// # Errors
    /// The first disagreement found.
    pub fn among(line: LineAddr, copies: &[(CpuId, CachedCopy)], memory: Version) -> Result<(), Self> {
        for &(cpu, copy) in copies {
            let other = copies.iter().find(|other| other.0 != cpu);
            if copy.state.rights() != Rights::Read
                && let Some(&(other, _)) = other
            {
                return Err(Self::OwnerNotAlone { line, owner: cpu, other });
            }
            if !copy.state.is_dirty() && copy.version != memory {
                return Err(Self::SharedDiffers { cpu, line, found: copy.version, memory });
            }
        }
        Ok(())
    }
}
