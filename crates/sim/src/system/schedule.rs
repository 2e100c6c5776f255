//! The scheduler's decisions, applied to processors.
//!
//! A thread changes processors only after draining, and repeats its interrupted operation on the next one. It leaves
//! and enters at its own time, and the scheduler announces its own events ([`Scheduler::next`]), so look-ahead does not
//! change results.

use std::ops::Range;
use std::rc::Rc;

use units::{CpuId, Duration, Time};

use super::programs::{Running, what};
use super::{Controller, System, ThreadReport};
use crate::SimError;
use crate::kernel::Event;
use crate::os::{Action, Scheduler, Scheduling, SchedulingCounters, TimeSharing};
use crate::processor::Wait;
use crate::thread::{Program, Team};

/// A process: threads that start together.
pub struct Job {
    /// The name in messages.
    pub name: String,
    /// The program of each thread.
    pub threads: Vec<Program>,
}

/// A running process.
pub(super) struct Process {
    pub name: String,
    pub threads: Range<usize>,
    pub alive: usize,
    /// Threads at the barrier.
    pub arrived: Vec<usize>,
    pub team: Rc<Team>,
}

/// The threads with their scheduler.
pub(super) struct Schedule {
    pub scheduler: Scheduler,
    pub processes: Vec<Process>,
    /// Threads without a processor, by number.
    pub parked: Vec<Option<Running>>,
    /// The time of the scheduler's next wake-up event.
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
    /// Runs processes, all of which arrive at the present time, until all have ended.
    ///
    /// # Errors
    /// As [`System::run`]; a process has too many threads.
    pub fn run_jobs(&mut self, jobs: Vec<Job>, policy: Scheduling) -> Result<Vec<Vec<ThreadReport>>, SimError> {
        let processors = self.threads.running.len();
        let turns = policy.time == TimeSharing::RunQueue && !policy.space.is_pinned();
        if let Some(job) = jobs.iter().find(|job| job.threads.len() > processors && !turns) {
            return Err(SimError::TooManyThreads { name: job.name.clone(), threads: job.threads.len(), processors });
        }
        self.threads.reports.clear();
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
        let scheduler =
            Scheduler::new(&self.threads.scheduler, policy, processors, &sizes, self.options.seed, self.kernel.now);
        let schedule = Schedule { scheduler, processes, parked, wake: Time::MAX, actions: Vec::new() };
        self.threads.schedule = Some(Box::new(schedule));
        self.consult(Scheduler::start);
        let mut reports = self.go_on(count)?.into_iter();
        Ok(sizes.into_iter().map(|size| reports.by_ref().take(size).collect()).collect())
    }

    /// Passes an event to the scheduler, and carries out its actions.
    pub(super) fn consult(&mut self, tell: impl FnOnce(&mut Scheduler, Time, &mut Vec<Action>)) {
        let Some(mut schedule) = self.threads.schedule.take() else { return };
        let mut actions = std::mem::take(&mut schedule.actions);
        tell(&mut schedule.scheduler, self.kernel.now, &mut actions);
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
        self.threads.schedule = Some(schedule);
        self.announce();
    }

    /// Schedules a wake-up event at the scheduler's next own time.
    fn announce(&mut self) {
        let Some(schedule) = &mut self.threads.schedule else { return };
        self.threads.schedule_next = schedule.scheduler.next();
        if self.threads.schedule_next < schedule.wake {
            schedule.wake = self.threads.schedule_next;
            self.kernel.schedule_scheduler(self.threads.schedule_next.max(self.kernel.now), Event::Schedule);
        }
    }

    /// The scheduler's own time has come.
    pub(super) fn on_schedule(&mut self) {
        let Some(schedule) = &mut self.threads.schedule else { return };
        if schedule.wake > self.kernel.now {
            // An earlier wake-up has already handled this time.
            return;
        }
        schedule.wake = Time::MAX;
        if self.is_stuck() {
            let deadlock = self.deadlock();
            return self.fail(deadlock);
        }
        self.consult(Scheduler::tick);
    }

    /// A thread goes on, on an idle processor, at `at`.
    fn enter(&mut self, cpu: CpuId, mut running: Running, at: Time) {
        running.enter();
        self.threads.running[cpu.index()] = Some(running);
        self.resume_at(cpu, at);
    }

    /// The operating system interrupts the program of a processor.
    pub fn interrupt(&mut self, cpu: CpuId, length: Duration) {
        let now = self.kernel.now;
        self.processor_mut(cpu).end_skipping(now);
        self.processor_mut(cpu).spend_in_os(now, length);
        if let Some(Wait::Skipping(..)) = self.waits(cpu) {
            // The rounds of the spin loop after the interrupt begin later than those that the program was resting for.
            let time = self.processor_mut(cpu).time();
            self.resume_at(cpu, time);
        }
    }

    /// Preempts the thread of a processor: it leaves when its misses are complete and it has drained.
    pub(super) fn leave(&mut self, cpu: CpuId) {
        let now = self.kernel.now;
        let left = self.processor_mut(cpu).leave(now);
        let Some(running) = &mut self.threads.running[cpu.index()] else { return };
        if !matches!(running.wait, Some(Wait::Departure(_) | Wait::Leave)) {
            running.unchanged_since = None;
        }
        running.wait = Some(Wait::Leave);
        if let Ok(time) = left {
            self.kernel.schedule_scheduler(time, Event::Left(cpu));
        }
    }

    /// The thread of a processor has left it.
    pub(super) fn on_left(&mut self, cpu: CpuId) {
        self.park(cpu);
        self.consult(|scheduler, now, actions| scheduler.left(cpu, now, actions));
    }

