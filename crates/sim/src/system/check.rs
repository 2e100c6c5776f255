//! Coherence when nothing is under way: copies against each other, against memory, and against the stores that were made.

use protocol::{CopyState, Rights, Version};
use rustc_hash::FxHashMap;
use thiserror::Error;
use units::{CpuId, LineAddr, NodeId, Time};

use super::{Controller, System};
use crate::processor::CachedCopy;

/// A line on which processors, directory and memory do not agree: a fault of the simulator or of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Incoherence {
    /// A load returned contents that were not the newest, or older than the order of memory allows.
    #[error("processor {cpu} loaded {found:?} of {line:?} at {at}; {last:?} had been stored before")]
    StaleLoad {
        /// Who loaded.
        cpu: CpuId,
        /// What.
        line: LineAddr,
        /// The contents it got.
        found: Version,
        /// The contents that the last store had made.
        last: Version,
        /// When.
        at: Time,
    },
    /// A store did not follow the one before it: one of them is lost.
    #[error("processor {cpu} stored {made:?} of {line:?} at {at}, after {last:?}")]
    StaleStore {
        /// Who stored.
        cpu: CpuId,
        /// What.
        line: LineAddr,
        /// The contents it made.
        made: Version,
        /// The contents that the store before it had made.
        last: Version,
        /// When.
        at: Time,
    },
    /// An access was performed on a copy that does not allow it.
    #[error("processor {cpu} accessed {line:?} at {at} while its copy was {state:?}")]
    NoRight {
        /// Who.
        cpu: CpuId,
        /// What.
        line: LineAddr,
        /// The state of its copy.
        state: CopyState,
        /// When.
        at: Time,
    },
    /// A request is refused again and again.
    #[error("the request of processor {cpu} for {line:?} was refused {refusals} times")]
    Starved {
        /// Whose.
        cpu: CpuId,
        /// For what.
        line: LineAddr,
        /// How often.
        refusals: u32,
    },
    /// In the end a line does not contain what was stored to it.
    #[error(
        "{line:?} contains {contents:?} in the end, after {performed:?} was stored; programs have issued {issued:?}"
    )]
    LostStore {
        /// The line.
        line: LineAddr,
        /// Its contents.
        contents: Version,
        /// The contents that the last store had made.
        performed: Version,
        /// The contents that all the stores of the programs should have made.
        issued: Version,
    },
    /// The machine has not come to rest.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// An owner is not alone.
    #[error("{line:?} is owned by processor {owner} and also held by processor {other}")]
    OwnerNotAlone {
        /// The line.
        line: LineAddr,
        /// Who has it exclusive or modified.
        owner: CpuId,
        /// Who has a copy beside it.
        other: CpuId,
    },
    /// A shared copy differs from memory.
    #[error("processor {cpu} shares {found:?} of {line:?}; memory has {memory:?}")]
    SharedDiffers {
        /// Who shares it.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// Its contents.
        found: Version,
        /// The contents in memory.
        memory: Version,
    },
    /// The directory does not know of a copy.
    #[error("processor {cpu} has {line:?} in state {state:?}, but its directory entry is {directory}")]
    UnknownCopy {
        /// Who has it.
        cpu: CpuId,
        /// The line.
        line: LineAddr,
        /// The state of the copy.
        state: CopyState,
        /// The state of the entry.
        directory: &'static str,
    },
}

/// Something that should be over when nothing is under way any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("nothing is under way any more, but node {node} has {count} {what}")]
pub struct Unfinished {
    /// Where.
    pub node: NodeId,
    /// How many there are.
    pub count: usize,
    /// Of what.
    pub what: &'static str,
}

impl Unfinished {
    /// There is nothing of this kind left.
    ///
    /// # Errors
    /// There is.
    pub fn none(node: NodeId, count: usize, what: &'static str) -> Result<(), Self> {
        if count == 0 { Ok(()) } else { Err(Self { node, count, what }) }
    }
}

impl<C: Controller> System<C> {
    /// The copies of each line, with who has them.
    pub fn copies_by_line(&self) -> FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>> {
        let mut holders: FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>> = FxHashMap::default();
        for (cpu, line, copy) in self.copies() {
            holders.entry(line).or_default().push((cpu, copy));
        }
        holders
    }

    /// Compares what each line contains, in the copy of its owner or in memory, with the stores that an observer has seen.
    ///
    /// # Errors
    /// The first disagreement found, by address.
    pub fn compare_with_stores(
        &mut self,
        copies: &FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>>,
        memory: impl Fn(&mut C, LineAddr) -> Version,
    ) -> Result<(), Incoherence> {
        let Some(observer) = self.observer.clone() else { return Ok(()) };
        let observer = observer.borrow();
        observer.stored_lines().into_iter().try_for_each(|line| {
            let holders = copies.get(&line).map_or(&[][..], Vec::as_slice);
            let owned = holders.iter().find(|(_, copy)| copy.state.is_dirty());
            let contents = owned.map_or_else(|| memory(&mut self.controllers, line), |(_, copy)| copy.version);
            observer.compare(line, contents)
        })
    }
}

impl Incoherence {
    /// Compares the copies of a line with each other and with memory: an owner is alone, and what is not modified is as in
    /// memory.
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
