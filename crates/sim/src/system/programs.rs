//! Programs on the machine's processors: start, resumption, waits, end.

use std::rc::Rc;

use engine::{Coroutine, Step};
use units::{CpuId, Duration, Time};

use super::{Controller, System};
use crate::account::{Cause, MeasuredPart, Measuring, ProcessorCounters, ThreadCounts};
use crate::kernel::{Event, NodeEvent};
use crate::observe::{IntervalEvent, Meter};
use crate::os::SchedulingCounters;
use crate::processor::{Processor, Wait};
use crate::thread::{Program, Team, Thread};
use crate::{Mode, SimError};

/// The report of a finished thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadReport {
    /// The processor it ran on, the last one if there were several.
    pub cpu: CpuId,
    /// The time of its start.
    pub started: Time,
    /// The time at which the last of its accesses was done.
    pub finished: Time,
    /// The length of the measured part of its program ([`Thread::measure`]); the whole if it declares none.
    pub time: Duration,
    /// Counts of its processors in that time, as far as they ran it.
    pub counters: ProcessorCounters,
    /// The same from its start to its end.
    pub whole: ProcessorCounters,
    /// Scheduling counts.
    pub scheduling: SchedulingCounters,
}

/// Maximum look-ahead of a thread of a process with dynamic threads.
const TURN: Duration = Duration(100_000_000);

/// The program's stack. Processors alone pass to it and back: the wait of a suspended program lies in its processor.
type Body = Coroutine<Box<Processor>, Box<Processor>, Box<Processor>>;

/// A running program.
pub(super) struct Running {
    body: Body,
    pub wait: Option<Wait>,
    /// The time of its start, if it has started.
    started: Option<Time>,
    /// Its number among the threads of the run.
    pub thread: usize,
    /// The time at which it left its previous processor, and the cause of the time since.
    left: (Time, Cause),
    /// Whether it has been given a processor on which it has not run yet.
    enters: bool,
    /// The time of its arrival at the present processor, and its time on others.
    arrived: Time,
    on_others: Duration,
    /// The present processor's counts before its arrival.
    before: ProcessorCounters,
    /// Its counts on other processors, and its time without one.
    elsewhere: ProcessorCounters,
    /// Its measured part, while it has no processor.
    measured: MeasuredPart,
    /// The cause that its time was charged to when it left its processor.
    charged_to: Option<Cause>,
    /// The number of changes in its team at its last spin without one, if it has done nothing else since.
    pub unchanged_since: Option<u64>,
}

impl Running {
    /// Gives it a processor: its time there begins at its first run.
    pub const fn enter(&mut self) {
        self.enters = true;
    }

    /// Arrives at its processor, at its first run there.
    #[cold]
    fn arrive(&mut self, processor: &mut Processor) {
        let now = processor.time();
        self.enters = false;
        let (since, cause) = self.left;
        match self.started {
            None => self.started = Some(now),
            Some(_) => {
                self.elsewhere.spend(cause, now - since);
                processor.report_away(self.thread, cause, now - since);
            }
        }
        (self.before, self.arrived) = (processor.counters(), now);
        processor.begin_thread(self.thread, self.measured, &self.before);
        processor.charged_to(self.charged_to.take());
    }

    /// Leaves a processor, at `now` or at the processor's later time. Returns that time.
    pub fn exit(&mut self, processor: &mut Processor, now: Time) -> Time {
        if self.enters {
            // It was taken off before its first run there, so only its earlier counts exist.
            return if self.started.is_some() { self.left.0 } else { now };
        }
        processor.vacate(now);
        self.charged_to = processor.charged_to(None);
        let cause = match self.wait {
            Some(Wait::Barrier) => Cause::Barrier,
            Some(Wait::Parked(_)) => self.charged_to.unwrap_or(Cause::Idle),
            _ => Cause::Descheduled,
        };
        self.measured = processor.end_thread();
        self.elsewhere = self.elsewhere.plus(&processor.counters().since(&self.before));
        self.left = (processor.time(), cause);
        self.on_others += self.left.0.since(self.arrived);
        self.left.0
    }

    /// Its counts before `time`, as it runs on `processor`; `None` before its first run there.
    pub fn counts(&self, processor: &Processor, time: Time) -> Option<ThreadCounts> {
        if self.enters {
            return None;
        }
        let counters = self.elsewhere.plus(&processor.counters().since(&self.before));
        Some(ThreadCounts { counters, on_processor: self.on_others + time.since(self.arrived) })
    }
}

