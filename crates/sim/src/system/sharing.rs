//! A process with more threads than processors: its threads take turns under the scheduler, from the first thread on
//! for which no processor is free.

use std::rc::Rc;

use units::{CpuId, Time};

use super::programs::Running;
use super::schedule::{Process, Schedule};
use super::{Controller, System};
use crate::SimError;
use crate::kernel::Event;
use crate::os::{Scheduler, Scheduling};
use crate::processor::Wait;
use crate::thread::{Program, Team, ThreadId};

impl<C: Controller> System<C> {
    /// Puts the threads of the process under a scheduler with `policy`, from here on.
    pub(super) fn begin_sharing(&mut self, team: &Rc<Team>, policy: Scheduling) {
        let Some(process) = &self.threads.process else { return };
        let processors = process.processors.iter().map(|cpu| cpu.index() + 1).max().unwrap_or_default();
        let places = process.places.clone();
        team.share();
        let now = self.kernel.now;
        let mut scheduler =
            Scheduler::new(&self.threads.scheduler, policy, processors, &vec![0], self.options.seed, now);
        places.iter().for_each(|&place| scheduler.adopt(place, now));
        let process = Process {
            name: "the program".to_owned(),
            threads: 0..places.len(),
            alive: places.iter().flatten().count(),
            arrived: Vec::new(),
            team: team.clone(),
        };
        let parked = places.iter().map(|_| None).collect();
        let schedule = Schedule { scheduler, processes: vec![process], parked, wake: Time::MAX, actions: Vec::new() };
        self.threads.schedule = Some(Box::new(schedule));
        // A parked thread gives its processor up.
        for cpu in places.iter().flatten().copied() {
            if let Some(Wait::Parked(until)) = self.waits(cpu) {
                self.leave_parked(cpu, until);
            }
        }
        self.consult(|_, _, _| ());
    }

    /// Adds a thread under the scheduler.
    pub(super) fn spawn_sharing(
        &mut self,
        program: Program,
        wanted: &[CpuId],
        team: &Rc<Team>,
        thread: usize,
    ) -> Result<ThreadId, SimError> {
        let running = self.embody(program, team, thread)?;
        if let Some(schedule) = &mut self.threads.schedule {
            schedule.parked.push(Some(running));
            let process = &mut schedule.processes[0];
            (process.threads.end, process.alive) = (thread + 1, process.alive + 1);
        }
        let home = wanted.first().copied();
        self.consult(|scheduler, now, actions| scheduler.born(home, now, actions));
        Ok(ThreadId(thread))
    }

    /// The thread of a processor parks, and leaves the processor until it is woken or until `until`.
    pub(super) fn leave_parked(&mut self, cpu: CpuId, until: Time) {
        let Some(thread) = self.park(cpu) else { return };
        if until < Time::MAX
            && let Some(process) = &mut self.threads.process
        {
            process.timers.insert((until, thread));
            self.kernel.schedule_scheduler(until.max(self.kernel.now), Event::Schedule);
        }
        self.consult(|scheduler, now, actions| scheduler.blocked(cpu, now, actions));
    }

    /// Wakes threads whose timeout has come.
    pub(super) fn ring(&mut self) {
        while let Some(process) = &mut self.threads.process
            && let Some(&(time, thread)) = process.timers.first()
            && time <= self.kernel.now
        {
            process.timers.pop_first();
            self.wake_sharing(thread, Some(time));
        }
    }

    /// Wakes a parked thread without a processor; with `until`, only if that is its timeout.
    pub(super) fn wake_sharing(&mut self, thread: usize, until: Option<Time>) {
        let Some(schedule) = &self.threads.schedule else { return };
        let waits = schedule.parked.get(thread).and_then(Option::as_ref).and_then(|running| running.wait);
        let parked = match (waits, until) {
            (Some(Wait::Parked(time)), Some(until)) => time == until,
            (Some(Wait::Parked(_)), None) => true,
            _ => false,
        };
        if parked && !schedule.scheduler.is_ready(thread) {
            self.consult(|scheduler, now, actions| scheduler.woken(thread, now, actions));
        }
    }

    /// Ends the process: reports threads without a processor as they are.
    pub(super) fn cut_off_parked(&mut self) {
        let parked: Vec<Running> = self
            .threads
            .schedule
            .iter_mut()
            .flat_map(|schedule| schedule.parked.iter_mut().filter_map(Option::take))
            .collect();
        for running in parked {
            self.report_parked(running);
        }
    }
}
