//! The meter: time and counts of threads in the measured parts of their programs.

use units::{Duration, Time};

use super::event::IntervalEvent;
use super::probe::{Channels, Observer};
use super::subject::Subject;
use crate::account::{Cause, Measuring, ProcessorCounters};
use crate::options::Options;

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

/// The measured intervals of a thread, summed.
#[derive(Clone, Copy, Debug, Default)]
struct Intervals {
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

impl Intervals {
    fn open_sum(&mut self) -> &mut Sum {
        if self.measuring == Measuring::Yes { &mut self.sum } else { &mut self.since }
    }

    /// Adds `time` without a processor, on account of `cause`.
    fn spend(&mut self, cause: Cause, time: Duration) {
        if self.measuring != Measuring::No {
            let sum = self.open_sum();
            sum.time += time;
            sum.counters.spend(cause, time);
        }
    }

    /// Opens an interval at `now`, with the processor's counts at that time, if the thread is measured.
    fn open(&mut self, now: Time, counters: &ProcessorCounters) {
        self.open = (self.measuring != Measuring::No).then_some((now, *counters));
    }

    /// Closes the open interval at `now`, with the processor's counts at that time.
    fn close(&mut self, now: Time, counters: &ProcessorCounters) {
        if let Some((since, before)) = self.open.take() {
            let done = Sum { time: now - since, counters: counters.since(&before) };
            let sum = self.open_sum();
            *sum = sum.plus(&done);
        }
    }

    /// Starts or ends an interval at `now`.
    fn change(&mut self, measuring: Measuring, now: Time, counters: &ProcessorCounters) {
        self.close(now, counters);
        let since = std::mem::take(&mut self.since);
        if measuring == Measuring::Yes {
            self.used = true;
            self.sum = self.sum.plus(&since);
        }
        self.measuring = measuring;
        self.open(now, counters);
    }
}

/// The measured intervals of all threads. They follow the threads from processor to processor.
#[derive(Debug, Default)]
pub struct Meter {
    /// By number of the thread.
    threads: Vec<Intervals>,
    /// By processor, the number of the thread on it.
    placed: Vec<Option<usize>>,
}

impl Meter {
    /// The meter of a machine, which is always subscribed.
    pub fn observer(_options: &Options, subject: &Subject) -> Option<Box<dyn Observer>> {
        Some(Box::new(Self { threads: Vec::new(), placed: vec![None; subject.threads] }))
    }

    /// The total time and counts of the measured intervals of a thread, if there were any.
    pub fn measured(&self, thread: usize) -> Option<(Duration, ProcessorCounters)> {
        let intervals = self.threads.get(thread).filter(|intervals| intervals.used)?;
        Some((intervals.sum.time, intervals.sum.counters))
    }

    /// The intervals of a thread.
    fn intervals(&mut self, thread: usize) -> &mut Intervals {
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, Intervals::default());
        }
        &mut self.threads[thread]
    }
}

impl Observer for Meter {
    fn channels(&self) -> Channels {
        Channels { intervals: true, ..Channels::default() }
    }

    fn interval(&mut self, event: &IntervalEvent<'_>) {
        match *event {
            IntervalEvent::Begin { thread } => *self.intervals(thread) = Intervals::default(),
            IntervalEvent::Arrival { cpu, thread, at, counters, .. } => {
                self.placed[cpu.index()] = Some(thread);
                self.intervals(thread).open(at, counters);
            }
            IntervalEvent::Change { cpu, part, at, counters } => {
                if let Some(thread) = self.placed[cpu.index()] {
                    self.intervals(thread).change(part.measuring, at, counters);
                }
            }
            IntervalEvent::Leave { cpu, at, counters, .. } => {
                if let Some(thread) = self.placed[cpu.index()].take() {
                    self.intervals(thread).close(at, counters);
                }
            }
            IntervalEvent::Away { thread, cause, time } => self.intervals(thread).spend(cause, time),
        }
    }
}
