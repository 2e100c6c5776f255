//! The simulator's public interface: one type for every kind of machine.

use machine::Topology;
use machine::description::{ControllerKind, Description, IdealProtocol};
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, Time, VirtualAddr};

use crate::cluster;
use crate::counters::{CounterUnit, Watch, Watcher};
use crate::flash::Magics;
use crate::ideal::Ideals;
use crate::incoherence::Incoherence;
use crate::observe::{LineLoss, Observed};
use crate::origin::{HubCounters, Hubs};
use crate::os::PagingCounters;
use crate::sci::SciNodes;
use crate::server::Servers;
use crate::simulated::Simulated;
use crate::smp;
use crate::system::{Job, System, ThreadReport};
use crate::thread::Program;
use crate::unloaded::{self, UnloadedRead};
use crate::{NodeStatistics, Options, Scheduling, SimError, StallTerms};

/// Whether an ideal protocol replaces the described one.
fn is_ideal(description: &Description) -> bool {
    description.directory.as_ref().is_some_and(|directory| directory.ideal != IdealProtocol::None)
}

/// The latencies of a machine on which nothing else happens, for every node with processors and every memory.
///
/// # Errors
/// As [`Simulator::new`].
pub fn unloaded_reads(description: &Description) -> Result<Vec<UnloadedRead>, SimError> {
    match description.controller.kind {
        ControllerKind::Hub => unloaded::reads::<Hubs>(description),
        ControllerKind::Magic if is_ideal(description) => unloaded::reads::<Ideals>(description),
        ControllerKind::Magic => unloaded::reads::<Magics>(description),
        ControllerKind::SnoopingBus => smp::unloaded(description),
        ControllerKind::Cluster => cluster::unloaded(description),
        ControllerKind::Sci => unloaded::reads::<SciNodes>(description),
        ControllerKind::Server => unloaded::reads::<Servers>(description),
    }
}

/// A simulated machine. Its caches, directory and clock keep their state from one [`Simulator::run`] to the next.
pub struct Simulator {
    machine: Box<dyn Simulated>,
}