impl<C: Controller> System<C> {
    pub(super) fn start(
        &mut self,
        cpu: CpuId,
        program: Program,
        team: &Rc<Team>,
        thread: usize,
    ) -> Result<(), SimError> {
        let processors = self.threads.running.len();
        if self.threads.running.get(cpu.index()).ok_or(SimError::NoSuchProcessor { cpu, processors })?.is_some() {
            return Err(SimError::TwoPrograms { cpu });
        }
        let mut running = self.embody(program, team, thread)?;
        running.enter();
        running.wait = Some(Wait::Until(self.kernel.now));
        self.threads.running[cpu.index()] = Some(running);
        self.schedule_processor(cpu, self.kernel.now, Event::Resume(cpu));
        Ok(())
    }

    /// A program as a coroutine that can be resumed on any processor; thread number `thread` of the run.
    pub(super) fn embody(&mut self, program: Program, team: &Rc<Team>, thread: usize) -> Result<Running, SimError> {
        let team = team.clone();
        let body = Body::new(&mut self.threads.stacks, move |yielder, processor| {
            let mut thread = Thread::new(yielder, processor, team);
            program(&mut thread);
            thread.leave();
            thread.into_processor()
        })
        .map_err(SimError::NoStack)?;
        self.observation.probe.interval(&IntervalEvent::Begin { thread });
        Ok(Running {
            body,
            wait: None,
            started: None,
            thread,
            left: (self.kernel.now, Cause::Idle),
            enters: true,
            arrived: self.kernel.now,
            on_others: Duration::ZERO,
            before: ProcessorCounters::default(),
            elsewhere: ProcessorCounters::default(),
            measured: MeasuredPart::default(),
            charged_to: None,
            unchanged_since: None,
        })
    }

    /// Resumes the program on `cpu` at the present time, until it waits.
    pub fn resume(&mut self, cpu: CpuId) {
        let served = match self.waits(cpu) {
            Some(Wait::PageToLoad(at)) => self.serve_page_fault(cpu, at, false),
            Some(Wait::PageToStore(at)) => self.serve_page_fault(cpu, at, true),
            _ => true,
        };
        if !served {
            return;
        }
        if let Some(Wait::Skipping(..)) = self.waits(cpu) {
            let now = self.kernel.now;
            self.processor_mut(cpu).end_skipping(now);
        }
        let horizon = self.horizon(cpu);
        let core = self.core_of(cpu);
        let Some(mut processor) = self.processors[core.index()].take() else { return };
        if self.has_several_threads() {
            processor.divide_among(self.running_beside(cpu).count() as u64 + 1);
            processor.activate(cpu);
        }
        let Some(running) = &mut self.threads.running[cpu.index()] else {
            self.processors[core.index()] = Some(processor);
            return;
        };
        processor.release(self.kernel.now, horizon);
        if running.enters {
            running.arrive(&mut processor);
        }
        let was = processor.measuring();
        match running.body.resume(processor) {
            Step::Suspended(processor) => {
                // The interval up to here is closed before the posts that follow it.
                self.note_measuring(was, processor.measuring());
                self.post(cpu, processor);
                self.suspended(cpu);
            }
            Step::Finished(processor) => {
                // A thread that has ended is not measured any longer.
                self.note_measuring(was, Measuring::No);
                self.post(cpu, processor);
                self.finished(cpu);
            }
        }
    }

    /// Resumes the program on `cpu` at `time`.
    pub fn resume_at(&mut self, cpu: CpuId, time: Time) {
        if let Some(running) = &mut self.threads.running[cpu.index()] {
            running.wait = Some(Wait::Until(time));
        }
        self.schedule_processor(cpu, time, Event::Resume(cpu));
    }

