//! A thread's counts in the form of its processor's performance counters.

use units::{Bytes, Duration};

use super::{Cause, Distance, ProcessorCounters, Service, Transaction};

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
            Cause::WriteThrough,
            Cause::PrivateRead,
            Cause::PrivateWrite,
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
