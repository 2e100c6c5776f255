//! The places of a machine as an experiment sees them: nodes, processors, hops, line and cache sizes.

use std::collections::BTreeMap;

use host::discovery::Relation;
use units::{Bytes, CpuId, Duration, NodeId};

/// Where things are on a machine, and the sizes that experiments depend on. Plain data: suites derive their placements
/// from it without a machine at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    machine: String,
    /// Processors of each node, ascending; a node may have none.
    cpus: Vec<Vec<CpuId>>,
    /// The groups of each processor, where more is known than its node.
    kin: BTreeMap<CpuId, Kin>,
    /// Nodes without memory of their own.
    without_memory: Vec<NodeId>,
    /// Hops between nodes, row by row.
    hops: Vec<u32>,
    /// Coherence unit.
    pub line: Bytes,
    /// First-level data cache of one processor.
    pub l1: Bytes,
    /// The cache whose misses reach the memory system.
    pub l2: Bytes,
    /// The outermost cache of a processor, shared or not, as far as it is told: what areas must exceed to be in memory.
    pub outermost: Bytes,
    /// One cycle of the processors' clock.
    pub clock_period: Duration,
    /// Whether it is a real machine, on which everything is worth measuring, rather than a description.
    pub real: bool,
    /// Whether its processors have accesses that pass the caches.
    pub passes_caches: bool,
    /// Whether the directory forgets a sharer that drops its copy, as a sharing list does: only sharers that keep their copies
    /// count then.
    pub forgets_dropped: bool,
    /// Whether a processor can have a shared copy of a line that no other has. Servers of today give it an exclusive one then, whatever
    /// it asked for.
    pub shares_alone: bool,
}

/// The groups that a processor belongs to, each named after its first processor; `None` where there is no such group between
/// the one below and the one above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kin {
    /// Threads of one core.
    pub(crate) core: CpuId,
    /// Cores that share a cache or a cluster.
    pub(crate) cluster: Option<CpuId>,
    /// Cores of one die.
    pub(crate) die: Option<CpuId>,
    /// Cores of one socket.
    pub(crate) socket: CpuId,
}

/// Why places do not make a layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("layout of {machine}: {reason}")]
pub struct LayoutError {
    machine: String,
    reason: String,
}

impl Layout {
    /// A layout of `machine` whose node `n` has the processors `cpus[n]` and whose distances are `hops(a, b)`.
    ///
    /// # Errors
    /// When there is no processor, one is on two nodes, or a size is zero or not a multiple of the line.
    pub fn new(
        machine: impl Into<String>,
        cpus: Vec<Vec<CpuId>>,
        hops: impl Fn(NodeId, NodeId) -> u32,
        (line, l1, l2): (Bytes, Bytes, Bytes),
        clock_period: Duration,
    ) -> Result<Self, LayoutError> {
        let machine = machine.into();
        let refuse = |reason: &str| Err(LayoutError { machine: machine.clone(), reason: reason.to_owned() });
        let mut all: Vec<CpuId> = cpus.iter().flatten().copied().collect();
        all.sort_unstable();
        if all.is_empty() || u16::try_from(cpus.len()).is_err() {
            return refuse("it needs a processor, and at most 65535 nodes");
        }
        if all.windows(2).any(|pair| pair[0] == pair[1]) {
            return refuse("a processor is on two nodes");
        }
        if line.0 == 0 || l1 < line || l2 < line || !l1.0.is_multiple_of(line.0) || !l2.0.is_multiple_of(line.0) {
            return refuse("cache sizes are multiples of the line size");
        }
        if clock_period == Duration::ZERO {
            return refuse("a clock cycle takes time");
        }
        let mut distances = Vec::with_capacity(cpus.len() * cpus.len());
        for from in 0..cpus.len() as u16 {
            distances.extend((0..cpus.len() as u16).map(|to| hops(NodeId(from), NodeId(to))));
        }
        Ok(Self {
            machine,
            cpus,
            kin: BTreeMap::new(),
            without_memory: Vec::new(),
            hops: distances,
            line,
            l1,
            l2,
            clock_period,
            outermost: l2,
            real: false,
            passes_caches: false,
            forgets_dropped: false,
            shares_alone: true,
        })
    }

    /// The same machine, whose `nodes` have processors but no memory.
    #[must_use]
    pub fn without_memory_on(mut self, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        self.without_memory.extend(nodes);
        self
    }

    /// The same machine, of whose processors more is known.
    #[must_use]
    pub(crate) fn with_kin(mut self, kin: impl IntoIterator<Item = (CpuId, Kin)>) -> Self {
        self.kin.extend(kin);
        self
    }

