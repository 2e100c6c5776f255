//! The end-of-run comparison of caches with each other and with memory.

use protocol::contract::Bus;
use protocol::{Rights, Version};
use units::{CpuId, LineAddr, NodeId};

use super::Smp;
use crate::incoherence::{Incoherence, Unfinished};
use crate::part::CachedCopy;
use crate::system::System;

impl<B: Bus> System<Smp<B>> {
    pub(super) fn compare_with_memory(&mut self) -> Result<(), Incoherence> {
        Unfinished::none(NodeId(0), self.controllers.bus.under_way(), "bus transactions under way")?;
        for requests in &self.controllers.outstanding {
            Unfinished::none(NodeId(0), requests.len(), "lines with something outstanding")?;
        }
        let copies = self.copies_by_line();
        for (&line, copies) in &copies {
            let owner = copies.iter().find(|(_, copy)| copy.state.is_dirty());
            let newest = owner.map_or_else(|| *self.controllers.contents.line(line), |(_, copy)| copy.version);
            check_line(line, copies, newest)?;
        }
        self.compare_with_stores(&copies, |smp, line| *smp.contents.line(line))
    }
}

/// Compares the copies of a line with its `newest` contents: those of its owner, or else memory's. A writer has the only
/// copy, and a line has at most one owner.
fn check_line(line: LineAddr, copies: &[(CpuId, CachedCopy)], newest: Version) -> Result<(), Incoherence> {
    for &(cpu, copy) in copies {
        let excludes =
            |other: CachedCopy| copy.state.rights() == Rights::Write || copy.state.is_dirty() && other.state.is_dirty();
        if let Some(&(other, _)) = copies.iter().find(|(other, held)| *other != cpu && excludes(*held)) {
            return Err(Incoherence::OwnerNotAlone { line, owner: cpu, other });
        }
        if copy.version != newest {
            return Err(Incoherence::SharedDiffers { cpu, line, found: copy.version, memory: newest });
        }
    }
    Ok(())
}
