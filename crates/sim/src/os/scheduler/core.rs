//! The scheduler's state, and its answers to events: run queues of individual threads. Gangs are in a module beside it.

use machine::description::SchedulerSpec;
use units::{CpuId, Time};

use super::daemons::Daemons;
use super::gang::Gangs;
use super::queues::RunQueues;
use super::{Action, Costs, Jobs, Scheduling, SchedulingCounters, SpaceSharing, TimeSharing, places};

/// The reason for a preemption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// Its quantum is over, and others wait.
    Quantum,
    /// It has spun for the spin limit, and others wait.
    Yield,
    /// A daemon needs the processor.
    Daemon,
    /// Its gang's turn is over.
    Gang,
}

/// The occupation of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    Nothing,
    Thread(usize),
    Leaving(usize, Why),
    Daemon(Time),
}

/// The scheduler's state of a processor.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    pub doing: Doing,
    /// The thread that ran last, whose lines are in the caches.
    pub last: Option<usize>,
    /// The end of its thread's quantum.
    pub quantum_end: Time,
    /// The end of its thread's spin limit.
    pub spin_end: Time,
    /// The time at which it scans others' queues, if it is idle and a thread can be taken.
    pub scan: Time,
    /// The time of its next timer tick.
    pub tick: Time,
}

/// The progress of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// Its process has not started.
    Waiting,
    /// Ready to run.
    Ready,
    Running,
    /// Blocked until it is woken.
    Blocked,
    Ended,
}

/// The scheduler's state of a thread.
#[derive(Clone, Debug)]
pub(super) struct ThreadState {
    pub job: usize,
    pub progress: Progress,
    /// The processor with its memory, or that it is pinned to; `None` if there are more threads than processors.
    pub home: Option<CpuId>,
    /// The processor that it ran on last.
    pub last: Option<CpuId>,
    pub ready_since: Time,
    pub counters: SchedulingCounters,
}

/// The scheduler's state of a process.
#[derive(Clone, Debug)]
pub(super) struct JobState {
    pub threads: std::ops::Range<usize>,
    /// Threads that have not ended.
    pub alive: usize,
    pub started: bool,
}

/// The scheduler: it decides when and on which processor each thread runs.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub(super) policy: Scheduling,
    pub(super) costs: Costs,
    pub(super) cpus: Vec<Cpu>,
    pub(super) threads: Vec<ThreadState>,
    pub(super) jobs: Vec<JobState>,
    pub(super) queues: RunQueues,
    pub(super) gangs: Gangs,
    pub(super) daemons: Daemons,
    pub(super) actions: Vec<Action>,
    pub(super) next: Time,
    /// Whether there were threads from the beginning: later ones have no simulated past.
    pub(super) had_threads: bool,
}

impl Scheduler {
    /// The scheduler of `processors` processors, for processes that all arrive at `now`.
    pub fn new(spec: &SchedulerSpec, policy: Scheduling, processors: usize, jobs: &Jobs, seed: u64, now: Time) -> Self {
        let costs = Costs::new(spec);
        let tick = |cpu| if cpu == 0 && costs.boot_load.0 > 0 { now + costs.tick } else { Time::MAX };
        let cpu = |cpu| Cpu {
            doing: Doing::Nothing,
            last: None,
            quantum_end: Time::MAX,
            spin_end: Time::MAX,
            scan: Time::MAX,
            tick: tick(cpu),
        };
        let mut threads = Vec::new();
        let mut states = Vec::new();
        for (job, &count) in jobs.iter().enumerate() {
            let first = threads.len();
            let homes = places(policy.space, processors, count, job, seed);
            threads.extend((0..count).map(|number| ThreadState {
                job,
                progress: Progress::Waiting,
                home: homes.get(number).copied(),
                last: None,
                ready_since: now,
                counters: SchedulingCounters::default(),
            }));
            states.push(JobState { threads: first..first + count, alive: count, started: false });
        }
        let mut young = Self {
            policy,
            costs,
            cpus: (0..processors).map(cpu).collect(),
            threads,
            jobs: states,
            queues: RunQueues::new(processors),
            gangs: Gangs::new(seed),
            daemons: Daemons::new(processors, costs.daemon_interval, seed, now),
            actions: Vec::new(),
            next: Time::MAX,
            had_threads: jobs.iter().any(|&threads| threads > 0),
        };
        young.live_through_past(seed, now);
        young
    }

    /// The time of the next event of the scheduler itself.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The counts of a thread so far.
    pub fn counters(&self, thread: usize) -> SchedulingCounters {
        self.threads[thread].counters
    }

