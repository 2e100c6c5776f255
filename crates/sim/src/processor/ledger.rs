//! Where a processor's time goes, every picosecond of it to one thing.
//!
//! The rule of overlap: an instruction that cannot issue waits for one thing, and that is charged with the wait. What others do
//! meanwhile costs nothing, be it a second miss or work that goes on behind the first: stalls are what could not be hidden. A
//! processor that may not go on before several misses are over is charged for the one that is over last, and one without a
//! request buffer for the miss whose buffer it gets. Time in which instructions issue is busy, and so is time in which a chain of
//! dependent instructions fills the window; the latter alone is measured, the former follows from the number of instructions, so
//! that the sum of all says something.

use units::{Duration, Time};

use super::{Miss, MissId, Processor, ProcessorCounters, Wait};
use crate::attribution::Charge;

/// Where a miss went, by the node of its requester and the home of its line: the classes of the FLASH dissertation's Table 5.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Distance {
    /// The line's home is the own node, and no other was asked.
    #[default]
    Local,
    /// The line's home is the own node, and another was asked: two hops.
    LocalThird,
    /// The line's home is another node, and no third was asked: two hops.
    Remote,
    /// The line's home is another node, and a third was asked: three hops.
    RemoteThird,
}

/// What a miss took.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Transaction {
    /// The home answered, and nobody else lost anything: clean.
    #[default]
    Clean,
    /// The owner of a dirty, or exclusive, copy was asked.
    Owned,
    /// Copies of others were invalidated.
    Invalidating,
}

/// How a miss was served.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Service {
    /// Where.
    pub distance: Distance,
    /// By whom.
    pub transaction: Transaction,
}

impl Distance {
    /// All, nearest first.
    pub const ALL: [Self; 4] = [Self::Local, Self::LocalThird, Self::Remote, Self::RemoteThird];

    /// Of a line whose home is the own node or not, when a third node was asked or not.
    pub const fn of(local: bool, third: bool) -> Self {
        match (local, third) {
            (true, false) => Self::Local,
            (true, true) => Self::LocalThird,
            (false, false) => Self::Remote,
            (false, true) => Self::RemoteThird,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::LocalThird => "local-third",
            Self::Remote => "remote",
            Self::RemoteThird => "remote-third",
        }
    }

    /// Whether the line's home is the own node.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Local | Self::LocalThird)
    }
}

impl Transaction {
    /// All.
    pub const ALL: [Self; 3] = [Self::Clean, Self::Owned, Self::Invalidating];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Owned => "owned",
            Self::Invalidating => "invalidating",
        }
    }
}

impl Service {
    /// How many there could be.
    pub const COUNT: usize = Distance::ALL.len() * Transaction::ALL.len();

    /// Every one there could be.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |distance| Transaction::ALL.into_iter().map(move |transaction| Self { distance, transaction });
        Distance::ALL.into_iter().flat_map(of)
    }

    /// Its place among [`Service::all`].
    pub const fn index(self) -> usize {
        self.distance as usize * Transaction::ALL.len() + self.transaction as usize
    }
}

/// What a processor spends time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Dependent instructions, one after another.
    Work,
    /// A load that hits in the primary cache, and whose value is needed at once.
    PrimaryCache,
    /// A load that hits in the secondary cache.
    SecondaryCache,
    /// A miss of a load, or a read prefetch.
    Read(Service),
    /// A miss of a store, or a write prefetch.
    Write(Service),
    /// A line that leaves the caches.
    Writeback,
    /// The refill of a translation.
    Translation,
    /// The other threads at a barrier.
    Barrier,
    /// A lock, or another word that somebody else is to change.
    Lock,
    /// The operating system.
    System,
    /// A thread that could run and has no processor.
    Descheduled,
    /// A processor that has nothing to run.
    Idle,
}

impl Cause {
    const READ: usize = 10;
    const WRITE: usize = Self::READ + Service::COUNT;
    const COUNT: usize = Self::WRITE + Service::COUNT;

