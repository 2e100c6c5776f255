//! The end-of-run comparison of caches with memory and the Origin's directory.

use protocol::Rights;
use protocol::origin::DirectoryState;
use units::{CpuId, LineAddr};

use super::Hubs;
use crate::incoherence::{Incoherence, Unfinished};
use crate::part::CachedCopy;
use crate::system::System;

impl System<Hubs> {
    pub(super) fn compare_with_directory(&mut self) -> Result<(), Incoherence> {
        for (cpu, outstanding) in (0..).map(CpuId).zip(&self.controllers.outstanding) {
            Unfinished::none(self.node_of(cpu), outstanding.len(), "lines with something outstanding")?;
        }
        let copies = self.copies_by_line();
        copies.iter().try_for_each(|(&line, copies)| self.check_line(line, copies))?;
        self.compare_with_stores(&copies, |hubs, line| hubs.directory.line(line).1)
    }

    fn check_line(&mut self, line: LineAddr, copies: &[(CpuId, CachedCopy)]) -> Result<(), Incoherence> {
        let (entry, memory) = *self.controllers.directory.line(line);
        Incoherence::among(line, copies, memory)?;
        for &(cpu, CachedCopy { state, .. }) in copies {
            let known = match entry.state {
                DirectoryState::Exclusive => entry.owner == cpu,
                DirectoryState::Shared => state.rights() == Rights::Read && entry.sharers.contains(self.node_of(cpu)),
                _ => false,
            };
            if !known {
                return Err(Incoherence::UnknownCopy { cpu, line, state, directory: entry.state.mnemonic() });
            }
        }
        Ok(())
    }
}