    /// Whether a thread is ready and has no processor.
    pub fn is_ready(&self, thread: usize) -> bool {
        self.threads[thread].progress == Progress::Ready
    }

    /// Starts the processes.
    pub fn start(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.go_on(now);
        self.admit(now);
        self.answer(now, actions);
    }

    /// Handles all timer events up to `now`.
    pub fn tick(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.tick_gangs(now);
        for cpu in 0..self.cpus.len() {
            self.tick_cpu(CpuId(cpu as u16), now);
        }
        self.answer(now, actions);
    }

    /// The thread of a processor blocks until [`Self::woken`], and leaves the processor.
    pub fn blocked(&mut self, cpu: CpuId, now: Time, actions: &mut Vec<Action>) {
        if let Some(thread) = self.depart(cpu) {
            self.threads[thread].progress = Progress::Blocked;
        }
        self.answer(now, actions);
    }

    /// A blocked thread becomes ready.
    pub fn woken(&mut self, thread: usize, now: Time, actions: &mut Vec<Action>) {
        self.ready(thread, now);
        self.answer(now, actions);
    }

    /// The preempted thread of a processor has left.
    pub fn left(&mut self, cpu: CpuId, now: Time, actions: &mut Vec<Action>) {
        let Doing::Leaving(thread, why) = self.cpus[cpu.index()].doing else { return };
        let counters = &mut self.threads[thread].counters;
        match why {
            Why::Yield => counters.voluntary_switches += 1,
            Why::Quantum | Why::Daemon | Why::Gang => counters.involuntary_switches += 1,
        }
        self.depart(cpu);
        match why {
            Why::Daemon => self.cpus[cpu.index()].doing = Doing::Daemon(now + self.costs.daemon_length),
            // The next waiting thread is dispatched first; the preempted one is queued after that.
            Why::Quantum | Why::Yield => self.dispatch(cpu, now),
            Why::Gang => {}
        }
        self.ready(thread, now);
        self.tick_gangs(now);
        self.answer(now, actions);
    }

    /// The thread of a processor has ended.
    pub fn ended(&mut self, cpu: CpuId, now: Time, actions: &mut Vec<Action>) {
        if let Some(thread) = self.depart(cpu) {
            self.threads[thread].progress = Progress::Ended;
            let job = self.threads[thread].job;
            self.jobs[job].alive -= 1;
            if self.jobs[job].alive == 0 {
                self.gangs.forget(job, now);
                self.admit(now);
            }
        }
        self.answer(now, actions);
    }

    /// The thread of a processor starts to spin on a word at `now`, or stops.
    pub fn spins(&mut self, cpu: CpuId, spinning: bool, now: Time) {
        if self.policy.time != TimeSharing::RunQueue {
            return;
        }
        let state = &mut self.cpus[cpu.index()];
        let end = if spinning { now + self.costs.spin_limit } else { Time::MAX };
        let sooner = end < self.next;
        let was_next = state.spin_end == self.next;
        state.spin_end = end;
        if sooner {
            self.next = end;
        } else if was_next {
            self.next = self.earliest();
        }
    }

    /// Takes the thread off a processor. Returns its number.
    fn depart(&mut self, cpu: CpuId) -> Option<usize> {
        let state = &mut self.cpus[cpu.index()];
        let (Doing::Thread(thread) | Doing::Leaving(thread, _)) = state.doing else { return None };
        (state.doing, state.quantum_end, state.spin_end) = (Doing::Nothing, Time::MAX, Time::MAX);
        Some(thread)
    }

    /// Queues a ready thread for its processor.
    pub(super) fn ready(&mut self, thread: usize, now: Time) {
        let state = &mut self.threads[thread];
        (state.progress, state.ready_since) = (Progress::Ready, now);
        if self.policy.time == TimeSharing::Gang && !self.gangs.runs(state.job) {
            return;
        }
        let place = match self.policy.space {
            SpaceSharing::CacheAffinity => state.last.or(state.home),
            _ if self.policy.time == TimeSharing::Gang => state.last.or(state.home),
            _ => state.home,
        };
        // A thread that has never run is not taken away from the processor that its memory is planned for.
        let moves = !self.policy.space.is_pinned() && self.policy.time != TimeSharing::Gang;
        let free = moves && state.last.is_some();
        match place {
            Some(cpu) => self.queues.wait_for(cpu, thread, now, free),
            None => self.queues.wait_for_any(thread, now),
        }
    }