    const fn index(self) -> usize {
        match self {
            Self::Work => 0,
            Self::PrimaryCache => 1,
            Self::SecondaryCache => 2,
            Self::Writeback => 3,
            Self::Translation => 4,
            Self::Barrier => 5,
            Self::Lock => 6,
            Self::System => 7,
            Self::Descheduled => 8,
            Self::Idle => 9,
            Self::Read(service) => Self::READ + service.index(),
            Self::Write(service) => Self::WRITE + service.index(),
        }
    }

    /// All but misses, each with its name. Work is not among them: who issues and who waits for work are both busy.
    pub const OTHERS: [(Self, &'static str); 9] = [
        (Self::PrimaryCache, "primary"),
        (Self::SecondaryCache, "secondary"),
        (Self::Writeback, "writeback"),
        (Self::Translation, "translation"),
        (Self::Barrier, "barrier"),
        (Self::Lock, "lock"),
        (Self::System, "system"),
        (Self::Descheduled, "descheduled"),
        (Self::Idle, "idle"),
    ];

    /// A miss, for an access that writes or not.
    pub const fn miss(writes: bool, service: Service) -> Self {
        if writes { Self::Write(service) } else { Self::Read(service) }
    }
}

/// Where time went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeSplit {
    /// Time in which instructions issued.
    issuing: Duration,
    spent: [Duration; Cause::COUNT],
}

impl Default for TimeSplit {
    fn default() -> Self {
        Self { issuing: Duration::ZERO, spent: [Duration::ZERO; Cause::COUNT] }
    }
}

impl TimeSplit {
    /// Time in which instructions issued or, one after another, filled the window.
    pub fn busy(&self) -> Duration {
        self.issuing + self.of(Cause::Work)
    }

    /// Time spent on one thing.
    pub const fn of(&self, cause: Cause) -> Duration {
        self.spent[cause.index()]
    }

    /// All of it.
    pub fn total(&self) -> Duration {
        self.spent.iter().fold(self.issuing, |sum, &spent| sum + spent)
    }

    fn since(&self, before: &Self) -> Self {
        let spent = std::array::from_fn(|index| Duration(self.spent[index].0 - before.spent[index].0));
        Self { issuing: Duration(self.issuing.0 - before.issuing.0), spent }
    }

    fn plus(&self, other: &Self) -> Self {
        let spent = std::array::from_fn(|index| self.spent[index] + other.spent[index]);
        Self { issuing: self.issuing + other.issuing, spent }
    }
}

/// How many misses were served how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissCounts {
    reads: [u64; Service::COUNT],
    writes: [u64; Service::COUNT],
    /// Of the writes, those that had a shared copy already.
    pub upgrades: u64,
}

impl MissCounts {
    /// Misses, of stores or of loads, that were served so.
    pub const fn of(&self, writes: bool, service: Service) -> u64 {
        if writes { self.writes[service.index()] } else { self.reads[service.index()] }
    }

    fn count(&mut self, writes: bool, service: Service) {
        let counts = if writes { &mut self.writes } else { &mut self.reads };
        counts[service.index()] += 1;
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            reads: std::array::from_fn(|index| self.reads[index] - before.reads[index]),
            writes: std::array::from_fn(|index| self.writes[index] - before.writes[index]),
            upgrades: self.upgrades - before.upgrades,
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            reads: std::array::from_fn(|index| self.reads[index] + other.reads[index]),
            writes: std::array::from_fn(|index| self.writes[index] + other.writes[index]),
            upgrades: self.upgrades + other.upgrades,
        }
    }
}

