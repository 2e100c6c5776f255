//! A coherent machine without timing: a directory and caches of unlimited size, a fixed latency for each transaction.

use std::collections::{BTreeMap, BTreeSet};

use bench::platform::check_phase;
use bench::{Kernel, Layout, Measurement, Phase, Platform, PlatformError, Region, Task};
use record::{Conditions, Disturbance};
use units::{Bytes, CpuId, Duration, NodeId};

/// The cache line of the mock.
pub const LINE: Bytes = Bytes(128);
/// The processor clock of the mock.
pub const CYCLE: Duration = Duration(4000);
/// By how much the transfer of a line keeps the next miss waiting.
pub const TRANSFER: Duration = Duration(100_000);

/// A copy in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copy {
    Shared,
    Clean,
    Modified,
}

/// State of a line in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Directory {
    Unowned,
    Owned(CpuId),
    /// The nodes that were given copies.
    Shared(BTreeSet<NodeId>),
}

/// How an access was satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transaction {
    /// The cache had what was needed.
    Hit,
    /// By the home alone.
    Unowned,
    /// By the home, from a line that others share, for reading.
    SharedRead,
    /// With copies invalidated at this many nodes; the requester had none.
    Invalidate(usize),
    /// With copies invalidated at this many nodes; the requester kept its own.
    Upgrade(usize),
    /// Another cache held it clean.
    CleanHit,
    /// Another cache should have held it, but had dropped it.
    CleanMiss,
    /// Another cache held it modified; the access was a read.
    Downgrade,
    /// Another cache held it modified; the access was a write.
    Transfer,
}

impl Transaction {
    /// Its latency in nanoseconds on the requester's own node; every hop of the longest leg adds 100 more.
    pub fn latency_ns(self) -> u64 {
        match self {
            Self::Hit => 8,
            Self::Unowned | Self::SharedRead => 400,
            Self::Invalidate(nodes) => 600 + 20 * nodes as u64,
            Self::Upgrade(nodes) => 340 + 20 * nodes as u64,
            Self::CleanHit => 680,
            Self::CleanMiss => 690,
            Self::Downgrade => 980,
            Self::Transfer => 900,
        }
    }
}

struct Line {
    directory: Directory,
    copies: BTreeMap<CpuId, Copy>,
}

/// The machine.
pub struct Mock {
    layout: Layout,
    lines: BTreeMap<(usize, u64), Line>,
    regions: usize,
    /// Transactions of each kernel since the start, by name of the kernel.
    pub census: BTreeMap<&'static str, BTreeMap<Transaction, u64>>,
    /// Modified lines held by a processor when a kernel of this name began, at least.
    pub dirty_at_fill: Option<usize>,
    /// How many of the next timed phases are disturbed.
    pub disturbed: u32,
}

/// `nodes` nodes in a row of two processors each, hop counts as distances, caches of `l2`.
pub fn row(nodes: u16, l2: Bytes) -> Layout {
    let cpus = (0..nodes).map(|node| vec![CpuId(2 * node), CpuId(2 * node + 1)]).collect();
    let hops = |a: NodeId, b: NodeId| u32::from(a.0.abs_diff(b.0));
    Layout::new("row", cpus, hops, (LINE, Bytes::from_kib(4), l2), CYCLE).expect("a sound layout")
}

impl Mock {
    /// A machine of this layout.
    pub fn new(layout: Layout) -> Self {
        Self { layout, lines: BTreeMap::new(), regions: 0, census: BTreeMap::new(), dirty_at_fill: None, disturbed: 0 }
    }

    /// The transactions of one kernel so far.
    pub fn transactions(&self, kernel: &str) -> Vec<Transaction> {
        self.census.get(kernel).map(|found| found.keys().copied().collect()).unwrap_or_default()
    }

    fn node_of(&self, cpu: CpuId) -> NodeId {
        self.layout.node_of(cpu).expect("a phase is checked first")
    }

    fn modified(&self, cpu: CpuId) -> usize {
        self.lines.values().filter(|line| line.copies.get(&cpu) == Some(&Copy::Modified)).count()
    }

