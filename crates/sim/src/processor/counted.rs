//! A thread's counts as its processor's performance counters would show them.

use units::{Bytes, Duration};

use super::{Cause, Distance, Processor, ProcessorCounters, Service, Transaction};

/// Bytes of a quadword, as the R10000's manual calls what a writeback is counted in (Prestor 2001, Table 5.1).
const QUADWORD: u64 = 16;

/// What a thread has done on all processors that it was on.
#[derive(Clone, Copy, Debug)]
pub struct ThreadCounts {
    /// What was counted.
    pub counters: ProcessorCounters,
    /// How long it was on any.
    pub on_processor: Duration,
}

/// What came from outside to a processor's caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExternalCounts {
    /// Interventions.
    pub interventions: u64,
    /// Those that found the line.
    pub intervention_hits: u64,
    /// Invalidations.
    pub invalidations: u64,
    /// Those that found the line.
    pub invalidation_hits: u64,
}

impl ExternalCounts {
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            interventions: self.interventions - before.interventions,
            intervention_hits: self.intervention_hits - before.intervention_hits,
            invalidations: self.invalidations - before.invalidations,
            invalidation_hits: self.invalidation_hits - before.invalidation_hits,
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            interventions: self.interventions + other.interventions,
            intervention_hits: self.intervention_hits + other.intervention_hits,
            invalidations: self.invalidations + other.invalidations,
            invalidation_hits: self.invalidation_hits + other.invalidation_hits,
        }
    }
}

impl Processor {
    /// An intervention from outside is about to look for `line`.
    pub fn count_intervention(&mut self, line: units::LineAddr) {
        let hit = self.has_copy(line);
        let external = &mut self.counters.external;
        external.interventions += 1;
        external.intervention_hits += u64::from(hit);
    }

    /// An invalidation from outside is about to look for `line`.
    pub fn count_invalidation(&mut self, line: units::LineAddr) {
        let hit = self.has_copy(line);
        let external = &mut self.counters.external;
        external.invalidations += 1;
        external.invalidation_hits += u64::from(hit);
    }

    fn has_copy(&self, line: units::LineAddr) -> bool {
        self.secondary.probe(line.0).is_some()
    }
}

impl ThreadCounts {
    /// How often event `number` of the R10000 has occurred (Prestor 2001, Table 5.1; MIPS R10000 User's Manual 2.0, section 14),
    /// on a processor of this `cycle`, with lines of so many bytes. Every instruction that issues graduates: none are guessed.
    pub fn event(&self, number: usize, cycle: Duration, line: Bytes) -> u64 {
        let counters = &self.counters;
        match number {
            0 | 16 => self.on_processor.0 / cycle.0,
            1 | 15 | 17 => counters.instructions,
            7 => counters.writebacks * (line.0 / QUADWORD),
            12 => counters.external.interventions,
            13 => counters.external.invalidations,
            23 => counters.translation_misses,
            25 => counters.primary_misses,
            // A store to a shared copy finds its line: that is event 31.
            26 => counters.secondary_misses - counters.upgrades,
            28 => counters.external.intervention_hits,
            29 => counters.external.invalidation_hits,
            31 => counters.upgrades,
            _ => 0,
        }
    }

    /// What no hardware tells, in the order of the counters' names.
    pub fn truth(&self, exact: &mut [u64]) {
        let ProcessorCounters { misses, time, references, refusals, page_faults, .. } = &self.counters;
        let count = |which: &dyn Fn(Service) -> bool| {
            let of = |service| misses.of(false, service) + misses.of(true, service);
            Service::all().filter(|&service| which(service)).map(of).sum::<u64>()
        };
        let at = |distance: Distance| count(&|service| service.distance == distance);
        let by = |transaction: Transaction| count(&|service| service.transaction == transaction);
        let stalled =
            |writes| Service::all().map(|service| time.of(Cause::miss(writes, service)).0).sum::<u64>() / 1000;
        let of = |causes: &[Cause]| causes.iter().map(|&cause| time.of(cause).0).sum::<u64>() / 1000;
        let others = [Cause::PrimaryCache, Cause::SecondaryCache, Cause::Writeback, Cause::Translation, Cause::System];
        let told = [
            *references,
            at(Distance::Local),
            at(Distance::LocalThird),
            at(Distance::Remote),
            at(Distance::RemoteThird),
            by(Transaction::Clean),
            by(Transaction::Owned),
            by(Transaction::Invalidating),
            *refusals,
            stalled(false),
            stalled(true),
            of(&[Cause::Barrier, Cause::Lock]),
            of(&others),
            time.busy().0 / 1000,
            *page_faults,
        ];
        for (exact, told) in exact.iter_mut().zip(told) {
            *exact = told;
        }
    }
}
