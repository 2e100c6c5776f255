//! The scheduler's past: scheduling before the simulation begins.
//!
//! The programs of the FLASH dissertation ran for minutes (Table 3.2), in which daemons and turns moved threads many
//! times; ours are simulated for milliseconds, in which a thread hardly ever moves, however times are scaled. The
//! scheduler therefore first runs through the preceding time by itself, with threads that only compute; the placement
//! at its end is that at the start of the simulation. The memory of threads stays at their first processors: pages that
//! they touch first during the simulation would have been touched long before.

use units::{CpuId, Time};

use super::core::{Doing, Progress, Scheduler};
use super::daemons::Daemons;
use super::gang::Gangs;
use super::{Action, SchedulingCounters, TimeSharing};

/// The seed modifier of the past, for random choices different from the present's.
const PAST: u64 = 0x9a57_0000_0000;

impl Scheduler {
    /// Places threads where they are after their processes have run for the age in the description.
    pub(super) fn live_through_past(&mut self, seed: u64, now: Time) {
        if !self.has_past() {
            return;
        }
        match self.policy.time {
            // The processes of a batch run one after the other, each with a past of its own.
            TimeSharing::Batch => (0..self.jobs.len()).for_each(|job| self.remember(&[job], seed, now)),
            TimeSharing::Gang => self.remember(&(0..self.jobs.len()).collect::<Vec<_>>(), seed, now),
            // Run queues keep the whole state, with the phases of turns that have built up.
            TimeSharing::RunQueue => {
                let all: Vec<usize> = (0..self.jobs.len()).collect();
                *self = self.without_others(&all, seed, now).lived_through(now).begun_at(now);
            }
        }
    }

    /// The first processor of the thread on `cpu`, if there is a simulated past.
    pub fn began_on(&self, cpu: CpuId) -> Option<CpuId> {
        match self.cpus[cpu.index()].doing {
            Doing::Thread(thread) | Doing::Leaving(thread, _) if self.has_past() => self.threads[thread].home,
            _ => None,
        }
    }

    /// Whether there is a past. Pinned threads never move, so they have one only in run queues, where turns change.
    fn has_past(&self) -> bool {
        let changes = !self.policy.space.is_pinned() || self.policy.time == TimeSharing::RunQueue;
        self.costs.age.0 > 0 && self.had_threads && changes
    }

    /// Sets the last processor of the threads of these processes to that at the end of a past without other processes.
    fn remember(&mut self, jobs: &[usize], seed: u64, now: Time) {
        let past = self.without_others(jobs, seed, now).lived_through(now);
        for &job in jobs {
            for thread in self.jobs[job].threads.clone() {
                self.threads[thread].last = past.threads[thread].last;
            }
        }
    }

    /// This scheduler as if all other processes had ended, with the random choices of the past.
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

    /// This scheduler with the end of its past moved to `now`, the start of the simulation: running and waiting threads
    /// stay, as does the remaining time of quanta; counts are cleared.
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

    /// Continues the threads that run at the end of the past.
    pub(super) fn go_on(&mut self, now: Time) {
        let running = self.cpus.iter().enumerate().filter_map(|(cpu, state)| match state.doing {
            Doing::Thread(thread) => Some(Action::Run { cpu: CpuId(cpu as u16), thread, at: now }),
            _ => None,
        });
        self.actions.extend(running);
    }

    /// Runs the scheduler through the past, with threads that run whenever they have a processor.
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
