//! A process whose threads come and go while it runs: what they ask of the operating system, done at their own time.

use std::rc::Rc;

use units::{CpuId, NodeId, Time, VirtualAddr};

use super::{Controller, Event, System, ThreadReport};
use crate::SimError;
use crate::processor::Wait;
use crate::thread::{Call, Program, Team, ThreadId};

/// A process that runs.
pub(super) struct Process {
    team: Rc<Team>,
    /// The processors that its threads may have, in the order in which they are taken.
    processors: Vec<CpuId>,
    /// The processor of each thread that has not ended.
    places: Vec<Option<CpuId>>,
    alive: usize,
    /// Whether a thread has ended all of it.
    over: bool,
}

impl<C: Controller> System<C> {
    /// Runs a process that begins with one thread, on the first of `processors`, until all its threads have ended or one has
    /// ended the process. What a thread that was cut off then did so far counts.
    ///
    /// # Errors
    /// As [`System::run`].
    pub fn run_process(&mut self, processors: Vec<CpuId>, first: Program) -> Result<Vec<ThreadReport>, SimError> {
        let count = self.processors.len();
        if let Some(&cpu) = processors.iter().find(|cpu| cpu.index() >= count) {
            return Err(SimError::NoSuchProcessor { cpu, processors: count });
        }
        self.reports.clear();
        let team = Rc::new(Team::new(false));
        let start = processors.first().copied().unwrap_or(CpuId(0));
        let process = Process { team: team.clone(), processors, places: vec![Some(start)], alive: 1, over: false };
        self.process = Some(process);
        self.start(start, first, &team, 0)?;
        while self.process.as_ref().is_some_and(|process| process.alive > 0 && !process.over) {
            if !self.step()? {
                return Err(self.deadlock());
            }
        }
        self.cut_off();
        self.process = None;
        self.wind_up()
    }

    /// The process is over: threads that have not ended leave their processors as they are.
    fn cut_off(&mut self) {
        for cpu in (0..self.running.len() as u16).map(CpuId) {
            if self.running[cpu.index()].is_some() {
                self.post_now(cpu);
                self.abandon(cpu);
            }
        }
    }

    /// A thread has ended.
    pub(super) fn note_end(&mut self) {
        if let Some(process) = &mut self.process {
            process.alive -= 1;
            for place in &mut process.places {
                if place.is_some_and(|cpu| self.running[cpu.index()].is_none()) {
                    *place = None;
                }
            }
        }
    }

    /// The thread on `cpu` asks for something, now that its time has come; it goes on at once.
    pub(super) fn answer_calls(&mut self, cpu: CpuId) {
        let Some(team) = self.process.as_ref().map(|process| process.team.clone()) else {
            return self.resume_at(cpu, self.now);
        };
        for call in team.take_calls() {
            match call {
                Call::Spawn(program, wish) => team.answer_spawn(self.spawn(program, wish, &team)),
                Call::Wake(thread) => self.wake_parked(thread),
                Call::Map(planned) => team.answer_map(self.map(&planned)),
                Call::Move(at, node) => self.place_page(at, node),
                Call::Whereabouts(at) => team.answer_place(self.place_of(at)),
                Call::End => {
                    if let Some(process) = &mut self.process {
                        process.over = true;
                    }
                    return;
                }
            }
        }
        let time = self.processor(cpu).time();
        self.resume_at(cpu, time.max(self.now));
    }

    /// A new thread on the processor that it wishes for, or else on the first free one. `None` if there is none.
    fn spawn(&mut self, program: Program, wish: Option<CpuId>, team: &Rc<Team>) -> Result<ThreadId, SimError> {
        let Some(process) = &self.process else { return Err(SimError::NoProcessorFree { processors: 0 }) };
        let free = |cpu: &CpuId| self.running.get(cpu.index()).is_some_and(Option::is_none);
        let wish = wish.filter(|cpu| process.processors.contains(cpu));
        let cpu = wish.filter(free).or_else(|| process.processors.iter().copied().find(free));
        let cpu = cpu.ok_or(SimError::NoProcessorFree { processors: process.processors.len() })?;
        let thread = process.places.len();
        self.start(cpu, program, team, thread)?;
        if let Some(process) = &mut self.process {
            process.places.push(Some(cpu));
            process.alive += 1;
        }
        Ok(ThreadId(thread))
    }

    /// A parked thread goes on now; if it is not parked, nothing happens.
    fn wake_parked(&mut self, thread: ThreadId) {
        let place = self.process.as_ref().and_then(|process| process.places.get(thread.0).copied().flatten());
        if let Some(cpu) = place
            && matches!(self.waits(cpu), Some(Wait::Parked(_)))
        {
            self.resume_at(cpu, self.now);
        }
    }

    /// A thread parks until `until` or until it is woken.
    pub(super) fn park_until(&mut self, cpu: CpuId, until: Time) {
        if until < Time::MAX {
            self.schedule_processor(cpu, until.max(self.now), Event::Resume(cpu));
        }
    }

    /// The program asks for the page of `at` on `node`: one that nobody has touched is placed there when it is.
    fn place_page(&mut self, at: VirtualAddr, node: NodeId) {
        self.paging.plan(at, node.min(NodeId(self.network.topology().nodes().len() as u16 - 1)));
    }
}
