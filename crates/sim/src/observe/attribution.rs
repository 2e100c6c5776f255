//! Attribution of stall time: what a processor lost at each line of memory and each site of its program.
//!
//! Every wait has one cause ([`crate::Cause`]). A wait for a miss is charged to that miss, and the miss to the line
//! that was referenced and to the site of the reference. The cause of a miss ([`crate::MissCause`]) is often decided
//! only when the line leaves the cache; until then the stall time is kept pending with the miss. The sum over all
//! places therefore equals the processor's own account, to the picosecond.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use units::{CpuId, Duration, LineAddr};

use super::event::{IntervalEvent, ReferenceEvent};
use super::loss::{LineLoss, Loss, WORD_BITS, WordSet};
use super::probe::{Channels, Findings, Observer};
use super::subject::Subject;
use crate::account::{Cause, Charge, MeasuredPart, Measuring, MissCause, MissTag, Service};
use crate::options::Options;

/// The line address of waits without a line; no line has it.
const NO_LINE: u64 = u64::MAX;

/// Settled misses that are kept because a wait may still refer to them.
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
struct Losses {
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
    /// Misses that a wait may refer to.
    lives: FxHashMap<MissTag, Life>,
    /// The settled ones among them, oldest first.
    settled: VecDeque<MissTag>,
    /// By line, the miss that fetched it, while its cause is undecided.
    fetched_by: FxHashMap<LineAddr, MissTag>,
    words: FxHashMap<u64, (WordSet, WordSet)>,
}

