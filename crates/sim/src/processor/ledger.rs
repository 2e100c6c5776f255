//! The account of a processor's time, in which every picosecond has exactly one cause.
//!
//! The overlap rule: an instruction that cannot issue waits for one cause, which is charged for the wait. Overlapped
//! activity, such as a second miss or work behind the first, is not charged, so a stall is the time that was not
//! hidden. A processor that must wait for several misses is charged for the one that completes last, and one without a
//! free miss register for the miss whose register it gets. Time in which instructions issue is busy, as is time in
//! which a chain of dependent instructions fills the window; only the latter is measured, the former follows from the
//! number of instructions, so the sum of all is a check.

use units::{Duration, Time};

use super::{Miss, MissId, Processor, ProcessorCounters, Wait};
use crate::attribution::Charge;

/// The distance of a miss, by requester and home: the classes of the FLASH dissertation's Table 5.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Distance {
    /// The home is the requester's node, and no other was involved.
    #[default]
    Local,
    /// The home is the requester's node, and another was involved: two hops.
    LocalThird,
    /// The home is another node, and no third was involved: two hops.
    Remote,
    /// The home is another node, and a third was involved: three hops.
    RemoteThird,
}

/// The transaction of a miss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Transaction {
    /// The home answered alone: clean.
    #[default]
    Clean,
    /// The owner of a dirty or exclusive copy received an intervention.
    Owned,
    /// Copies at other nodes were invalidated.
    Invalidating,
}

/// The service of a miss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Service {
    /// The distance.
    pub distance: Distance,
    /// The transaction.
    pub transaction: Transaction,
}

impl Distance {
    /// Every distance, nearest first.
    pub const ALL: [Self; 4] = [Self::Local, Self::LocalThird, Self::Remote, Self::RemoteThird];

    /// The distance of a miss: `local` if the home is the requester's node, `third` if another node was involved.
    pub const fn of(local: bool, third: bool) -> Self {
        match (local, third) {
            (true, false) => Self::Local,
            (true, true) => Self::LocalThird,
            (false, false) => Self::Remote,
            (false, true) => Self::RemoteThird,
        }
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::LocalThird => "local-third",
            Self::Remote => "remote",
            Self::RemoteThird => "remote-third",
        }
    }

    /// Whether the home is the requester's node.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::Local | Self::LocalThird)
    }
}

impl Transaction {
    /// Every transaction.
    pub const ALL: [Self; 3] = [Self::Clean, Self::Owned, Self::Invalidating];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Owned => "owned",
            Self::Invalidating => "invalidating",
        }
    }
}

impl Service {
    /// Number of services.
    pub const COUNT: usize = Distance::ALL.len() * Transaction::ALL.len();

    /// Every service.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |distance| Transaction::ALL.into_iter().map(move |transaction| Self { distance, transaction });
        Distance::ALL.into_iter().flat_map(of)
    }

    /// Its index in [`Service::all`].
    pub const fn index(self) -> usize {
        self.distance as usize * Transaction::ALL.len() + self.transaction as usize
    }
}

/// The cause of a processor's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A chain of dependent instructions.
    Work,
    /// A load that hits in the primary cache and whose value is needed at once.
    PrimaryCache,
    /// A load that hits in the secondary cache.
    SecondaryCache,
    /// A load that hits in the third level.
    TertiaryCache,
    /// A store that waits for room in the write buffer.
    WriteBuffer,
    /// A miss of a load, or a read prefetch.
    Read(Service),
    /// A miss of a store, or a write prefetch.
    Write(Service),
    /// A line leaving the caches.
    Writeback,
    /// A TLB refill.
    Translation,
    /// A barrier, where other threads are still missing.
    Barrier,
    /// A lock, or another word that another processor is to change.
    Lock,
    /// The operating system.
    System,
    /// A ready thread without a processor.
    Descheduled,
    /// A processor without a thread.
    Idle,
}

