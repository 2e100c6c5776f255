//! A process with dynamic threads: their operating system calls, performed at the threads' own times.

use std::collections::BTreeSet;
use std::rc::Rc;

use units::{CpuId, NodeId, Time, VirtualAddr};

use super::{Controller, System, ThreadReport, Until};
use crate::SimError;
use crate::kernel::Event;
use crate::os::{Scheduling, SpaceSharing, TimeSharing};
use crate::processor::Wait;
use crate::thread::{Call, Program, Team, ThreadId};

/// The policy for more threads than processors: individual threads, with cache affinity.
const TURNS: Scheduling = Scheduling { time: TimeSharing::RunQueue, space: SpaceSharing::CacheAffinity };

/// A running process.
pub(super) struct Process {
    team: Rc<Team>,
    /// The processors of its threads, in order of preference.
    pub(super) processors: Vec<CpuId>,
    /// The processor of each thread that has not ended.
    pub(super) places: Vec<Option<CpuId>>,
    alive: usize,
    /// Whether a thread has ended the process.
    over: bool,
    /// Timeouts of parked threads without a processor.
    pub timers: BTreeSet<(Time, usize)>,
}

impl Process {
    /// Whether all its threads have ended, or one has ended it.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.alive == 0 || self.over
    }
}

impl<C: Controller> System<C> {
    /// Runs a process that begins with one thread, on the first of `processors`, until all its threads have ended or
    /// one has ended the process. A thread that is cut off then is reported up to that point. With a policy the
    /// scheduler places threads from the beginning; without one it does so from the first thread for which no processor
    /// is free.
    ///
    /// # Errors
    /// As [`System::run`].
    pub fn run_process(
        &mut self,
        processors: Vec<CpuId>,
        policy: Option<Scheduling>,
        first: Program,
    ) -> Result<Vec<ThreadReport>, SimError> {
        let count = self.threads.running.len();
        if let Some(&cpu) = processors.iter().find(|cpu| cpu.index() >= count) {
            return Err(SimError::NoSuchProcessor { cpu, processors: count });
        }
        self.threads.reports.clear();
        let team = Rc::new(Team::new(false));
        let start = processors.first().copied().unwrap_or(CpuId(0));
        let process = Process {
            team: team.clone(),
            processors,
            places: vec![Some(start)],
            alive: 1,
            over: false,
            timers: BTreeSet::new(),
        };
        self.threads.process = Some(process);
        self.start(start, first, &team, 0)?;
        if let Some(policy) = policy {
            self.begin_sharing(&team, policy);
        }
        if !self.handle_events(Until::ProcessEnd)? {
            return Err(self.deadlock());
        }
        self.cut_off();
        self.threads.process = None;
        self.wind_up()
    }

    /// Ends the process: threads that have not ended leave their processors as they are.
    fn cut_off(&mut self) {
        for cpu in (0..self.threads.running.len() as u16).map(CpuId) {
            if self.threads.running[cpu.index()].is_some() {
                self.post_now(cpu);
                self.abandon(cpu);
            }
        }
        self.cut_off_parked();
    }

    /// A thread has ended.
    pub(super) fn note_end(&mut self) {
        if let Some(process) = &mut self.threads.process {
            process.alive -= 1;
            let Some((thread, _)) = self.threads.reports.last() else { return };
            process.places[*thread] = None;
        }
    }

    /// Performs the calls of the thread on `cpu`, at its own time; the thread continues at once.
    pub(super) fn answer_calls(&mut self, mut cpu: CpuId) {
        let Some(team) = self.threads.process.as_ref().map(|process| process.team.clone()) else {
            return self.resume_at(cpu, self.kernel.now);
        };
        for call in team.take_calls() {
            match call {
                Call::Spawn(program, wanted) => team.answer_spawn(self.spawn(program, &wanted, &team)),
                Call::Migrate(wanted) => cpu = self.migrate(cpu, &wanted),
                Call::Wake(thread) => self.wake_parked(thread),
                Call::Map(planned) => team.answer_map(self.map(&planned)),
                Call::Plan(pages) => self.plan_pages(pages),
                Call::Move(at, node) => self.move_page(cpu, at, node),
                Call::TouchAgain => self.touch_again(self.node_of(cpu)),
                Call::Whereabouts(at) => team.answer_place(self.place_of(at)),
                Call::End => {
                    if let Some(process) = &mut self.threads.process {
                        process.over = true;
                    }
                    return;
                }
            }
        }
        let time = self.processor_mut(cpu).time();
        self.resume_at(cpu, time.max(self.kernel.now));
    }