impl Losses {
    /// Empty counts of a processor with lines of `1 << line_shift` bytes.
    fn new(line_shift: u32) -> Self {
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
            lives: FxHashMap::default(),
            settled: VecDeque::new(),
            fetched_by: FxHashMap::default(),
            words: FxHashMap::default(),
        }
    }

    /// Starts or stops measuring. A program is measured as a whole until it declares a measured part; the first
    /// declaration clears all earlier counts.
    fn measure(&mut self, MeasuredPart { measuring, declared }: MeasuredPart) {
        let measuring = if declared { measuring } else { Measuring::Yes };
        if declared && !self.begun {
            self.begun = true;
            self.entries.fill(Entry::EMPTY);
            self.lives.values_mut().for_each(|life| life.pending = Duration::ZERO);
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
    fn open(&mut self, tag: MissTag, site: u64, at: u64) {
        if tag == MissTag::NONE {
            return;
        }
        if self.settled.len() > QUARANTINE
            && let Some(oldest) = self.settled.pop_front()
        {
            self.lives.remove(&oldest);
        }
        let life = Life { place: self.place(site, at), loss: None, pending: Duration::ZERO };
        self.lives.insert(tag, life);
    }

    /// The request of a miss on `line` is granted: an upgrade, or a fetch whose cause is decided later.
    fn grant(&mut self, tag: MissTag, line: LineAddr, upgrade: bool) {
        if tag == MissTag::NONE {
            return;
        }
        if upgrade {
            self.settle(tag, Loss::Upgrade);
        } else if let Some(before) = self.fetched_by.insert(line, tag) {
            // A request is granted twice if its page moved.
            if before != tag {
                self.settle(before, Loss::Unsettled);
            }
        }
    }

    /// The cause of the miss on `line` is decided.
    fn decide(&mut self, line: LineAddr, cause: MissCause) {
        if let Some(tag) = self.fetched_by.remove(&line) {
            self.settle(tag, Loss::Miss(cause));
        }
    }

    /// Charges the pending time of a miss to `loss`, once its cause is decided or can no longer be.
    fn settle(&mut self, tag: MissTag, loss: Loss) {
        let Some(life) = self.lives.get_mut(&tag) else { return };
        let pending = std::mem::take(&mut life.pending);
        life.loss = Some(loss);
        let (place, counts) = (life.place, u64::from(self.measuring != Measuring::No));
        self.settled.push_back(tag);
        let entry = self.entry(place);
        entry.stalled[loss.index()] += pending;
        entry.count[loss.index()] += counts;
    }

    /// A miss is complete, served by `service`.
    fn complete(&mut self, tag: MissTag, service: Service) {
        if self.is_counting()
            && let Some(&Life { place, .. }) = self.lives.get(&tag)
        {
            self.entry(place).served[service.index()] += 1;
        }
    }

    /// A TLB miss on address `at`.
    fn translate(&mut self, site: u64, at: u64) {
        let place = self.place(site, at);
        if self.is_counting() {
            self.entry(place).count[Loss::Translation.index()] += 1;
        }
    }

    /// Names the place of the next wait: address `at`.
    fn spin(&mut self, site: u64, at: u64) {
        self.place(site, at);
    }

    /// Charges `time` to a miss, to the place of the last TLB miss or awaited word, or to a barrier.
    fn spend(&mut self, site: u64, Charge { cause, tag }: Charge, charged_to: Cause, time: Duration) {
        if !self.is_counting() {
            return;
        }
        let loss = match charged_to {
            Cause::Lock => Some(Loss::Lock),
            Cause::Barrier => Some(Loss::Barrier),
            Cause::Translation => Some(Loss::Translation),
            Cause::Read(_) | Cause::Write(_) => None,
            _ => return,
        };
        if let Some(life) = self.lives.get_mut(&tag) {
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
    fn touch(&mut self, at: u64, stores: bool) {
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

    /// The losses of processor `cpu`, to which this account belongs, ordered by line and site.
    fn losses(&self, cpu: CpuId) -> Vec<LineLoss> {
        let mut entries = self.entries.clone();
        self.before.iter().for_each(|(&place, before)| entries[place] = *before);
        for life in self.lives.values().filter(|life| life.pending > Duration::ZERO) {
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

/// The losses of all processors.
#[derive(Debug)]
pub struct Attribution {
    processors: Vec<Losses>,
}

impl Attribution {
    /// The attribution of a machine, if enabled. It depends on the classification of misses by [`super::Causes`].
    pub fn observer(options: &Options, subject: &Subject) -> Option<Box<dyn Observer>> {
        let make = || Self { processors: (0..subject.threads).map(|_| Losses::new(subject.line_shift)).collect() };
        options.attribute.then(|| Box::new(make()) as Box<dyn Observer>)
    }

    /// The losses by processor, line and site.
    pub fn losses(&self) -> Vec<LineLoss> {
        (0u16..).map(CpuId).zip(&self.processors).flat_map(|(cpu, losses)| losses.losses(cpu)).collect()
    }
}

impl Observer for Attribution {
    fn channels(&self) -> Channels {
        Channels { references: true, intervals: true, ..Channels::default() }
    }

    fn reference(&mut self, cpu: CpuId, event: &ReferenceEvent, _findings: &mut Findings) {
        let losses = &mut self.processors[cpu.index()];
        match *event {
            ReferenceEvent::Access { named, stores, .. } => losses.touch(named, stores),
            ReferenceEvent::MemoryChange { named } => losses.touch(named, true),
            ReferenceEvent::Miss { tag, site, named, .. } => losses.open(tag, site, named),
            ReferenceEvent::Classified { tag, line, upgrade } => losses.grant(tag, line, upgrade),
            ReferenceEvent::CauseDecided { line, cause } => losses.decide(line, cause),
            ReferenceEvent::Completion { tag, service } => losses.complete(tag, service),
            ReferenceEvent::TlbMiss { site, named } => losses.translate(site, named),
            ReferenceEvent::Spin { site, named } => losses.spin(site, named),
            ReferenceEvent::Wait { site, charge, charged_to, time } => losses.spend(site, charge, charged_to, time),
            _ => {}
        }
    }

    fn interval(&mut self, event: &IntervalEvent<'_>) {
        match *event {
            IntervalEvent::Arrival { cpu, part, .. } | IntervalEvent::Change { cpu, part, .. } => {
                self.processors[cpu.index()].measure(part);
            }
            IntervalEvent::Leave { cpu, declared, .. } => {
                self.processors[cpu.index()].measure(MeasuredPart { measuring: Measuring::No, declared });
            }
            IntervalEvent::Begin { .. } | IntervalEvent::Away { .. } => {}
        }
    }
}
