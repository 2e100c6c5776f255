//! Whom misses and waits belong to: what a processor lost at which line of memory, and at which place of its program.
//!
//! Every wait is for one thing ([`crate::Cause`]); a wait for a miss is owed by that miss, and the miss belongs to the line that
//! was referred to and the site in the program that did so. Why a processor missed is often known only when the life of the line
//! ends ([`crate::MissCause`]): until then the miss keeps what was waited for it. So the sum over all places is what the
//! processor's own account says, to the picosecond.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use units::{CpuId, Duration, LineAddr};

use crate::causes::MissCause;
use crate::processor::{Cause, Measuring, Service};

/// What time was lost to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Loss {
    /// A miss, for this cause.
    Miss(MissCause),
    /// The right to store to a line of which the processor had a copy.
    Upgrade,
    /// A miss that was not over, or whose cause had not shown, when the program ended.
    Unsettled,
    /// The refill of a translation.
    Translation,
    /// A lock, or another word that somebody else was to change.
    Lock,
    /// The other threads at a barrier.
    Barrier,
}

impl Loss {
    /// How many there are.
    pub const COUNT: usize = MissCause::ALL.len() + 5;

    /// All, each with its name: misses by their causes first.
    pub const ALL: [(Self, &'static str); Self::COUNT] = [
        (Self::Miss(MissCause::Cold), "cold"),
        (Self::Miss(MissCause::Capacity), "capacity"),
        (Self::Miss(MissCause::Conflict), "conflict"),
        (Self::Miss(MissCause::TrueSharing), "true-sharing"),
        (Self::Miss(MissCause::FalseSharing), "false-sharing"),
        (Self::Upgrade, "upgrade"),
        (Self::Unsettled, "unsettled"),
        (Self::Translation, "translation"),
        (Self::Lock, "lock"),
        (Self::Barrier, "barrier"),
    ];

    const fn index(self) -> usize {
        match self {
            Self::Miss(cause) => cause as usize,
            Self::Upgrade => 5,
            Self::Unsettled => 6,
            Self::Translation => 7,
            Self::Lock => 8,
            Self::Barrier => 9,
        }
    }
}

/// Words of a line, a bit each; words are of eight bytes, and lines of more than 32 of them share bits.
pub type WordSet = u32;

/// Words of a line that there are bits for.
pub const WORD_BITS: u32 = WordSet::BITS;

/// What one processor lost at one line, in what is measured of its program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineLoss {
    /// The processor.
    pub cpu: CpuId,
    /// Where in the program, as [`crate::Thread::at_site`] said; zero if it said nothing.
    pub site: u64,
    /// The address of the line's first byte, as the program names it; `None` for waits that are for no line.
    pub line: Option<u64>,
    /// How often, by what was lost: in the order of [`Loss::ALL`]. Locks and barriers are counted in `stalled` alone.
    pub count: [u64; Loss::COUNT],
    /// Time lost, in the order of [`Loss::ALL`].
    pub stalled: [Duration; Loss::COUNT],
    /// Misses that are over, upgrades among them, by how they were served: in the order of [`Service::all`].
    pub served: [u64; Service::COUNT],
    /// Words of the line that the processor loaded, wherever in the program.
    pub read: WordSet,
    /// Words of the line that it stored to, wherever in the program.
    pub written: WordSet,
}

/// The miss that owes a wait; none for waits that are for no miss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Debt(u32);

impl Debt {
    /// Nobody's.
    pub const NONE: Self = Self(0);
}

/// A wait, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charge {
    /// What for.
    pub cause: Cause,
    /// The miss that owes it.
    pub debt: Debt,
}

impl From<Cause> for Charge {
    fn from(cause: Cause) -> Self {
        Self { cause, debt: Debt::NONE }
    }
}

/// No line has this address: waits that are for none.
const NO_LINE: u64 = u64::MAX;

/// Numbers of misses come round again after so many others at least: longer than anything waits for a miss that is over.
const QUARANTINE: usize = 4096;

/// A line at a site.
type Place = (u64, u64);

/// Counts of a place.
#[derive(Clone, Copy, Debug)]
struct Entry {
    count: [u64; Loss::COUNT],
    stalled: [Duration; Loss::COUNT],
    served: [u64; Service::COUNT],
}

