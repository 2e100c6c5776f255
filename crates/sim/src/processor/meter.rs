//! What a thread did in the parts of its program that it says are to be measured.

use units::{Duration, Time};

use super::{Cause, Processor, ProcessorCounters};

/// Whether what a thread does is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Measuring {
    /// It is not.
    #[default]
    No,
    /// It is if something that is measured follows.
    IfMoreFollows,
    /// It is.
    Yes,
}

/// Intervals added up.
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

/// The measured intervals of a thread, added up. It goes with the thread from processor to processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// Of which kind the open interval is, if there is one.
    measuring: Measuring,
    /// Since when it has been open on the present processor, and what that had done before.
    open: Option<(Time, ProcessorCounters)>,
    /// Whether there was any interval.
    used: bool,
    /// What was done in intervals that are measured.
    sum: Sum,
    /// What was done since, and is measured if something that is measured follows.
    since: Sum,
}

impl Meter {
    fn open_sum(&mut self) -> &mut Sum {
        if self.measuring == Measuring::Yes { &mut self.sum } else { &mut self.since }
    }

    /// The thread had no processor for so long, on account of `cause`.
    pub fn spend(&mut self, cause: Cause, time: Duration) {
        if self.measuring != Measuring::No {
            let sum = self.open_sum();
            sum.time += time;
            sum.counters.spend(cause, time);
        }
    }

    /// Whether there ever was an interval.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Whether what the thread does is measured.
    pub fn measuring(&self) -> Measuring {
        self.measuring
    }

    /// How long the intervals were in all and what was done in them, if there were any.
    pub fn measured(&self) -> Option<(Duration, ProcessorCounters)> {
        self.used.then_some((self.sum.time, self.sum.counters))
    }

    /// The open interval is over on a processor whose time is `now`, and which has done this; what kind it was.
    fn close(&mut self, now: Time, counters: &ProcessorCounters) {
        if let Some((since, before)) = self.open.take() {
            let done = Sum { time: now - since, counters: counters.since(&before) };
            let sum = self.open_sum();
            *sum = sum.plus(&done);
        }
    }
}

impl Processor {
    /// From the present time on, what the thread does is measured, or not, or if something that is measured follows. To begin what
    /// has begun changes nothing, nor does it to end what is not measured.
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

    /// Whether its thread has what it does measured.
    #[inline]
    pub fn measuring(&self) -> Measuring {
        self.meter.measuring
    }

    /// A thread whose meter this is comes to this processor.
    pub fn take_meter(&mut self, meter: Meter) {
        let open = (meter.measuring != Measuring::No).then(|| (self.time, self.counters()));
        self.meter = Meter { open, ..meter };
        self.heed_meter();
    }

    /// The thread leaves this processor, and takes its meter with it.
    pub fn give_meter(&mut self) -> Meter {
        let (now, counters) = (self.time, self.counters());
        self.meter.close(now, &counters);
        let measuring = std::mem::take(&mut self.meter.measuring);
        self.heed_meter();
        Meter { measuring, ..std::mem::take(&mut self.meter) }
    }
}