    /// Performs one access; the transaction and the longest leg it went.
    fn access(&mut self, cpu: CpuId, at: (Region, u64), write: bool, shared: bool) -> (Transaction, u32) {
        let (node, home) = (self.node_of(cpu), at.0.home);
        let nodes: BTreeMap<CpuId, NodeId> = self.layout.cpus().map(|cpu| (cpu, self.node_of(cpu))).collect();
        let key = (at.0.index, at.1);
        let line = self.lines.entry(key).or_insert(Line { directory: Directory::Unowned, copies: BTreeMap::new() });
        let copy = line.copies.get(&cpu).copied();
        let (transaction, far) = match (copy, write, &line.directory) {
            (Some(Copy::Clean | Copy::Modified), true, _) | (Some(_), false, _) => (Transaction::Hit, vec![]),
            (Some(Copy::Shared), true, Directory::Shared(sharers)) => {
                (Transaction::Upgrade(sharers.len()), sharers.iter().copied().collect())
            }
            (None, true, Directory::Shared(sharers)) => {
                (Transaction::Invalidate(sharers.len()), sharers.iter().copied().collect())
            }
            (None, false, Directory::Shared(_)) => (Transaction::SharedRead, vec![]),
            (None, _, Directory::Unowned) => (Transaction::Unowned, vec![]),
            (None, _, Directory::Owned(owner)) if *owner == cpu => (Transaction::Unowned, vec![]),
            (None, write, Directory::Owned(owner)) => {
                let transaction = match (line.copies.get(owner), write) {
                    (None, _) => Transaction::CleanMiss,
                    (Some(Copy::Clean), _) => Transaction::CleanHit,
                    (Some(_), false) => Transaction::Downgrade,
                    (Some(_), true) => Transaction::Transfer,
                };
                (transaction, vec![nodes[owner]])
            }
            (Some(Copy::Shared), true, directory) => unreachable!("a shared copy of a line that is {directory:?}"),
        };
        if write {
            line.copies.clear();
            line.copies.insert(cpu, Copy::Modified);
            line.directory = Directory::Owned(cpu);
        } else if transaction != Transaction::Hit {
            let exclusive = transaction == Transaction::Unowned && !shared;
            let mut sharers = match &line.directory {
                Directory::Shared(sharers) => sharers.clone(),
                Directory::Owned(owner) => BTreeSet::from([nodes[owner]]),
                Directory::Unowned => BTreeSet::new(),
            };
            sharers.insert(node);
            line.directory = if exclusive { Directory::Owned(cpu) } else { Directory::Shared(sharers) };
            line.copies.values_mut().for_each(|copy| *copy = Copy::Shared);
            line.copies.insert(cpu, if exclusive { Copy::Clean } else { Copy::Shared });
        }
        let legs = far.into_iter().map(|other| self.layout.hops(home, other).max(self.layout.hops(other, node)));
        (transaction, legs.chain([self.layout.hops(node, home)]).max().unwrap_or(0))
    }

    /// The disturbance of a task with this kernel: only pointer chases are disturbed.
    fn disturbance(&mut self, kernel: Kernel) -> Disturbance {
        if self.disturbed == 0 || !kernel.walks_a_list() {
            return Disturbance::default();
        }
        self.disturbed -= 1;
        Disturbance { switches: 1, ..Disturbance::default() }
    }

    fn drop_line(&mut self, cpu: CpuId, key: (usize, u64)) {
        let Some(line) = self.lines.get_mut(&key) else { return };
        if line.copies.remove(&cpu) == Some(Copy::Modified) {
            line.directory = Directory::Unowned;
        }
    }

