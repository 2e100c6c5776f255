//! The measured part of a thread's program: its time and counts.

use units::{Duration, Time};

use super::Processor;
use crate::account::{Cause, Measuring, ProcessorCounters};

/// A sum of intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    time: Duration,
    counters: ProcessorCounters,
}

impl Sum {
    fn plus(&self, other: &Self) -> Self {
        Self { time: self.time + other.time, counters: self.counters.plus(&other.counters) }
    }
}

/// The measured intervals of a thread, summed. The meter follows the thread from processor to processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// The kind of the open interval, if there is one.
    measuring: Measuring,
    /// The start of the open interval on the present processor, with the processor's counts at that time.
    open: Option<(Time, ProcessorCounters)>,
    /// Whether there has been a measured interval.
    used: bool,
    /// The sum of the measured intervals.
    sum: Sum,
    /// The sum since the last one, measured only if another follows.
    since: Sum,
}

impl Meter {
    fn open_sum(&mut self) -> &mut Sum {
        if self.measuring == Measuring::Yes { &mut self.sum } else { &mut self.since }
    }

    /// Adds `time` without a processor, on account of `cause`.
    pub fn spend(&mut self, cause: Cause, time: Duration) {
        if self.measuring != Measuring::No {
            let sum = self.open_sum();
            sum.time += time;
            sum.counters.spend(cause, time);
        }
    }

    /// Whether there has been a measured interval.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Whether the thread is measured at present.
    pub fn measuring(&self) -> Measuring {
        self.measuring
    }

    /// The total time and counts of the measured intervals, if there were any.
    pub fn measured(&self) -> Option<(Duration, ProcessorCounters)> {
        self.used.then_some((self.sum.time, self.sum.counters))
    }

    /// Closes the open interval at `now`, with the processor's counts at that time.
    fn close(&mut self, now: Time, counters: &ProcessorCounters) {
        if let Some((since, before)) = self.open.take() {
            let done = Sum { time: now - since, counters: counters.since(&before) };
            let sum = self.open_sum();
            *sum = sum.plus(&done);
        }
    }
}

impl Processor {
    /// Changes whether the thread is measured, from the present time on. A repeated start has no effect, and neither
    /// has a provisional end outside of a measured interval.
    pub fn measure(&mut self, measuring: Measuring) {
        let before = self.meter.measuring;
        let is_change = match measuring {
            Measuring::IfMoreFollows => before == Measuring::Yes,
            _ => measuring != before,
        };
        if is_change {
            let (now, counters) = (self.time, self.counters());
            self.meter.close(now, &counters);
            let since = std::mem::take(&mut self.meter.since);
            if measuring == Measuring::Yes {
                self.meter.used = true;
                self.meter.sum = self.meter.sum.plus(&since);
            }
            self.meter.measuring = measuring;
            self.meter.open = (measuring != Measuring::No).then_some((now, counters));
        }
        self.heed_meter();
    }

    /// Whether its thread is measured.
    #[inline]
    pub fn measuring(&self) -> Measuring {
        self.meter.measuring
    }

    /// The thread of this meter arrives at this processor.
    pub fn take_meter(&mut self, meter: Meter) {
        let open = (meter.measuring != Measuring::No).then(|| (self.time, self.counters()));
        self.meter = Meter { open, ..meter };
        self.heed_meter();
    }

    /// The thread leaves this processor with its meter.
    pub fn give_meter(&mut self) -> Meter {
        let (now, counters) = (self.time, self.counters());
        self.meter.close(now, &counters);
        let measuring = std::mem::take(&mut self.meter.measuring);
        self.heed_meter();
        Meter { measuring, ..std::mem::take(&mut self.meter) }
    }
}
