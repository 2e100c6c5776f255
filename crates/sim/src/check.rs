//! Observers of coherence: the last store to each line against what loads return, and caches against the directory.

use protocol::{DirectoryState, Mesi, Version};
use rustc_hash::FxHashMap;
use thiserror::Error;
use units::{CpuId, LineAddr, Time};

use crate::simulator::Simulator;

/// A line on which processors, directory and memory do not agree: a fault of the simulator or of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Incoherence {
    /// A load returned contents older than others had seen before it.
    #[error("processor {cpu} loaded {found:?} of {line:?} at {at}; {last:?} had been seen before")]
    StaleLoad {
        /// Who loaded.
        cpu: CpuId,
        /// What.
        line: LineAddr,
        /// The contents it got.
        found: Version,
        /// The newest contents seen before.
        last: Version,
        /// When.
        at: Time,
    },
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
        state: Mesi,
        /// The state of the entry.
        directory: &'static str,
    },
}

/// The newest contents of each line that anybody has seen.
#[derive(Default)]
pub struct LastStores {
    versions: FxHashMap<LineAddr, Version>,
}

impl LastStores {
    /// Somebody has `version` of `line`, no older than any seen before.
    pub fn seen(&mut self, line: LineAddr, version: Version) {
        self.versions.insert(line, version);
    }

    /// The newest contents of `line` seen so far: a load must not return older ones.
    pub fn expected(&self, line: LineAddr) -> Version {
        self.versions.get(&line).copied().unwrap_or_default()
    }
}

impl Simulator {
    /// Compares all caches with each other, with memory and with the directory. To be called when nothing is under way:
    /// after [`Simulator::run`] has returned.
    ///
    /// # Errors
    /// The first disagreement found.
    pub fn check_coherence(&mut self) -> Result<(), Incoherence> {
        let mut holders: FxHashMap<LineAddr, Vec<(CpuId, Mesi, Version)>> = FxHashMap::default();
        for cpu in (0..self.geometry.processors()).map(CpuId) {
            for copy in self.processor_mut(cpu).copies() {
                holders.entry(copy.line).or_default().push((cpu, copy.state, copy.version));
            }
        }
        holders.into_iter().try_for_each(|(line, copies)| self.check_line(line, &copies))
    }

    fn check_line(&mut self, line: LineAddr, copies: &[(CpuId, Mesi, Version)]) -> Result<(), Incoherence> {
        let (entry, memory) = *self.memory.line(line);
        for &(cpu, state, found) in copies {
            let owned = state != Mesi::Shared;
            if owned && let Some(&(other, ..)) = copies.iter().find(|copy| copy.0 != cpu) {
                return Err(Incoherence::OwnerNotAlone { line, owner: cpu, other });
            }
            if state != Mesi::Modified && found != memory {
                return Err(Incoherence::SharedDiffers { cpu, line, found, memory });
            }
            let known = match entry.state {
                DirectoryState::Exclusive => entry.owner == cpu,
                DirectoryState::Shared => !owned && entry.sharers.contains(self.geometry.node_of(cpu)),
                _ => false,
            };
            if !known {
                return Err(Incoherence::UnknownCopy { cpu, line, state, directory: entry.state.mnemonic() });
            }
        }
        Ok(())
    }
}