    /// Starts processes, as far as the policy allows.
    fn admit(&mut self, now: Time) {
        match self.policy.time {
            TimeSharing::Gang => self.start_gangs(now),
            TimeSharing::RunQueue => (0..self.jobs.len()).for_each(|job| self.admit_job(job, now)),
            TimeSharing::Batch => {
                let running = |job: &&JobState| job.started && job.alive > 0;
                let taken: usize = self.jobs.iter().filter(running).map(|job| job.threads.len()).sum();
                let mut free = self.cpus.len().saturating_sub(taken);
                for job in 0..self.jobs.len() {
                    let wanted = self.jobs[job].threads.len();
                    if !self.jobs[job].started && wanted <= free && self.finds_its_pins(job) {
                        free -= wanted;
                        self.admit_job(job, now);
                    }
                }
            }
        }
    }

    fn admit_job(&mut self, job: usize, now: Time) {
        if !self.jobs[job].started {
            self.find_homes(job);
            self.jobs[job].started = true;
            let from = self.threads[self.jobs[job].threads.start].ready_since;
            for thread in self.jobs[job].threads.clone() {
                self.ready(thread, now);
                // It has waited since its process arrived.
                self.threads[thread].ready_since = from;
            }
        }
    }

    /// The home processors of the running processes of a batch.
    fn homes_taken(&self) -> Vec<bool> {
        let mut taken = vec![false; self.cpus.len()];
        let runs = |thread: &&ThreadState| self.jobs[thread.job].started && self.jobs[thread.job].alive > 0;
        let homes = self.threads.iter().filter(runs).filter_map(|thread| thread.home);
        homes.for_each(|cpu| taken[cpu.index()] = true);
        taken
    }

    /// Whether the processors that a process is pinned to are free, if it is pinned.
    fn finds_its_pins(&self, job: usize) -> bool {
        let taken = self.homes_taken();
        let mut homes = self.jobs[job].threads.clone().filter_map(|thread| self.threads[thread].home);
        !self.policy.space.is_pinned() || !homes.any(|cpu| taken[cpu.index()])
    }

    /// Gives the threads of a process that starts beside others in a batch free home processors.
    fn find_homes(&mut self, job: usize) {
        if self.policy.time != TimeSharing::Batch || self.policy.space.is_pinned() {
            return;
        }
        let mut free: Vec<bool> = self.homes_taken().into_iter().map(|taken| !taken).collect();
        let mut takes = |home: Option<CpuId>| home.is_some_and(|cpu| std::mem::take(&mut free[cpu.index()]));
        let threads = self.jobs[job].threads.clone();
        let homeless: Vec<usize> = threads.filter(|&thread| !takes(self.threads[thread].home)).collect();
        let mut left = (0..free.len()).filter(|&cpu| free[cpu]);
        for thread in homeless {
            self.threads[thread].home = left.next().map(|cpu| CpuId(cpu as u16));
        }
    }

    /// An idle processor runs the next thread of its own queue or of the common one.
    fn dispatch(&mut self, cpu: CpuId, now: Time) {
        if self.cpus[cpu.index()].doing == Doing::Nothing
            && let Some(thread) = self.queues.take(cpu)
        {
            self.run(cpu, thread, now);
        }
    }

    /// A thread goes on, on an idle processor.
    pub(super) fn run(&mut self, cpu: CpuId, thread: usize, now: Time) {
        let state = &mut self.cpus[cpu.index()];
        let switch = if state.last == Some(thread) { units::Duration::ZERO } else { self.costs.switch };
        let before = state.last.replace(thread).filter(|&before| before != thread);
        state.doing = Doing::Thread(thread);
        state.scan = Time::MAX;
        // A process with processors of its own has quanta, too, at whose ends threads return to their memory.
        if self.policy.time != TimeSharing::Gang {
            state.quantum_end = now + switch + self.costs.quantum;
        }
        let entering = &mut self.threads[thread];
        entering.progress = Progress::Running;
        entering.counters.descheduled += now.since(entering.ready_since);
        entering.counters.operating_system += switch;
        entering.counters.migrations += u64::from(entering.last.is_some_and(|last| last != cpu));
        entering.last = Some(cpu);
        if let Some(before) = before
            && self.threads[before].progress == Progress::Blocked
            && self.threads[before].last == Some(cpu)
        {
            self.threads[before].counters.voluntary_switches += 1;
        }
        self.actions.push(Action::Run { cpu, thread, at: now + switch });
    }

