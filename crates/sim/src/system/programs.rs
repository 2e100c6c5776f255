//! Programs on the machine's processors: starting, going on, waiting, ending.

use std::cell::Cell;
use std::rc::Rc;

use engine::{Coroutine, Step};
use units::{CpuId, Duration, Time};

use super::{Controller, Event, System};
use crate::processor::{Cause, Meter, Processor, ProcessorCounters, Wait};
use crate::thread::{Program, Thread};
use crate::{Mode, SimError};

/// What a finished thread has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadReport {
    /// The processor it ran on.
    pub cpu: CpuId,
    /// When it started.
    pub started: Time,
    /// When the last of its accesses was done.
    pub finished: Time,
    /// How long it took, in those parts of its program that it had measured ([`Thread::measure`]); all of it if it had none.
    pub time: Duration,
    /// What its processor did in that time.
    pub counters: ProcessorCounters,
}

type Body = Coroutine<Box<Processor>, (Box<Processor>, Wait), Box<Processor>>;

/// A running program.
pub(super) struct Running {
    body: Body,
    wait: Option<Wait>,
    started: Time,
    before: ProcessorCounters,
}

impl<C: Controller> System<C> {
    pub(super) fn start(&mut self, cpu: CpuId, program: Program, stop: &Rc<Cell<bool>>) -> Result<(), SimError> {
        let processors = self.processors.len();
        let place = self.running.get(cpu.index()).ok_or(SimError::NoSuchProcessor { cpu, processors })?;
        if place.is_some() {
            return Err(SimError::TwoPrograms { cpu });
        }
        let stop = stop.clone();
        let body = Body::new(&mut self.stacks, move |yielder, processor| {
            let mut thread = Thread::new(yielder, processor, stop);
            program(&mut thread);
            thread.drain();
            thread.into_processor()
        })
        .map_err(SimError::NoStack)?;
        let now = self.now;
        let processor = self.processor_mut(cpu);
        processor.wait_until(now, Cause::Idle);
        processor.take_meter(Meter::default());
        let before = processor.counters();
        self.running[cpu.index()] =
            Some(Running { body, wait: Some(Wait::Until(self.now)), started: self.now, before });
        self.schedule_processor(cpu, self.now, Event::Resume(cpu));
        Ok(())
    }

    /// Lets the program on `cpu` go on from the present time, up to where it must wait.
    pub fn resume(&mut self, cpu: CpuId) {
        let horizon = self.horizon(cpu);
        let Some(mut processor) = self.processors[cpu.index()].take() else { return };
        let Some(running) = &mut self.running[cpu.index()] else {
            self.processors[cpu.index()] = Some(processor);
            return;
        };
        processor.release(self.now, horizon);
        match running.body.resume(processor) {
            Step::Suspended((processor, wait)) => {
                self.post(cpu, processor);
                self.suspended(cpu, wait);
            }
            Step::Finished(processor) => {
                self.post(cpu, processor);
                self.finished(cpu);
            }
        }
    }

    /// The program on `cpu` goes on at `time`.
    pub fn resume_at(&mut self, cpu: CpuId, time: Time) {
        if let Some(running) = &mut self.running[cpu.index()] {
            running.wait = Some(Wait::Until(time));
        }
        self.schedule_processor(cpu, time, Event::Resume(cpu));
    }

    /// Until when the program on `cpu` may run without an event: up to the next event in lock-step; further if nothing
    /// can reach this processor until some time after it.
    #[inline]
    fn horizon(&mut self, cpu: CpuId) -> Time {
        let soonest = Time(self.now.0 + 1);
        if self.options.mode == Mode::LockStep {
            return soonest;
        }
        let node = self.node_of(cpu);
        let next = self.queue.peek_time().unwrap_or(Time::MAX);
        let unthreatened = !self.controllers.threatens(node)
            && self.processors[cpu.index()].as_ref().is_some_and(|processor| processor.is_quiet());
        let horizon = if unthreatened { Time(next.0.saturating_add(self.lookahead.0)) } else { next };
        horizon.max(soonest)
    }

    /// Takes a processor back, and hands what it has to say to its controller.
    fn post(&mut self, cpu: CpuId, mut processor: Box<Processor>) {
        let mut posts = std::mem::take(&mut self.posts);
        processor.swap_posts(&mut posts);
        self.processors[cpu.index()] = Some(processor);
        self.heed_observer();
        for post in posts.drain(..) {
            C::posted(self, cpu, &post);
        }
        self.posts = posts;
    }

    /// Sends what a processor has to send although its program does not run.
    pub(super) fn post_now(&mut self, cpu: CpuId) {
        if let Some(processor) = self.processors[cpu.index()].take() {
            self.post(cpu, processor);
        }
    }

    fn suspended(&mut self, cpu: CpuId, wait: Wait) {
        let Some(running) = &mut self.running[cpu.index()] else { return };
        running.wait = Some(wait);
        match wait {
            Wait::Until(time) => self.resume_at(cpu, time.max(self.now)),
            // What it said when it stopped may be all that it has to wait for: the controller took the line in at once.
            Wait::Writeback(line) if !self.processor(cpu).is_writing_back(line) => {
                let time = self.processor(cpu).time();
                self.resume_at(cpu, time.max(self.now));
            }
            Wait::Barrier => {
                self.at_barrier += 1;
                self.release_barrier();
            }
            _ => {}
        }
    }

    /// Lets all go on if all that still run are at the barrier: from the time of the last one's arrival.
    fn release_barrier(&mut self) {
        let running = self.running.iter().flatten().count();
        if self.at_barrier == 0 || self.at_barrier < running {
            return;
        }
        self.at_barrier = 0;
        let waiting = |running: &Option<Running>| running.as_ref().is_some_and(|r| r.wait == Some(Wait::Barrier));
        let cpus: Vec<_> = (0..self.running.len()).filter(|&cpu| waiting(&self.running[cpu])).collect();
        let clock = |cpu: &usize| self.processors[*cpu].as_ref().map_or(self.now, |processor| processor.time());
        let last = cpus.iter().map(clock).max().unwrap_or(self.now).max(self.now);
        for cpu in cpus {
            let cpu = CpuId(cpu as u16);
            self.schedule_processor(cpu, last, Event::Resume(cpu));
        }
    }

    fn finished(&mut self, cpu: CpuId) {
        let Some(running) = self.running[cpu.index()].take() else { return };
        let (now, started) = (self.now, running.started);
        let processor = self.processor_mut(cpu);
        let finished = processor.time().max(now);
        let measured = processor.give_meter().measured();
        let whole = || (finished - started, processor.counters().since(&running.before));
        let (time, counters) = measured.unwrap_or_else(whole);
        debug_assert_eq!(time, counters.time.total(), "every picosecond of {cpu:?} is charged to something");
        self.reports.push(ThreadReport { cpu, started, finished, time, counters });
        running.body.recycle(&mut self.stacks);
        self.release_barrier();
    }

    /// What the program on `cpu` waits for.
    #[inline]
    pub fn waits(&self, cpu: CpuId) -> Option<Wait> {
        self.running[cpu.index()].as_ref().and_then(|running| running.wait)
    }

    #[cold]
    pub(super) fn deadlock(&self) -> SimError {
        let stuck = |(cpu, running): (usize, &Option<Running>)| {
            let wait = running.as_ref()?.wait?;
            Some(format!("processor {cpu} waits for {wait:?}"))
        };
        let waits: Vec<_> = self.running.iter().enumerate().filter_map(stuck).collect();
        SimError::Deadlock { at: self.now, waits: waits.join(", ") }
    }
}
