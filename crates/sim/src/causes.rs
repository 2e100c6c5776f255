//! Why processors miss: for the first time, for want of room, or because others write.
//!
//! Sharing misses are told apart word by word, after Dubois, Skeppstedt, Ricciulli, Ramamurthy and Stenström (ISCA 1993): a line
//! lives in a cache from its grant until it is taken away or evicted. A miss on a line that was taken away is true sharing if,
//! while it lives, the processor refers to a word that another has stored to and that it has not had since; it is false sharing
//! if it never does. Which of the two it was is known when the word is touched, or when the line's life ends. A line that was
//! evicted misses for want of room: for want of ways ([`MissCause::Conflict`]) if a fully associative cache of equal size that
//! replaces the least recently used line, seeing the same references that reach the secondary cache, had kept it; else
//! for want of size. Stores to lines of which the processor has a copy are upgrades, and counted apart.
//!
//! What one processor does to a line's words is compared with what others did before they lost it: so the verdict is the same
//! however far processors run ahead.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use units::{CpuId, LineAddr};

/// Why a processor missed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MissCause {
    /// It never had the line.
    Cold,
    /// It had evicted it, as a cache of this size must.
    Capacity,
    /// It had evicted it, as a fully associative cache of this size would not have.
    Conflict,
    /// It had lost it to a writer, and needs what was written.
    TrueSharing,
    /// It had lost it to a writer, and does not need what was written.
    FalseSharing,
}

impl MissCause {
    /// All, each with its name.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Cold, "cold"),
        (Self::Capacity, "capacity"),
        (Self::Conflict, "conflict"),
        (Self::TrueSharing, "true-sharing"),
        (Self::FalseSharing, "false-sharing"),
    ];
}

/// The tracker that all processors of a machine tell of their accesses.
pub type SharedCauses = Rc<RefCell<Causes>>;

/// 64-bit words of a line, at most; more would share marks.
const WORDS: usize = 32;

/// How often each word of a line has been stored to, modulo their range.
type Stores = [u16; WORDS];

/// Where a line is, for one processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    Never,
    Present,
    Evicted,
    TakenAway,
}

/// One processor's view of a line.
#[derive(Clone, Debug)]
struct View {
    presence: Presence,
    /// Whether a request is under way, and what is to be done to the words when it is granted.
    requested: bool,
    loads: u32,
    stores: u32,
    /// Whether the cache without conflicts had the line when it was asked for.
    kept: bool,
    /// The stores to each word that it has had.
    had: Stores,
    /// And those that came with the line.
    came: Stores,
    /// Words that others have stored to and that it has not had, while it is open whether it needs them.
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

/// A fully associative cache that replaces the least recently used line.
#[derive(Debug)]
struct Shadow {
    lines: usize,
    /// When each line was last used.
    used: FxHashMap<LineAddr, u64>,
    /// The lines in the order of their use; entries that are out of date are skipped.
    order: std::collections::VecDeque<(u64, LineAddr)>,
    clock: u64,
}

impl Shadow {
    fn new(lines: usize) -> Self {
        Self { lines, used: FxHashMap::default(), order: std::collections::VecDeque::new(), clock: 0 }
    }

    /// Refers to a line. Whether it was there.
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

/// What all processors did to all lines.
#[derive(Debug)]
pub struct Causes {
    views: FxHashMap<(CpuId, LineAddr), View>,
    stores: FxHashMap<LineAddr, Stores>,
    shadows: Vec<Shadow>,
}

impl Causes {
    /// Of so many processors with secondary caches of so many lines.
    pub fn new(processors: usize, lines: usize) -> Self {
        let shadows = (0..processors).map(|_| Shadow::new(lines)).collect();
        Self { views: FxHashMap::default(), stores: FxHashMap::default(), shadows }
    }

    /// A reference reaches the secondary cache; with `missed`, a request follows.
    pub fn refer(&mut self, cpu: CpuId, line: LineAddr, missed: bool) {
        let kept = self.shadows[cpu.index()].refer(line);
        if missed {
            let view = self.views.entry((cpu, line)).or_default();
            (view.requested, view.kept) = (true, kept);
        }
    }

