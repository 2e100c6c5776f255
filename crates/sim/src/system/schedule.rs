//! Threads that the operating system moves: what the scheduler decides, done to processors.
//!
//! A thread changes processors only when its own has drained, and tries again what it was about to do on the next. What it
//! leaves and enters it does at its own time, and what the scheduler does by itself it announces ([`Scheduler::next`]), so
//! running ahead changes nothing.

use std::ops::Range;
use std::rc::Rc;

use units::{CpuId, Duration, Time};

use super::programs::{Running, what};
use super::{Controller, Event, System, ThreadReport};
use crate::SimError;
use crate::os::{Action, Scheduler, Scheduling, SchedulingCounters, TimeSharing};
use crate::processor::Wait;
use crate::thread::{Program, Team};

/// A process: threads that belong together.
pub struct Job {
    /// What messages call it.
    pub name: String,
    /// What its threads do, by their numbers.
    pub threads: Vec<Program>,
}

/// A process that runs.
pub(super) struct Process {
    pub name: String,
    pub threads: Range<usize>,
    pub alive: usize,
    /// Threads at the barrier.
    pub arrived: Vec<usize>,
    pub team: Rc<Team>,
}

/// Threads and who decides about them.
pub(super) struct Schedule {
    pub scheduler: Scheduler,
    pub processes: Vec<Process>,
    /// Threads that have no processor, by number.
    pub parked: Vec<Option<Running>>,
    /// When the scheduler is woken next.
    pub wake: Time,
    /// Emptied after every use.
    pub actions: Vec<Action>,
}

impl Schedule {
    fn process_of(&self, thread: usize) -> usize {
        self.processes.iter().position(|process| process.threads.contains(&thread)).unwrap_or_default()
    }
}

impl<C: Controller> System<C> {
    /// Runs processes, all of which come at the present time, until all have ended.
    ///
    /// # Errors
    /// As [`System::run`]; a process has too many threads.
    pub fn run_jobs(&mut self, jobs: Vec<Job>, policy: Scheduling) -> Result<Vec<Vec<ThreadReport>>, SimError> {
        let processors = self.processors.len();
        let turns = policy.time == TimeSharing::RunQueue && !policy.space.is_pinned();
        if let Some(job) = jobs.iter().find(|job| job.threads.len() > processors && !turns) {
            return Err(SimError::TooManyThreads { name: job.name.clone(), threads: job.threads.len(), processors });
        }
        self.reports.clear();
        let sizes: Vec<usize> = jobs.iter().map(|job| job.threads.len()).collect();
        let (mut processes, mut parked) = (Vec::new(), Vec::new());
        for Job { name, threads } in jobs {
            let team = Rc::new(Team::new(true));
            let first = parked.len();
            for program in threads {
                let running = self.embody(program, &team, parked.len())?;
                parked.push(Some(running));
            }
            let threads = first..parked.len();
            processes.push(Process { name, alive: threads.len(), threads, arrived: Vec::new(), team });
        }
        let count = parked.len();
        let scheduler = Scheduler::new(&self.scheduler, policy, processors, &sizes, self.options.seed, self.now);
        let schedule = Schedule { scheduler, processes, parked, wake: Time::MAX, actions: Vec::new() };
        self.schedule = Some(Box::new(schedule));
        self.consult(Scheduler::start);
        let mut reports = self.go_on(count)?.into_iter();
        Ok(sizes.into_iter().map(|size| reports.by_ref().take(size).collect()).collect())
    }

    /// Tells the scheduler something, and does what it answers.
    pub(super) fn consult(&mut self, tell: impl FnOnce(&mut Scheduler, Time, &mut Vec<Action>)) {
        let Some(mut schedule) = self.schedule.take() else { return };
        let mut actions = std::mem::take(&mut schedule.actions);
        tell(&mut schedule.scheduler, self.now, &mut actions);
        for action in actions.drain(..) {
            match action {
                Action::Run { cpu, thread, at } => {
                    if let Some(running) = schedule.parked[thread].take() {
                        self.enter(cpu, running, at);
                    }
                }
                Action::Preempt { cpu } => self.leave(cpu),
                Action::Interrupt { cpu, length } => self.interrupt(cpu, length),
            }
        }
        schedule.actions = actions;
        self.schedule = Some(schedule);
        self.announce();
    }

