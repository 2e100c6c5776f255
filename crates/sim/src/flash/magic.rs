//! MAGIC, the controller of a node: the timing of its protocol processor and caches, and of the bus and the memory
//! beside it.

use std::collections::VecDeque;

use engine::Server;
use machine::description::HandlerSpec;
use protocol::msi::{CacheLine, MessageKind, SetWork};
use units::{Duration, LineAddr, NodeId, Time};

use super::account::Account;
use super::code::CodeLayout;
use super::handler::{Handler, of_set};
use super::remote_access_cache::RemoteAccessCache;
use super::tags::DirectMapped;
use super::timing::MagicTiming;
use crate::counters::CounterUnit;
use crate::kernel::EnvelopeId;
use crate::os::PageTransfers;
use crate::statistics::{CacheStatistics, Histogram, NodeStatistics, Tally};

/// The parameters that the controllers of a machine share.
pub struct Design {
    /// Times.
    pub timing: MagicTiming,
    /// Cycles of the handlers and of their units of work.
    pub handlers: HandlerSpec,
    /// Addresses of the handlers' code.
    pub code: CodeLayout,
    /// Protocol processor cycles for an instruction cache miss.
    pub instruction_miss_cycles: u32,
    /// Cycles for a lookup in the tags of the remote access cache.
    pub remote_access_cache_check_cycles: u32,
    /// Inbox entries for messages of the processor: the number of its outstanding misses.
    pub inbox_entries: u16,
    /// Whether headers have several formats.
    pub many_formats: bool,
    /// Bytes of a directory header.
    pub header_bytes: u64,
    /// Start of the pointer store in the address space of the data cache, after the headers of all lines.
    pub store_base: u64,
    /// Start of the reference counters there, after the store.
    pub counters_base: u64,
    /// Bytes of the reference counters of a block of memory.
    pub block_bytes: u64,
}

/// Bytes of a reference counter.
pub const COUNTER_BYTES: u64 = 4;

/// The moving parts of a node.
pub struct Magic {
    /// The bus that the processor shares with MAGIC.
    pub bus: Server,
    /// The protocol processor: one handler at a time.
    pub processor: Server,
    /// Memory: one line at a time.
    pub memory: Server,
    /// Messages of the processor for which the inbox has no room, oldest first.
    pub at_pins: VecDeque<EnvelopeId>,
    /// Messages of the processor in the inbox, or on their way to it through the bus and the interface.
    pub in_inbox: u16,
    /// Lines for which the protocol has something pending.
    pub outstanding: Vec<(LineAddr, CacheLine)>,
    /// The remote access cache, if nodes have one.
    pub remote_access_cache: Option<RemoteAccessCache>,
    /// The pages that it transfers from its memory.
    pub pages: PageTransfers,
    /// The account of the processor's stall time.
    pub account: Account,
    /// Messages sent to other nodes, by kind.
    pub sent: [u64; MessageKind::ALL.len()],
    /// Writes by the number of nodes that each invalidated.
    pub invalidations: Histogram,
    /// Lines whose sharers were invalidated to make room in the store.
    pub reclamations: u64,
    instruction_cache: DirectMapped,
    data_cache: DirectMapped,
    runs: [(u64, Duration); Handler::ALL.len()],
    instruction_stall: Duration,
    data_stall: Duration,
}

/// A run of a handler.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The time at which its first message is ready.
    pub first: Time,
    /// Time that it waited before it started.
    pub waited: Duration,
}

impl Magic {
    /// An idle controller with empty caches.
    pub fn new(
        instruction_cache: DirectMapped,
        data_cache: DirectMapped,
        remote_access_cache: Option<RemoteAccessCache>,
    ) -> Self {
        Self {
            bus: Server::default(),
            processor: Server::default(),
            memory: Server::default(),
            at_pins: VecDeque::new(),
            in_inbox: 0,
            outstanding: Vec::new(),
            remote_access_cache,
            pages: PageTransfers::default(),
            account: Account::default(),
            sent: [0; MessageKind::ALL.len()],
            invalidations: Histogram::default(),
            reclamations: 0,
            instruction_cache,
            data_cache,
            runs: [(0, Duration::ZERO); Handler::ALL.len()],
            instruction_stall: Duration::ZERO,
            data_stall: Duration::ZERO,
        }
    }