    /// The first of `wanted` that is free and belongs to the process.
    fn first_free(&self, wanted: &[CpuId]) -> Option<CpuId> {
        let process = self.threads.process.as_ref()?;
        let free = |cpu: &CpuId| self.threads.running.get(cpu.index()).is_some_and(Option::is_none);
        wanted.iter().copied().find(|cpu| free(cpu) && process.processors.contains(cpu))
    }

    /// Creates a thread on the first of `wanted` that is free, or else on the first free processor.
    fn spawn(&mut self, program: Program, wanted: &[CpuId], team: &Rc<Team>) -> Result<ThreadId, SimError> {
        let Some(process) = &self.threads.process else { return Err(SimError::NoProcessorFree { processors: 0 }) };
        let thread = process.places.len();
        let cpu = self.first_free(wanted).or_else(|| self.first_free(&process.processors));
        let Some(cpu) = cpu.filter(|_| self.threads.schedule.is_none()) else {
            if self.threads.schedule.is_none() {
                self.begin_sharing(team, TURNS);
            }
            let born = self.spawn_sharing(program, wanted, team, thread)?;
            self.count_birth(None);
            return Ok(born);
        };
        self.start(cpu, program, team, thread)?;
        self.count_birth(Some(cpu));
        Ok(ThreadId(thread))
    }

    fn count_birth(&mut self, place: Option<CpuId>) {
        if let Some(process) = &mut self.threads.process {
            process.places.push(place);
            process.alive += 1;
        }
    }

    /// Moves the thread on `cpu` to the first of `wanted` that is free, if any is. Returns its processor.
    fn migrate(&mut self, cpu: CpuId, wanted: &[CpuId]) -> CpuId {
        if self.threads.schedule.is_some() {
            // Under a scheduler, the scheduler places threads.
            return cpu;
        }
        let Some(to) = self.first_free(wanted) else { return cpu };
        let Some(mut running) = self.threads.running[cpu.index()].take() else { return cpu };
        let now = self.kernel.now;
        running.exit(self.processor_mut(cpu), now);
        running.enter();
        if let Some(process) = &mut self.threads.process {
            process.places[running.thread] = Some(to);
        }
        self.threads.running[to.index()] = Some(running);
        to
    }

    /// Wakes a parked thread; has no effect on others.
    fn wake_parked(&mut self, thread: ThreadId) {
        if self.threads.schedule.is_some() {
            return self.wake_sharing(thread.0, None);
        }
        let place = self.threads.process.as_ref().and_then(|process| process.places.get(thread.0).copied().flatten());
        if let Some(cpu) = place
            && matches!(self.waits(cpu), Some(Wait::Parked(_)))
        {
            self.resume_at(cpu, self.kernel.now);
        }
    }

    /// Parks a thread until `until` or a wake-up.
    pub(super) fn park_until(&mut self, cpu: CpuId, until: Time) {
        if self.threads.schedule.is_some() {
            match until > self.kernel.now {
                true => self.leave_parked(cpu, until),
                false => self.resume_at(cpu, self.kernel.now),
            }
        } else if until < Time::MAX {
            self.schedule_processor(cpu, until.max(self.kernel.now), Event::Resume(cpu));
        }
    }

    /// Sets the requested nodes of pages for their first touch.
    fn plan_pages(&mut self, pages: Vec<(VirtualAddr, NodeId)>) {
        let nodes = self.network.topology().nodes().len();
        for (at, node) in pages.into_iter().filter(|(_, node)| node.index() < nodes) {
            self.paging.plan(at, node);
        }
    }

    /// Migrates a page to `node` on request of the thread on `cpu`.
    fn move_page(&mut self, cpu: CpuId, at: VirtualAddr, node: NodeId) {
        if C::DISCOVERY.is_none() || !self.paging.is_changing() || node.index() >= self.network.topology().nodes().len()
        {
            return;
        }
        let Some(transfer) = self.paging.begin_requested_move(at, node, &mut self.memory) else { return };
        self.announce_frames();
        let (now, cost) = (self.kernel.now, self.paging.spec().migrate);
        self.processor_mut(cpu).spend_in_os(now, cost);
        self.begin_transfer(transfer);
    }
}
