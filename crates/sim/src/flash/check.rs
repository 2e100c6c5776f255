//! The end-of-run comparison of caches with memory and FLASH's directories.

use protocol::Rights;
use protocol::msi::DirectoryState;
use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr, NodeId};

use super::directory::Directory;
use super::{Magics, cpu_of, node_of};
use crate::incoherence::{Incoherence, Unfinished};
use crate::part::CachedCopy;
use crate::system::System;

impl System<Magics> {
    pub(super) fn compare_with_directory(&mut self) -> Result<(), Incoherence> {
        for (node, magic) in (0..).map(NodeId).zip(&self.controllers.nodes) {
            Unfinished::none(node, magic.outstanding.len(), "lines with something outstanding")?;
        }
        let mut copies = self.copies_by_line();
        self.add_kept(&mut copies);
        against(&mut *self.controllers.directory, &copies)?;
        self.compare_with_stores(&copies, |magics, line| magics.directory.line(line).1)
    }

    /// Adds the lines of remote access caches, which count as copies of the node's processor.
    fn add_kept(&self, copies: &mut FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>>) {
        for (cpu, magic) in (0..).map(CpuId).zip(&self.controllers.nodes) {
            for kept in magic.remote_access_cache.iter().flat_map(|cache| cache.lines()) {
                let copy = CachedCopy { state: kept.state.into(), version: kept.version };
                copies.entry(kept.line).or_default().push((cpu, copy));
            }
        }
    }
}

/// Compares the copies of each line with the directory and with memory.
///
/// # Errors
/// The first disagreement found.
pub fn against(
    directory: &mut dyn Directory,
    copies: &FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>>,
) -> Result<(), Incoherence> {
    directory.check()?;
    copies.iter().try_for_each(|(&line, copies)| check_line(directory, line, copies))
}

fn check_line(
    directory: &mut dyn Directory,
    line: LineAddr,
    copies: &[(CpuId, CachedCopy)],
) -> Result<(), Incoherence> {
    let (entry, memory) = directory.line(line);
    Incoherence::among(line, copies, memory)?;
    for &(cpu, CachedCopy { state, .. }) in copies {
        let known = match entry {
            DirectoryState::Dirty { owner } => cpu_of(owner) == cpu,
            DirectoryState::Clean => state.rights() == Rights::Read && directory.names(line, node_of(cpu)),
            _ => false,
        };
        if !known {
            return Err(Incoherence::UnknownCopy { cpu, line, state, directory: entry.mnemonic() });
        }
    }
    Ok(())
}
