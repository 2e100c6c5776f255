//! The random tester: a machine made small and slow in places, random programs on all its processors, random delays of every
//! message, and every load and store compared with all others.
//!
//! The explorer of `verify` sees every order of messages about one or two lines; this sees a whole machine: thousands of
//! lines in caches too small for them, stores of sharers that run out, queues that fill. Equal tests on equal machines give
//! equal reports.

mod program;

use std::rc::Rc;

use machine::description::{ControllerKind, Description};
use thiserror::Error;
use units::{Bytes, CpuId, Duration, NodeId, Time};

use crate::{Fault, Mode, NodeStatistics, Observed, Options, Program, SimError, Simulator, ThreadReport};
use program::{Dice, Playground};

/// A random test: what is drawn at random, and how much of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomTest {
    /// Lines that all processors share.
    pub lines: u32,
    /// Accesses of each processor, approximately.
    pub references: u32,
    /// The longest of the random delays of messages.
    pub delay: Duration,
    /// What everything random follows from.
    pub seed: u64,
    /// How far programs may run ahead.
    pub mode: Mode,
    /// A fault to be planted.
    pub fault: Option<Fault>,
}

impl RandomTest {
    /// A test that takes a fraction of a second on a machine of 16 processors. Every fourth has no delays: then retries of
    /// refused requests may fall into step.
    pub fn new(seed: u64) -> Self {
        let delay = Duration::from_ns([0.0, 100.0, 1000.0, 5000.0][(seed % 4) as usize]);
        Self { lines: 2048, references: 1000, delay, seed, mode: Mode::LookAhead, fault: None }
    }

    /// The machine on which this test is run in the place of `description`: its caches hold a fraction of the lines, and what a
    /// home keeps of sharers runs out. How small they are is drawn at random.
    pub fn cramped(&self, description: &Description) -> Description {
        let mut cramped = description.clone();
        let mut dice = Dice::new(self.seed, u64::MAX);
        cramped.l1.size = Bytes::from_kib(1 << dice.below(3));
        cramped.l2.size = Bytes::from_kib(16 << dice.below(3));
        if let Some(directory) = &mut cramped.directory {
            directory.link_store_entries = 4 << dice.below(5);
            directory.vector_store_entries = 1 << dice.below(4);
            directory.remote_access_cache = Bytes::from_kib(16 << dice.below(5));
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

    /// A program for every processor, and the memory for their lines.
    fn programs(
        &self,
        description: &Description,
        simulator: &mut Simulator,
    ) -> Result<Vec<(CpuId, Program)>, SimError> {
        let (nodes, line) = (simulator.topology().nodes().len() as u32, description.l2.line);
        let each = Bytes(u64::from(self.lines.div_ceil(nodes)) * line.0);
        let memory: Result<Vec<_>, _> = (0..nodes).map(|node| simulator.allocate(NodeId(node as u16), each)).collect();
        let uncached = description.controller.kind == ControllerKind::Hub;
        let playground = Rc::new(Playground::new(*self, line, description.l1.line, memory?, uncached));
        let program = |cpu: u16| {
            let playground = Rc::clone(&playground);
            (CpuId(cpu), Box::new(move |thread: &mut crate::Thread<'_>| playground.play(thread)) as Program)
        };
        Ok((0..simulator.topology().processors() as u16).map(program).collect())
    }
}

/// A random test that has found a fault, with all that it takes to find it again.
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

/// What a random test came to without finding a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RandomReport {
    /// What was compared, and the line that was missed on most.
    pub observed: Observed,
    /// What each program's processor did.
    pub threads: Vec<ThreadReport>,
    /// What each node's controller did.
    pub nodes: Vec<NodeStatistics>,
    /// The simulated time that it took.
    pub time: Time,
}

impl RandomReport {
    fn new(simulator: &Simulator, threads: Vec<ThreadReport>) -> Self {
        let nodes = simulator.topology().nodes().iter().filter_map(|node| simulator.statistics(node.id)).collect();
        let observed = simulator.observed().unwrap_or_default();
        Self { observed, threads, nodes, time: simulator.now() }
    }

    /// Accesses of all programs.
    pub fn references(&self) -> u64 {
        self.threads.iter().map(|thread| thread.counters.references).sum()
    }

    /// Misses that went to the protocol.
    pub fn transactions(&self) -> u64 {
        self.threads.iter().map(|thread| thread.counters.secondary_misses).sum()
    }

    /// Requests that were refused and sent again.
    pub fn refusals(&self) -> u64 {
        self.threads.iter().map(|thread| thread.counters.refusals).sum()
    }

    /// Modified lines written back.
    pub fn writebacks(&self) -> u64 {
        self.threads.iter().map(|thread| thread.counters.writebacks).sum()
    }

    /// Copies that writes have invalidated.
    pub fn invalidations(&self) -> u64 {
        let of = |node: &NodeStatistics| {
            (0..).zip(node.invalidations.counts()).map(|(number, count)| number * count).sum::<u64>()
        };
        self.nodes.iter().map(of).sum()
    }

    /// Lines whose sharers were given up to make room.
    pub fn reclamations(&self) -> u64 {
        self.nodes.iter().map(|node| node.reclamations).sum()
    }
}
