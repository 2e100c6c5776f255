//! The random tester: a machine with small caches and stores, random programs on all its processors, random message
//! delays, and checks of every load and store against all others.
//!
//! The explorer of `verify` covers every order of messages about one or two lines; this test exercises a whole machine:
//! thousands of lines in caches too small for them, pointer stores that run out, queues that fill. Equal tests on equal
//! machines give equal reports.

mod program;

use std::rc::Rc;

use machine::description::{ControllerKind, Description};
use thiserror::Error;
use units::{Bytes, CpuId, Duration, NodeId, Time};

use crate::{
    Fault, Mode, NodeStatistics, Observed, Options, PagingCounters, Program, SimError, Simulator, ThreadReport,
};
use program::{Base, Choices, Features, RandomProgram};

/// A random test: its size and its random seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomTest {
    /// Lines that all processors share.
    pub lines: u32,
    /// Accesses of each processor, approximately.
    pub references: u32,
    /// Maximum random delay of messages.
    pub delay: Duration,
    /// The seed of all random choices.
    pub seed: u64,
    /// The look-ahead of programs.
    pub mode: Mode,
    /// A fault to plant.
    pub fault: Option<Fault>,
}

impl RandomTest {
    /// A test that takes a fraction of a second on a machine of 16 processors. Every fourth seed has no delays, so that
    /// retries of NACKed requests may synchronise.
    pub fn new(seed: u64) -> Self {
        let delay = Duration::from_ns([0.0, 100.0, 1000.0, 5000.0][(seed % 4) as usize]);
        Self { lines: 2048, references: 1000, delay, seed, mode: Mode::LookAhead, fault: None }
    }

    /// The machine that this test runs in place of `description`: its caches hold a fraction of the lines, and its
    /// homes' pointer stores run out. The reduced sizes are drawn at random.
    pub fn cramped(&self, description: &Description) -> Description {
        let mut cramped = description.clone();
        let mut dice = Choices::new(self.seed, u64::MAX);
        cramped.l1.size = Bytes::from_kib(1 << dice.below(3));
        cramped.set_coherent_size(Bytes::from_kib(16 << dice.below(3)));
        if let (Some(l2), Some(_)) = (&mut cramped.l2, &cramped.l3) {
            l2.size = Bytes::from_kib(8);
        }
        if let Some(directory) = &mut cramped.directory {
            directory.link_store_entries = 4 << dice.below(5);
            directory.vector_store_entries = 1 << dice.below(4);
            directory.remote_access_cache = Bytes::from_kib(16 << dice.below(5));
        }
        let line = cramped.coherent_cache().line.0;
        if let Some(slice) = &mut cramped.l3_slice {
            slice.size = Bytes((u64::from(slice.ways) * line) << dice.below(3));
            if slice.filter_sets > 0 {
                slice.filter_sets = 1 << dice.below(4);
            }
        }
        if let Some(home) = &mut cramped.home
            && home.entries > 0
        {
            home.entries = home.ways << dice.below(4);
        }
        if let Some(cluster) = &mut cramped.cluster {
            cluster.cache_size = Bytes::from_kib(4 << dice.below(3));
        }
        cramped
    }

    /// Runs the test on [`RandomTest::cramped`].
    ///
    /// # Errors
    /// The first fault found.
    pub fn run(&self, description: &Description) -> Result<RandomReport, RandomFailure> {
        let failure = |error| RandomFailure { test: *self, machine: description.name.clone(), error };
        let mut simulator = Simulator::new(&self.cramped(description), self.options()).map_err(failure)?;
        let programs = self.programs(description, &mut simulator).map_err(failure)?;
        let threads = simulator.run(programs).map_err(failure)?;
        simulator.check_coherence().map_err(|fault| failure(fault.into()))?;
        Ok(RandomReport::new(&simulator, threads))
    }

    fn options(&self) -> Options {
        Options {
            mode: self.mode,
            check_loads: true,
            random_delay: self.delay,
            seed: self.seed,
            fault: self.fault,
            ..Options::default()
        }
    }

