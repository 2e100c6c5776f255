//! Counters of the misses of each node on each page of each home's memory, reads and writes apart, which select pages to migrate
//! and to replicate (Lai and Falsafi 2000, Section 3.1).

use units::{NodeId, PhysicalAddr};

use crate::map::{address_in, node_of};
use crate::os::{PageOperation, Selection};

/// The counters of one page.
#[derive(Clone, Debug, Default)]
struct Page {
    /// The interval in which they have counted.
    interval: u64,
    /// Misses by node.
    misses: Box<[u32]>,
    /// Writes by all nodes.
    writes: u32,
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
    /// Misses on a home's memory after which its counters are reset.
    pub reset: u64,
    /// The rule by which pages are selected.
    pub selection: Selection,
}

/// The counters of a home's memory.
#[derive(Clone, Debug, Default)]
struct Home {
    /// Misses counted.
    misses: u64,
    pages: Vec<Page>,
}

/// The miss counters of all homes of a machine, made on first use.
#[derive(Clone, Debug)]
pub struct MissCounters {
    spec: MissCountersSpec,
    homes: Vec<Home>,
}

impl MissCounters {
    /// Counters at zero.
    pub fn new(spec: MissCountersSpec) -> Self {
        Self { spec, homes: vec![Home::default(); spec.nodes] }
    }

    /// Counts a miss of node `from` on the byte at `offset` of the memory of `home`, a write or not. Returns the start of the page
    /// if an operation is selected for it, after which its counters start anew.
    #[inline]
    pub fn count(&mut self, home: NodeId, offset: u64, from: NodeId, write: bool) -> Option<PhysicalAddr> {
        let index = (offset >> self.spec.page_shift) as usize;
        let (spec, Home { misses, pages }) = (self.spec, &mut self.homes[home.index()]);
        if index >= pages.len() {
            pages.resize_with(index + 1, Page::default);
        }
        let page = &mut pages[index];
        let interval = *misses / spec.reset;
        *misses += 1;
        if page.misses.is_empty() {
            page.misses = vec![0; spec.nodes].into();
        }
        if page.interval != interval {
            page.start(interval);
        }
        page.misses[from.index()] += 1;
        page.writes += u32::from(write);
        if from == home {
            return None;
        }
        let counts = (page.misses[from.index()], page.misses[home.index()], page.writes);
        let operation = spec.selection.select(from, counts)?;
        page.start(interval);
        page.selected = Some(operation);
        Some(address_in(home, (index as u64) << spec.page_shift))
    }

    /// Takes the operation that has been selected for the page at `at`.
    pub fn take_selected(&mut self, at: PhysicalAddr) -> Option<PageOperation> {
        let home = node_of(at);
        let index = (at.0 - address_in(home, 0).0) >> self.spec.page_shift;
        self.homes[home.index()].pages.get_mut(index as usize)?.selected.take()
    }
}

impl Page {
    /// The counters start anew.
    fn start(&mut self, interval: u64) {
        self.interval = interval;
        self.misses.fill(0);
        self.writes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(reset: u64) -> MissCounters {
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
    fn counts_of_an_earlier_interval_do_not_matter() {
        let mut counters = counters(4);
        let (home, remote) = (NodeId(0), NodeId(3));
        assert_eq!(counters.count(home, 0, remote, true), None);
        for _ in 0..4 {
            assert_eq!(counters.count(home, 1 << 12, home, false), None);
        }
        // Four reads in an interval of which the write is no part.
        let raised = [false; 3].map(|write| counters.count(home, 0, remote, write));
        assert_eq!(raised, [None, None, None]);
        assert_eq!(counters.take_selected(address_in(home, 0)), None);
    }
}
