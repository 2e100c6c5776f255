//! Causes of misses: cold, capacity, conflict, true sharing and false sharing.
//!
//! Sharing misses are classified by word, after Dubois, Skeppstedt, Ricciulli, Ramamurthy and Stenström (ISCA 1993): a
//! line's lifetime in a cache runs from its grant to its invalidation or eviction. A miss on an invalidated line is
//! true sharing if, within that lifetime, the processor references a word with an unseen store of another processor;
//! otherwise it is false sharing. The class is decided when such a word is touched, or when the lifetime ends. A miss
//! on an evicted line is a conflict miss ([`MissCause::Conflict`]) if a fully associative LRU cache of equal size, fed
//! with the references that reach the secondary cache, would have kept the line; otherwise it is a capacity miss. So is a
//! miss on a line that was taken away although no other processor has stored to it since, where an outer cache or filter
//! that includes processors' caches may have made room by that.
//! Stores to lines of which the processor has a copy are upgrades, counted apart.
//!
//! Unseen stores are determined when the line is granted, after every writer has lost ownership, so the verdict does
//! not depend on how far processors run ahead.

use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr};

use super::event::ReferenceEvent;
use super::probe::{Channels, Findings, Observer};
use super::subject::Subject;
use crate::account::MissCause;
use crate::options::Options;

/// Misses by cause, in the order of [`MissCause::ALL`].
type Counts = [u64; MissCause::ALL.len()];

/// 64-bit words of a line, at most; longer lines share marks.
const WORDS: usize = 32;

/// Number of stores to each word of a line, modulo 2^16.
type Stores = [u16; WORDS];

/// The history of a line at one processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    Never,
    Present,
    Evicted,
    TakenAway,
}

/// The tracker's state of one line at one processor.
#[derive(Clone, Debug)]
struct View {
    presence: Presence,
    /// Whether a request is outstanding; `loads` and `stores` collect the words to mark when it is granted.
    requested: bool,
    loads: u32,
    stores: u32,
    /// Whether the fully associative cache had the line at the time of the miss.
    kept: bool,
    /// The store counts of each word that the processor has seen.
    had: Stores,
    /// The store counts of each word when the line was granted.
    came: Stores,
    /// Words with unseen stores of other processors, while the cause of the miss is undecided.
    open: u32,
}

impl Default for View {
    fn default() -> Self {
        Self {
            presence: Presence::Never,
            requested: false,
            loads: 0,
            stores: 0,
            kept: false,
            had: [0; WORDS],
            came: [0; WORDS],
            open: 0,
        }
    }
}

/// A fully associative LRU cache, tags only.
#[derive(Debug)]
struct Shadow {
    lines: usize,
    /// The time of each line's last use.
    used: FxHashMap<LineAddr, u64>,
    /// The lines in order of use; outdated entries are skipped.
    order: std::collections::VecDeque<(u64, LineAddr)>,
    clock: u64,
}

impl Shadow {
    fn new(lines: usize) -> Self {
        Self { lines, used: FxHashMap::default(), order: std::collections::VecDeque::new(), clock: 0 }
    }

    /// References a line. Returns whether it hit.
    fn refer(&mut self, line: LineAddr) -> bool {
        self.clock += 1;
        let was = self.used.insert(line, self.clock).is_some();
        self.order.push_back((self.clock, line));
        while self.used.len() > self.lines {
            let Some((clock, oldest)) = self.order.pop_front() else { break };
            if self.used.get(&oldest) == Some(&clock) {
                self.used.remove(&oldest);
            }
        }
        if self.order.len() > 4 * self.lines + 64 {
            let used = &self.used;
            self.order.retain(|(clock, line)| used.get(line) == Some(clock));
        }
        was
    }

    fn forget(&mut self, line: LineAddr) {
        self.used.remove(&line);
    }
}

/// The tracker of all lines and processors.
#[derive(Debug)]
pub struct Causes {
    views: FxHashMap<(CpuId, LineAddr), View>,
    stores: FxHashMap<LineAddr, Stores>,
    shadows: Vec<Shadow>,
    /// Whether a line may be taken away without a writer.
    recalls: bool,
    /// By processor, the misses of each cause, in the order of [`MissCause::ALL`].
    counts: Vec<Counts>,
}

impl Causes {
    /// The tracker of a machine, if enabled or necessary for the attribution of lost time.
    pub fn observer(options: &Options, subject: &Subject) -> Option<Box<dyn Observer>> {
        let make = || Box::new(Self::new(subject)) as Box<dyn Observer>;
        (options.miss_causes || options.attribute).then(make)
    }

    /// Misses of a processor by cause, in the order of [`MissCause::ALL`].
    pub fn counts(&self, cpu: CpuId) -> Counts {
        self.counts[cpu.index()]
    }

    /// A tracker for the secondary caches of all processors.
    fn new(subject: &Subject) -> Self {
        let shadows = (0..subject.processors).map(|_| Shadow::new(subject.cache_lines)).collect();
        let counts = vec![Counts::default(); subject.threads];
        Self { views: FxHashMap::default(), stores: FxHashMap::default(), shadows, recalls: subject.recalls, counts }
    }

