//! Threads on distinct nodes that modify disjoint parts of a region of one node, all of whose lines all of them share:
//! the pathological case that makes a home back off (Prestor 2001 section 6.3).

use machine::{Description, Topology};
use protocol::origin::MessageKind;
use sim::{HubCounters, Options, Program, SimError, Simulator, Thread};
use units::{Bandwidth, Bytes, CpuId, Duration, NodeId, PhysicalAddr};

/// Counters of the home in one phase.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PhaseTraffic {
    /// Lines sent for read-exclusive requests, in MB/s.
    pub exclusive_mb_per_s: f64,
    /// Lines written back, in MB/s.
    pub writeback_mb_per_s: f64,
    /// How many of the invalidate transactions the home left to the requester, in percent.
    pub backoff_pct: f64,
}

/// Counters of the home in the two phases.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Traffic {
    /// Stores into empty caches: hardly any writebacks.
    pub read: PhaseTraffic,
    /// Stores into caches full of modified lines: each displaces one.
    pub zero: PhaseTraffic,
}

/// The node with the region; the threads are on the nodes nearest to it.
pub(crate) const HOME: NodeId = NodeId(1);

/// The secondary caches of the experiment. The thesis fills those of the machine; what is measured is a steady state in
/// which their size does not matter, and every sharer must read every line first.
const CACHE: Bytes = Bytes::from_kib(256);

/// Runs the experiment on `machine`, with small secondary caches and `threads` threads.
///
/// # Errors
/// When the machine has no node for each thread, or the simulation fails.
pub fn run(machine: &Description, threads: u16, options: Options) -> Result<Traffic, SimError> {
    let mut machine = machine.clone();
    machine.set_coherent_size(CACHE);
    let cpus = processors(&Topology::new(&machine), threads);
    let line = machine.coherent_cache().line;
    let in_cache = CACHE.0 / line.0;
    let part = Lines { line, cached: in_cache, displacing: in_cache };
    let mut simulator = Simulator::new(&machine, options)?;
    let region = simulator.allocate(HOME, Bytes(part.bytes() * cpus.len() as u64))?;
    simulator.run(on_all(&cpus, |_| Box::new(move |thread| share(thread, region, part, u64::from(threads)))))?;
    let starts = |index: usize| region.offset(part.bytes() * index as u64);
    let read = phase(&mut simulator, line, on_all(&cpus, |i| modify(starts(i), line, part.cached)))?;
    let zero = phase(&mut simulator, line, {
        on_all(&cpus, |i| modify(starts(i).offset(part.cached * line.0), line, part.displacing))
    })?;
    Ok(Traffic { read, zero })
}

/// A thread's part of the region.
#[derive(Clone, Copy)]
struct Lines {
    line: Bytes,
    /// Lines that fill its cache.
    cached: u64,
    /// Lines that then displace those.
    displacing: u64,
}

impl Lines {
    fn bytes(self) -> u64 {
        (self.cached + self.displacing) * self.line.0
    }
}

/// The first processor of each of the nodes nearest to the home.
pub(crate) fn processors(topology: &Topology, threads: u16) -> Vec<CpuId> {
    let mut nodes: Vec<NodeId> = topology.nodes().iter().map(|node| node.id).filter(|&node| node != HOME).collect();
    nodes.sort_by_key(|&node| (topology.hops(HOME, node), node));
    nodes.iter().filter_map(|&node| topology.cpus_of(node).next()).take(threads.into()).collect()
}

pub(crate) fn on_all(cpus: &[CpuId], program: impl Fn(usize) -> Program) -> Vec<(CpuId, Program)> {
    cpus.iter().enumerate().map(|(index, &cpu)| (cpu, program(index))).collect()
}

/// Reads every line of the region, so that the directory lists this node, and drops the copies.
fn share(thread: &mut Thread<'_>, region: PhysicalAddr, part: Lines, threads: u64) {
    for line in 0..(part.cached + part.displacing) * threads {
        thread.prefetch_shared(region.offset(line * part.line.0));
    }
    thread.drain();
    thread.drop_caches();
}

/// Stores to `count` lines from `first` on.
fn modify(first: PhysicalAddr, line: Bytes, count: u64) -> Program {
    Box::new(move |thread| (0..count).for_each(|index| thread.store(first.offset(index * line.0))))
}

/// Runs `programs` and reads the home's counters before and after.
fn phase(simulator: &mut Simulator, line: Bytes, programs: Vec<(CpuId, Program)>) -> Result<PhaseTraffic, SimError> {
    let before = simulator.hub_counters(HOME);
    let reports = simulator.run(programs)?;
    let after = simulator.hub_counters(HOME);
    let elapsed = reports.iter().map(|report| report.finished.since(report.started)).max().unwrap_or(Duration::ZERO);
    let (Some(before), Some(after)) = (before, after) else {
        return Err(SimError::NoSuchNode { node: HOME, nodes: simulator.topology().nodes().len() });
    };
    Ok(traffic(&before, &after, line, elapsed))
}

fn traffic(before: &HubCounters, after: &HubCounters, line: Bytes, elapsed: Duration) -> PhaseTraffic {
    let sent = |kind: MessageKind| after.sent[kind as usize] - before.sent[kind as usize];
    let received = |kind: MessageKind| after.received[kind as usize] - before.received[kind as usize];
    let rate = |lines: u64| Bandwidth::over(Bytes(lines * line.0), elapsed).as_mb_per_s();
    // Every exclusive copy of a shared line goes with either invalidations or the order to send them.
    let exclusive = sent(MessageKind::ExclusiveReply);
    PhaseTraffic {
        exclusive_mb_per_s: rate(exclusive),
        writeback_mb_per_s: rate(received(MessageKind::Writeback)),
        backoff_pct: sent(MessageKind::BackoffInvalidate) as f64 / exclusive.max(1) as f64 * 100.0,
    }
}