impl Simulator {
    /// The machine of `description`, with empty caches.
    ///
    /// # Errors
    /// The description requires something that the simulator does not model.
    pub fn new(description: &Description, options: Options) -> Result<Self, SimError> {
        let machine: Box<dyn Simulated> = match description.controller.kind {
            ControllerKind::Hub => Box::new(System::<Hubs>::new(description, options)?),
            ControllerKind::Magic if is_ideal(description) => Box::new(System::<Ideals>::new(description, options)?),
            ControllerKind::Magic => Box::new(System::<Magics>::new(description, options)?),
            ControllerKind::SnoopingBus => smp::machine(description, options)?,
            ControllerKind::Cluster => cluster::machine(description, options)?,
            ControllerKind::Sci => Box::new(System::<SciNodes>::new(description, options)?),
            ControllerKind::Server => Box::new(System::<Servers>::new(description, options)?),
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

    /// Messages under way: zero after [`Simulator::run`] has returned.
    pub fn messages_under_way(&self) -> usize {
        self.machine.messages_under_way()
    }

    /// Statistics of a node's controller, if the node exists: of the time in which any thread was measured, or since
    /// the start if none was.
    pub fn statistics(&self, node: NodeId) -> Option<NodeStatistics> {
        (node.index() < self.topology().nodes().len()).then(|| self.machine.statistics(node))
    }

    /// Total time in which any thread was measured ([`crate::Thread::measure`]); `None` if none was.
    pub fn measured_time(&self) -> Option<Duration> {
        self.machine.measured_time()
    }

    /// Counts of a node's Hub since the start, if the node exists and has a Hub.
    pub fn hub_counters(&self, node: NodeId) -> Option<HubCounters> {
        self.machine.as_any().downcast_ref::<System<Hubs>>()?.controllers.counters(node)
    }

    /// Stall time of a processor's misses since the start, if the processor exists and its controller keeps this
    /// account, as MAGIC and the ideal controllers do.
    pub fn stall_terms(&self, cpu: CpuId) -> Option<StallTerms> {
        self.machine.stall_terms(cpu)
    }

    /// Totals of the checker of all loads and stores since the start, if enabled ([`Options::check_loads`]).
    pub fn observed(&self) -> Option<Observed> {
        self.machine.observed()
    }

    /// Takes readings of counters as `watch` specifies from now on, and calls `watcher` after every round: the first at
    /// the present time, the others at every multiple of the interval after it, and the last at the end of each run.
    /// Readings without a reading processor do not affect the simulation.
    ///
    /// # Errors
    /// The machine has no such unit or place; the interval is zero; the reading processor does not exist.
    pub fn watch(&mut self, watch: Watch, watcher: Watcher) -> Result<(), SimError> {
        self.machine.watch(watch, watcher)
    }

    /// The counters of each node, besides those that only a simulator has.
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

    /// Maps consecutive virtual pages for programs, each with the node that the program requests, if any. Under planned
    /// placement (`os.placement`) a page with a node is placed at once; any other page is placed at its first touch.
    ///
    /// # Errors
    /// A requested node does not exist, or has no room left.
    pub fn map(&mut self, planned: &[Option<NodeId>]) -> Result<VirtualAddr, SimError> {
        self.machine.map(planned)
    }

    /// Allows programs to request page migrations from here on ([`crate::Thread::move_page`]); processors then get
    /// translations by page faults, as they do under automatic migration. Returns whether this machine can copy pages;
    /// otherwise nothing changes.
    pub fn let_pages_move(&mut self) -> bool {
        self.machine.let_pages_move()
    }

    /// The physical address of a virtual address, if its page has been placed.
    pub fn place_of(&self, at: VirtualAddr) -> Option<PhysicalAddr> {
        self.machine.place_of(at)
    }

    /// The present node of a virtual address, if its page has been placed.
    pub fn home_of(&self, at: VirtualAddr) -> Option<NodeId> {
        self.place_of(at).map(crate::map::node_of)
    }

    /// The processor with the first touch of the page of a virtual address, if a touch has placed it.
    pub fn toucher_of(&self, at: VirtualAddr) -> Option<CpuId> {
        self.machine.toucher_of(at)
    }

    /// The time that processors lost by processor, line and site, within the measured part of their programs, if
    /// enabled ([`Options::attribute`]).
    pub fn losses(&self) -> Vec<LineLoss> {
        self.machine.losses()
    }

    /// Counts of the operating system's memory management since the start.
    pub fn paging(&self) -> &PagingCounters {
        self.machine.paging()
    }

    /// Runs programs, one on each given processor, until all have ended. All start at the present time.
    ///
    /// # Errors
    /// A processor does not exist or has two programs; the programs deadlock; the protocol meets a case that it
    /// excludes; the host has no memory for a stack.
    pub fn run(&mut self, programs: Vec<(CpuId, Program)>) -> Result<Vec<ThreadReport>, SimError> {
        self.machine.run(programs)
    }

    /// Runs processes, all of which arrive at the present time, until all have ended; the operating system's scheduler
    /// places their threads. Returns reports by process and thread.
    ///
    /// # Errors
    /// As [`Simulator::run`]; a process has more threads than the machine has processors, and `policy` does not let
    /// them take turns.
    pub fn run_jobs(&mut self, jobs: Vec<Job>, policy: Scheduling) -> Result<Vec<Vec<ThreadReport>>, SimError> {
        self.machine.run_jobs(jobs, policy)
    }

    /// Runs a process with dynamic threads ([`crate::Thread::spawn`]) on `processors` alone, from its first thread
    /// until all have ended, or until one has ended the process ([`crate::Thread::end_process`]). Returns reports by
    /// thread, in order of creation.
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

    /// Compares all caches with each other, with memory and with the directory. It requires that no message is under
    /// way, as after [`Simulator::run`] has returned.
    ///
    /// # Errors
    /// The first disagreement found.
    pub fn check_coherence(&mut self) -> Result<(), Incoherence> {
        self.machine.check_coherence()
    }
}
