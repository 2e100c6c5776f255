//! The simulator as its users see it: one type, whichever machine it simulates.

use std::any::Any;

use machine::Topology;
use machine::description::{ControllerKind, Description, IdealProtocol};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, Time, VirtualAddr};

use crate::attribution::LineLoss;
use crate::counters::{CounterUnit, Watch, Watcher};
use crate::flash::Magics;
use crate::ideal::Ideals;
use crate::observer::Observed;
use crate::origin::{HubCounters, Hubs};
use crate::os::PagingCounters;
use crate::system::{Controller, Incoherence, Job, System, ThreadReport, Unfinished};
use crate::thread::Program;
use crate::{NodeStatistics, Options, Scheduling, SimError, StallTerms};

/// A machine of some kind.
trait Simulated {
    fn topology(&self) -> &Topology;
    fn now(&self) -> Time;
    fn events(&self) -> u64;
    fn messages_under_way(&self) -> usize;
    fn allocate(&mut self, home: NodeId, bytes: Bytes) -> Result<PhysicalAddr, SimError>;
    fn map(&mut self, planned: &[Option<NodeId>]) -> Result<VirtualAddr, SimError>;
    fn place_of(&self, at: VirtualAddr) -> Option<PhysicalAddr>;
    fn let_pages_move(&mut self) -> bool;
    fn toucher_of(&self, at: VirtualAddr) -> Option<CpuId>;
    fn losses(&self) -> Vec<LineLoss>;
    fn paging(&self) -> &PagingCounters;
    fn run(&mut self, programs: Vec<(CpuId, Program)>) -> Result<Vec<ThreadReport>, SimError>;
    fn run_jobs(&mut self, jobs: Vec<Job>, policy: Scheduling) -> Result<Vec<Vec<ThreadReport>>, SimError>;
    fn run_process(
        &mut self,
        processors: Vec<CpuId>,
        policy: Option<Scheduling>,
        first: Program,
    ) -> Result<Vec<ThreadReport>, SimError>;
    fn statistics(&self, node: NodeId) -> NodeStatistics;
    fn measured_time(&self) -> Option<Duration>;
    fn stall_terms(&self, cpu: CpuId) -> Option<StallTerms>;
    fn check_coherence(&mut self) -> Result<(), Incoherence>;
    fn observed(&self) -> Option<Observed>;
    fn watch(&mut self, watch: Watch, watcher: Watcher) -> Result<(), SimError>;
    fn node_counters(&self) -> &'static [CounterUnit];
    fn as_any(&self) -> &dyn Any;
}

impl<C: Controller> Simulated for System<C> {
    fn topology(&self) -> &Topology {
        self.network.topology()
    }

    fn now(&self) -> Time {
        self.now
    }

    fn events(&self) -> u64 {
        self.events()
    }

    fn messages_under_way(&self) -> usize {
        self.messages_under_way()
    }

    fn allocate(&mut self, home: NodeId, bytes: Bytes) -> Result<PhysicalAddr, SimError> {
        self.allocate(home, bytes)
    }

    fn map(&mut self, planned: &[Option<NodeId>]) -> Result<VirtualAddr, SimError> {
        self.map(planned)
    }

    fn place_of(&self, at: VirtualAddr) -> Option<PhysicalAddr> {
        self.place_of(at)
    }

    fn let_pages_move(&mut self) -> bool {
        self.let_pages_move()
    }

    fn toucher_of(&self, at: VirtualAddr) -> Option<CpuId> {
        self.toucher_of(at)
    }

    fn losses(&self) -> Vec<LineLoss> {
        self.losses()
    }

    fn paging(&self) -> &PagingCounters {
        self.paging_counters()
    }

    fn run(&mut self, programs: Vec<(CpuId, Program)>) -> Result<Vec<ThreadReport>, SimError> {
        self.run(programs)
    }

    fn run_jobs(&mut self, jobs: Vec<Job>, policy: Scheduling) -> Result<Vec<Vec<ThreadReport>>, SimError> {
        self.run_jobs(jobs, policy)
    }