    /// A reference reaches the secondary cache; a request follows if it `missed`.
    fn refer(&mut self, cpu: CpuId, line: LineAddr, missed: bool) {
        let kept = self.shadows[cpu.index()].refer(line);
        if missed {
            let view = self.views.entry((cpu, line)).or_default();
            (view.requested, view.kept) = (true, kept);
        }
    }

    /// The processor loads or stores to `word` of a line in its cache, or of one whose request is outstanding. Returns
    /// the cause of the miss that fetched the line, if this access decides it.
    fn touch(&mut self, cpu: CpuId, line: LineAddr, word: usize, stores: bool) -> Option<MissCause> {
        let view = self.views.entry((cpu, line)).or_default();
        let mark = 1 << (word % WORDS);
        if view.requested {
            *(if stores { &mut view.stores } else { &mut view.loads }) |= mark;
            return None;
        }
        let cause = view.need(mark);
        if stores {
            let count = self.stores.entry(line).or_insert([0; WORDS]);
            view.store(mark, count);
        }
        cause
    }

    /// A request for the line is granted. Returns whether it was an upgrade, and the cause of the miss if that is
    /// decided.
    fn grant(&mut self, cpu: CpuId, line: LineAddr) -> (bool, Option<MissCause>) {
        let view = self.views.entry((cpu, line)).or_default();
        let count = self.stores.entry(line).or_insert([0; WORDS]);
        let before = std::mem::replace(&mut view.presence, Presence::Present);
        view.requested = false;
        if before != Presence::Present {
            view.came = *count;
        }
        let cause = match before {
            Presence::Present => None,
            Presence::Never => Some(MissCause::Cold),
            Presence::Evicted if view.kept => Some(MissCause::Conflict),
            Presence::Evicted => Some(MissCause::Capacity),
            Presence::TakenAway => {
                let missed = |&word: &usize| view.came[word] != view.had[word];
                view.open = (0..WORDS).filter(missed).fold(0, |words, word| words | 1 << word);
                // No other processor has stored: an outer level made room, or the writer's grant was not followed by its
                // store.
                let cause = if self.recalls { MissCause::Capacity } else { MissCause::FalseSharing };
                (view.open == 0).then_some(cause)
            }
        };
        if cause.is_some() {
            view.had = view.came;
        }
        let (loads, stores) = (std::mem::take(&mut view.loads), std::mem::take(&mut view.stores));
        let needed = view.need(loads | stores);
        view.store(stores, count);
        (before == Presence::Present, cause.or(needed))
    }

    /// The line leaves the processor's caches, evicted or invalidated. Returns the cause of its miss if this decides
    /// it.
    fn lose(&mut self, cpu: CpuId, line: LineAddr, evicted: bool) -> Option<MissCause> {
        if !evicted {
            self.shadows[cpu.index()].forget(line);
        }
        let view = self.views.get_mut(&(cpu, line)).filter(|view| view.presence == Presence::Present)?;
        view.presence = if evicted { Presence::Evicted } else { Presence::TakenAway };
        view.end()
    }

    /// The processor's program has ended. Returns the lines whose misses are decided now, as false sharing.
    fn settle(&mut self, cpu: CpuId) -> Vec<LineAddr> {
        let own = self.views.iter_mut().filter(|((owner, _), _)| *owner == cpu);
        own.filter_map(|(&(_, line), view)| view.end().map(|_| line)).collect()
    }
}

impl Observer for Causes {
    fn channels(&self) -> Channels {
        Channels { references: true, ..Channels::default() }
    }

    /// The threads of a core share its cache, and the misses of each are counted by themselves.
    fn reference(&mut self, thread: CpuId, event: &ReferenceEvent, findings: &mut Findings) {
        let cpu = CpuId(thread.0 % self.shadows.len() as u16);
        let decided = match *event {
            ReferenceEvent::Access { line, word, stores, .. } => (line, self.touch(cpu, line, word, stores)),
            ReferenceEvent::Hit { line } => return self.refer(cpu, line, false),
            ReferenceEvent::Miss { line, .. } => return self.refer(cpu, line, true),
            ReferenceEvent::Grant { tag, line } => {
                let (upgrade, cause) = self.grant(cpu, line);
                findings.publish(ReferenceEvent::Classified { tag, line, upgrade });
                (line, cause)
            }
            ReferenceEvent::Departure { line, evicted } => (line, self.lose(cpu, line, evicted)),
            ReferenceEvent::End => {
                for line in self.settle(cpu) {
                    findings.publish(ReferenceEvent::CauseDecided { line, cause: MissCause::FalseSharing });
                }
                return;
            }
            ReferenceEvent::CauseDecided { cause, .. } => {
                self.counts[thread.index()][cause as usize] += 1;
                return;
            }
            _ => return,
        };
        if let (line, Some(cause)) = decided {
            findings.publish(ReferenceEvent::CauseDecided { line, cause });
        }
    }
}

