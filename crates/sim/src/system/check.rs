//! Coherence when no message is under way: copies against each other, against memory, and against the stores performed.

use protocol::Version;
use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr};

use super::{Controller, System};
use crate::incoherence::Incoherence;
use crate::observe::Checker;
use crate::part::CachedCopy;

impl<C: Controller> System<C> {
    /// The copies of each line, with their processors.
    pub fn copies_by_line(&self) -> FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>> {
        let mut holders: FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>> = FxHashMap::default();
        for (cpu, line, copy) in self.copies() {
            holders.entry(line).or_default().push((cpu, copy));
        }
        holders
    }

    /// Compares the contents of each line, in the owner's copy or in memory, with the stores that the checker
    /// has counted, if there is one.
    ///
    /// # Errors
    /// The first disagreement found, by address.
    pub fn compare_with_stores(
        &mut self,
        copies: &FxHashMap<LineAddr, Vec<(CpuId, CachedCopy)>>,
        memory: impl Fn(&mut C, LineAddr) -> Version,
    ) -> Result<(), Incoherence> {
        let compare = |checker: &mut Checker| {
            checker.stored_lines().into_iter().try_for_each(|line| {
                let holders = copies.get(&line).map_or(&[][..], Vec::as_slice);
                let owned = holders.iter().find(|(_, copy)| copy.state.is_dirty());
                let contents = owned.map_or_else(|| memory(&mut self.controllers, line), |(_, copy)| copy.version);
                checker.compare(line, contents)
            })
        };
        self.observation.probe.collect(compare).unwrap_or(Ok(()))
    }
}
