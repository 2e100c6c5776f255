//! Statistics of a node's controller, in terms that are the same for every kind of machine.

use units::Duration;

/// The tally of one kind of handler or message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally {
    /// The name of the kind.
    pub name: &'static str,
    /// The number of occurrences.
    pub count: u64,
    /// Occupancy of the controller; zero for messages.
    pub busy: Duration,
}

/// The number of occurrences of each small number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// Counts an occurrence of `number`.
    #[inline]
    pub fn count(&mut self, number: u16) {
        let index = usize::from(number);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    fn since(&self, earlier: &Self) -> Self {
        let before = |number: usize| earlier.counts.get(number).copied().unwrap_or_default();
        let counts = self.counts.iter().enumerate().map(|(number, count)| count - before(number));
        Self { counts: counts.collect() }
    }

    fn plus(&self, other: &Self) -> Self {
        let of = |counts: &[u64], number: usize| counts.get(number).copied().unwrap_or_default();
        let numbers = 0..self.counts.len().max(other.counts.len());
        Self { counts: numbers.map(|number| of(&self.counts, number) + of(&other.counts, number)).collect() }
    }

    /// The occurrences of 0, 1, 2 and so on, up to the largest number counted.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

/// Misses of a node on lines of others, and operations on pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageStatistics {
    /// Misses that were requested from homes.
    pub misses: u64,
    /// Misses among them on lines that the node had replaced: capacity and conflict misses.
    pub refetches: u64,
    /// Pages that entered the page cache.
    pub relocations: u64,
    /// Pages that were flushed from it to make room.
    pub evictions: u64,
    /// Pages that migrated to the node's memory.
    pub migrations: u64,
    /// Copies of pages that were made in the node's memory.
    pub replications: u64,
    /// Pages of the node's memory that were gathered from all caches, to be moved, copied or given up.
    pub gathered: u64,
    /// Pages of the node's memory that were copied to other nodes.
    pub copied: u64,
    /// Time of the traps that relocated pages.
    pub relocating: Duration,
    /// Time in which pages were gathered, after the trap.
    pub gathering: Duration,
    /// Time in which pages were copied, after the trap.
    pub copying: Duration,
}

impl PageStatistics {
    fn since(self, earlier: Self) -> Self {
        self.with(earlier, |now, then| now - then, |now, then| now - then)
    }

    fn plus(self, other: Self) -> Self {
        self.with(other, |one, other| one + other, |one, other| one + other)
    }

    fn with(self, other: Self, count: fn(u64, u64) -> u64, time: fn(Duration, Duration) -> Duration) -> Self {
        Self {
            misses: count(self.misses, other.misses),
            refetches: count(self.refetches, other.refetches),
            relocations: count(self.relocations, other.relocations),
            evictions: count(self.evictions, other.evictions),
            migrations: count(self.migrations, other.migrations),
            replications: count(self.replications, other.replications),
            gathered: count(self.gathered, other.gathered),
            copied: count(self.copied, other.copied),
            relocating: time(self.relocating, other.relocating),
            gathering: time(self.gathering, other.gathering),
            copying: time(self.copying, other.copying),
        }
    }
}

/// Statistics of a node's controller since the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeStatistics {
    /// Occupancy of the controller: a Hub's memory and directory, MAGIC's protocol processor.
    pub busy: Duration,
    /// Time that messages waited for the controller.
    pub queued: Duration,
    /// Occupancy of the bus to the processors.
    pub bus_busy: Duration,
    /// Occupancy of memory.
    pub memory_busy: Duration,
    /// Handler runs by handler; those that did not occur are left out.
    pub handlers: Vec<Tally>,
    /// Messages that it sent, by kind.
    pub sent: Vec<Tally>,
    /// Writes by the number of invalidations that each caused.
    pub invalidations: Histogram,
    /// Lines whose sharers the home invalidated to make room in its pointer store.
    pub reclamations: u64,
    /// Misses of the controller's instruction cache; `None` if it has none.
    pub instruction_cache: Option<CacheStatistics>,
    /// Misses of the controller's data cache.
    pub data_cache: Option<CacheStatistics>,
    /// Misses of the remote access cache.
    pub remote_access_cache: Option<CacheStatistics>,
    /// Misses on lines of other nodes, and operations on pages; `None` unless the node has a cluster's device.
    pub pages: Option<PageStatistics>,
    /// Its link interface on an SCI ring; `None` on other networks.
    pub link: Option<LinkStatistics>,
    /// The switch behind this node, if there is one: its interfaces on the ring of the node, and on the ring of switches.
    pub switch: Option<[LinkStatistics; 2]>,
}

