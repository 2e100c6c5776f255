//! Caches against memory and FLASH's directories.

use protocol::Mesi;
use protocol::msi::DirectoryState;
use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr, NodeId};

use super::{Magics, cpu_of};
use crate::processor::CachedCopy;
use crate::system::{Incoherence, System, Unfinished};

impl System<Magics> {
    pub(super) fn compare_with_directory(&mut self) -> Result<(), Incoherence> {
        for (node, magic) in (0..).map(NodeId).zip(&self.controllers.nodes) {
            Unfinished::none(node, magic.outstanding.len(), "lines with something outstanding")?;
            Unfinished::none(node, magic.threats as usize, "interventions or invalidations to wait for")?;
        }
        self.controllers.directory.check()?;
        let mut copies = self.copies_by_line();
        self.add_kept(&mut copies);
        copies.iter().try_for_each(|(&line, copies)| self.check_line(line, copies))?;
        self.compare_with_stores(&copies, |magics, line| magics.directory.line(line).1)
    }

    /// A line in a node's remote access cache is a copy like one in its processor's.
    fn add_kept(&self, copies: &mut FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>>) {
        for (cpu, magic) in (0..).map(CpuId).zip(&self.controllers.nodes) {
            for kept in magic.remote_access_cache.iter().flat_map(|cache| cache.lines()) {
                let copy = CachedCopy { state: super::node::mesi(kept.state), version: kept.version };
                copies.entry(kept.line).or_default().push((cpu, copy));
            }
        }
    }

    fn check_line(&mut self, line: LineAddr, copies: &[(CpuId, CachedCopy)]) -> Result<(), Incoherence> {
        let (directory, memory) = self.controllers.directory.line(line);
        Incoherence::among(line, copies, memory)?;
        for &(cpu, CachedCopy { state, .. }) in copies {
            let known = match directory {
                DirectoryState::Dirty { owner } => cpu_of(owner) == cpu,
                DirectoryState::Clean => {
                    state == Mesi::Shared && self.controllers.directory.names(line, self.node_of(cpu))
                }
                _ => false,
            };
            if !known {
                return Err(Incoherence::UnknownCopy { cpu, line, state, directory: directory.mnemonic() });
            }
        }
        Ok(())
    }
}