    /// The look-ahead horizon of the program on `cpu`: the next event in lock-step mode; later if no event can affect
    /// this processor within the look-ahead.
    #[inline]
    fn horizon(&mut self, cpu: CpuId) -> Time {
        let soonest = Time(self.kernel.now.0 + 1);
        if self.options.mode == Mode::LockStep {
            return soonest;
        }
        let (node, core) = (self.node_of(cpu), self.core_of(cpu));
        let next = self.kernel.peek_time().unwrap_or(Time::MAX);
        let calm = |processor: &Processor| match C::PROBES_INCLUDE_ANSWERS {
            true => C::Event::FILLS_ARE_PROBES || processor.is_waiting_far(),
            false => processor.is_quiet(),
        };
        let undisturbed = !self.controllers.is_disturbing(node)
            && self.processors[core.index()].as_ref().is_some_and(|processor| calm(processor))
            && (!self.has_several_threads() || !self.may_be_joined(cpu));
        let probed = self.kernel.soonest_probe(core);
        let ahead = Time(next.0.saturating_add(self.controllers.lookahead().0)).min(probed);
        let horizon = if undisturbed { ahead.max(next) } else { next };
        // The limit brings back a thread that spins while all others wait.
        let horizon =
            if self.threads.process.is_some() { horizon.min(Time(self.kernel.now.0 + TURN.0)) } else { horizon };
        // The scheduler announces its own events, and readings of programs require their state at that time.
        let seen = self.observation.watching.as_ref().map_or(Time::MAX, |watching| watching.horizon());
        horizon.min(self.threads.schedule_next).min(seen).max(soonest)
    }

    /// Takes a processor back from its program, and passes its messages to its controller.
    fn post(&mut self, cpu: CpuId, mut processor: Box<Processor>) {
        let core = self.core_of(cpu);
        if !processor.has_posts() {
            self.processors[core.index()] = Some(processor);
            return self.check_observers();
        }
        let mut posts = std::mem::take(&mut self.threads.posts);
        processor.swap_posts(&mut posts);
        self.processors[core.index()] = Some(processor);
        self.check_observers();
        for post in posts.drain(..) {
            C::posted(self, core, &post);
        }
        self.threads.posts = posts;
    }

    /// Passes on a processor's messages while its program does not run.
    pub fn post_now(&mut self, cpu: CpuId) {
        let core = self.core_of(cpu);
        if let Some(processor) = self.processors[core.index()].take() {
            self.post(cpu, processor);
        }
    }

    fn suspended(&mut self, cpu: CpuId) {
        let Some(wait) = self.processor_mut(cpu).waits() else { return };
        let Some(running) = &mut self.threads.running[cpu.index()] else { return };
        running.wait = Some(wait);
        match wait {
            Wait::Until(time) => self.resume_at(cpu, time.max(self.kernel.now)),
            // The operating system acts at the processor's own time, so that first touches take place in the order of
            // time.
            Wait::PageToLoad(_) | Wait::PageToStore(_) => {
                let time = self.processor_mut(cpu).time();
                self.schedule_processor(cpu, time.max(self.kernel.now), Event::Resume(cpu));
            }
            // The controller may have released the line at once, when it took the message of this stop.
            Wait::Writeback(line) if !self.processor(cpu).is_writing_back(line) => {
                let time = self.processor_mut(cpu).time();
                self.resume_at(cpu, time.max(self.kernel.now));
            }
            Wait::Barrier if self.threads.schedule.is_some() => self.block(cpu),
            Wait::Barrier => {
                self.threads.at_barrier += 1;
                self.release_barrier();
            }
            Wait::Published => self.on_published(cpu),
            Wait::Departure(_) if self.threads.schedule.is_some() => self.spins_unchanged(cpu),
            // A thread under a scheduler, or one that is watched, executes every round of its spin loop.
            Wait::Skipping(..) if self.threads.schedule.is_some() || self.observation.watching.is_some() => {
                self.processor_mut(cpu).forbid_skipping();
                let time = self.processor_mut(cpu).time();
                self.resume_at(cpu, time.max(self.kernel.now));
            }
            Wait::Skipping(until) => self.schedule_processor(cpu, until, Event::Resume(cpu)),
            Wait::Call => self.answer_calls(cpu),
            Wait::SharedCache if C::empty_shared_cache(self, cpu) => {}
            Wait::SharedCache => self.resume_at(cpu, self.kernel.now),
            Wait::Parked(until) => self.park_until(cpu, until),
            _ => {}
        }
    }

    /// Releases the barrier if all running threads are at it, at the arrival time of the last one.
    fn release_barrier(&mut self) {
        let running = self.threads.running.iter().flatten().count();
        if self.threads.at_barrier == 0 || self.threads.at_barrier < running {
            return;
        }
        self.threads.at_barrier = 0;
        let waiting = |running: &Option<Running>| running.as_ref().is_some_and(|r| r.wait == Some(Wait::Barrier));
        let cpus: Vec<_> = (0..self.threads.running.len()).filter(|&cpu| waiting(&self.threads.running[cpu])).collect();
        let last =
            cpus.iter().fold(self.kernel.now, |last, &cpu| last.max(self.processor_mut(CpuId(cpu as u16)).time()));
        for cpu in cpus {
            let cpu = CpuId(cpu as u16);
            self.schedule_processor(cpu, last, Event::Resume(cpu));
        }
    }