    /// Preempts the thread of a processor.
    pub(super) fn preempt(&mut self, cpu: CpuId, why: Why) {
        if let Doing::Thread(thread) = self.cpus[cpu.index()].doing {
            self.cpus[cpu.index()].doing = Doing::Leaving(thread, why);
            self.actions.push(Action::Preempt { cpu });
        }
    }

    /// Handles the timers of a processor that are due.
    fn tick_cpu(&mut self, cpu: CpuId, now: Time) {
        let index = cpu.index();
        if matches!(self.cpus[index].doing, Doing::Daemon(until) if until <= now) {
            self.cpus[index].doing = Doing::Nothing;
        }
        if self.cpus[index].tick <= now {
            self.cpus[index].tick = now + self.costs.tick;
            self.interrupt(cpu);
        }
        if self.cpus[index].quantum_end <= now {
            self.cpus[index].quantum_end = now + self.costs.quantum;
            if self.queues.has_work_for(cpu) || self.is_away(cpu) {
                self.preempt(cpu, Why::Quantum);
            }
        }
        if self.cpus[index].spin_end <= now {
            self.cpus[index].spin_end = now + self.costs.spin_limit;
            if self.queues.has_work_for(cpu) {
                self.preempt(cpu, Why::Yield);
            }
        }
        if self.daemons.wakes(index, now) {
            self.daemon_wakes(cpu, now);
        }
        if self.cpus[index].scan <= now {
            self.cpus[index].scan = Time::MAX;
            if self.cpus[index].doing == Doing::Nothing
                && !self.queues.has_work_for(cpu)
                && let Some(thread) = self.queues.steal(cpu)
            {
                self.run(cpu, thread, now);
            }
        }
    }

    /// Whether the thread of a processor has its memory at another one, to which it returns at the end of its quantum.
    fn is_away(&self, cpu: CpuId) -> bool {
        self.policy.space == SpaceSharing::MemoryAffinity
            && matches!(self.cpus[cpu.index()].doing, Doing::Thread(thread) if self.threads[thread].home.is_some_and(|home| home != cpu))
    }

    /// The tick of processor 0, whose operating system work interrupts the thread.
    fn interrupt(&mut self, cpu: CpuId) {
        if let Doing::Thread(thread) = self.cpus[cpu.index()].doing {
            let length = self.costs.boot_load;
            self.threads[thread].counters.operating_system += length;
            self.actions.push(Action::Interrupt { cpu, length });
        }
    }

    /// A daemon becomes ready, with priority over any thread.
    fn daemon_wakes(&mut self, cpu: CpuId, now: Time) {
        match self.cpus[cpu.index()].doing {
            Doing::Nothing => self.cpus[cpu.index()].doing = Doing::Daemon(now + self.costs.daemon_length),
            Doing::Thread(thread) => {
                self.preempt(cpu, Why::Daemon);
                self.disturb_gang(self.threads[thread].job, now);
            }
            // One daemon at a time; one that comes up meanwhile is dropped.
            Doing::Leaving(..) | Doing::Daemon(_) => {}
        }
    }

    /// Dispatches threads to idle processors, sets their next scans, and hands out the actions.
    pub(super) fn answer(&mut self, now: Time, actions: &mut Vec<Action>) {
        for cpu in 0..self.cpus.len() {
            self.dispatch(CpuId(cpu as u16), now);
        }
        if self.queues.has_free() {
            for cpu in 0..self.cpus.len() {
                if self.cpus[cpu].doing == Doing::Nothing && self.cpus[cpu].scan == Time::MAX {
                    self.cpus[cpu].scan = self.next_scan(cpu, now);
                }
            }
        }
        self.next = self.earliest();
        actions.append(&mut self.actions);
    }

    /// The time of an idle processor's next scan; processors scan at different phases of the period.
    fn next_scan(&self, cpu: usize, now: Time) -> Time {
        let period = self.costs.idle_scan.0;
        let phase = period * cpu as u64 / self.cpus.len() as u64;
        let soonest = now.0 + Costs::LEAST.0;
        Time((soonest.saturating_sub(phase)).next_multiple_of(period) + phase)
    }

    pub(super) fn earliest(&self) -> Time {
        let of_cpu = |(number, cpu): (usize, &Cpu)| {
            let daemon_end = if let Doing::Daemon(until) = cpu.doing { until } else { Time::MAX };
            let times = [cpu.quantum_end, cpu.spin_end, cpu.scan, cpu.tick, daemon_end, self.daemons.next(number)];
            times.into_iter().fold(Time::MAX, Time::min)
        };
        self.cpus.iter().enumerate().map(of_cpu).fold(self.gangs.next(), Time::min)
    }
}
