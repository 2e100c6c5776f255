//! The layout of this computer: what it says of itself, restricted to what this process may use.

use host::clock::{Clock, CoreClock};
use host::discovery::{CacheKind, Inventory};
use units::{Bytes, CpuId, Duration, NodeId};

use super::HostPlatform;
use crate::platform::layout::Kin;
use crate::platform::{Layout, PlatformError};

/// Caches that are assumed of a processor that announces none: the line of most, and sizes that hardly any falls below,
/// since they limit how many lines an owner is trusted to keep.
const LINE: Bytes = Bytes(64);
const FIRST_LEVEL: Bytes = Bytes::from_kib(32);
const SECOND_LEVEL: Bytes = Bytes::from_kib(256);

impl Layout {
    /// The layout of this computer, as far as this process may use it. Its measure of distance is the rank of firmware's
    /// distances (SLIT): 0 on a node, 1 to its nearest neighbours. Cache sizes are those announced; they only limit how
    /// many lines are prepared.
    ///
    /// # Errors
    /// When this process may use no processor.
    pub fn host(inventory: &Inventory) -> Result<Self, PlatformError> {
        let usable = inventory.usable_cpus();
        let nodes = inventory.nodes.iter().map(|node| node.id.index() + 1).max().unwrap_or(1);
        let mut cpus: Vec<Vec<CpuId>> = vec![Vec::new(); nodes];
        for &cpu in &usable {
            cpus[inventory.node_of(cpu).unwrap_or(NodeId(0)).index()].push(cpu);
        }
        let first = usable.first().copied().unwrap_or(CpuId(0));
        let announced = |level: u8| inventory.cache_of(first, level, CacheKind::Data);
        let line = announced(1).and_then(|cache| cache.line).unwrap_or(LINE);
        let size = |level: u8, assumed: Bytes| {
            let size = announced(level).and_then(|cache| cache.size).unwrap_or(assumed);
            Bytes(size.0.next_multiple_of(line.0))
        };
        let sizes = (line, size(1, FIRST_LEVEL), size(2, SECOND_LEVEL));
        let hops = |from, to| rank(inventory, from, to);
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| PlatformError::Failed {
            machine: HostPlatform::NAME.to_owned(),
            source,
        };
        let mut layout =
            Self::new(HostPlatform::NAME, cpus, hops, sizes, Duration(1000)).map_err(|e| failed(e.into()))?;
        (layout.real, layout.passes_caches, layout.shares_alone) = (true, true, false);
        let of_first = inventory.caches.iter().filter(|cache| cache.shared_by.contains(&first));
        layout.outermost = of_first.filter_map(|cache| cache.size).max().unwrap_or(layout.l2).max(layout.l2);
        let has_memory = |node: NodeId| {
            inventory.usable_nodes().contains(&node) && inventory.node(node).is_some_and(|node| node.memory.0 > 0)
        };
        let without = (0..nodes as u16).map(NodeId).filter(|&node| !has_memory(node));
        Ok(layout.without_memory_on(without).with_kin(usable.iter().map(|&cpu| (cpu, kin(inventory, cpu)))))
    }

    /// The same with the processors' clock as it is now.
    pub(super) fn clocked(mut self, clock: &Clock) -> Result<Self, host::HostError> {
        let frequency = CoreClock::new()?.measure(clock).hertz();
        self.clock_period = frequency.period();
        Ok(self)
    }
}

/// The rank of the distance between two nodes among all distances that firmware's table has.
fn rank(inventory: &Inventory, from: NodeId, to: NodeId) -> u32 {
    let distance = inventory.distance(from, to);
    let ids = || inventory.nodes.iter().map(|node| node.id);
    let mut nearer: Vec<u32> = ids().flat_map(|a| ids().map(move |b| inventory.distance(a, b))).collect();
    nearer.retain(|&other| other < distance);
    nearer.sort_unstable();
    nearer.dedup();
    nearer.len() as u32
}

/// The groups that a processor belongs to. A level counts only where it is smaller than the next one up.
fn kin(inventory: &Inventory, cpu: CpuId) -> Kin {
    let found = inventory.cpu(cpu).expect("a usable processor is present");
    let first = |set: &[CpuId]| set.iter().copied().min();
    let of_node: Vec<CpuId> =
        inventory.cpus.iter().filter(|other| other.node == found.node).map(|other| other.id).collect();
    let socket = if found.socket_cpus.is_empty() { &of_node } else { &found.socket_cpus };
    let die = if found.die_cpus.is_empty() { socket } else { &found.die_cpus };
    let caches = inventory.caches.iter().map(|cache| &cache.shared_by).filter(|set| set.contains(&cpu));
    let clusters = caches.chain([&found.cluster_cpus]).filter(|set| set.len() < die.len());
    let cluster = clusters.max_by_key(|set| set.len()).filter(|set| set.len() > found.core_cpus.len());
    Kin {
        core: first(&found.core_cpus).unwrap_or(cpu),
        cluster: cluster.and_then(|set| first(set)),
        die: if die.len() < socket.len() { first(die) } else { None },
        socket: first(socket).unwrap_or(cpu),
    }
}