    fn step(&mut self, task: &Task, index: u64) -> Duration {
        let line = (task.offset.0 + index * task.stride.0) / LINE.0;
        let at = (task.region, line);
        let (name, writes, shared, work) = match task.kernel {
            Kernel::Walk { work } => ("walk", false, false, Some(work)),
            Kernel::Modify { work } => ("modify", true, false, Some(work)),
            Kernel::Sum => ("sum", false, false, None),
            Kernel::SumPrefetch => ("sum-prefetch", false, true, None),
            Kernel::Fill => ("fill", true, false, None),
            Kernel::TouchLoad => ("touch-load", false, false, None),
            Kernel::TouchStore => ("touch-store", true, false, None),
            Kernel::TouchShared => ("touch-shared", false, true, None),
            Kernel::ReadUse => ("read-use", false, false, None),
            Kernel::ReadModifyWrite => ("read-modify-write", true, false, None),
            Kernel::CompareExchange => ("compare-exchange", true, false, Some(0)),
            Kernel::SumNonTemporal => ("sum-non-temporal", false, false, None),
            Kernel::FillNonTemporal => ("fill-non-temporal", true, false, None),
            Kernel::Stream(_) => ("stream", true, false, None),
            Kernel::Traffic { reads, writes, .. } => {
                ("traffic", index % u64::from(reads + writes) >= u64::from(reads), false, None)
            }
            Kernel::PingPong => ("ping-pong", true, false, Some(0)),
            Kernel::SignChange => ("sign-change", true, false, None),
            Kernel::Flush => {
                for cpu in self.layout.cpus().collect::<Vec<_>>() {
                    self.drop_line(cpu, (task.region.index, line));
                }
                return Duration::ZERO;
            }
            Kernel::DropCaches | Kernel::DropOwnCaches => {
                self.drop_line(task.cpu, (task.region.index, line));
                return Duration::ZERO;
            }
        };
        let (transaction, hops) = self.access(task.cpu, at, writes, shared);
        *self.census.entry(name).or_default().entry(transaction).or_default() += 1;
        let latency = Duration(transaction.latency_ns() * 1000) + Duration(100_000) * u64::from(hops);
        match (work, transaction) {
            // Independent accesses: four in flight.
            (None, _) => latency / 4,
            (Some(work), Transaction::Hit) => CYCLE * (2 + u64::from(work)),
            // The next miss waits for the transfer of the line, or for the work, whichever takes longer.
            (Some(work), _) => latency.max(latency - TRANSFER + CYCLE * (2 + u64::from(work))),
        }
    }
}

impl Platform for Mock {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn choose_pages(&mut self, _: Option<host::memory::PageKind>) -> Result<(), PlatformError> {
        Ok(())
    }

    fn allocate_across(&mut self, parts: &[(NodeId, Bytes)]) -> Result<Region, PlatformError> {
        let (home, size) = (parts[0].0, Bytes(parts.iter().map(|(_, size)| size.0).sum()));
        if !self.layout.has_node(home) {
            let (machine, accepted) = (self.layout.machine().to_owned(), self.layout.accepted_nodes());
            return Err(PlatformError::NoMemory { node: home, machine, accepted });
        }
        self.regions += 1;
        Ok(Region { index: self.regions, home, size })
    }

    fn arrange(&mut self, _: &[Task]) -> Result<(), PlatformError> {
        Ok(())
    }

    fn conditions(&self) -> Conditions {
        Conditions::default()
    }

    fn release_all(&mut self) {
        self.lines.clear();
    }

    fn run(&mut self, phase: Phase<'_>) -> Result<Vec<Measurement>, PlatformError> {
        check_phase(&self.layout, phase)?;
        let first = phase.tasks.iter().map(|task| task.count).min().unwrap_or(0);
        let mut measurements = Vec::new();
        for task in phase.tasks {
            if task.kernel == Kernel::Fill {
                let dirty = self.modified(task.cpu);
                self.dirty_at_fill = Some(self.dirty_at_fill.map_or(dirty, |least| least.min(dirty)));
            }
            let steps = if phase.first_finisher_stops_all { first } else { task.count };
            let mut elapsed = Duration::ZERO;
            for step in 0..steps {
                elapsed += self.step(task, (task.first + step) % task.elements);
            }
            let disturbance = self.disturbance(task.kernel);
            measurements.push(Measurement { elapsed, steps, disturbance });
        }
        Ok(measurements)
    }
}
