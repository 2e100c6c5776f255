//! What happened before the simulation begins.
//!
//! The programs of the FLASH dissertation ran for minutes (Table 3.2), in which daemons and turns moved threads again and again; ours
//! are looked at for milliseconds, in which a thread is hardly ever moved, whatever times are divided by. So the scheduler first
//! lives through the time before, by itself, with threads that only run: where those are at its end, they are when the simulation
//! begins. Their memory is where they began: what they touch for the first time while they are simulated, they would have touched
//! long before.

use units::{CpuId, Time};

use super::core::{Doing, Progress, Scheduler};
use super::daemons::Daemons;
use super::gang::Gangs;
use super::{Action, SchedulingCounters, TimeSharing};

/// What makes the past's dice others than the present's.
const PAST: u64 = 0x9a57_0000_0000;

impl Scheduler {
    /// Takes threads where they are when their processes have run for as long as the machine says.
    pub(super) fn live_through_past(&mut self, seed: u64, now: Time) {
        if !self.has_past() {
            return;
        }
        match self.policy.time {
            // One has the machine after the other, and each has a past of its own.
            TimeSharing::Batch => (0..self.jobs.len()).for_each(|job| self.remember(&[job], seed, now)),
            TimeSharing::Gang => self.remember(&(0..self.jobs.len()).collect::<Vec<_>>(), seed, now),
            // Who shares a processor with whom, and whose turn it is, is as little in step as it has come to be.
            TimeSharing::RunQueue => {
                let all: Vec<usize> = (0..self.jobs.len()).collect();
                *self = self.without_others(&all, seed, now).lived_through(now).begun_at(now);
            }
        }
    }

    /// Where the thread of a processor began, if it has come from there in a past that is not simulated.
    pub fn began_on(&self, cpu: CpuId) -> Option<CpuId> {
        match self.cpus[cpu.index()].doing {
            Doing::Thread(thread) | Doing::Leaving(thread, _) if self.has_past() => self.threads[thread].home,
            _ => None,
        }
    }

    /// Nothing happens to threads with pins, but that they are in turns.
    fn has_past(&self) -> bool {
        let changes = !self.policy.space.is_pinned() || self.policy.time == TimeSharing::RunQueue;
        self.costs.age.0 > 0 && self.had_threads && changes
    }

    /// The threads of these processes are where they come to without the others.
    fn remember(&mut self, jobs: &[usize], seed: u64, now: Time) {
        let past = self.without_others(jobs, seed, now).lived_through(now);
        for &job in jobs {
            for thread in self.jobs[job].threads.clone() {
                self.threads[thread].last = past.threads[thread].last;
            }
        }
    }

    /// The same as if other processes had ended, with other dice.
    fn without_others(&self, jobs: &[usize], seed: u64, now: Time) -> Self {
        let mut past = self.clone();
        past.daemons = Daemons::new(self.cpus.len(), self.costs.daemon_interval, seed ^ PAST, now);
        past.gangs = Gangs::new(seed ^ PAST);
        for job in (0..self.jobs.len()).filter(|job| !jobs.contains(job)) {
            (past.jobs[job].started, past.jobs[job].alive) = (true, 0);
            past.jobs[job].threads.clone().for_each(|thread| past.threads[thread].progress = Progress::Ended);
        }
        past
    }

    /// The same with the end of its past at `now`, where the simulation begins: who runs where and who waits stays, and so does what
    /// is left of quanta; what was counted does not.
    fn begun_at(mut self, now: Time) -> Self {
        let age = self.costs.age;
        let earlier = |time: &mut Time| {
            if *time < Time::MAX {
                *time = Time(time.0.saturating_sub(age.0)).max(now);
            }
        };
        for cpu in &mut self.cpus {
            [&mut cpu.quantum_end, &mut cpu.spin_end, &mut cpu.scan, &mut cpu.tick].into_iter().for_each(earlier);
            if let Doing::Daemon(until) = &mut cpu.doing {
                earlier(until);
            }
        }
        self.queues.times().chain(self.daemons.times()).for_each(earlier);
        for thread in &mut self.threads {
            (thread.ready_since, thread.counters) = (now, SchedulingCounters::default());
        }
        self
    }

    /// Threads that their past has left on processors go on there.
    pub(super) fn go_on(&mut self, now: Time) {
        let running = self.cpus.iter().enumerate().filter_map(|(cpu, state)| match state.doing {
            Doing::Thread(thread) => Some(Action::Run { cpu: CpuId(cpu as u16), thread, at: now }),
            _ => None,
        });
        self.actions.extend(running);
    }

    /// What becomes of it in the time before, if every thread runs whenever it has a processor.
    fn lived_through(mut self, begin: Time) -> Self {
        let (mut now, end) = (begin, begin + self.costs.age);
        let mut actions = Vec::new();
        self.start(now, &mut actions);
        loop {
            while let Some(action) = actions.pop() {
                if let Action::Preempt { cpu } = action {
                    self.left(cpu, now, &mut actions);
                }
            }
            if self.next() > end {
                return self;
            }
            now = self.next().max(now);
            self.tick(now, &mut actions);
        }
    }
}
