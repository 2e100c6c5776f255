//! Threads that are created while their process runs, and threads that already run when scheduling begins.

use units::{CpuId, Time};

use super::Action;
use super::SchedulingCounters;
use super::core::{Doing, Progress, Scheduler, ThreadState};

impl Scheduler {
    /// The first process creates a thread, which is ready from `now` on, preferably on `home`. Its number follows the
    /// others'.
    pub fn born(&mut self, home: Option<CpuId>, now: Time, actions: &mut Vec<Action>) {
        let thread = self.add(home, now);
        self.ready(thread, now);
        self.answer(now, actions);
    }

    /// The first process has another thread, which has run on `cpu` all along, or has ended if there is none.
    pub fn adopt(&mut self, cpu: Option<CpuId>, now: Time) {
        let thread = self.add(cpu, now);
        let quantum_end = now + self.costs.quantum;
        let Some(cpu) = cpu else {
            self.threads[thread].progress = Progress::Ended;
            self.jobs[0].alive -= 1;
            return;
        };
        (self.threads[thread].progress, self.threads[thread].last) = (Progress::Running, Some(cpu));
        let state = &mut self.cpus[cpu.index()];
        (state.doing, state.last, state.quantum_end) = (Doing::Thread(thread), Some(thread), quantum_end);
        self.next = self.earliest();
    }

    fn add(&mut self, home: Option<CpuId>, now: Time) -> usize {
        let counters = SchedulingCounters::default();
        self.threads.push(ThreadState {
            job: 0,
            progress: Progress::Waiting,
            home,
            last: None,
            ready_since: now,
            counters,
        });
        let job = &mut self.jobs[0];
        (job.threads.end, job.alive, job.started) = (self.threads.len(), job.alive + 1, true);
        self.threads.len() - 1
    }
}
