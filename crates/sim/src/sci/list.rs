//! The sharing-list state of the lines of a node's cache, and of those that leave it.

use protocol::CopyState;
use protocol::sci::{CacheLine, CacheState, Command};
use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr, NodeId, Time};

use crate::part::Banks;
use crate::statistics::{Histogram, NodeStatistics, Tally};

use super::event::Opening;
use super::timing::SciTiming;

/// A line at a node's cache as an element of its sharing list.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Element {
    /// The protocol's state. Its contents are out of date while the processor has the line.
    pub(super) line: CacheLine,
    /// Whether the processor has given up the line, which leaves its list.
    pub(super) leaves: bool,
    /// Elements purged by the present transaction.
    pub(super) purged: u16,
    /// The cache that has supplied the line to the present transaction.
    pub(super) supplier: Option<CpuId>,
}

/// A node: the lists that its cache takes part in, and its memory.
pub(super) struct Node {
    /// The lines of its cache, and those that leave it.
    pub(super) elements: FxHashMap<LineAddr, Element>,
    /// Lines that leave their lists.
    pub(super) leaving: u32,
    /// Misses that wait until lines have left their lists, oldest first.
    pub(super) waiting: Vec<Opening>,
    /// The memory.
    pub(super) banks: Banks,
    /// Requests sent, by command.
    sent: [u64; Command::ALL.len()],
    /// Completed stores by the number of elements that they purged: the length of the sharing list (Hexsel and Topham,
    /// Section 4), in transactions.
    purges: Histogram,
}

impl Node {
    pub(super) fn new(timing: &SciTiming) -> Self {
        Self {
            elements: FxHashMap::default(),
            leaving: 0,
            waiting: Vec::new(),
            banks: Banks::new(timing.banks),
            sent: [0; Command::ALL.len()],
            purges: Histogram::default(),
        }
    }

    /// The state of a line; that of no element if it is none.
    #[inline]
    pub(super) fn element(&self, line: LineAddr) -> Element {
        self.elements.get(&line).copied().unwrap_or_default()
    }

    /// Sets the state of a line. A line that is in no list and in no transaction is not kept.
    #[inline]
    pub(super) fn set(&mut self, line: LineAddr, element: Element) {
        if element.line == CacheLine::default() {
            self.elements.remove(&line);
        } else {
            self.elements.insert(line, element);
        }
    }

    #[inline]
    pub(super) fn count_request(&mut self, command: Command) {
        self.sent[command as usize] += 1;
    }

    #[inline]
    pub(super) fn count_purge(&mut self, length: u16) {
        self.purges.count(length);
    }

    pub(super) fn statistics(&self) -> NodeStatistics {
        let tally = |&command: &Command| Tally {
            name: command.mnemonic(),
            count: self.sent[command as usize],
            busy: Default::default(),
        };
        let memory = self.banks.busy_before(Time::MAX);
        NodeStatistics {
            busy: memory,
            memory_busy: memory,
            sent: Command::ALL.iter().map(tally).filter(|tally| tally.count > 0).collect(),
            invalidations: self.purges.clone(),
            ..NodeStatistics::default()
        }
    }
}

/// The copy as its processor uses it. A head that waits for the right to write may still be read.
#[inline]
pub(super) const fn shown(line: &CacheLine) -> CopyState {
    match line.state {
        CacheState::OnlyDirty => CopyState::MODIFIED,
        CacheState::HeadDirty | CacheState::HeadDirtyPurging => CopyState::OWNED,
        CacheState::OnlyFresh
        | CacheState::HeadFresh
        | CacheState::MidValid
        | CacheState::TailValid
        | CacheState::OnlyFreshToDirty
        | CacheState::HeadFreshToDirty => CopyState::SHARED,
        _ => CopyState::INVALID,
    }
}

/// The processor of a node that has one.
#[inline]
pub(super) const fn cpu_of(node: NodeId) -> CpuId {
    CpuId(node.0)
}
