//! The checker of every load and store, which checks the contents that processors find in each line.
//!
//! A version stands for a line's contents and counts the stores to it. The checker receives accesses in the order in
//! which the simulation performs them, hits in running programs included; this order agrees with time, because no
//! outside event affects a program that runs ahead. It checks three properties: a store finds the newest contents and
//! makes the next version, so that no two stores make the same one; a load returns the newest contents; and at the end
//! every issued store is in the line. Where the protocol relaxes the memory order, a load may return older contents
//! while the writer still collects acknowledgements, but none older than its own processor has observed.

use protocol::{CopyState, Version};
use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr, Time};

use super::event::ContentsEvent;
use super::probe::{Channels, Findings, Observer};
use super::subject::Subject;
use crate::incoherence::Incoherence;
use crate::options::Options;
use crate::part::CachedCopy;

/// The checker's state of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Its newest contents: the number of stores performed.
    newest: Version,
    /// The oldest contents that a load may return.
    settled: Version,
    /// Whether its writer still collects acknowledgements, so that others may have older copies.
    unsettled: bool,
    /// Stores that programs have issued.
    issued: u32,
    /// Versions made by granted write prefetches, without a store of a program.
    prefetched: u32,
    /// Completed misses.
    misses: u64,
}

/// The checker's state of all lines.
pub struct Checker {
    lines: FxHashMap<LineAddr, Line>,
    /// By line of a page that has moved or been copied, the line of its first frame, under which all state is kept.
    first: FxHashMap<LineAddr, LineAddr>,
    /// By line of the first frame, its current line.
    now: FxHashMap<LineAddr, LineAddr>,
    /// The oldest contents that a processor may still load, where they differ between processors.
    floors: FxHashMap<(LineAddr, CpuId), Version>,
    relaxed: bool,
    loads: u64,
    stores: u64,
}

/// Totals of an observed machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Observed {
    /// Loads compared with the stores before them.
    pub loads: u64,
    /// Stores compared with each other.
    pub stores: u64,
    /// Lines with at least one miss.
    pub lines: usize,
    /// The line with the most misses, and their number.
    pub worst: Option<(LineAddr, u64)>,
}

impl Checker {
    /// NACKs of one request after which it counts as starved: orders of magnitude more than there are processors that
    /// could be served before it.
    const STARVED: u32 = 100_000;

    /// The checker of a machine, if enabled.
    pub fn observer(options: &Options, subject: &Subject) -> Option<Box<dyn Observer>> {
        options.check_loads.then(|| Box::new(Self::new(subject.relaxes_order)) as Box<dyn Observer>)
    }

    /// A checker without accesses. `relaxed` says whether loads may return older contents.
    fn new(relaxed: bool) -> Self {
        Self {
            lines: FxHashMap::default(),
            first: FxHashMap::default(),
            now: FxHashMap::default(),
            floors: FxHashMap::default(),
            relaxed,
            loads: 0,
            stores: 0,
        }
    }

    /// The page of `from` has moved, and this line of it to `to`.
    fn moved(&mut self, from: LineAddr, to: LineAddr) {
        let first = self.first_of(from);
        self.first.insert(to, first);
        self.now.insert(first, to);
    }

    /// The page of `from` has been copied, and this line of it to `to`: loads there must find the same contents.
    fn copied(&mut self, from: LineAddr, to: LineAddr) {
        let first = self.first_of(from);
        self.first.insert(to, first);
    }

    /// The line in the first frame of its page.
    fn first_of(&self, line: LineAddr) -> LineAddr {
        self.first.get(&line).copied().unwrap_or(line)
    }

    fn seen(&mut self, line: LineAddr) -> &mut Line {
        let line = self.first_of(line);
        self.lines.entry(line).or_default()
    }

    /// A program issues a store.
    fn issued(&mut self, line: LineAddr) {
        self.stores += 1;
        self.seen(line).issued += 1;
    }

    /// A miss completes.
    fn missed(&mut self, line: LineAddr) {
        self.seen(line).misses += 1;
    }