impl ProcessorCounters {
    /// What was done since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            instructions: self.instructions - before.instructions,
            references: self.references - before.references,
            looks: self.looks - before.looks,
            primary_misses: self.primary_misses - before.primary_misses,
            secondary_misses: self.secondary_misses - before.secondary_misses,
            upgrades: self.upgrades - before.upgrades,
            external: self.external.since(&before.external),
            translation_misses: self.translation_misses - before.translation_misses,
            page_faults: self.page_faults - before.page_faults,
            writebacks: self.writebacks - before.writebacks,
            refusals: self.refusals - before.refusals,
            misses: self.misses.since(&before.misses),
            causes: std::array::from_fn(|cause| self.causes[cause] - before.causes[cause]),
            time: self.time.since(&before.time),
        }
    }

    /// So much more time was spent on `cause`.
    pub fn spend(&mut self, cause: Cause, time: Duration) {
        self.time.spent[cause.index()] += time;
    }

    /// What was done in both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            instructions: self.instructions + other.instructions,
            references: self.references + other.references,
            looks: self.looks + other.looks,
            primary_misses: self.primary_misses + other.primary_misses,
            secondary_misses: self.secondary_misses + other.secondary_misses,
            upgrades: self.upgrades + other.upgrades,
            external: self.external.plus(&other.external),
            translation_misses: self.translation_misses + other.translation_misses,
            page_faults: self.page_faults + other.page_faults,
            writebacks: self.writebacks + other.writebacks,
            refusals: self.refusals + other.refusals,
            misses: self.misses.plus(&other.misses),
            causes: std::array::from_fn(|cause| self.causes[cause] + other.causes[cause]),
            time: self.time.plus(&other.time),
        }
    }
}

/// What a processor keeps to account for its time.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// All but the time in which instructions issued, which the number of instructions tells.
    spent: TimeSplit,
    /// What the program said it waits for when it was last suspended.
    waits: Option<Wait>,
    /// What all that the processor does is for, if not for the program's own ends; and when that began, in instructions.
    on_behalf: Option<(Cause, u64)>,
    /// Instructions issued on behalf of something, in all.
    elsewhere: u64,
    misses: MissCounts,
    /// How misses, by their numbers as far as any has been over, were served last, and which was over last.
    served: Vec<Option<Charge>>,
    latest: Option<Charge>,
}

impl Ledger {
    /// `time` was spent on `cause`, or on what all is on behalf of. The operating system and the translation buffer are never on
    /// a program's behalf. Returns which of them it was.
    #[inline]
    fn charge(&mut self, cause: Cause, time: Duration) -> Cause {
        let cause = match (self.on_behalf, cause) {
            (None, cause) | (_, cause @ (Cause::System | Cause::Idle | Cause::Translation)) => cause,
            (Some((on_behalf, _)), _) => on_behalf,
        };
        self.spent.spent[cause.index()] += time;
        cause
    }
}

impl Ledger {
    /// Whether what the processor does is on behalf of anything.
    pub(super) fn is_on_behalf(&self) -> bool {
        self.on_behalf.is_some()
    }

    /// Instructions issued on behalf of something, in all.
    pub(super) fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// So many more rounds have passed in each of which so many instructions were issued on behalf of something, and time was spent so.
    pub(super) fn repeat(&mut self, elsewhere: u64, time: &TimeSplit, rounds: u64) {
        self.elsewhere += elsewhere * rounds;
        for (spent, each) in self.spent.spent.iter_mut().zip(time.spent) {
            *spent += each * rounds;
        }
    }
}

impl Processor {
    /// Passes the time until `at`, if that is still to come, on account of what is charged with it.
    #[inline]
    pub fn wait_until(&mut self, at: Time, charge: impl Into<Charge>) {
        if at > self.time {
            let (charge, time) = (charge.into(), at - self.time);
            let on = self.ledger.charge(charge.cause, time);
            if let Some(attribution) = &mut self.attribution {
                attribution.spend(self.site, charge, on, time);
            }
            self.time = at;
        }
    }

    /// The program is suspended until what it says has come.
    #[inline]
    pub fn suspend(&mut self, wait: Wait) {
        self.ledger.waits = Some(wait);
    }

    /// The time that has passed since the program was suspended, if the processor's own did not, was spent on what it waits for.
    #[inline]
    pub(super) fn resume(&mut self, now: Time) {
        let waits = self.ledger.waits.take();
        if now > self.time {
            let cause = self.waited_for(waits);
            self.wait_until(now, cause);
        }
    }