impl Cause {
    const READ: usize = 12;
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
            Self::TertiaryCache => 10,
            Self::WriteBuffer => 11,
            Self::Read(service) => Self::READ + service.index(),
            Self::Write(service) => Self::WRITE + service.index(),
        }
    }

    /// Causes that only some machines have, with their names.
    pub const OF_SOME: [(Self, &'static str); 2] =
        [(Self::TertiaryCache, "tertiary"), (Self::WriteBuffer, "write-buffer")];

    /// Every cause that all machines have, except misses, with its name. Work is left out: waits for work count as busy, like
    /// issue.
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

    /// The cause of a load that hits in the level of this number, counted from 0.
    pub const fn cache(level: usize) -> Self {
        match level {
            0 => Self::PrimaryCache,
            1 => Self::SecondaryCache,
            _ => Self::TertiaryCache,
        }
    }

    /// The cause of a miss, by whether its access writes.
    pub const fn miss(writes: bool, service: Service) -> Self {
        if writes { Self::Write(service) } else { Self::Read(service) }
    }
}

/// The split of time by cause.
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
    /// Time in which instructions issued or a dependent chain filled the window.
    pub fn busy(&self) -> Duration {
        self.issuing + self.of(Cause::Work)
    }

    /// Time of one cause.
    pub const fn of(&self, cause: Cause) -> Duration {
        self.spent[cause.index()]
    }

    /// The total.
    pub fn total(&self) -> Duration {
        self.spent.iter().fold(self.issuing, |sum, &spent| sum + spent)
    }

    pub(super) fn spend(&mut self, cause: Cause, time: Duration) {
        self.spent[cause.index()] += time;
    }

    pub(super) fn since(&self, before: &Self) -> Self {
        let spent = std::array::from_fn(|index| Duration(self.spent[index].0 - before.spent[index].0));
        Self { issuing: Duration(self.issuing.0 - before.issuing.0), spent }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let spent = std::array::from_fn(|index| self.spent[index] + other.spent[index]);
        Self { issuing: self.issuing + other.issuing, spent }
    }
}

/// Number of misses by service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissCounts {
    reads: [u64; Service::COUNT],
    writes: [u64; Service::COUNT],
    /// Writes among them that already had a shared copy.
    pub upgrades: u64,
}

impl MissCounts {
    /// Misses of stores or of loads with this service.
    pub const fn of(&self, writes: bool, service: Service) -> u64 {
        if writes { self.writes[service.index()] } else { self.reads[service.index()] }
    }

    fn count(&mut self, writes: bool, service: Service) {
        let counts = if writes { &mut self.writes } else { &mut self.reads };
        counts[service.index()] += 1;
    }

    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            reads: std::array::from_fn(|index| self.reads[index] - before.reads[index]),
            writes: std::array::from_fn(|index| self.writes[index] - before.writes[index]),
            upgrades: self.upgrades - before.upgrades,
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            reads: std::array::from_fn(|index| self.reads[index] + other.reads[index]),
            writes: std::array::from_fn(|index| self.writes[index] + other.writes[index]),
            upgrades: self.upgrades + other.upgrades,
        }
    }
}

/// The ledger of a processor's time.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Time by cause without issue time, which follows from the number of instructions.
    spent: TimeSplit,
    /// The wait with which the program was last suspended.
    waits: Option<Wait>,
    /// The cause that all time is charged to instead of the program's own, with the number of instructions at its
    /// start.
    charged_to: Option<(Cause, u64)>,
    /// Instructions issued on behalf of such a cause, in total.
    elsewhere: u64,
    misses: MissCounts,
    /// The charge of the last completed miss in each miss register, and of the last one in all.
    served: Vec<Option<Charge>>,
    latest: Option<Charge>,
}

impl Ledger {
    /// Charges `time` to `cause`, or to the cause that all time is charged to at present. Operating system, idle time
    /// and TLB refills are never charged to the latter. Returns the charged cause.
    #[inline]
    fn charge(&mut self, cause: Cause, time: Duration) -> Cause {
        let cause = match (self.charged_to, cause) {
            (None, cause) | (_, cause @ (Cause::System | Cause::Idle | Cause::Translation)) => cause,
            (Some((charged_to, _)), _) => charged_to,
        };
        self.spent.spent[cause.index()] += time;
        cause
    }
}

impl Ledger {
    /// Whether all time is charged to a cause at present.
    pub(super) fn is_charged_elsewhere(&self) -> bool {
        self.charged_to.is_some()
    }

    /// Instructions issued on behalf of a cause, in total.
    pub(super) fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Adds `rounds` identical rounds, each with `elsewhere` instructions on behalf of a cause and with `time` spent.
    pub(super) fn repeat(&mut self, elsewhere: u64, time: &TimeSplit, rounds: u64) {
        self.elsewhere += elsewhere * rounds;
        for (spent, each) in self.spent.spent.iter_mut().zip(time.spent) {
            *spent += each * rounds;
        }
    }
}

