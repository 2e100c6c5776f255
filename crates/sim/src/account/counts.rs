//! The counts of a processor.

use units::Duration;

use super::{Cause, MissCause, MissCounts, TimeSplit};

/// Counts of a processor since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessorCounters {
    /// Instructions issued.
    pub instructions: u64,
    /// Loads, stores and prefetches issued.
    pub references: u64,
    /// References among them that were stores; an indivisible step is a load and a store.
    pub stores: u64,
    /// References among them to private data: loads, and stores.
    pub private_references: [u64; 2],
    /// References among them that loaded an unchanged word again, in spin loops.
    pub looks: u64,
    /// References that missed in the primary cache.
    pub primary_misses: u64,
    /// References among them that hit in a level between the primary and the coherent one.
    pub middle_hits: u64,
    /// Loads that took their value from the write buffer.
    pub forwarded: u64,
    /// References that sent a request to the home.
    pub secondary_misses: u64,
    /// Requests among them that were upgrades: stores to a shared copy.
    pub upgrades: u64,
    /// Requests of the hardware prefetcher.
    pub prefetches: u64,
    /// Lines among them that the program referenced in time, or while they were outstanding.
    pub useful_prefetches: u64,
    /// Lines among them that left the caches before any reference.
    pub useless_prefetches: u64,
    /// TLB misses.
    pub translation_misses: u64,
    /// Page faults: first touches by this processor.
    pub page_faults: u64,
    /// Modified lines written back to memory.
    pub writebacks: u64,
    /// External interventions and invalidations.
    pub external: ExternalCounts,
    /// NACKs received.
    pub refusals: u64,
    /// Completed misses by service.
    pub misses: MissCounts,
    /// Completed misses on private data: of loads, and of stores.
    pub private_misses: [u64; 2],
    /// Misses by cause, in the order of [`MissCause::ALL`], if causes are tracked; upgrades are not included.
    pub causes: [u64; MissCause::ALL.len()],
    /// Time by cause.
    pub time: TimeSplit,
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
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            interventions: self.interventions - before.interventions,
            intervention_hits: self.intervention_hits - before.intervention_hits,
            invalidations: self.invalidations - before.invalidations,
            invalidation_hits: self.invalidation_hits - before.invalidation_hits,
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            interventions: self.interventions + other.interventions,
            intervention_hits: self.intervention_hits + other.intervention_hits,
            invalidations: self.invalidations + other.invalidations,
            invalidation_hits: self.invalidation_hits + other.invalidation_hits,
        }
    }
}

fn less<const N: usize>(counts: [u64; N], before: [u64; N]) -> [u64; N] {
    std::array::from_fn(|kind| counts[kind] - before[kind])
}

fn sum<const N: usize>(counts: [u64; N], others: [u64; N]) -> [u64; N] {
    std::array::from_fn(|kind| counts[kind] + others[kind])
}

impl ProcessorCounters {
    /// References that were simulated one by one: without the looks of spin loops, which are counted together when a loop ends.
    pub const fn simulated_references(&self) -> u64 {
        self.references - self.looks
    }

    /// References to shared data: loads and prefetches, and stores.
    pub fn shared_references(&self) -> [u64; 2] {
        let [loads, stores] = self.private_references;
        [self.references - self.stores - loads, self.stores - stores]
    }

    /// The counts since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            instructions: self.instructions - before.instructions,
            references: self.references - before.references,
            stores: self.stores - before.stores,
            private_references: less(self.private_references, before.private_references),
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
            private_misses: less(self.private_misses, before.private_misses),
            causes: less(self.causes, before.causes),
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
            stores: self.stores + other.stores,
            private_references: sum(self.private_references, other.private_references),
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
            private_misses: sum(self.private_misses, other.private_misses),
            causes: sum(self.causes, other.causes),
            time: self.time.plus(&other.time),
        }
    }
}