impl Entry {
    const EMPTY: Self =
        Self { count: [0; Loss::COUNT], stalled: [Duration::ZERO; Loss::COUNT], served: [0; Service::COUNT] };
}

/// A miss: from its request until its cause has shown.
#[derive(Clone, Copy, Debug)]
struct Life {
    place: usize,
    loss: Option<Loss>,
    /// What was waited for it while its cause was unknown.
    pending: Duration,
}

/// What one processor lost where.
#[derive(Debug)]
pub struct Attribution {
    /// Whether what happens is to be measured.
    measuring: Measuring,
    /// Places and lines that have changed since what is measured was over, as they were then.
    before: FxHashMap<usize, Entry>,
    words_before: FxHashMap<u64, (WordSet, WordSet)>,
    /// Whether anything was to be measured before.
    begun: bool,
    line_mask: u64,
    places: FxHashMap<Place, usize>,
    entries: Vec<Entry>,
    /// The place that was asked for last.
    latest: (Place, usize),
    /// By number; number zero is nobody.
    lives: Vec<Life>,
    /// Numbers that are free again, the longest free first.
    free: VecDeque<u32>,
    /// By line, the miss that brought it, while its cause is unknown.
    bringers: FxHashMap<LineAddr, u32>,
    words: FxHashMap<u64, (WordSet, WordSet)>,
}

impl Attribution {
    /// Nothing lost yet, by a processor with lines of `1 << line_shift` bytes.
    pub fn new(line_shift: u32) -> Self {
        let nowhere = (0, NO_LINE);
        Self {
            measuring: Measuring::Yes,
            before: FxHashMap::default(),
            words_before: FxHashMap::default(),
            begun: false,
            line_mask: !((1 << line_shift) - 1),
            places: FxHashMap::from_iter([(nowhere, 0)]),
            entries: vec![Entry::EMPTY],
            latest: (nowhere, 0),
            lives: vec![Life { place: 0, loss: None, pending: Duration::ZERO }],
            free: VecDeque::new(),
            bringers: FxHashMap::default(),
            words: FxHashMap::default(),
        }
    }

    /// From here on what happens is to be measured, or not. What came before the first that is does not count.
    pub fn count(&mut self, measuring: Measuring, declared: bool) {
        if declared && !self.begun {
            self.begun = true;
            self.entries.fill(Entry::EMPTY);
            self.lives.iter_mut().for_each(|life| life.pending = Duration::ZERO);
            self.words.clear();
        }
        if measuring == Measuring::Yes {
            // What was done since counts after all.
            self.before.clear();
            self.words_before.clear();
        }
        self.measuring = measuring;
    }

    fn is_counting(&self) -> bool {
        self.measuring != Measuring::No
    }

    /// What is known of a place, to be changed.
    fn entry(&mut self, place: usize) -> &mut Entry {
        if self.measuring == Measuring::IfMoreFollows {
            self.before.entry(place).or_insert(self.entries[place]);
        }
        &mut self.entries[place]
    }

    fn place(&mut self, site: u64, at: u64) -> usize {
        let line = if at == NO_LINE { at } else { at & self.line_mask };
        let place = (site, line);
        if self.latest.0 != place {
            let next = self.entries.len();
            let number = *self.places.entry(place).or_insert(next);
            if number == next {
                self.entries.push(Entry::EMPTY);
            }
            self.latest = (place, number);
        }
        self.latest.1
    }

    /// A miss on what lies at `at`, by the program at `site`.
    pub fn open(&mut self, site: u64, at: u64) -> Debt {
        let life = Life { place: self.place(site, at), loss: None, pending: Duration::ZERO };
        if self.free.len() > QUARANTINE
            && let Some(number) = self.free.pop_front()
        {
            self.lives[number as usize] = life;
            return Debt(number);
        }
        self.lives.push(life);
        Debt(self.lives.len() as u32 - 1)
    }

    /// The request of a miss for `line` has been granted: an `upgrade`, or a line that was not there and whose cause is to show.
    pub fn grant(&mut self, debt: Debt, line: LineAddr, upgrade: bool) {
        if debt == Debt::NONE {
            return;
        }
        if upgrade {
            self.settle(debt.0, Loss::Upgrade);
        } else if let Some(before) = self.bringers.insert(line, debt.0) {
            // It has been granted again after its page moved.
            if before != debt.0 {
                self.settle(before, Loss::Unsettled);
            }
        }
    }

