//! The end-of-run comparison of caches with each other and with memory.

use protocol::{Rights, Version};
use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr, NodeId};

use super::OnBus;
use crate::incoherence::{Incoherence, Unfinished};
use crate::part::CachedCopy;
use crate::system::System;

/// The copies of lines in all caches.
pub type Copies = FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>>;

impl<C: OnBus> System<C> {
    /// Compares the copies of all lines with each other, and with `memory`'s where no cache owns the line.
    ///
    /// # Errors
    /// The first disagreement, or a transaction under way.
    pub fn compare_on_bus(&mut self, memory: impl Fn(&mut C, LineAddr) -> Version) -> Result<Copies, Incoherence> {
        let buses = self.controllers.buses();
        for (node, bus) in (0..).map(NodeId).zip(&buses.nodes) {
            Unfinished::none(node, bus.wires.under_way(), "bus transactions under way")?;
            let open = bus.processors.iter().map(|cpu| buses.outstanding[cpu.index()].len()).sum();
            Unfinished::none(node, open, "lines with something outstanding")?;
        }
        let copies = self.copies_by_line();
        for (&line, copies) in &copies {
            let owner = copies.iter().find(|(_, copy)| copy.state.is_dirty());
            let newest = owner.map_or_else(|| memory(&mut self.controllers, line), |(_, copy)| copy.version);
            check_line(line, copies, newest)?;
        }
        self.compare_with_stores(&copies, memory)?;
        Ok(copies)
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