    /// A program for every processor, and the memory for their lines: in pages where the operating system moves or copies them.
    fn programs(
        &self,
        description: &Description,
        simulator: &mut Simulator,
    ) -> Result<Vec<(CpuId, Program)>, SimError> {
        let nodes = simulator.topology().nodes().len() as u16;
        let each = Bytes(u64::from(self.lines.div_ceil(u32::from(nodes))) * description.coherent_cache().line.0);
        if description.os.migration || description.os.replication {
            let pages = each.0.div_ceil(description.tlb.page.0) as usize;
            let map = |node| simulator.map(&vec![Some(NodeId(node)); pages]);
            let memory: Result<Vec<_>, _> = (0..nodes).map(map).collect();
            return Ok(self.programs_on(memory?, description, simulator));
        }
        let memory: Result<Vec<_>, _> = (0..nodes).map(|node| simulator.allocate(NodeId(node), each)).collect();
        Ok(self.programs_on(memory?, description, simulator))
    }

    /// A program for every processor, with lines in `memory`.
    fn programs_on<A: Base + 'static>(
        &self,
        memory: Vec<A>,
        description: &Description,
        simulator: &Simulator,
    ) -> Vec<(CpuId, Program)> {
        let coherent = description.coherent_cache();
        let features = Features {
            uncached: !matches!(description.controller.kind, ControllerKind::Magic | ControllerKind::Sci),
            around: !coherent.allocate_on_private_write_miss,
            shared_cache: description.controller.kind == ControllerKind::Server,
        };
        let playground = Rc::new(RandomProgram::new(*self, coherent.line, description.l1.line, memory, features));
        let program = |cpu: u16| {
            let playground = Rc::clone(&playground);
            let home = simulator.topology().node_of(CpuId(cpu)).map_or(0, |node| u32::from(node.0));
            (CpuId(cpu), Box::new(move |thread: &mut crate::Thread<'_>| playground.play(thread, home)) as Program)
        };
        (0..simulator.topology().hardware_threads() as u16).map(program).collect()
    }
}

/// A random test that has found a fault, with everything needed to reproduce it.
#[derive(Debug, Error)]
#[error("{machine}, seed {}, {} lines, {} references, delay {}: {error}", test.seed, test.lines, test.references, test.delay)]
pub struct RandomFailure {
    /// The test.
    pub test: RandomTest,
    /// The machine's name.
    pub machine: String,
    /// The fault.
    #[source]
    pub error: SimError,
}

/// The result of a random test without a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RandomReport {
    /// The comparisons made, and the line with the most misses.
    pub observed: Observed,
    /// Reports of the programs' threads.
    pub threads: Vec<ThreadReport>,
    /// Statistics of the nodes' controllers.
    pub nodes: Vec<NodeStatistics>,
    /// Counts of the operating system's memory management.
    pub paging: PagingCounters,
    /// The simulated time that it took.
    pub time: Time,
}

impl RandomReport {
    fn new(simulator: &Simulator, threads: Vec<ThreadReport>) -> Self {
        let nodes = simulator.topology().nodes().iter().filter_map(|node| simulator.statistics(node.id)).collect();
        let observed = simulator.observed().unwrap_or_default();
        Self { observed, threads, nodes, paging: simulator.paging().clone(), time: simulator.now() }
    }

    /// Accesses of all programs.
    pub fn references(&self) -> u64 {
        self.threads.iter().map(|thread| thread.counters.references).sum()
    }

    /// Misses served by the protocol.
    pub fn transactions(&self) -> u64 {
        self.threads.iter().map(|thread| thread.counters.secondary_misses).sum()
    }

    /// Requests that received a NACK and were retried.
    pub fn refusals(&self) -> u64 {
        self.threads.iter().map(|thread| thread.counters.refusals).sum()
    }

    /// Modified lines written back.
    pub fn writebacks(&self) -> u64 {
        self.threads.iter().map(|thread| thread.counters.writebacks).sum()
    }

    /// Copies that writes invalidated.
    pub fn invalidations(&self) -> u64 {
        let of = |node: &NodeStatistics| {
            (0..).zip(node.invalidations.counts()).map(|(number, count)| number * count).sum::<u64>()
        };
        self.nodes.iter().map(of).sum()
    }

    /// Requests of all nodes with this name.
    pub fn sent(&self, name: &str) -> u64 {
        let tallies = self.nodes.iter().flat_map(|node| &node.sent);
        tallies.filter(|tally| tally.name == name).map(|tally| tally.count).sum()
    }

    /// Lines whose sharers were invalidated to make room in the store.
    pub fn reclamations(&self) -> u64 {
        self.nodes.iter().map(|node| node.reclamations).sum()
    }
}