    /// Why the processor missed on `line` has shown.
    pub fn judge(&mut self, line: LineAddr, cause: MissCause) {
        if let Some(number) = self.bringers.remove(&line) {
            self.settle(number, Loss::Miss(cause));
        }
    }

    /// The cause of a miss is known, or will never be.
    fn settle(&mut self, number: u32, loss: Loss) {
        let life = &mut self.lives[number as usize];
        let pending = std::mem::take(&mut life.pending);
        life.loss = Some(loss);
        self.free.push_back(number);
        let (place, counts) = (life.place, u64::from(self.measuring != Measuring::No));
        let entry = self.entry(place);
        entry.stalled[loss.index()] += pending;
        entry.count[loss.index()] += counts;
    }

    /// A miss is over, and was served so.
    pub fn served(&mut self, debt: Debt, service: Service) {
        if self.is_counting() && debt != Debt::NONE {
            let place = self.lives[debt.0 as usize].place;
            self.entry(place).served[service.index()] += 1;
        }
    }

    /// A translation of what lies at `at` is missing.
    pub fn translate(&mut self, site: u64, at: u64) {
        let place = self.place(site, at);
        if self.is_counting() {
            self.entry(place).count[Loss::Translation.index()] += 1;
        }
    }

    /// What follows is a wait for what lies at `at`.
    pub fn look(&mut self, site: u64, at: u64) {
        self.place(site, at);
    }

    /// `time` was spent: on a miss, on the translation or the word that was named last, or on a barrier.
    pub fn spend(&mut self, site: u64, Charge { cause, debt }: Charge, on: Cause, time: Duration) {
        if !self.is_counting() {
            return;
        }
        let loss = match on {
            Cause::Lock => Some(Loss::Lock),
            Cause::Barrier => Some(Loss::Barrier),
            Cause::Translation => Some(Loss::Translation),
            Cause::Read(_) | Cause::Write(_) => None,
            _ => return,
        };
        if debt != Debt::NONE {
            let life = &mut self.lives[debt.0 as usize];
            match loss.or(life.loss) {
                Some(loss) => {
                    let place = life.place;
                    self.entry(place).stalled[loss.index()] += time;
                }
                None => life.pending += time,
            }
            return;
        }
        let place = match cause {
            Cause::Barrier => self.place(site, NO_LINE),
            _ => self.latest.1,
        };
        self.entry(place).stalled[loss.unwrap_or(Loss::Unsettled).index()] += time;
    }

    /// The program refers to a word.
    pub fn touch(&mut self, at: u64, stores: bool) {
        if self.is_counting() {
            let line = at & self.line_mask;
            let words = self.words.entry(line).or_default();
            if self.measuring == Measuring::IfMoreFollows {
                self.words_before.entry(line).or_insert(*words);
            }
            let mark = 1 << (((at & !self.line_mask) >> 3) % u64::from(WORD_BITS));
            *(if stores { &mut words.1 } else { &mut words.0 }) |= mark;
        }
    }

    /// What processor `cpu`, which this is of, lost, in the order of lines and sites.
    pub fn losses(&self, cpu: CpuId) -> Vec<LineLoss> {
        let mut entries = self.entries.clone();
        self.before.iter().for_each(|(&place, before)| entries[place] = *before);
        for life in self.lives.iter().filter(|life| life.pending > Duration::ZERO) {
            entries[life.place].stalled[Loss::Unsettled.index()] += life.pending;
        }
        let mut places: Vec<_> = self.places.iter().map(|(&(site, line), &number)| (line, site, number)).collect();
        places.sort_unstable();
        let loss = |&(line, site, number): &(u64, u64, usize)| {
            let Entry { count, stalled, served } = entries[number];
            let words = self.words_before.get(&line).or_else(|| self.words.get(&line));
            let (read, written) = words.copied().unwrap_or_default();
            LineLoss { cpu, site, line: (line != NO_LINE).then_some(line), count, stalled, served, read, written }
        };
        let is_any = |loss: &LineLoss| loss.stalled != Entry::EMPTY.stalled || loss.count != Entry::EMPTY.count;
        places.iter().map(loss).filter(|loss| is_any(loss) || loss.read | loss.written != 0).collect()
    }
}