    /// Takes the thread off a processor that has drained. Returns its number.
    pub(super) fn park(&mut self, cpu: CpuId) -> Option<usize> {
        let mut running = self.threads.running[cpu.index()].take()?;
        let now = self.kernel.now;
        running.exit(self.processor_mut(cpu), now);
        let thread = running.thread;
        self.threads.schedule.as_mut()?.parked[thread] = Some(running);
        Some(thread)
    }

    /// The thread of a processor has reached the barrier: it blocks, and the last one to arrive releases all.
    pub(super) fn block(&mut self, cpu: CpuId) {
        let Some(thread) = self.park(cpu) else { return };
        self.consult(|scheduler, now, actions| scheduler.blocked(cpu, now, actions));
        let Some(schedule) = &mut self.threads.schedule else { return };
        let process = schedule.process_of(thread);
        schedule.processes[process].arrived.push(thread);
        self.release(process);
    }

    /// Releases the barrier of a process if all threads that have not ended are at it.
    fn release(&mut self, process: usize) {
        let Some(schedule) = &mut self.threads.schedule else { return };
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
        let Some(schedule) = &mut self.threads.schedule else { return };
        let process = schedule.process_of(thread);
        schedule.processes[process].alive -= 1;
        self.release(process);
    }

    /// The thread of a processor has found a word unchanged, and spins on it.
    pub(super) fn spins_unchanged(&mut self, cpu: CpuId) {
        let now = self.kernel.now;
        let Some(schedule) = &mut self.threads.schedule else { return };
        let Some(running) = &mut self.threads.running[cpu.index()] else { return };
        running.unchanged_since = Some(schedule.processes[schedule.process_of(running.thread)].team.changes());
        schedule.scheduler.spins(cpu, true, now);
        self.announce();
    }

    /// The word that a thread spins on is about to change.
    pub(super) fn looks_again(&mut self, cpu: CpuId) {
        let now = self.kernel.now;
        if let Some(schedule) = &mut self.threads.schedule {
            schedule.scheduler.spins(cpu, false, now);
            self.announce();
        }
    }

    /// Whether an event that resumes the program of `cpu` is the awaited one, rather than one for a thread that has
    /// been taken off meanwhile.
    #[inline]
    pub(super) fn is_due(&mut self, cpu: CpuId) -> bool {
        if self.threads.schedule.is_none() && self.threads.process.is_none() {
            return true;
        }
        match self.waits(cpu) {
            Some(Wait::Until(time)) => time == self.kernel.now,
            Some(Wait::Parked(time) | Wait::Skipping(time)) => time <= self.kernel.now,
            Some(Wait::PageToLoad(_) | Wait::PageToStore(_)) => {
                let now = self.kernel.now;
                self.processor_mut(cpu).time() <= now
            }
            _ => false,
        }
    }

    /// A resumption that is not the one that the program waits for ([`Self::is_due`]). A page fault that was delayed by an interrupt,
    /// which took the processor after the event was scheduled, is served when the interrupt ends.
    #[cold]
    pub(super) fn put_off(&mut self, cpu: CpuId) {
        if let Some(Wait::PageToLoad(_) | Wait::PageToStore(_)) = self.waits(cpu) {
            let time = self.processor_mut(cpu).time();
            self.schedule_processor(cpu, time, Event::Resume(cpu));
        }
    }

    /// Whether every started thread that has not ended waits for others.
    fn is_stuck(&self) -> bool {
        let Some(schedule) = &self.threads.schedule else { return false };
        let in_vain = |running: &Running| {
            let team = &schedule.processes[schedule.process_of(running.thread)].team;
            running.unchanged_since == Some(team.changes())
        };
        let waits = |running: &Running| match running.wait {
            Some(Wait::Departure(_) | Wait::Leave) => in_vain(running),
            Some(Wait::Barrier | Wait::Parked(Time::MAX)) => true,
            // It has not started: its process waits for one that has.
            None => true,
            _ => false,
        };
        // A ready thread that has not started, or was woken from a barrier or from parking, will still run.
        let held = |running: &Running| {
            schedule.scheduler.is_ready(running.thread)
                && matches!(running.wait, None | Some(Wait::Barrier | Wait::Parked(_)))
        };
        let any = self.threads.running.iter().flatten().chain(schedule.parked.iter().flatten());
        let mut any = any.peekable();
        any.peek().is_some() && any.all(|running| waits(running) && !held(running))
    }

    /// Scheduling counts of a thread.
    pub(super) fn scheduling(&self, thread: usize) -> SchedulingCounters {
        self.threads.schedule.as_ref().map(|schedule| schedule.scheduler.counters(thread)).unwrap_or_default()
    }

    /// The description of a thread in messages, if its process has a name.
    pub(super) fn name_of(&self, thread: usize) -> Option<String> {
        let schedule = self.threads.schedule.as_ref()?;
        let process = &schedule.processes[schedule.process_of(thread)];
        Some(format!("thread {} of {}", thread - process.threads.start, process.name))
    }

    /// The waits of threads without a processor, in words.
    pub(super) fn parked_waits(&self) -> impl Iterator<Item = String> {
        let parked = self.threads.schedule.iter().flat_map(|schedule| schedule.parked.iter().flatten());
        parked.filter_map(|running| {
            let wait = match running.wait? {
                Wait::Leave => "a processor, and before that for a change in a word".to_owned(),
                wait => what(wait),
            };
            Some(format!("{} waits for {wait}", self.name_of(running.thread)?))
        })
    }
}