    /// Runs `handler` as soon after `now` as the protocol processor is free. Its own time is prolonged by `before`
    /// cycles until its first message and by `after` cycles from then on; a random `delay` occupies the processor but
    /// counts as no work.
    #[inline]
    pub fn run(
        &mut self,
        design: &Design,
        now: Time,
        handler: Handler,
        before: u32,
        after: u32,
        delay: Duration,
    ) -> Run {
        let timing = &design.timing;
        let (lead, rest) = (handler.lead(&design.handlers), after + design.handlers.finish_cycles);
        let missing = design.code.fetch(&mut self.instruction_cache, handler, 0, lead) * design.instruction_miss_cycles;
        let later =
            design.code.fetch(&mut self.instruction_cache, handler, lead, rest) * design.instruction_miss_cycles;
        let first = lead + missing + before;
        let busy = timing.cycle * u64::from(first + rest + later);
        let start = self.processor.reserve(now, timing.clock, busy + delay);
        let (runs, time) = &mut self.runs[handler as usize];
        *runs += 1;
        *time += busy;
        self.instruction_stall += timing.cycle * u64::from(missing + later);
        Run { first: start + timing.cycle * u64::from(first), waited: start - now }
    }

    /// The last handler runs for another `cycles`.
    #[inline]
    pub fn go_on(&mut self, design: &Design, handler: Handler, cycles: u32) {
        let time = design.timing.cycle * u64::from(cycles);
        self.processor.prolong(time);
        self.runs[handler as usize].1 += time;
    }

    /// Cycles that a handler waits for the directory header of line `offset` of this node's memory.
    #[inline]
    pub fn header_stall(&mut self, design: &Design, offset: u64) -> u32 {
        let missed = self.data_cache.access(offset * design.header_bytes);
        self.data_stalled(design, missed)
    }

    /// Cycles that a handler takes to count a request by node `from` in the reference counters of a block.
    #[inline]
    pub fn count_cycles(&mut self, design: &Design, block: u64, from: NodeId) -> u32 {
        let word = u64::from(from.0) * COUNTER_BYTES;
        let missed = self.data_cache.access(design.counters_base + block * design.block_bytes + word);
        design.handlers.count_cycles + self.data_stalled(design, missed)
    }

    /// Protocol processor cycles for the work on a sharing set beyond `before`, including data cache misses on the
    /// words of the store that this work read: those of `touched` from `before.store_words` to `work.store_words`. Each
    /// word is to be counted once.
    #[inline]
    pub fn set_cycles(&mut self, design: &Design, work: &SetWork, before: &SetWork, touched: &[u32]) -> u32 {
        let mut cycles = of_set(&design.handlers, work) - of_set(&design.handlers, before);
        let words = usize::from(before.store_words)..usize::from(work.store_words);
        for &word in touched.get(words).unwrap_or_default() {
            let missed = self.data_cache.access(design.store_base + u64::from(word) * design.header_bytes);
            cycles += self.data_stalled(design, missed);
        }
        cycles
    }

    #[inline]
    fn data_stalled(&mut self, design: &Design, missed: bool) -> u32 {
        if !missed {
            return 0;
        }
        self.data_stall += design.timing.cycle * u64::from(design.timing.data_miss_cycles);
        design.timing.data_miss_cycles
    }

    /// The number of occurrences of each event of a mode of its counters.
    pub fn counted(&self, cycle: Duration, unit: CounterUnit, exact: &mut [u64]) {
        if unit == CounterUnit::MagicHandlers {
            for (pair, &(runs, time)) in exact.chunks_exact_mut(2).zip(&self.runs) {
                pair.copy_from_slice(&[runs, time.0 / cycle.0]);
            }
        } else {
            let buffer = self.account.buffer();
            exact.copy_from_slice(&[buffer.noted, buffer.latency.0 / cycle.0, buffer.local]);
        }
    }

    /// The counts so far.
    pub fn statistics(&self) -> NodeStatistics {
        let handler = |&handler: &Handler| {
            let (count, busy) = self.runs[handler as usize];
            Tally { name: handler.name(), count, busy }
        };
        let message = |&kind: &MessageKind| Tally {
            name: kind.mnemonic(),
            count: self.sent[kind as usize],
            busy: Duration::ZERO,
        };
        let cache = |cache: &DirectMapped, stalled| {
            let (accesses, misses) = cache.counts();
            Some(CacheStatistics { accesses, misses, stalled })
        };
        NodeStatistics {
            busy: self.processor.busy(),
            queued: self.processor.queued(),
            bus_busy: self.bus.busy(),
            memory_busy: self.memory.busy(),
            handlers: Handler::ALL.iter().map(handler).filter(|tally| tally.count > 0).collect(),
            sent: MessageKind::ALL.iter().map(message).filter(|tally| tally.count > 0).collect(),
            invalidations: self.invalidations.clone(),
            reclamations: self.reclamations,
            pages: None,
            instruction_cache: cache(&self.instruction_cache, self.instruction_stall),
            data_cache: cache(&self.data_cache, self.data_stall),
            remote_access_cache: self.remote_access_cache.as_ref().map(|cache| {
                let (hits, misses) = cache.counts();
                CacheStatistics { accesses: hits + misses, misses, stalled: Duration::ZERO }
            }),
            link: None,
            switch: None,
        }
    }
}