    /// Has the scheduler woken when it wants to be.
    fn announce(&mut self) {
        let Some(schedule) = &mut self.schedule else { return };
        self.schedule_next = schedule.scheduler.next();
        if self.schedule_next < schedule.wake {
            schedule.wake = self.schedule_next;
            let rank = self.schedule_source.rank();
            self.queue.push(self.schedule_next.max(self.now), rank, Event::<C::Event>::Schedule.into());
        }
    }

    /// The scheduler's time has come.
    pub(super) fn on_schedule(&mut self) {
        let Some(schedule) = &mut self.schedule else { return };
        if schedule.wake > self.now {
            // It was woken sooner, and has done what it wanted to do now.
            return;
        }
        schedule.wake = Time::MAX;
        if self.is_stuck() {
            let deadlock = self.deadlock();
            return self.fail(deadlock);
        }
        self.consult(Scheduler::tick);
    }

    /// A thread goes on, on a processor that has none, at `at`.
    fn enter(&mut self, cpu: CpuId, mut running: Running, at: Time) {
        running.enter();
        self.running[cpu.index()] = Some(running);
        self.resume_at(cpu, at);
    }

    /// The operating system takes a processor for a while, and its program waits.
    pub fn interrupt(&mut self, cpu: CpuId, length: Duration) {
        let now = self.now;
        self.processor_mut(cpu).end_rest(now);
        self.processor_mut(cpu).spend_in_os(now, length);
        if let Some(Wait::Rest(..)) = self.waits(cpu) {
            // The rounds after it begin later than those that the program was resting for.
            let time = self.processor(cpu).time();
            self.resume_at(cpu, time);
        }
    }

    /// The thread of a processor is to leave it: when its misses are over, and what it has begun is done.
    pub(super) fn leave(&mut self, cpu: CpuId) {
        let now = self.now;
        let left = self.processor_mut(cpu).leave(now);
        let Some(running) = &mut self.running[cpu.index()] else { return };
        if !matches!(running.wait, Some(Wait::Departure(_) | Wait::Leave)) {
            running.looked_in_vain = None;
        }
        running.wait = Some(Wait::Leave);
        if let Ok(time) = left {
            let rank = self.schedule_source.rank();
            self.queue.push(time, rank, Event::<C::Event>::Left(cpu).into());
        }
    }

    /// The thread of a processor has left it.
    pub(super) fn on_left(&mut self, cpu: CpuId) {
        self.park(cpu);
        self.consult(|scheduler, now, actions| scheduler.left(cpu, now, actions));
    }

    /// Takes the thread off a processor that has drained. Its number.
    pub(super) fn park(&mut self, cpu: CpuId) -> Option<usize> {
        let mut running = self.running[cpu.index()].take()?;
        let now = self.now;
        running.exit(self.processor_mut(cpu), now);
        let thread = running.thread;
        self.schedule.as_mut()?.parked[thread] = Some(running);
        Some(thread)
    }

    /// The thread of a processor has come to the barrier: it leaves the processor to others, and all go on when the last comes.
    pub(super) fn block(&mut self, cpu: CpuId) {
        let Some(thread) = self.park(cpu) else { return };
        self.consult(|scheduler, now, actions| scheduler.blocked(cpu, now, actions));
        let Some(schedule) = &mut self.schedule else { return };
        let process = schedule.process_of(thread);
        schedule.processes[process].arrived.push(thread);
        self.release(process);
    }

    /// All threads of a process go on if all that have not ended are at the barrier.
    fn release(&mut self, process: usize) {
        let Some(schedule) = &mut self.schedule else { return };
        let process = &mut schedule.processes[process];
        if process.arrived.len() < process.alive {
            return;
        }
        let mut arrived = std::mem::take(&mut process.arrived);
        arrived.sort_unstable();
        for thread in arrived {
            self.consult(|scheduler, now, actions| scheduler.woken(thread, now, actions));
        }
    }