impl Processor {
    /// Advances the clock to `at`, if that is later, and charges the time.
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

    /// Suspends the program with `wait`.
    #[inline]
    pub fn suspend(&mut self, wait: Wait) {
        self.ledger.waits = Some(wait);
    }

    /// Charges the time since the program was suspended to its wait, as far as the processor's clock has not passed it.
    #[inline]
    pub(super) fn resume(&mut self, now: Time) {
        let waits = self.ledger.waits.take();
        if now > self.time {
            let cause = self.waited_for(waits);
            self.wait_until(now, cause);
        }
    }

    /// The operating system takes the processor for `length`, from `now` or from the processor's own later time.
    pub fn spend_in_os(&mut self, now: Time, length: Duration) {
        let cause = self.waited_for(self.ledger.waits);
        self.wait_until(now, cause);
        self.wait_until(self.time + length, Cause::System);
    }

    /// The program leaves the processor at `now`.
    pub fn vacate(&mut self, now: Time) {
        self.end_skipping(now);
        self.resume(now);
    }

    /// Counts instructions of a spin loop, whose time is charged as a wait.
    pub(super) fn issue_waiting(&mut self, count: u64) {
        self.issued += count;
        self.ledger.elsewhere += count;
        if let Some((_, since)) = &mut self.ledger.charged_to {
            *since += count;
        }
    }

    #[cold]
    fn waited_for(&self, wait: Option<Wait>) -> Charge {
        let reads = Charge::from(Cause::Read(Service::default()));
        let cause = match wait {
            None => Cause::Idle,
            Some(Wait::Barrier) => Cause::Barrier,
            Some(Wait::Departure(_) | Wait::Skipping(..) | Wait::Published | Wait::Leave) => Cause::Lock,
            // A parked thread waits on behalf of a cause, if there is one.
            Some(Wait::Parked(_)) => self.ledger.charged_to.map_or(Cause::Idle, |(cause, _)| cause),
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

    /// Charges all time from here on to `cause`, a barrier or a lock that consists of loads and stores; `None` charges
    /// the program itself again. Returns the previous cause.
    pub fn charged_to(&mut self, cause: Option<Cause>) -> Option<Cause> {
        let before = self.ledger.charged_to.take();
        if let Some((before, since)) = before {
            let instructions = self.issued - since;
            self.ledger.elsewhere += instructions;
            self.ledger.spent.spent[before.index()] += self.timing.issue * instructions;
        }
        self.ledger.charged_to = cause.map(|cause| (cause, self.issued));
        before.map(|(cause, _)| cause)
    }

    /// Sets the service of the outstanding miss on `line`, if there is one.
    pub fn serve(&mut self, line: units::LineAddr, service: Service) {
        if let Some(id) = self.miss_on(line)
            && let Some(miss) = self.miss_mut(id)
        {
            miss.service = service;
        }
    }

    /// Counts completed miss `id`.
    pub(super) fn count_miss(&mut self, id: MissId, miss: &Miss) {
        if !miss.prefetched {
            self.ledger.misses.count(miss.writes, miss.service);
            self.ledger.misses.upgrades += u64::from(miss.upgrade);
        }
        if let Some(attribution) = &mut self.attribution {
            attribution.served(miss.loss_id, miss.service);
        }
        let charge = Some(miss.charge());
        let number = usize::from(id.0);
        if number >= self.ledger.served.len() {
            self.ledger.served.resize(number + 1, None);
        }
        (self.ledger.served[number], self.ledger.latest) = (charge, charge);
    }

    /// The counts so far.
    pub fn counters(&self) -> ProcessorCounters {
        let pending = self.ledger.charged_to.map_or(0, |(_, since)| self.issued - since);
        let issuing = self.timing.issue * (self.issued - self.ledger.elsewhere - pending);
        let mut time = TimeSplit { issuing, ..self.ledger.spent };
        if let Some((cause, _)) = self.ledger.charged_to {
            time.spent[cause.index()] += self.timing.issue * pending;
        }
        ProcessorCounters { instructions: self.issued, misses: self.ledger.misses, time, ..self.counters }
    }
}
