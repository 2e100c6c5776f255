//! Attribution of stall time: what a processor lost at each line of memory and each site of its program.
//!
//! Every wait has one cause ([`crate::Cause`]). A wait for a miss is charged to that miss, and the miss to the line
//! that was referenced and to the site of the reference. The cause of a miss ([`crate::MissCause`]) is often decided
//! only when the line leaves the cache; until then the stall time is kept pending with the miss. The sum over all
//! places therefore equals the processor's own account, to the picosecond.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use units::{CpuId, Duration, LineAddr};

use crate::account::{Cause, Measuring, MissCause, Service};

/// The reason for lost time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Loss {
    /// A miss, for this cause.
    Miss(MissCause),
    /// Ownership of a line of which the processor already had a copy.
    Upgrade,
    /// A miss that was outstanding, or whose cause was undecided, when the program ended.
    Unsettled,
    /// A TLB refill.
    Translation,
    /// A wait for a lock, or for another word that another processor is to change.
    Lock,
    /// A wait at a barrier for the other threads.
    Barrier,
}

impl Loss {
    /// Number of losses.
    pub const COUNT: usize = MissCause::ALL.len() + 5;

    /// Every loss with its name, misses by cause first.
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

/// A set of words of a line, one bit each. Words have eight bytes; in lines of more than 32 words, words share bits.
pub type WordSet = u32;

/// Number of bits in a [`WordSet`].
pub const WORD_BITS: u32 = WordSet::BITS;

/// The time that one processor lost at one line and site, within the measured part of its program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineLoss {
    /// The processor.
    pub cpu: CpuId,
    /// The site in the program, as given to [`crate::Thread::at_site`]; zero if none was given.
    pub site: u64,
    /// The address of the line's first byte, as the program names it; `None` for waits without a line.
    pub line: Option<u64>,
    /// Number of occurrences of each loss, in the order of [`Loss::ALL`]. Locks and barriers count in `stalled` alone.
    pub count: [u64; Loss::COUNT],
    /// Time lost, in the order of [`Loss::ALL`].
    pub stalled: [Duration; Loss::COUNT],
    /// Completed misses and upgrades by how they were served, in the order of [`Service::all`].
    pub served: [u64; Service::COUNT],
    /// Words of the line that the processor loaded, at any site.
    pub read: WordSet,
    /// Words of the line that the processor stored to, at any site.
    pub written: WordSet,
}

/// The miss that a wait is charged to; none for waits without a miss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossId(u32);

impl LossId {
    /// No miss.
    pub const NONE: Self = Self(0);
}

/// A wait, with the miss that it is charged to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charge {
    /// The cause of the wait.
    pub cause: Cause,
    /// The miss that it is charged to.
    pub loss_id: LossId,
}

impl From<Cause> for Charge {
    fn from(cause: Cause) -> Self {
        Self { cause, loss_id: LossId::NONE }
    }
}

/// The line address of waits without a line; no line has it.
const NO_LINE: u64 = u64::MAX;

/// Freed miss numbers that must precede a number in the queue before it is reused, so that no wait still refers to it.
const QUARANTINE: usize = 4096;

/// A site and a line.
type Place = (u64, u64);

/// The counts of one place.
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

/// A miss, from its request until its cause is decided.
#[derive(Clone, Copy, Debug)]
struct Life {
    place: usize,
    loss: Option<Loss>,
    /// Stall time charged to the miss while its cause is undecided.
    pending: Duration,
}

/// The losses of one processor by place.
#[derive(Debug)]
pub struct Attribution {
    /// Whether events count at present.
    measuring: Measuring,
    /// Places that have changed since the measured part ended for the time being, with their counts at its end.
    before: FxHashMap<usize, Entry>,
    words_before: FxHashMap<u64, (WordSet, WordSet)>,
    /// Whether the measured part of the program has begun.
    begun: bool,
    line_mask: u64,
    places: FxHashMap<Place, usize>,
    entries: Vec<Entry>,
    /// The place that was looked up last.
    latest: (Place, usize),
    /// Misses by number; number zero is no miss.
    lives: Vec<Life>,
    /// Miss numbers for reuse, the longest free first.
    free: VecDeque<u32>,
    /// By line, the miss that fetched it, while its cause is undecided.
    bringers: FxHashMap<LineAddr, u32>,
    words: FxHashMap<u64, (WordSet, WordSet)>,
}

impl Attribution {
    /// Empty counts of a processor with lines of `1 << line_shift` bytes.
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

    /// Starts or stops measuring. The first start that the program declares clears all earlier counts.
    pub fn count(&mut self, measuring: Measuring, declared: bool) {
        if declared && !self.begun {
            self.begun = true;
            self.entries.fill(Entry::EMPTY);
            self.lives.iter_mut().for_each(|life| life.pending = Duration::ZERO);
            self.words.clear();
        }
        if measuring == Measuring::Yes {
            // The events since that end count after all: the measured part continues.
            self.before.clear();
            self.words_before.clear();
        }
        self.measuring = measuring;
    }

    fn is_counting(&self) -> bool {
        self.measuring != Measuring::No
    }

    /// The counts of a place, saved beforehand if the measured part may be over.
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

    /// Opens a miss on address `at` by the program at `site`.
    pub fn open(&mut self, site: u64, at: u64) -> LossId {
        let life = Life { place: self.place(site, at), loss: None, pending: Duration::ZERO };
        if self.free.len() > QUARANTINE
            && let Some(number) = self.free.pop_front()
        {
            self.lives[number as usize] = life;
            return LossId(number);
        }
        self.lives.push(life);
        LossId(self.lives.len() as u32 - 1)
    }

    /// The request of a miss on `line` is granted: an upgrade, or a fetch whose cause is decided later.
    pub fn grant(&mut self, loss_id: LossId, line: LineAddr, upgrade: bool) {
        if loss_id == LossId::NONE {
            return;
        }
        if upgrade {
            self.settle(loss_id.0, Loss::Upgrade);
        } else if let Some(before) = self.bringers.insert(line, loss_id.0) {
            // A request is granted twice if its page moved.
            if before != loss_id.0 {
                self.settle(before, Loss::Unsettled);
            }
        }
    }

    /// The cause of the miss on `line` is decided.
    pub fn judge(&mut self, line: LineAddr, cause: MissCause) {
        if let Some(number) = self.bringers.remove(&line) {
            self.settle(number, Loss::Miss(cause));
        }
    }

    /// Charges the pending time of a miss to `loss`, once its cause is decided or can no longer be.
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

    /// A miss is complete, served by `service`.
    pub fn served(&mut self, loss_id: LossId, service: Service) {
        if self.is_counting() && loss_id != LossId::NONE {
            let place = self.lives[loss_id.0 as usize].place;
            self.entry(place).served[service.index()] += 1;
        }
    }

    /// A TLB miss on address `at`.
    pub fn translate(&mut self, site: u64, at: u64) {
        let place = self.place(site, at);
        if self.is_counting() {
            self.entry(place).count[Loss::Translation.index()] += 1;
        }
    }

    /// Names the place of the next wait: address `at`.
    pub fn look(&mut self, site: u64, at: u64) {
        self.place(site, at);
    }

    /// Charges `time` to a miss, to the place of the last TLB miss or awaited word, or to a barrier.
    pub fn spend(&mut self, site: u64, Charge { cause, loss_id }: Charge, on: Cause, time: Duration) {
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
        if loss_id != LossId::NONE {
            let life = &mut self.lives[loss_id.0 as usize];
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

    /// Records the word at `at` as loaded or stored to.
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

    /// The losses of processor `cpu`, the owner of this account, ordered by line and site.
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