    /// The operating system takes it for `length`, at `now` or when it comes to it.
    pub fn spend_in_os(&mut self, now: Time, length: Duration) {
        let cause = self.waited_for(self.ledger.waits);
        self.wait_until(now, cause);
        self.wait_until(self.time + length, Cause::System);
    }

    /// Its program leaves the processor at `now`.
    pub fn vacate(&mut self, now: Time) {
        self.end_rest(now);
        self.resume(now);
    }

    /// Counts instructions of a loop whose time is charged as a wait.
    pub(super) fn issue_waiting(&mut self, count: u64) {
        self.issued += count;
        self.ledger.elsewhere += count;
        if let Some((_, since)) = &mut self.ledger.on_behalf {
            *since += count;
        }
    }

    #[cold]
    fn waited_for(&self, wait: Option<Wait>) -> Charge {
        let reads = Charge::from(Cause::Read(Service::default()));
        let cause = match wait {
            None => Cause::Idle,
            Some(Wait::Barrier) => Cause::Barrier,
            Some(Wait::Departure(_) | Wait::Rest(..) | Wait::Published | Wait::Leave) => Cause::Lock,
            // On behalf of what it waits for, if that has a name.
            Some(Wait::Parked(_)) => self.ledger.on_behalf.map_or(Cause::Idle, |(cause, _)| cause),
            Some(Wait::Writeback(_)) => Cause::Writeback,
            Some(Wait::Page(..) | Wait::Call) => Cause::System,
            Some(Wait::Value(id) | Wait::Miss(id)) => {
                let over = self.ledger.served.get(usize::from(id.0)).copied().flatten().unwrap_or(reads);
                return self.miss(id).map_or(over, |miss| miss.charge());
            }
            Some(Wait::AnyMiss | Wait::AllMisses | Wait::Until(_)) => return self.ledger.latest.unwrap_or(reads),
        };
        cause.into()
    }

    /// From here on, all that the processor spends time on is on behalf of `cause`: of a barrier or a lock that are made of
    /// loads and stores; with `None` of the program again. Returns what it was before.
    pub fn on_behalf(&mut self, cause: Option<Cause>) -> Option<Cause> {
        let before = self.ledger.on_behalf.take();
        if let Some((before, since)) = before {
            let instructions = self.issued - since;
            self.ledger.elsewhere += instructions;
            self.ledger.spent.spent[before.index()] += self.timing.issue * instructions;
        }
        self.ledger.on_behalf = cause.map(|cause| (cause, self.issued));
        before.map(|(cause, _)| cause)
    }

    /// The outstanding miss on `line`, if there is one, is being served so.
    pub fn serve(&mut self, line: units::LineAddr, service: Service) {
        if let Some(id) = self.miss_on(line)
            && let Some(miss) = self.miss_mut(id)
        {
            miss.service = service;
        }
    }

    /// Miss `id` is over.
    pub(super) fn count_miss(&mut self, id: MissId, miss: &Miss) {
        self.ledger.misses.count(miss.writes, miss.service);
        self.ledger.misses.upgrades += u64::from(miss.upgrade);
        if let Some(attribution) = &mut self.attribution {
            attribution.served(miss.debt, miss.service);
        }
        let charge = Some(miss.charge());
        let number = usize::from(id.0);
        if number >= self.ledger.served.len() {
            self.ledger.served.resize(number + 1, None);
        }
        (self.ledger.served[number], self.ledger.latest) = (charge, charge);
    }

    /// What it did so far.
    pub fn counters(&self) -> ProcessorCounters {
        let pending = self.ledger.on_behalf.map_or(0, |(_, since)| self.issued - since);
        let issuing = self.timing.issue * (self.issued - self.ledger.elsewhere - pending);
        let mut time = TimeSplit { issuing, ..self.ledger.spent };
        if let Some((cause, _)) = self.ledger.on_behalf {
            time.spent[cause.index()] += self.timing.issue * pending;
        }
        ProcessorCounters { instructions: self.issued, misses: self.ledger.misses, time, ..self.counters }
    }
}
