//! The end-of-run comparison of caches with each other, with their lists and with memory.

use protocol::Version;
use protocol::sci::{CacheLine, CacheState, MemoryLine, MemoryState};
use units::{CpuId, LineAddr, NodeId};

use super::SciNodes;
use super::list::{Lists, shown};
use crate::incoherence::{Incoherence, Unfinished};
use crate::system::System;

impl System<SciNodes> {
    /// Compares all copies with the lists that they are in: pointers of neighbours name each other, the first element is
    /// the head that memory names, states match positions, and contents are the same.
    pub(super) fn compare_lists(&mut self) -> Result<(), Incoherence> {
        self.network.audit()?;
        for (node, state) in (0..).map(NodeId).zip(&self.controllers.nodes) {
            Unfinished::none(node, state.leaving as usize, "lines that leave their lists")?;
        }
        for (cpu, cache) in (0..).map(CpuId).zip(&self.controllers.caches) {
            let node = self.node_of(cpu);
            Unfinished::none(node, cache.waiting.len(), "requests that wait for them")?;
            let open = cache.elements().filter(|element| element.line.outstanding.is_some()).count();
            Unfinished::none(node, open, "transactions")?;
        }
        let copies = self.copies_by_line();
        let mut lines: Vec<_> = copies.iter().collect();
        lines.sort_unstable_by_key(|(line, _)| line.0);
        for (&line, copies) in lines {
            let memory = *self.controllers.memory.line(line);
            let mut newest = None;
            for &(cpu, copy) in copies {
                let element = self.controllers.caches[cpu.index()].element(line).line;
                if shown(&element) != copy.state || !self.is_in_place(line, cpu, &element, &memory) {
                    let (state, directory) = (copy.state, memory.state.mnemonic());
                    return Err(Incoherence::UnknownCopy { cpu, line, state, directory });
                }
                let newest = *newest.get_or_insert(match memory.state {
                    MemoryState::Gone => copy.version,
                    MemoryState::Home | MemoryState::Fresh => memory.version,
                });
                if copy.version != newest {
                    return Err(Incoherence::SharedDiffers { cpu, line, found: copy.version, memory: newest });
                }
            }
        }
        self.count_lists(copies.values().map(Vec::len).sum())?;
        self.compare_with_stores(&copies, |sci, line| -> Version { sci.memory.line(line).version })
    }

    /// Whether an element's neighbours, memory and state agree with its pointers.
    fn is_in_place(&self, line: LineAddr, cpu: CpuId, element: &CacheLine, memory: &MemoryLine) -> bool {
        let neighbour = |other: Option<CpuId>| other.map(|other| self.neighbour(other, line));
        let first = element.backward.is_none();
        let before = neighbour(element.backward).map_or(memory.head, |before| before.forward);
        let behind = neighbour(element.forward).map_or(Some(cpu), |behind| behind.backward);
        let expected = CacheState::in_list(memory.state, first, element.forward.is_none());
        (before, behind, element.state) == (Some(cpu), Some(cpu), expected)
    }

    fn neighbour(&self, cpu: CpuId, line: LineAddr) -> CacheLine {
        self.controllers.caches[cpu.index()].element(line).line
    }

    /// Every element is a copy of a processor, and every head that memory names is an element.
    fn count_lists(&self, copies: usize) -> Result<(), Incoherence> {
        let SciNodes { nodes, caches, memory, .. } = &self.controllers;
        let all = || caches.iter().flat_map(Lists::elements);
        let elements = all().count();
        let node = NodeId(0);
        Unfinished::none(node, elements.abs_diff(copies), "list elements more or fewer than copies, over all nodes")?;
        let heads = (0..nodes.len() as u16)
            .flat_map(|node| memory.lines(NodeId(node)))
            .filter(|line| line.head.is_some())
            .count();
        let first = all().filter(|element| element.line.backward.is_none()).count();
        Unfinished::none(
            node,
            heads.abs_diff(first),
            "heads of lists more or fewer than memory names, over all nodes",
        )?;
        Ok(())
    }
}
