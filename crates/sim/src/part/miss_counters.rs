//! Counters of the misses of each node on each page of each home's memory, reads and writes apart, which select pages to migrate
//! and to replicate (Lai and Falsafi 2000, Section 3.1).
//!
//! The document leaves two things open, which were chosen by which programs of its Table 4 migrate and which replicate: counters start
//! anew after so many misses on their own page, and the home's own writes do not count as write misses.

use units::{NodeId, PhysicalAddr};

use crate::map::{address_in, node_of};
use crate::os::{PageOperation, Selection};

/// The counters of one page.
#[derive(Clone, Debug, Default)]
struct Page {
    /// Misses by node.
    misses: Box<[u32]>,
    /// Writes by nodes other than the home.
    writes: u32,
    /// Misses of all nodes.
    total: u32,
    /// The operation selected, until the operating system takes it.
    selected: Option<PageOperation>,
}

/// The size of a set of counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissCountersSpec {
    /// Nodes of the machine.
    pub nodes: usize,
    /// Binary logarithm of the bytes of a page.
    pub page_shift: u32,
    /// Misses on a page after which its counters are reset.
    pub reset: u32,
    /// The rule by which pages are selected.
    pub selection: Selection,
}

/// The miss counters of all homes of a machine, made on first use.
#[derive(Clone, Debug)]
pub struct MissCounters {
    spec: MissCountersSpec,
    /// By home and page of its memory.
    homes: Vec<Vec<Page>>,
}

impl MissCounters {
    /// Counters at zero.
    pub fn new(spec: MissCountersSpec) -> Self {
        Self { spec, homes: vec![Vec::new(); spec.nodes] }
    }

    /// Counts a miss of node `from` on the byte at `offset` of the memory of `home`, a write or not. Returns the start of the page
    /// if an operation is selected for it, after which its counters start anew.
    #[inline]
    pub fn count(&mut self, home: NodeId, offset: u64, from: NodeId, write: bool) -> Option<PhysicalAddr> {
        let index = (offset >> self.spec.page_shift) as usize;
        let (spec, pages) = (self.spec, &mut self.homes[home.index()]);
        if index >= pages.len() {
            pages.resize_with(index + 1, Page::default);
        }
        let page = &mut pages[index];
        if page.misses.is_empty() {
            page.misses = vec![0; spec.nodes].into();
        }
        if page.total >= spec.reset {
            page.start();
        }
        page.total += 1;
        page.misses[from.index()] += 1;
        page.writes += u32::from(write && from != home);
        if from == home {
            return None;
        }
        let counts = (page.misses[from.index()], page.misses[home.index()], page.writes);
        let operation = spec.selection.select(from, counts)?;
        page.start();
        page.selected = Some(operation);
        Some(address_in(home, (index as u64) << spec.page_shift))
    }

    /// Takes the operation that has been selected for the page at `at`.
    pub fn take_selected(&mut self, at: PhysicalAddr) -> Option<PageOperation> {
        let home = node_of(at);
        let index = (at.0 - address_in(home, 0).0) >> self.spec.page_shift;
        self.homes[home.index()].get_mut(index as usize)?.selected.take()
    }
}

impl Page {
    /// The counters start anew.
    fn start(&mut self) {
        self.misses.fill(0);
        (self.writes, self.total) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(reset: u32) -> MissCounters {
        let selection = Selection { migration: true, replication: true, threshold: 3 };
        MissCounters::new(MissCountersSpec { nodes: 4, page_shift: 12, reset, selection })
    }

    #[test]
    fn the_page_of_a_writer_migrates_and_that_of_a_reader_is_replicated() {
        let mut counters = counters(1000);
        let (home, remote) = (NodeId(1), NodeId(2));
        let mut count = |from, write| counters.count(home, 5 << 12 | 40, from, write);
        let raised = [(home, false), (remote, true), (remote, false), (remote, false), (remote, false)]
            .map(|(from, write)| count(from, write));
        let start = address_in(home, 5 << 12);
        assert_eq!(raised, [None, None, None, None, Some(start)], "three more than the home");
        let raised = [false; 4].map(|write| count(remote, write));
        assert_eq!(raised, [None, None, None, Some(start)], "the counters started anew");
        assert_eq!(counters.take_selected(start.offset(8)), Some(PageOperation::Replicate));
        assert_eq!(counters.take_selected(start), None, "once");
    }

    #[test]
    fn counters_start_anew_after_so_many_misses_on_their_page() {
        let mut counters = counters(4);
        let (home, remote) = (NodeId(0), NodeId(3));
        assert_eq!(counters.count(home, 0, remote, true), None);
        // Other pages have counters of their own, and the home's own writes keep no page from being copied.
        (0..9).for_each(|_| assert_eq!(counters.count(home, 1 << 12, home, true), None));
        (0..3).for_each(|_| assert_eq!(counters.count(home, 0, home, true), None));
        let raised = [false; 4].map(|write| counters.count(home, 0, remote, write));
        assert_eq!(raised, [None, None, None, Some(address_in(home, 0))], "the write of before is forgotten");
        assert_eq!(counters.take_selected(address_in(home, 0)), Some(PageOperation::Replicate));
    }
}
