//! A machine as its users need it, whatever the kind of its controllers.

use std::any::Any;

use machine::Topology;
use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, Time, VirtualAddr};

use crate::account::StallTerms;
use crate::counters::{CounterUnit, Watch, Watcher};
use crate::error::SimError;
use crate::incoherence::{Incoherence, Unfinished};
use crate::observe::{Attribution, Checker, LineLoss, Observed};
use crate::os::{PagingCounters, Scheduling};
use crate::statistics::NodeStatistics;
use crate::system::{Controller, Job, System, ThreadReport};
use crate::thread::Program;

/// A machine with controllers of some kind.
pub(crate) trait Simulated {
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
        self.kernel.now
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
        self.observation.probe.collect(|attribution: &mut Attribution| attribution.losses()).unwrap_or_default()
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
        Unfinished::none(NodeId(0), self.probes_under_way(), "probes of the whole machine under way")?;
        C::check_coherence(self)
    }

    fn observed(&self) -> Option<Observed> {
        self.observation.probe.collect(|checker: &mut Checker| checker.observed())
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