    /// The processor has loaded or stored to `word` of a line that it has, or will when its request is granted. The cause of the
    /// miss that brought the line, if that is known from now on.
    pub fn touch(&mut self, cpu: CpuId, line: LineAddr, word: usize, stores: bool) -> Option<MissCause> {
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

    /// A request for the line is granted. Whether it is an upgrade, and if not, the cause of the miss, unless that is yet to be seen.
    pub fn grant(&mut self, cpu: CpuId, line: LineAddr) -> (bool, Option<MissCause>) {
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
                // Nothing has been written: as by a store that was granted the line and never came.
                (view.open == 0).then_some(MissCause::FalseSharing)
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

    /// The line has left the processor's caches: evicted, or taken away. The cause of the miss that brought it, if that is known
    /// only now.
    pub fn lose(&mut self, cpu: CpuId, line: LineAddr, evicted: bool) -> Option<MissCause> {
        if !evicted {
            self.shadows[cpu.index()].forget(line);
        }
        let view = self.views.get_mut(&(cpu, line)).filter(|view| view.presence == Presence::Present)?;
        view.presence = if evicted { Presence::Evicted } else { Presence::TakenAway };
        view.end()
    }

    /// The processor's program has ended: the lines of which its misses turn out to be false sharing.
    pub fn settle(&mut self, cpu: CpuId) -> Vec<LineAddr> {
        let own = self.views.iter_mut().filter(|((owner, _), _)| *owner == cpu);
        own.filter_map(|(&(_, line), view)| view.end().map(|_| line)).collect()
    }
}

impl View {
    /// The processor needs these words. The cause of its miss, if that shows.
    fn need(&mut self, words: u32) -> Option<MissCause> {
        if self.open & words == 0 {
            return None;
        }
        self.open = 0;
        self.had = self.came;
        Some(MissCause::TrueSharing)
    }

    /// The processor stores to these words, of a line whose words have been stored to so often.
    fn store(&mut self, words: u32, count: &mut Stores) {
        for word in (0..WORDS).filter(|word| words & 1 << word != 0) {
            count[word] = count[word].wrapping_add(1);
            (self.had[word], self.came[word]) = (count[word], count[word]);
        }
    }

    /// The line's life ends. If nothing of it was needed, what others have stored is still to be had.
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

    /// The processor misses on the line and touches a word of it.
    fn miss(causes: &mut Causes, cpu: CpuId, word: usize, stores: bool) -> Option<MissCause> {
        causes.refer(cpu, LINE, true);
        assert_eq!(causes.touch(cpu, LINE, word, stores), None, "its request is under way");
        causes.grant(cpu, LINE).1
    }

    #[test]
    fn words_that_others_wrote_make_true_sharing_and_other_words_false_sharing() {
        let mut causes = Causes::new(2, 8);
        assert_eq!(miss(&mut causes, A, 0, false), Some(MissCause::Cold));
        assert_eq!(causes.lose(A, LINE, false), None);
        assert_eq!(miss(&mut causes, B, 3, true), Some(MissCause::Cold));
        // A needs another word, for the time being.
        assert_eq!(miss(&mut causes, A, 0, false), None);
        assert_eq!(causes.touch(A, LINE, 1, true), None);
        assert_eq!(causes.touch(A, LINE, 3, false), Some(MissCause::TrueSharing));
        assert_eq!(causes.touch(A, LINE, 3, false), None, "once");
        // B had its own word, and A's store is what it did not have.
        causes.lose(B, LINE, false);
        assert_eq!(miss(&mut causes, B, 3, true), None);
        causes.lose(A, LINE, false);
        assert_eq!(causes.lose(B, LINE, false), Some(MissCause::FalseSharing));
        // What was not needed then is still news.
        assert_eq!(miss(&mut causes, B, 1, false), Some(MissCause::TrueSharing));
        assert_eq!(miss(&mut causes, A, 5, false), None);
        assert_eq!((causes.settle(A), causes.settle(B)), (vec![LINE], vec![]));
    }

    #[test]
    fn an_upgrade_is_no_miss_unless_the_copy_goes() {
        let mut causes = Causes::new(2, 8);
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
    fn evicted_lines_miss_for_want_of_ways_or_of_size() {
        let mut causes = Causes::new(1, 2);
        let mut go = |line: u64| {
            let line = LineAddr(line);
            causes.refer(A, line, true);
            let (_, cause) = causes.grant(A, line);
            causes.lose(A, line, true);
            cause
        };
        // Two lines fit a cache without conflicts, three do not.
        assert_eq!([0, 1, 0, 1].map(&mut go)[2..], [Some(MissCause::Conflict); 2]);
        assert_eq!([2, 0, 1].map(&mut go)[1..], [Some(MissCause::Capacity); 2]);
    }
}
