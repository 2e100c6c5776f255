//! An observer of every load and store: what each line must contain, against what processors find in it.
//!
//! A version stands for a line's contents and counts the stores to it. The observer sees accesses in the order in which the
//! simulation performs them, hits in running programs included; that is an order in time, as nothing from outside reaches a
//! program that runs ahead. It holds three promises against each other: a store finds the newest contents and makes the next,
//! so that no two stores have the same place; a load returns the newest contents; and when all is over every store issued
//! is in the line. Where the protocol relaxes the order of memory, a load may return older contents while the writer still
//! collects acknowledgements, but none older than its own processor has seen.

use std::cell::RefCell;
use std::rc::Rc;

use protocol::{CopyState, Version};
use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr, Time};

use crate::processor::CachedCopy;
use crate::system::Incoherence;

/// The observer as processors and the machine around them hold it.
pub type SharedObserver = Rc<RefCell<Observer>>;

/// What is known of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Its newest contents: as many stores have been performed.
    newest: Version,
    /// Nobody may load anything older.
    settled: Version,
    /// Whether its writer still collects acknowledgements: others may have older copies.
    unsettled: bool,
    /// Stores that programs have issued.
    issued: u32,
    /// Contents made for nobody's store: by write prefetches.
    prefetched: u32,
    /// Misses that are over.
    misses: u64,
}

/// Everything that has been loaded and stored so far.
pub struct Observer {
    lines: FxHashMap<LineAddr, Line>,
    /// Of lines that stand where others stood before their page moved: the first of those, under which all are known.
    first: FxHashMap<LineAddr, LineAddr>,
    /// Where those are now.
    now: FxHashMap<LineAddr, LineAddr>,
    /// The oldest contents that a processor may still find, where that is not the same for all.
    floors: FxHashMap<(LineAddr, CpuId), Version>,
    relaxed: bool,
    prefetches_store: bool,
    loads: u64,
    stores: u64,
    fault: Option<Incoherence>,
}

/// What an observed machine has done in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Observed {
    /// Loads compared with the stores before them.
    pub loads: u64,
    /// Stores compared with each other.
    pub stores: u64,
    /// Lines that were missed on.
    pub lines: usize,
    /// The line that was missed on most, and how often.
    pub worst: Option<(LineAddr, u64)>,
}

impl Observer {
    /// Refusals of one request after which nobody believes any more that it will be granted: orders of magnitude more than
    /// there are processors that could have come first.
    pub const STARVED: u32 = 100_000;

    /// Nothing seen yet. `relaxed` says whether loads may lag behind, `prefetches_store` whether the protocol makes new contents
    /// when it grants a write prefetch.
    pub fn new(relaxed: bool, prefetches_store: bool) -> Self {
        Self {
            lines: FxHashMap::default(),
            first: FxHashMap::default(),
            now: FxHashMap::default(),
            floors: FxHashMap::default(),
            relaxed,
            prefetches_store,
            loads: 0,
            stores: 0,
            fault: None,
        }
    }

    /// Whether the protocol makes new contents when it grants a write prefetch.
    pub fn prefetches_store(&self) -> bool {
        self.prefetches_store
    }

    /// The first fault seen, once.
    pub fn take_fault(&mut self) -> Option<Incoherence> {
        self.fault.take()
    }

    /// The page of `from` has moved, and with it this line to `to`.
    pub fn moved(&mut self, from: LineAddr, to: LineAddr) {
        let first = self.first_of(from);
        self.first.insert(to, first);
        self.now.insert(first, to);
    }

    /// The page of `from` has been copied, and with it this line to `to`: whoever loads there must find the same.
    pub fn copied(&mut self, from: LineAddr, to: LineAddr) {
        let first = self.first_of(from);
        self.first.insert(to, first);
    }

    /// What a line was called before any page moved.
    fn first_of(&self, line: LineAddr) -> LineAddr {
        self.first.get(&line).copied().unwrap_or(line)
    }

    fn seen(&mut self, line: LineAddr) -> &mut Line {
        let line = self.first_of(line);
        self.lines.entry(line).or_default()
    }

    /// A program has issued a store.
    pub fn issued(&mut self, line: LineAddr) {
        self.stores += 1;
        self.seen(line).issued += 1;
    }

    /// A miss is over.
    pub fn missed(&mut self, line: LineAddr) {
        self.seen(line).misses += 1;
    }