    /// A processor loads from its copy.
    fn loaded(&mut self, cpu: CpuId, line: LineAddr, copy: CachedCopy, at: Time, findings: &mut Findings) {
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
            findings.fail(Incoherence::NoRight { cpu, line, state: copy.state, at });
        } else if found < oldest || found > seen.newest {
            findings.fail(Incoherence::StaleLoad { cpu, line, found, last: seen.newest, at });
        }
    }

    /// A processor's store has changed its copy to `copy`.
    fn stored(&mut self, cpu: CpuId, line: LineAddr, copy: CachedCopy, at: Time, findings: &mut Findings) {
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
            findings.fail(Incoherence::NoRight { cpu, line, state: copy.state, at });
        } else if copy.version != before.next() {
            findings.fail(Incoherence::StaleStore { cpu, line, made: copy.version, last: before, at });
        }
    }

    /// The last version was made by a write prefetch, not by a store.
    fn prefetched(&mut self, line: LineAddr) {
        self.seen(line).prefetched += 1;
    }

    /// A processor sends an uncached read: the answer must be no older than the newest contents now, or, where loads may return
    /// older ones, than a load's.
    fn sends_uncached(&mut self, cpu: CpuId, line: LineAddr) {
        let (relaxed, first) = (self.relaxed, self.first_of(line));
        let Line { newest, settled, .. } = *self.seen(line);
        let floor = self.floors.entry((first, cpu)).or_default();
        *floor = if relaxed { settled.max(*floor) } else { newest };
    }

    /// A processor receives the answer to an uncached read.
    fn loaded_uncached(&mut self, cpu: CpuId, line: LineAddr, found: Version, at: Time, findings: &mut Findings) {
        let newest = self.seen(line).newest;
        let floor = self.floors.get(&(self.first_of(line), cpu)).copied().unwrap_or_default();
        self.loads += 1;
        if found < floor || found > newest {
            findings.fail(Incoherence::StaleLoad { cpu, line, found, last: newest, at });
        }
    }

    /// The line's writer is about to store before all older copies are invalidated.
    fn unsettle(&mut self, line: LineAddr) {
        self.seen(line).unsettled = true;
    }

    /// All older copies of the line are invalidated.
    fn settle(&mut self, line: LineAddr) {
        let seen = self.seen(line);
        (seen.unsettled, seen.settled) = (false, seen.newest);
    }

    /// Lines with stores, at their current addresses, in order.
    pub fn stored_lines(&self) -> Vec<LineAddr> {
        let now = |line: &LineAddr| self.now.get(line).copied().unwrap_or(*line);
        let stored = |(line, seen): (&LineAddr, &Line)| (seen.issued + seen.prefetched > 0).then_some(now(line));
        let mut lines: Vec<_> = self.lines.iter().filter_map(stored).collect();
        lines.sort_unstable();
        lines
    }

    /// Compares the final contents of a line with the stores to it.
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

    /// The totals so far.
    pub fn observed(&self) -> Observed {
        let missed = || self.lines.iter().filter(|(_, seen)| seen.misses > 0);
        // The lowest address wins among equals, for independence from the order of the table.
        let worst = missed().max_by_key(|(line, seen)| (seen.misses, std::cmp::Reverse(line.0)));
        Observed {
            loads: self.loads,
            stores: self.stores,
            lines: missed().count(),
            worst: worst.map(|(line, seen)| (*line, seen.misses)),
        }
    }
}

impl Observer for Checker {
    fn channels(&self) -> Channels {
        Channels { contents: true, ..Channels::default() }
    }

    fn contents(&mut self, event: &ContentsEvent, findings: &mut Findings) {
        match *event {
            ContentsEvent::Issue { line } => self.issued(line),
            ContentsEvent::Load { cpu, line, copy, at } => self.loaded(cpu, line, copy, at, findings),
            ContentsEvent::Store { cpu, line, copy, at } => self.stored(cpu, line, copy, at, findings),
            ContentsEvent::Miss { line } => self.missed(line),
            ContentsEvent::Prefetch { line } => self.prefetched(line),
            ContentsEvent::UncachedRequest { cpu, line } => self.sends_uncached(cpu, line),
            ContentsEvent::UncachedLoad { cpu, line, found, at } => {
                self.loaded_uncached(cpu, line, found, at, findings);
            }
            ContentsEvent::Nack { cpu, line, count } if count == Self::STARVED => {
                findings.fail(Incoherence::Starved { cpu, line, refusals: count });
            }
            ContentsEvent::Nack { .. } => {}
            ContentsEvent::Unsettled { line } => self.unsettle(line),
            ContentsEvent::Settled { line } => self.settle(line),
            ContentsEvent::Move { from, to } => self.moved(from, to),
            ContentsEvent::Copy { from, to } => self.copied(from, to),
        }
    }
}