    fn finished(&mut self, cpu: CpuId) {
        if let Some((body, thread)) = self.report(cpu) {
            body.recycle(&mut self.threads.stacks);
            self.note_end();
            if self.threads.schedule.is_some() {
                self.thread_ended(cpu, thread);
            } else {
                self.release_barrier();
            }
        }
    }

    /// Abandons the program on `cpu`: its coroutine is leaked, because its stack may hold frames that cannot be
    /// unwound.
    pub(super) fn abandon(&mut self, cpu: CpuId) {
        let was = self.processor_mut(cpu).measuring();
        self.note_measuring(was, Measuring::No);
        if let Some((body, _)) = self.report(cpu) {
            std::mem::forget(body);
        }
    }

    /// Takes the program off `cpu`, and reports it.
    fn report(&mut self, cpu: CpuId) -> Option<(Body, usize)> {
        let mut running = self.threads.running[cpu.index()].take()?;
        let now = self.kernel.now;
        let processor = self.processor_mut(cpu);
        processor.report_end();
        let finished = running.exit(processor, now);
        let Running { body, started, thread, elsewhere, on_others, .. } = running;
        if let Some(watching) = &mut self.observation.watching {
            watching.ended(thread, ThreadCounts { counters: elsewhere, on_processor: on_others });
        }
        let started = started.unwrap_or(now);
        let report = self.reported(thread, cpu, (started, finished), elsewhere);
        let accounted = report.counters.time.total();
        debug_assert_eq!(report.time, accounted, "every picosecond of {cpu:?} is charged to something");
        self.threads.reports.push((thread, report));
        Some((body, thread))
    }

    /// The report of a thread that ran from the first to the second of these times, with the counts of its processors in that time.
    fn reported(
        &self,
        thread: usize,
        cpu: CpuId,
        (started, finished): (Time, Time),
        whole: ProcessorCounters,
    ) -> ThreadReport {
        let (time, counters) = self.measured(thread).unwrap_or((finished - started, whole));
        ThreadReport { cpu, started, finished, time, counters, whole, scheduling: self.scheduling(thread) }
    }

    /// The time and counts of a thread in the measured intervals of its program, if there were any.
    fn measured(&self, thread: usize) -> Option<(Duration, ProcessorCounters)> {
        self.observation.probe.collect(|meter: &mut Meter| meter.measured(thread)).flatten()
    }

    /// Abandons a program without a processor, and reports it.
    pub(super) fn report_parked(&mut self, running: Running) {
        let Running { body, started, thread, elsewhere, left, .. } = running;
        std::mem::forget(body);
        let (finished, cpu) = (left.0, CpuId(0));
        let started = started.unwrap_or(finished);
        let report = self.reported(thread, cpu, (started, finished), elsewhere);
        self.threads.reports.push((thread, report));
    }

    /// The wait of the program on `cpu`.
    #[inline]
    pub fn waits(&self, cpu: CpuId) -> Option<Wait> {
        self.threads.running[cpu.index()].as_ref().and_then(|running| running.wait)
    }

    #[cold]
    pub(super) fn deadlock(&self) -> SimError {
        let stuck = |(cpu, running): (usize, &Option<Running>)| {
            let running = running.as_ref()?;
            let wait = what(running.wait?);
            Some(match self.name_of(running.thread) {
                Some(name) => format!("{name}, on processor {cpu}, waits for {wait}"),
                None => format!("thread {}, on processor {cpu}, waits for {wait}", running.thread),
            })
        };
        let waits = self.threads.running.iter().enumerate().filter_map(stuck).chain(self.parked_waits());
        SimError::Deadlock { at: self.kernel.now, waits: waits.collect::<Vec<_>>().join(", ") }
    }
}

/// A thread's wait, in words.
pub(super) fn what(wait: Wait) -> String {
    match wait {
        Wait::Barrier => "others to come to a barrier".to_owned(),
        Wait::Parked(_) => "another thread to wake it".to_owned(),
        Wait::Departure(line) => format!("a change in line {:#x}, such as of a lock or a flag", line.0),
        Wait::Skipping(_) => "a change that its own loop looks for".to_owned(),
        other => format!("{other:?}"),
    }
}