impl NodeStatistics {
    /// The statistics since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let cache = |now: Option<CacheStatistics>, then: Option<CacheStatistics>| Some(now?.since(then?));
        Self {
            busy: self.busy - earlier.busy,
            queued: self.queued - earlier.queued,
            bus_busy: self.bus_busy - earlier.bus_busy,
            memory_busy: self.memory_busy - earlier.memory_busy,
            handlers: tallies_since(&self.handlers, &earlier.handlers),
            sent: tallies_since(&self.sent, &earlier.sent),
            invalidations: self.invalidations.since(&earlier.invalidations),
            reclamations: self.reclamations - earlier.reclamations,
            instruction_cache: cache(self.instruction_cache, earlier.instruction_cache),
            data_cache: cache(self.data_cache, earlier.data_cache),
            remote_access_cache: cache(self.remote_access_cache, earlier.remote_access_cache),
            pages: self.pages.zip(earlier.pages).map(|(now, then)| now.since(then)),
            link: self.link.zip(earlier.link).map(|(now, then)| now.since(then)),
            switch: self.switch.zip(earlier.switch).map(|(now, then)| [now[0].since(then[0]), now[1].since(then[1])]),
        }
    }

    /// The sum with `other`.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let cache = |one: Option<CacheStatistics>, other: Option<CacheStatistics>| Some(one?.plus(other?));
        Self {
            busy: self.busy + other.busy,
            queued: self.queued + other.queued,
            bus_busy: self.bus_busy + other.bus_busy,
            memory_busy: self.memory_busy + other.memory_busy,
            handlers: tallies_together(&self.handlers, &other.handlers),
            sent: tallies_together(&self.sent, &other.sent),
            invalidations: self.invalidations.plus(&other.invalidations),
            reclamations: self.reclamations + other.reclamations,
            instruction_cache: cache(self.instruction_cache, other.instruction_cache),
            data_cache: cache(self.data_cache, other.data_cache),
            remote_access_cache: cache(self.remote_access_cache, other.remote_access_cache),
            pages: self.pages.zip(other.pages).map(|(one, other)| one.plus(other)),
            link: self.link.zip(other.link).map(|(one, other)| one.plus(other)),
            switch: self.switch.zip(other.switch).map(|(one, other)| [one[0].plus(other[0]), one[1].plus(other[1])]),
        }
    }
}

/// The tallies since `earlier`; kinds without occurrences are left out.
fn tallies_since(now: &[Tally], earlier: &[Tally]) -> Vec<Tally> {
    let before = |name| earlier.iter().find(|tally| tally.name == name);
    let since = |tally: &Tally| match before(tally.name) {
        None => *tally,
        Some(then) => Tally { name: tally.name, count: tally.count - then.count, busy: tally.busy - then.busy },
    };
    now.iter().map(since).filter(|tally| tally.count > 0).collect()
}

/// The sums of tallies by name.
fn tallies_together(one: &[Tally], other: &[Tally]) -> Vec<Tally> {
    let mut sums = one.to_vec();
    for tally in other {
        match sums.iter_mut().find(|sum| sum.name == tally.name) {
            Some(sum) => (sum.count, sum.busy) = (sum.count + tally.count, sum.busy + tally.busy),
            None => sums.push(*tally),
        }
    }
    sums
}

/// Accesses to a cache of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheStatistics {
    /// Lines looked up.
    pub accesses: u64,
    /// Lines that missed.
    pub misses: u64,
    /// Time that the controller waited for them.
    pub stalled: Duration,
}

impl CacheStatistics {
    fn since(self, earlier: Self) -> Self {
        Self {
            accesses: self.accesses - earlier.accesses,
            misses: self.misses - earlier.misses,
            stalled: self.stalled - earlier.stalled,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            accesses: self.accesses + other.accesses,
            misses: self.misses + other.misses,
            stalled: self.stalled + other.stalled,
        }
    }
}

/// Declares counts that add up over intervals.
macro_rules! counts {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl $name {
            fn since(self, earlier: Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }

            fn plus(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field,)* }
            }
        }
    };
}

counts! {
    /// A link interface on an SCI ring, with the terms of Hexsel and Topham, Section 4.
    LinkStatistics {
        /// Bytes that passed on its outgoing link: its own packets, those that passed by, and echoes.
        traffic: u64,
        /// Bytes that its node inserted: the packets transmitted, retransmissions included, and echoes. Raw throughput.
        inserted: u64,
        /// Bytes of lines among them: data-only throughput.
        payload: u64,
        /// Packets that its node transmitted.
        transmitted: u64,
        /// Retransmissions among them.
        retransmitted: u64,
        /// Packets with lines among them.
        data_packets: u64,
        /// Packets whose positive echoes have come back.
        acknowledged: u64,
        /// The sum of their round-trip delays, from their entry into the output buffer.
        round_trips: Duration,
        /// Time that packets waited for their transmissions, summed over them: for an active buffer.
        for_active_buffer: Duration,
        /// While the node transmitted another packet.
        for_own_packet: Duration,
        /// While it was in recovery.
        for_recovery: Duration,
        /// While a packet passed by.
        for_passing_packet: Duration,
        /// For an idle with the go bit.
        for_go_bit: Duration,
        /// The sum of the round-trip delays that the packets acknowledged would have on an unloaded ring.
        unloaded: Duration,
        /// The sum of the delays of packets and echoes of all nodes in its bypass FIFO.
        bypass_delay: Duration,
        /// Time in which the bypass FIFO was in use.
        bypass_busy: Duration,
    }
}