impl View {
    /// The processor uses these words. Returns the cause of its miss, if that is decided now.
    fn need(&mut self, words: u32) -> Option<MissCause> {
        if self.open & words == 0 {
            return None;
        }
        self.open = 0;
        self.had = self.came;
        Some(MissCause::TrueSharing)
    }

    /// The processor stores to these words of a line with store counts `count`.
    fn store(&mut self, words: u32, count: &mut Stores) {
        for word in (0..WORDS).filter(|word| words & 1 << word != 0) {
            count[word] = count[word].wrapping_add(1);
            (self.had[word], self.came[word]) = (count[word], count[word]);
        }
    }

    /// The lifetime of the line ends. A line of which no stored word was used keeps those words as unseen.
    fn end(&mut self) -> Option<MissCause> {
        (std::mem::take(&mut self.open) != 0).then_some(MissCause::FalseSharing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: LineAddr = LineAddr(7);
    const A: CpuId = CpuId(0);
    const B: CpuId = CpuId(1);

    fn causes_of(processors: usize, cache_lines: usize) -> Causes {
        let subject = Subject {
            threads: processors,
            processors,
            cache_lines,
            line_shift: 7,
            relaxes_order: false,
            recalls: false,
        };
        Causes::new(&subject)
    }

    /// Misses on the line and touches a word of it.
    fn miss(causes: &mut Causes, cpu: CpuId, word: usize, stores: bool) -> Option<MissCause> {
        causes.refer(cpu, LINE, true);
        assert_eq!(causes.touch(cpu, LINE, word, stores), None, "its request is under way");
        causes.grant(cpu, LINE).1
    }

    #[test]
    fn words_that_others_wrote_make_true_sharing_and_other_words_false_sharing() {
        let mut causes = causes_of(2, 8);
        assert_eq!(miss(&mut causes, A, 0, false), Some(MissCause::Cold));
        assert_eq!(causes.lose(A, LINE, false), None);
        assert_eq!(miss(&mut causes, B, 3, true), Some(MissCause::Cold));
        // A first touches a word that B did not store to.
        assert_eq!(miss(&mut causes, A, 0, false), None);
        assert_eq!(causes.touch(A, LINE, 1, true), None);
        assert_eq!(causes.touch(A, LINE, 3, false), Some(MissCause::TrueSharing));
        assert_eq!(causes.touch(A, LINE, 3, false), None, "once");
        // B first touches a word of its own; the store of A remains unseen.
        causes.lose(B, LINE, false);
        assert_eq!(miss(&mut causes, B, 3, true), None);
        causes.lose(A, LINE, false);
        assert_eq!(causes.lose(B, LINE, false), Some(MissCause::FalseSharing));
        // Words left unseen by the false-sharing miss can still make a later miss true sharing.
        assert_eq!(miss(&mut causes, B, 1, false), Some(MissCause::TrueSharing));
        assert_eq!(miss(&mut causes, A, 5, false), None);
        assert_eq!((causes.settle(A), causes.settle(B)), (vec![LINE], vec![]));
    }

    #[test]
    fn an_upgrade_is_no_miss_unless_the_copy_goes() {
        let mut causes = causes_of(2, 8);
        miss(&mut causes, A, 0, false);
        assert_eq!(miss(&mut causes, A, 0, true), None, "an upgrade");
        causes.refer(A, LINE, true);
        causes.touch(A, LINE, 0, true);
        causes.lose(A, LINE, false);
        miss(&mut causes, B, 0, true);
        causes.lose(B, LINE, false);
        assert_eq!(causes.grant(A, LINE), (false, Some(MissCause::TrueSharing)), "the upgrade came too late");
    }

    #[test]
    fn a_line_taken_away_without_a_store_made_room_in_an_outer_cache() {
        for (recalls, cause) in [(false, MissCause::FalseSharing), (true, MissCause::Capacity)] {
            let mut causes = Causes { recalls, ..causes_of(2, 8) };
            miss(&mut causes, A, 0, false);
            causes.lose(A, LINE, false);
            assert_eq!(miss(&mut causes, A, 0, false), Some(cause));
            // A store of another processor in the meantime is sharing in both cases.
            causes.lose(A, LINE, false);
            miss(&mut causes, B, 0, true);
            causes.lose(B, LINE, false);
            assert_eq!(miss(&mut causes, A, 0, false), Some(MissCause::TrueSharing));
        }
    }

    #[test]
    fn evicted_lines_miss_for_want_of_ways_or_of_size() {
        let mut causes = causes_of(1, 2);
        let mut go = |line: u64| {
            let line = LineAddr(line);
            causes.refer(A, line, true);
            let (_, cause) = causes.grant(A, line);
            causes.lose(A, line, true);
            cause
        };
        // Two lines fit a fully associative cache of two, three do not.
        assert_eq!([0, 1, 0, 1].map(&mut go)[2..], [Some(MissCause::Conflict); 2]);
        assert_eq!([2, 0, 1].map(&mut go)[1..], [Some(MissCause::Capacity); 2]);
    }
}
