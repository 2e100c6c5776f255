//! The sharing-list state of the lines of caches, and of those that leave them.

use protocol::CopyState;
use protocol::sci::{CacheLine, CacheState, Command};
use rustc_hash::FxHashMap;
use units::{CpuId, Duration, LineAddr, Time};

use crate::part::Banks;
use crate::statistics::{Histogram, NodeStatistics, Tally};

use super::event::Opening;
use super::timing::SciTiming;

/// The name of stores around the caches among a node's requests.
const STORE_AROUND: &str = "STORE_AROUND";

/// A line at a cache as an element of its sharing list.
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

/// A coherent cache: an agent of its node, which may have several.
#[derive(Default)]
pub(super) struct Lists {
    /// The lines of the cache, and those that leave it.
    elements: FxHashMap<LineAddr, Element>,
    /// Lines that leave their lists.
    pub(super) leaving: u32,
    /// Misses that wait until lines have left their lists, oldest first.
    pub(super) waiting: Vec<Opening>,
}

/// A node without its caches.
pub(super) struct Node {
    /// The memories, among which lines lie in turn.
    pub(super) memories: Vec<Banks>,
    /// Lines that leave the lists of its caches.
    pub(super) leaving: u32,
    /// Requests sent, by command.
    sent: [u64; Command::ALL.len()],
    /// Stores that memory has performed for the node's own processors, around their caches.
    around: u64,
    /// Completed stores by the number of elements that they purged: the length of the sharing list (Hexsel and Topham,
    /// Section 4), in transactions.
    purges: Histogram,
}

impl Lists {
    /// All lines of the cache, and those that leave it.
    pub(super) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.elements.values()
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
}

impl Node {
    /// An idle node with so many memories.
    pub(super) fn new(timing: &SciTiming, memories: u32) -> Self {
        Self {
            memories: vec![Banks::new(timing.banks); memories as usize],
            leaving: 0,
            sent: [0; Command::ALL.len()],
            around: 0,
            purges: Histogram::default(),
        }
    }

    /// Occupancy of all memories before `time`.
    pub(super) fn memory_busy(&self, time: Time) -> Duration {
        Banks::all_busy_before(&self.memories, time)
    }

    #[inline]
    pub(super) fn count_request(&mut self, command: Command) {
        self.sent[command as usize] += 1;
    }

    #[inline]
    pub(super) fn count_around(&mut self) {
        self.around += 1;
    }

    #[inline]
    pub(super) fn count_purge(&mut self, length: u16) {
        self.purges.count(length);
    }

    pub(super) fn statistics(&self) -> NodeStatistics {
        let tally = |name, count| Tally { name, count, busy: Default::default() };
        let commands = Command::ALL.iter().map(|&command| tally(command.mnemonic(), self.sent[command as usize]));
        let sent = commands.chain([tally(STORE_AROUND, self.around)]);
        let memory = self.memory_busy(Time::MAX);
        NodeStatistics {
            busy: memory,
            memory_busy: memory,
            sent: sent.filter(|tally| tally.count > 0).collect(),
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
