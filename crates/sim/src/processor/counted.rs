//! A thread's counts in the form of its processor's performance counters.

use units::{Bytes, Duration};

use super::{Cause, Distance, Processor, ProcessorCounters, Service, Transaction};

/// Bytes of a quadword, the R10000 manual's unit of writebacks (Prestor 2001, Table 5.1).
const QUADWORD: u64 = 16;

/// The counts of a thread on all its processors.
#[derive(Clone, Copy, Debug)]
pub struct ThreadCounts {
    /// The counts.
    pub counters: ProcessorCounters,
    /// Time that it was on any processor.
    pub on_processor: Duration,
}

/// External requests to a processor's caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExternalCounts {
    /// Interventions.
    pub interventions: u64,
    /// Interventions that found the line.
    pub intervention_hits: u64,
    /// Invalidations.
    pub invalidations: u64,
    /// Invalidations that found the line.
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

impl ProcessorCounters {
    /// The counts since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            instructions: self.instructions - before.instructions,
            references: self.references - before.references,
            looks: self.looks - before.looks,
            primary_misses: self.primary_misses - before.primary_misses,
            middle_hits: self.middle_hits - before.middle_hits,
            forwarded: self.forwarded - before.forwarded,
            prefetches: self.prefetches - before.prefetches,
            useful_prefetches: self.useful_prefetches - before.useful_prefetches,
            useless_prefetches: self.useless_prefetches - before.useless_prefetches,
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

    /// Adds time to `cause`.
    pub fn spend(&mut self, cause: Cause, time: Duration) {
        self.time.spend(cause, time);
    }

    /// The sum of both counts.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            instructions: self.instructions + other.instructions,
            references: self.references + other.references,
            looks: self.looks + other.looks,
            primary_misses: self.primary_misses + other.primary_misses,
            middle_hits: self.middle_hits + other.middle_hits,
            forwarded: self.forwarded + other.forwarded,
            prefetches: self.prefetches + other.prefetches,
            useful_prefetches: self.useful_prefetches + other.useful_prefetches,
            useless_prefetches: self.useless_prefetches + other.useless_prefetches,
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

impl Processor {
    /// Counts an external intervention for `line`, before its tag check.
    pub fn count_intervention(&mut self, line: units::LineAddr) {
        let hit = self.has_copy(line);
        let external = &mut self.counters.external;
        external.interventions += 1;
        external.intervention_hits += u64::from(hit);
    }

    /// Counts an external invalidation of `line`, before its tag check.
    pub fn count_invalidation(&mut self, line: units::LineAddr) {
        let hit = self.has_copy(line);
        let external = &mut self.counters.external;
        external.invalidations += 1;
        external.invalidation_hits += u64::from(hit);
    }

    fn has_copy(&self, line: units::LineAddr) -> bool {
        self.caches.find(line.0).is_some()
    }
}

impl ThreadCounts {
    /// The number of occurrences of event `number` of the R10000 (Prestor 2001, Table 5.1; MIPS R10000 User's Manual
    /// 2.0, section 14), on a processor with this `cycle` and lines of `line` bytes. Every issued instruction
    /// graduates, as there is no speculation.
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
            // A store to a shared copy hits in the tags; it counts as event 31 instead.
            26 => counters.secondary_misses - counters.upgrades,
            28 => counters.external.intervention_hits,
            29 => counters.external.invalidation_hits,
            31 => counters.upgrades,
            _ => 0,
        }
    }

    /// The counts that no hardware provides, in the order of the counters' names.
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
        let others = [
            Cause::PrimaryCache,
            Cause::SecondaryCache,
            Cause::TertiaryCache,
            Cause::WriteBuffer,
            Cause::Writeback,
            Cause::Translation,
            Cause::System,
        ];
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
