//! Observers of coherence: the last store to each line against what loads return, and copies against each other.

use protocol::{Mesi, Version};
use rustc_hash::FxHashMap;
use thiserror::Error;
use units::{CpuId, LineAddr, Time};

use super::{Controller, System};
use crate::processor::CachedCopy;

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
pub(super) struct LastStores {
    versions: FxHashMap<(LineAddr, Option<CpuId>), Version>,
    /// Whether a load may return contents older than others have seen, if only no older than its own processor has.
    relaxed: bool,
}

impl LastStores {
    /// Nothing seen yet. In a `relaxed` order of memory a processor may lag behind others, but not fall back.
    pub(super) fn new(relaxed: bool) -> Self {
        Self { versions: FxHashMap::default(), relaxed }
    }

    /// A processor's access to `line` is complete and left it with `copy`.
    ///
    /// # Errors
    /// The contents are older than what has been seen before.
    pub(super) fn accessed(
        &mut self,
        cpu: CpuId,
        line: LineAddr,
        copy: CachedCopy,
        at: Time,
    ) -> Result<(), Incoherence> {
        let last = self.versions.entry((line, self.relaxed.then_some(cpu))).or_default();
        let found = copy.version;
        if copy.state != Mesi::Invalid && found < *last {
            return Err(Incoherence::StaleLoad { cpu, line, found, last: *last, at });
        }
        // Stores that hit are not seen when they are made; the first miss after them brings them to light.
        *last = found;
        Ok(())
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
            if copy.state != Mesi::Shared
                && let Some(&(other, _)) = other
            {
                return Err(Self::OwnerNotAlone { line, owner: cpu, other });
            }
            if copy.state != Mesi::Modified && copy.version != memory {
                return Err(Self::SharedDiffers { cpu, line, found: copy.version, memory });
            }
        }
        Ok(())
    }
}
