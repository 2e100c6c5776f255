//! The account of a processor's time, in which every picosecond has exactly one cause.
//!
//! The overlap rule: an instruction that cannot issue waits for one cause, which is charged for the wait. Overlapped
//! activity, such as a second miss or work behind the first, is not charged, so a stall is the time that was not
//! hidden. A processor that must wait for several misses is charged for the one that completes last, and one without a
//! free miss register for the miss whose register it gets. Time in which instructions issue is busy, as is time in
//! which a chain of dependent instructions fills the window; only the latter is measured, the former follows from the
//! number of instructions, so the sum of all is a check.

use units::{Duration, Time};

use super::{Miss, MissId, Processor, Wait};
use crate::account::{Cause, Charge, MissCounts, ProcessorCounters, Service, TimeSplit};

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
        self.spent.spend(cause, time);
        cause
    }
}

impl Ledger {
    /// Notes the charge of a completed miss.
    fn note_served(&mut self, id: MissId, charge: Charge) {
        let number = usize::from(id.0);
        if number >= self.served.len() {
            self.served.resize(number + 1, None);
        }
        (self.served[number], self.latest) = (Some(charge), Some(charge));
    }

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
        self.spent.repeat(time, rounds);
    }
}

impl Processor {
    /// Advances the clock to `at`, if that is later, and charges the time.
    #[inline]
    pub fn wait_until(&mut self, at: Time, charge: impl Into<Charge>) {
        if at > self.time {
            let (charge, time) = (charge.into(), at - self.time);
            let charged_to = self.ledger.charge(charge.cause, time);
            self.report_wait(charge, charged_to, time);
            self.time = at;
        }
    }

    /// Suspends the program with `wait`.
    #[inline]
    pub fn suspend(&mut self, wait: Wait) {
        self.ledger.waits = Some(wait);
    }

    /// The wait with which the program was last suspended.
    #[inline]
    pub fn waits(&self) -> Option<Wait> {
        self.ledger.waits
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
            Some(Wait::Writeback(_) | Wait::SharedCache) => Cause::Writeback,
            Some(Wait::PageToLoad(_) | Wait::PageToStore(_) | Wait::Call) => Cause::System,
            Some(Wait::Value(awaited) | Wait::Miss(awaited)) => {
                let id = awaited.id();
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
            self.ledger.spent.spend(before, self.timing.issue * instructions);
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
            self.counters.private_misses[usize::from(miss.writes)] += u64::from(miss.private);
        }
        self.report_completion(miss);
        if self.threads.are_several() {
            self.for_threads(miss.awaited_by, |processor| processor.ledger.note_served(id, miss.charge()));
        } else {
            self.ledger.note_served(id, miss.charge());
        }
    }

    /// The counts so far.
    pub fn counters(&self) -> ProcessorCounters {
        let pending = self.ledger.charged_to.map_or(0, |(_, since)| self.issued - since);
        let issuing = self.timing.issue * (self.issued - self.ledger.elsewhere - pending);
        let mut time = self.ledger.spent.with_issuing(issuing);
        if let Some((cause, _)) = self.ledger.charged_to {
            time.spend(cause, self.timing.issue * pending);
        }
        let causes = self.miss_causes();
        ProcessorCounters { instructions: self.issued, misses: self.ledger.misses, causes, time, ..self.counters }
    }
}
