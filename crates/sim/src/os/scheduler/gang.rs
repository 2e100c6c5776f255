//! Gang scheduling: all threads of a process run, or none (FLASH dissertation, 4.1.1 and 4.3.2).
//!
//! One central scheduler places the threads of a gang, and takes time for each. A gang is stopped at the end of its
//! quantum even if no other waits, because the operating system's priorities treat it like any thread. A processor that
//! a gang leaves idle reserves a seat for the first thread of a waiting process: when that process runs next, the
//! thread is away from its data and caches.
//!
//! While a gang is being placed, all processors are idle. Each thread returns to the queue of one processor, but every
//! idle processor scans the queues of others (4.1.1), and the first to scan takes the thread before its own processor
//! does (4.1.2). Each turn therefore shuffles the threads that are not pinned, under cache affinity and memory affinity
//! alike. An individual thread, of a batch or a run queue, returns to a busy machine, where few processors scan.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::{CpuId, Time};

use super::TimeSharing;
use super::core::{Cpu, Doing, Progress, Scheduler, Why};

/// The stage of gang scheduling.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    /// No process has a turn.
    #[default]
    Empty,
    /// A process is being placed; it starts at this time, or as soon as it can.
    Starting(usize, Time),
    /// A process runs, until this time.
    Running(usize, Time),
    /// The threads of a process are leaving.
    Stopping(usize),
}

/// The gangs, which take turns.
#[derive(Clone, Debug)]
pub struct Gangs {
    stage: Stage,
    waiting: VecDeque<usize>,
    /// Threads with a reserved seat on a processor that was idle.
    seats: Vec<(usize, CpuId)>,
    /// The random choice of the idle processor that scans first.
    looks: Xoshiro256PlusPlus,
}

impl Gangs {
    /// No gangs yet; `seed` determines the scans of idle processors.
    pub fn new(seed: u64) -> Self {
        let looks = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6a46_0000);
        Self { stage: Stage::default(), waiting: VecDeque::new(), seats: Vec::new(), looks }
    }

    /// The one of these idle processors that scans first, drawn with equal probability.
    fn first_to_look(&mut self, idle: &[CpuId]) -> Option<CpuId> {
        let drawn = self.looks.next_u64() % (idle.len() as u64).max(1);
        idle.get(drawn as usize).copied()
    }

    /// Whether the threads of a process may run.
    pub fn runs(&self, job: usize) -> bool {
        matches!(self.stage, Stage::Running(running, _) if running == job)
    }

    /// The time of the next event of gang scheduling.
    pub fn next(&self) -> Time {
        match self.stage {
            Stage::Starting(_, at) | Stage::Running(_, at) => at,
            Stage::Empty | Stage::Stopping(_) => Time::MAX,
        }
    }

    /// A process has ended: the next one starts at once.
    pub fn forget(&mut self, job: usize, now: Time) {
        self.waiting.retain(|&other| other != job);
        if self.runs(job) || self.stage == Stage::Stopping(job) {
            self.stage = self.waiting.pop_front().map_or(Stage::Empty, |next| Stage::Starting(next, now));
        }
    }
}

impl Scheduler {
    /// Queues all processes, and starts the first.
    pub(super) fn start_gangs(&mut self, now: Time) {
        for job in 0..self.jobs.len() {
            if !std::mem::replace(&mut self.jobs[job].started, true) {
                self.gangs.waiting.push_back(job);
                self.jobs[job].threads.clone().for_each(|thread| self.threads[thread].progress = Progress::Ready);
            }
        }
        if self.gangs.stage == Stage::Empty
            && let Some(job) = self.gangs.waiting.pop_front()
        {
            self.gangs.stage = Stage::Starting(job, now);
        }
        self.tick_gangs(now);
    }

    /// Handles gang scheduling events that are due.
    pub(super) fn tick_gangs(&mut self, now: Time) {
        match self.gangs.stage {
            Stage::Running(job, until) if until <= now => self.stop_gang(job, now),
            Stage::Starting(job, at) if at <= now => self.start_gang(job, now),
            Stage::Stopping(job) => self.stopped_gang(job, now),
            _ => {}
        }
    }

    /// One thread of a gang is preempted, so all are.
    pub(super) fn disturb_gang(&mut self, job: usize, now: Time) {
        if self.gangs.runs(job) {
            self.stop_gang(job, now);
        }
    }