    /// The thread of a processor has ended.
    pub(super) fn thread_ended(&mut self, cpu: CpuId, thread: usize) {
        self.consult(|scheduler, now, actions| scheduler.ended(cpu, now, actions));
        let Some(schedule) = &mut self.schedule else { return };
        let process = schedule.process_of(thread);
        schedule.processes[process].alive -= 1;
        self.release(process);
    }

    /// The thread of a processor has seen nothing new in a word, and looks again and again.
    pub(super) fn looks_in_vain(&mut self, cpu: CpuId) {
        let now = self.now;
        let Some(schedule) = &mut self.schedule else { return };
        let Some(running) = &mut self.running[cpu.index()] else { return };
        running.looked_in_vain = Some(schedule.processes[schedule.process_of(running.thread)].team.news());
        schedule.scheduler.spins(cpu, true, now);
        self.announce();
    }

    /// What a thread looks at again and again is about to be seen to change.
    pub(super) fn looks_again(&mut self, cpu: CpuId) {
        let now = self.now;
        if let Some(schedule) = &mut self.schedule {
            schedule.scheduler.spins(cpu, false, now);
            self.announce();
        }
    }

    /// Whether an event that resumes the program of `cpu` is the one that it waits for: one that was meant for a thread that has
    /// been taken off meanwhile is not.
    #[inline]
    pub(super) fn is_due(&self, cpu: CpuId) -> bool {
        if self.schedule.is_none() && self.process.is_none() {
            return true;
        }
        match self.waits(cpu) {
            Some(Wait::Until(time)) => time == self.now,
            Some(Wait::Parked(time) | Wait::Rest(_, time)) => time <= self.now,
            Some(Wait::Page(..)) => self.processor(cpu).time() <= self.now,
            _ => false,
        }
    }

    /// An event that resumes a program is not the one that it waits for ([`Self::is_due`]). A page fault that is due but for an
    /// interrupt, which has taken the processor since the event was scheduled, is served when the interrupt is over.
    #[cold]
    pub(super) fn put_off(&mut self, cpu: CpuId) {
        if let Some(Wait::Page(..)) = self.waits(cpu) {
            let time = self.processor(cpu).time();
            self.schedule_processor(cpu, time, Event::Resume(cpu));
        }
    }

    /// Whether every thread that has started and not ended waits for others.
    fn is_stuck(&self) -> bool {
        let Some(schedule) = &self.schedule else { return false };
        let in_vain = |running: &Running| {
            let team = &schedule.processes[schedule.process_of(running.thread)].team;
            running.looked_in_vain == Some(team.news())
        };
        let waits = |running: &Running| match running.wait {
            Some(Wait::Departure(_) | Wait::Leave) => in_vain(running),
            Some(Wait::Barrier | Wait::Parked(Time::MAX)) => true,
            // It has not started: its process waits for one that has.
            None => true,
            _ => false,
        };
        // Of threads that are ready, those that have not started yet will run as others do.
        let held = |running: &Running| {
            schedule.scheduler.is_ready(running.thread)
                && matches!(running.wait, None | Some(Wait::Barrier | Wait::Parked(_)))
        };
        let any = self.running.iter().flatten().chain(schedule.parked.iter().flatten());
        let mut any = any.peekable();
        any.peek().is_some() && any.all(|running| waits(running) && !held(running))
    }

    /// What the scheduler counted of a thread.
    pub(super) fn scheduling(&self, thread: usize) -> SchedulingCounters {
        self.schedule.as_ref().map(|schedule| schedule.scheduler.counters(thread)).unwrap_or_default()
    }

    /// A thread in words, if its process has a name.
    pub(super) fn name_of(&self, thread: usize) -> Option<String> {
        let schedule = self.schedule.as_ref()?;
        let process = &schedule.processes[schedule.process_of(thread)];
        Some(format!("thread {} of {}", thread - process.threads.start, process.name))
    }

    /// What threads without a processor wait for, in words.
    pub(super) fn parked_waits(&self) -> impl Iterator<Item = String> {
        let parked = self.schedule.iter().flat_map(|schedule| schedule.parked.iter().flatten());
        parked.filter_map(|running| {
            let wait = match running.wait? {
                Wait::Leave => "a processor, and before that for a change in a word".to_owned(),
                wait => what(wait),
            };
            Some(format!("{} waits for {wait}", self.name_of(running.thread)?))
        })
    }
}