    /// A processor has loaded from its copy.
    pub fn loaded(&mut self, cpu: CpuId, line: LineAddr, copy: CachedCopy, at: Time) {
        let line = self.first_of(line);
        let seen = self.lines.entry(line).or_default();
        let (found, mut oldest) = (copy.version, seen.settled);
        self.loads += 1;
        if self.relaxed {
            let floor = self.floors.entry((line, cpu)).or_default();
            oldest = oldest.max(*floor);
            *floor = found.max(oldest);
        }
        if !copy.state.is_valid() {
            self.fault.get_or_insert(Incoherence::NoRight { cpu, line, state: copy.state, at });
        } else if found < oldest || found > seen.newest {
            self.fault.get_or_insert(Incoherence::StaleLoad { cpu, line, found, last: seen.newest, at });
        }
    }

    /// A processor's copy has become `copy` by a store.
    pub fn stored(&mut self, cpu: CpuId, line: LineAddr, copy: CachedCopy, at: Time) {
        let line = self.first_of(line);
        let seen = self.lines.entry(line).or_default();
        let before = seen.newest;
        seen.newest = before.next();
        if !seen.unsettled {
            seen.settled = seen.newest;
        }
        if self.relaxed {
            self.floors.insert((line, cpu), copy.version);
        }
        if copy.state != CopyState::MODIFIED {
            self.fault.get_or_insert(Incoherence::NoRight { cpu, line, state: copy.state, at });
        } else if copy.version != before.next() {
            self.fault.get_or_insert(Incoherence::StaleStore { cpu, line, made: copy.version, last: before, at });
        }
    }

    /// The last store seen was nobody's: a write prefetch has made it.
    pub fn prefetched(&mut self, line: LineAddr) {
        self.seen(line).prefetched += 1;
    }

    /// A processor is about to ask for the contents of a line without a copy: they will be no older than they are now.
    pub fn asks_uncached(&mut self, cpu: CpuId, line: LineAddr) {
        let newest = self.seen(line).newest;
        self.floors.insert((self.first_of(line), cpu), newest);
    }

    /// A processor has got the contents of a line without a copy.
    pub fn loaded_uncached(&mut self, cpu: CpuId, line: LineAddr, found: Version, at: Time) {
        let newest = self.seen(line).newest;
        let floor = self.floors.get(&(self.first_of(line), cpu)).copied().unwrap_or_default();
        self.loads += 1;
        if found < floor || found > newest {
            self.fault.get_or_insert(Incoherence::StaleLoad { cpu, line, found, last: newest, at });
        }
    }

    /// A processor's request has been refused [`Observer::STARVED`] times.
    pub fn starved(&mut self, cpu: CpuId, line: LineAddr) {
        self.fault.get_or_insert(Incoherence::Starved { cpu, line, refusals: Self::STARVED });
    }

    /// The line's writer is about to store before all who have older copies have dropped them.
    pub fn unsettle(&mut self, line: LineAddr) {
        self.seen(line).unsettled = true;
    }

    /// All who had older copies of the line have dropped them.
    pub fn settle(&mut self, line: LineAddr) {
        let seen = self.seen(line);
        (seen.unsettled, seen.settled) = (false, seen.newest);
    }

    /// Lines with stores, where they are now, in order.
    pub fn stored_lines(&self) -> Vec<LineAddr> {
        let now = |line: &LineAddr| self.now.get(line).copied().unwrap_or(*line);
        let stored = |(line, seen): (&LineAddr, &Line)| (seen.issued + seen.prefetched > 0).then_some(now(line));
        let mut lines: Vec<_> = self.lines.iter().filter_map(stored).collect();
        lines.sort_unstable();
        lines
    }

    /// Compares the contents of a line, now that nothing is under way, with the stores to it.
    ///
    /// # Errors
    /// A store has been lost, or was never performed.
    pub fn compare(&self, line: LineAddr, contents: Version) -> Result<(), Incoherence> {
        let seen = self.lines.get(&self.first_of(line)).copied().unwrap_or_default();
        let issued = Version(seen.issued + seen.prefetched);
        if contents == issued && seen.newest == issued {
            return Ok(());
        }
        Err(Incoherence::LostStore { line, contents, performed: seen.newest, issued })
    }

    /// What has been done so far.
    pub fn observed(&self) -> Observed {
        let missed = || self.lines.iter().filter(|(_, seen)| seen.misses > 0);
        // Of equals the first by address, whatever the order of the table.
        let worst = missed().max_by_key(|(line, seen)| (seen.misses, std::cmp::Reverse(line.0)));
        Observed {
            loads: self.loads,
            stores: self.stores,
            lines: missed().count(),
            worst: worst.map(|(line, seen)| (*line, seen.misses)),
        }
    }
}