    /// How near two processors are to each other. Where nothing but nodes is known, a node counts as a socket.
    pub fn relation(&self, a: CpuId, b: CpuId) -> Relation {
        if a == b {
            return Relation::Same;
        }
        let (Some(first), Some(second)) = (self.kin.get(&a), self.kin.get(&b)) else {
            let node = self.node_of(a);
            return if node == self.node_of(b) { Relation::SameSocket } else { Relation::OtherSocket };
        };
        let same = |a: Option<CpuId>, b: Option<CpuId>| a.is_some() && a == b;
        match () {
            () if first.core == second.core => Relation::SmtSibling,
            () if first.socket != second.socket => Relation::OtherSocket,
            () if same(first.cluster, second.cluster) => Relation::SameCluster,
            () if same(first.die, second.die) => Relation::SameDie,
            () => Relation::SameSocket,
        }
    }

    /// Whether a processor is the first thread of its core that may be used.
    pub fn is_first_thread(&self, cpu: CpuId) -> bool {
        let siblings = self.cpus().filter(|&other| self.relation(cpu, other) == Relation::SmtSibling);
        siblings.min().is_none_or(|first| cpu < first)
    }

    /// Whether the machine has this node, and it has memory.
    pub fn has_memory(&self, node: NodeId) -> bool {
        self.has_node(node) && !self.without_memory.contains(&node)
    }

    /// The machine's name.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// All nodes, ascending.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator {
        (0..self.cpus.len() as u16).map(NodeId)
    }

    /// Whether the machine has this node.
    pub fn has_node(&self, node: NodeId) -> bool {
        node.index() < self.cpus.len()
    }

    /// The processors of a node, ascending; none if the machine has no such node.
    pub fn cpus_of(&self, node: NodeId) -> &[CpuId] {
        self.cpus.get(node.index()).map_or(&[], Vec::as_slice)
    }

    /// All processors, by node.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> {
        self.cpus.iter().flatten().copied()
    }

    /// The node of a processor; `None` if the machine has no such processor.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        self.nodes().find(|&node| self.cpus_of(node).contains(&cpu))
    }

    /// Hops (routers passed, or the machine's own measure of distance) from `from` to `to`.
    ///
    /// # Panics
    /// If the machine lacks one of them.
    pub fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        assert!(self.has_node(from) && self.has_node(to), "{from:?} or {to:?} is not on {}", self.machine);
        self.hops[from.index() * self.cpus.len() + to.index()]
    }

    /// The nodes other than `from`, nearest first, equally near ones by number.
    pub fn nodes_by_distance(&self, from: NodeId) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.nodes().filter(|&node| node != from).collect();
        nodes.sort_by_key(|&node| (self.hops(from, node), node));
        nodes
    }

    /// The processors as an error message lists them: `CPU 0..63`.
    pub fn accepted_cpus(&self) -> String {
        let mut cpus: Vec<u16> = self.cpus().map(|cpu| cpu.0).collect();
        cpus.sort_unstable();
        format!("CPU {}", ranges(&cpus))
    }

    /// The nodes with memory as an error message lists them: `node 0..31`.
    pub fn accepted_nodes(&self) -> String {
        let with_memory = self.nodes().filter(|&node| self.has_memory(node));
        format!("node {}", ranges(&with_memory.map(|node| node.0).collect::<Vec<_>>()))
    }
}

/// Ascending numbers with runs abbreviated: `0..3 8 10..11`.
fn ranges(numbers: &[u16]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [only] => only.to_string(),
        _ => format!("{}..{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> (Bytes, Bytes, Bytes) {
        (Bytes(128), Bytes::from_kib(32), Bytes::from_mib(4))
    }

    #[test]
    fn nearest_nodes_come_first() {
        let cpus = (0..4).map(|n| vec![CpuId(2 * n), CpuId(2 * n + 1)]).collect();
        let ring = |a: NodeId, b: NodeId| u32::from((a.0.abs_diff(b.0)).min(4 - a.0.abs_diff(b.0)));
        let layout = Layout::new("ring", cpus, ring, sizes(), Duration(4000)).expect("a ring of four nodes");
        assert_eq!(layout.nodes_by_distance(NodeId(1)), [NodeId(0), NodeId(2), NodeId(3)]);
        assert_eq!(layout.node_of(CpuId(5)), Some(NodeId(2)));
        assert_eq!(layout.node_of(CpuId(8)), None);
        assert_eq!(layout.accepted_cpus(), "CPU 0..7");
    }

    #[test]
    fn a_node_may_lack_processors_and_numbers_may_have_gaps() {
        let cpus = vec![vec![CpuId(0), CpuId(1), CpuId(4)], vec![]];
        let layout = Layout::new("host", cpus, |a, b| u32::from(a != b), sizes(), Duration(400)).expect("two nodes");
        assert_eq!(layout.accepted_cpus(), "CPU 0..1 4");
        assert_eq!(layout.cpus_of(NodeId(1)), &[]);
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let none = |_: NodeId, _: NodeId| 0;
        assert!(Layout::new("empty", vec![vec![]], none, sizes(), Duration(1)).is_err());
        assert!(Layout::new("twice", vec![vec![CpuId(0)], vec![CpuId(0)]], none, sizes(), Duration(1)).is_err());
        let l2_below_line = (Bytes(128), Bytes(128), Bytes(64));
        assert!(Layout::new("small", vec![vec![CpuId(0)]], none, l2_below_line, Duration(1)).is_err());
    }
}