    /// The threads of a process leave their processors.
    fn stop_gang(&mut self, job: usize, now: Time) {
        self.gangs.stage = Stage::Stopping(job);
        for cpu in 0..self.cpus.len() {
            if matches!(self.cpus[cpu].doing, Doing::Thread(thread) if self.threads[thread].job == job) {
                self.preempt(CpuId(cpu as u16), Why::Gang);
            }
        }
        // Its threads that wait for a daemon to end leave their queues.
        self.jobs[job].threads.clone().for_each(|thread| self.queues.forget(thread));
        self.stopped_gang(job, now);
    }

    /// Once all threads have left, the next process is placed, in time proportional to its threads.
    fn stopped_gang(&mut self, job: usize, now: Time) {
        let leaving = |cpu: &Cpu| matches!(cpu.doing, Doing::Leaving(thread, _) if self.threads[thread].job == job);
        if self.cpus.iter().any(leaving) {
            return;
        }
        self.gangs.waiting.push_back(job);
        if let Some(next) = self.gangs.waiting.pop_front() {
            let length = self.costs.gang_reschedule * self.jobs[next].alive as u64;
            self.gangs.stage = Stage::Starting(next, now + length.max(super::Costs::LEAST));
        }
    }

    /// Starts all ready threads of a process, or none until there are enough processors.
    fn start_gang(&mut self, job: usize, now: Time) {
        let ready = self.jobs[job].threads.clone().filter(|&thread| self.threads[thread].progress == Progress::Ready);
        let ready: Vec<usize> = ready.collect();
        let Some(places) = self.places_of_gang(&ready) else {
            let ends = self.cpus.iter().filter_map(|cpu| match cpu.doing {
                Doing::Daemon(until) if until > now => Some(until),
                _ => None,
            });
            // Only daemons can occupy a processor here.
            let at = ends.min().unwrap_or(now + self.costs.tick);
            self.gangs.stage = Stage::Starting(job, at);
            return;
        };
        self.gangs.stage = Stage::Running(job, now + self.costs.gang_quantum);
        for (thread, cpu) in places {
            self.run(cpu, thread, now);
        }
        self.gangs.seats.retain(|&(thread, _)| self.threads[thread].job != job);
        self.seat_waiting();
    }

    /// A processor for each of `threads`: the one that holds it, if that is free, otherwise the first to scan.
    fn places_of_gang(&mut self, threads: &[usize]) -> Option<Vec<(usize, CpuId)>> {
        let mut idle: Vec<CpuId> = (0..self.cpus.len() as u16).map(CpuId).collect();
        idle.retain(|cpu| self.cpus[cpu.index()].doing == Doing::Nothing);
        let mut places: Vec<Option<CpuId>> = vec![None; threads.len()];
        for (place, &thread) in places.iter_mut().zip(threads) {
            let held = self.held(thread).and_then(|cpu| idle.iter().position(|&other| other == cpu));
            *place = held.map(|at| idle.remove(at));
        }
        for (place, &thread) in places.iter_mut().zip(threads) {
            if place.is_none() && (!self.policy.space.is_pinned() || self.held(thread).is_none()) {
                let cpu = self.gangs.first_to_look(&idle)?;
                idle.retain(|&other| other != cpu);
                *place = Some(cpu);
            }
        }
        threads.iter().zip(places).map(|(&thread, place)| Some((thread, place?))).collect()
    }

    /// The processor from which no other takes a thread of a gang: the one that it is pinned to, its seat, or the one
    /// that it starts on.
    fn held(&self, thread: usize) -> Option<CpuId> {
        let seat = self.gangs.seats.iter().find(|&&(seated, _)| seated == thread).map(|&(_, cpu)| cpu);
        let state = &self.threads[thread];
        seat.or(state.home.filter(|_| self.policy.space.is_pinned() || state.last.is_none()))
    }

    /// An idle processor takes the first ready thread of a waiting process, as it would take any thread.
    fn seat_waiting(&mut self) {
        if self.policy.space.is_pinned() || self.policy.time != TimeSharing::Gang {
            return;
        }
        let mut idle = (0..self.cpus.len()).filter(|&cpu| self.cpus[cpu].doing == Doing::Nothing);
        for &job in &self.gangs.waiting {
            let first = self.jobs[job].threads.clone().find(|&thread| self.threads[thread].progress == Progress::Ready);
            let (Some(thread), Some(cpu)) = (first, idle.next()) else { return };
            let place = CpuId(cpu as u16);
            match self.gangs.seats.iter_mut().find(|(seated, _)| *seated == thread) {
                Some(seat) => seat.1 = place,
                None => self.gangs.seats.push((thread, place)),
            }
        }
    }
}
