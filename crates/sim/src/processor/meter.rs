//! What a thread did in the parts of its program that it says are to be measured.

use units::{Duration, Time};

use super::{Cause, Processor, ProcessorCounters};

/// The measured intervals of a thread, added up. It goes with the thread from processor to processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// Since when an interval has been open on the present processor, and what that had done before.
    open: Option<(Time, ProcessorCounters)>,
    /// Whether there was any interval.
    used: bool,
    time: Duration,
    counters: ProcessorCounters,
}

impl Meter {
    /// The thread had no processor for so long, on account of `cause`.
    pub fn spend(&mut self, cause: Cause, time: Duration) {
        if self.open.is_some() {
            self.time += time;
            self.counters.spend(cause, time);
        }
    }

    /// Whether there ever was an interval.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Whether an interval has begun.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// How long the intervals were in all and what was done in them, if there were any.
    pub fn measured(&self) -> Option<(Duration, ProcessorCounters)> {
        self.used.then_some((self.time, self.counters))
    }
}

impl Processor {
    /// An interval begins or ends at the present time; to begin one again, or end none, changes nothing.
    pub fn measure(&mut self, on: bool) {
        let (now, counters) = (self.time, self.counters());
        if on {
            self.meter.used = true;
            self.meter.open.get_or_insert((now, counters));
        } else if let Some((since, before)) = self.meter.open.take() {
            self.meter.time += now - since;
            self.meter.counters = self.meter.counters.plus(&counters.since(&before));
        }
        self.heed_meter();
    }

    /// Whether its thread has what it does measured.
    #[inline]
    pub fn is_measured(&self) -> bool {
        self.meter.is_open()
    }

    /// A thread whose meter this is comes to this processor.
    pub fn take_meter(&mut self, meter: Meter) {
        let open = meter.open.is_some();
        self.meter = Meter { open: None, ..meter };
        if open {
            self.measure(true);
        }
        self.heed_meter();
    }

    /// The thread leaves this processor, and takes its meter with it.
    pub fn give_meter(&mut self) -> Meter {
        let open = self.meter.open;
        self.measure(false);
        Meter { open, ..std::mem::take(&mut self.meter) }
    }
}