    fn run_process(
        &mut self,
        processors: Vec<CpuId>,
        policy: Option<Scheduling>,
        first: Program,
    ) -> Result<Vec<ThreadReport>, SimError> {
        self.run_process(processors, policy, first)
    }

    fn statistics(&self, node: NodeId) -> NodeStatistics {
        self.statistics(node)
    }

    fn measured_time(&self) -> Option<Duration> {
        self.measured_time()
    }

    fn stall_terms(&self, cpu: CpuId) -> Option<StallTerms> {
        self.controllers.stall_terms(cpu)
    }

    fn check_coherence(&mut self) -> Result<(), Incoherence> {
        Unfinished::none(NodeId(0), self.messages_under_way(), "messages of the whole machine under way")?;
        C::check_coherence(self)
    }

    fn observed(&self) -> Option<Observed> {
        self.observer.as_ref().map(|observer| observer.borrow().observed())
    }

    fn watch(&mut self, watch: Watch, watcher: Watcher) -> Result<(), SimError> {
        self.watch(watch, watcher)
    }

    fn node_counters(&self) -> &'static [CounterUnit] {
        C::COUNTERS
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Whether an ideal protocol takes the place of the described one's costs.
fn is_ideal(description: &Description) -> bool {
    description.directory.as_ref().is_some_and(|directory| directory.ideal != IdealProtocol::None)
}

/// A simulated machine. Its caches, directory and clock keep their state from one [`Simulator::run`] to the next.
pub struct Simulator {
    machine: Box<dyn Simulated>,
}

impl Simulator {
    /// The machine of `description`, with empty caches.
    ///
    /// # Errors
    /// The description asks for what the simulator cannot do.
    pub fn new(description: &Description, options: Options) -> Result<Self, SimError> {
        let machine: Box<dyn Simulated> = match description.controller.kind {
            ControllerKind::Hub => Box::new(System::<Hubs>::new(description, options)?),
            ControllerKind::Magic if is_ideal(description) => Box::new(System::<Ideals>::new(description, options)?),
            ControllerKind::Magic => Box::new(System::<Magics>::new(description, options)?),
        };
        Ok(Self { machine })
    }

    /// The machine's topology.
    pub fn topology(&self) -> &Topology {
        self.machine.topology()
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.machine.now()
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.machine.events()
    }

    /// Messages under way: none after [`Simulator::run`] has returned.
    pub fn messages_under_way(&self) -> usize {
        self.machine.messages_under_way()
    }

    /// What a node's controller did, if there is such a node: while any thread had what it did measured, or since the start if none
    /// ever had.
    pub fn statistics(&self, node: NodeId) -> Option<NodeStatistics> {
        (node.index() < self.topology().nodes().len()).then(|| self.machine.statistics(node))
    }

    /// How long any thread was in what its program says is to be measured ([`crate::Thread::measure`]), if any ever was.
    pub fn measured_time(&self) -> Option<Duration> {
        self.machine.measured_time()
    }

    /// What a node's Hub did since the start, if there is such a node and it has a Hub.
    pub fn hub_counters(&self, node: NodeId) -> Option<HubCounters> {
        self.machine.as_any().downcast_ref::<System<Hubs>>()?.controllers.counters(node)
    }

    /// Where a processor's misses spent their time since the start, if there is such a processor and its controller keeps
    /// account: MAGIC does, and what takes its place in ideal machines.
    pub fn stall_terms(&self, cpu: CpuId) -> Option<StallTerms> {
        self.machine.stall_terms(cpu)
    }

    /// What an observer of all loads and stores has seen since the start, if one was asked for ([`Options::check_loads`]).
    pub fn observed(&self) -> Option<Observed> {
        self.machine.observed()
    }

    /// From now on, has counters looked at as `watch` says, and `watcher` told of every round: the first at the present time, then at
    /// every multiple of the interval after it, the last when each run is over. Looking from outside changes nothing else.
    ///
    /// # Errors
    /// The machine has no such unit or place; the interval is no time; the processor that is to read does not exist.
    pub fn watch(&mut self, watch: Watch, watcher: Watcher) -> Result<(), SimError> {
        self.machine.watch(watch, watcher)
    }

