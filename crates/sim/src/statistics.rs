//! What the controller of a node did, in terms that are the same for every kind of machine.

use units::Duration;

/// One kind of work, or of message, and how much of it there was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally {
    /// What it is called.
    pub name: &'static str,
    /// How often.
    pub count: u64,
    /// For how long it held the controller; zero for messages.
    pub busy: Duration,
}

/// How often each of small numbers occurred.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// `number` has occurred once more.
    #[inline]
    pub fn count(&mut self, number: u16) {
        let index = usize::from(number);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// How often 0, 1, 2 and so on occurred, up to the largest that did.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

/// What the controller of a node did since the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeStatistics {
    /// Time for which the controller was held: a Hub's memory and directory, MAGIC's protocol processor.
    pub busy: Duration,
    /// Time that messages waited for it.
    pub queued: Duration,
    /// Time for which the bus to the processors was held.
    pub bus_busy: Duration,
    /// Time for which memory was held, where that is not the controller itself.
    pub memory_busy: Duration,
    /// What it ran, by handler; kinds that did not occur are left out.
    pub handlers: Vec<Tally>,
    /// Messages that it sent, by kind.
    pub sent: Vec<Tally>,
    /// Writes by the number of invalidations that each caused.
    pub invalidations: Histogram,
    /// Lines whose sharers the home gave up to make room in the store that keeps them.
    pub reclamations: u64,
    /// Misses of the controller's instruction cache; `None` if it has none.
    pub instruction_cache: Option<CacheStatistics>,
    /// Misses of the controller's data cache.
    pub data_cache: Option<CacheStatistics>,
    /// Misses of the remote access cache.
    pub remote_access_cache: Option<CacheStatistics>,
}

/// Accesses to a cache of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheStatistics {
    /// Lines looked up.
    pub accesses: u64,
    /// Lines that were not there.
    pub misses: u64,
    /// Time for which the controller waited for them.
    pub stalled: Duration,
}