    /// The counters that each of its nodes has, besides those that only a simulator can have.
    pub fn node_counters(&self) -> &'static [CounterUnit] {
        self.machine.node_counters()
    }

    /// Consecutive whole pages on node `home`, at least `bytes` of them.
    ///
    /// # Errors
    /// The node does not exist, or has no room left.
    pub fn allocate(&mut self, home: NodeId, bytes: Bytes) -> Result<PhysicalAddr, SimError> {
        self.machine.allocate(home, bytes)
    }

    /// Consecutive virtual pages for programs, each with the node that they ask for, if they do. Those that are asked for are
    /// placed at once if the machine's placement heeds it (`os.placement`); all others when they are first touched.
    ///
    /// # Errors
    /// A node that is asked for does not exist, or has no room left.
    pub fn map(&mut self, planned: &[Option<NodeId>]) -> Result<VirtualAddr, SimError> {
        self.machine.map(planned)
    }

    /// From here on pages may move because programs ask for it ([`crate::Thread::move_page`]): processors learn by traps where pages
    /// are, as they do where pages migrate by themselves. Returns whether this machine can copy pages at all; else nothing changes.
    pub fn let_pages_move(&mut self) -> bool {
        self.machine.let_pages_move()
    }

    /// Where a virtual address is now, if its page has been placed.
    pub fn place_of(&self, at: VirtualAddr) -> Option<PhysicalAddr> {
        self.machine.place_of(at)
    }

    /// The node that a virtual address is on now, if its page has been placed.
    pub fn home_of(&self, at: VirtualAddr) -> Option<NodeId> {
        self.place_of(at).map(crate::memory::node_of)
    }

    /// Who was the first to touch the page of a virtual address, if a touch has placed it.
    pub fn toucher_of(&self, at: VirtualAddr) -> Option<CpuId> {
        self.machine.toucher_of(at)
    }

    /// What processors lost at which lines, and at which places of their programs, if that was asked for
    /// ([`Options::attribute`]): by processor, line and site, of what is measured of the programs.
    pub fn losses(&self) -> Vec<LineLoss> {
        self.machine.losses()
    }

    /// What the operating system did with memory since the start.
    pub fn paging(&self) -> &PagingCounters {
        self.machine.paging()
    }

    /// Runs programs, one a processor, until all have ended. All start at the present time.
    ///
    /// # Errors
    /// A processor does not exist or was given two programs; a program waits for what never comes; the protocol met a
    /// case that it rules out; the host has no memory for a stack.
    pub fn run(&mut self, programs: Vec<(CpuId, Program)>) -> Result<Vec<ThreadReport>, SimError> {
        self.machine.run(programs)
    }

    /// Runs processes, all of which come at the present time, until all have ended: who runs when and where is for the
    /// operating system to say. Reports by process and thread.
    ///
    /// # Errors
    /// As [`Simulator::run`]; a process has more threads than the machine has processors, and `policy` does not let them take
    /// turns.
    pub fn run_jobs(&mut self, jobs: Vec<Job>, policy: Scheduling) -> Result<Vec<Vec<ThreadReport>>, SimError> {
        self.machine.run_jobs(jobs, policy)
    }

    /// Runs a process whose threads come and go ([`crate::Thread::spawn`]), on `processors` and no others, from its first thread on
    /// until all have ended, or one has ended the process ([`crate::Thread::end_process`]). Reports by thread, in the order in
    /// which they began.
    ///
    /// # Errors
    /// As [`Simulator::run`].
    pub fn run_process(
        &mut self,
        processors: Vec<CpuId>,
        policy: Option<Scheduling>,
        first: Program,
    ) -> Result<Vec<ThreadReport>, SimError> {
        self.machine.run_process(processors, policy, first)
    }

    /// Compares all caches with each other, with memory and with the directory. To be called when nothing is under way:
    /// after [`Simulator::run`] has returned.
    ///
    /// # Errors
    /// The first disagreement found.
    pub fn check_coherence(&mut self) -> Result<(), Incoherence> {
        self.machine.check_coherence()
    }
}
