//! NUMA nodes: their CPUs and memory, how far they are from each other, and what firmware says about their speed.

use std::collections::BTreeMap;

use units::{Bytes, CpuId, NodeId};

use super::cpu::Cpu;
use super::files::Reader;
use super::note::Note;

const FOLDER: &str = "sys/devices/system/node";

/// The kernel's distance of a node to itself (`LOCAL_DISTANCE`, as the ACPI SLIT defines it).
pub(super) const LOCAL_DISTANCE: u32 = 10;
/// The kernel's distance between nodes where firmware tells none (`REMOTE_DISTANCE`).
pub(super) const REMOTE_DISTANCE: u32 = 20;

/// A NUMA node.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Its number; numbers may have gaps.
    pub id: NodeId,
    /// Its online CPUs; none for memory behind a device (CXL) or a second kind of memory (HBM).
    pub cpus: Vec<CpuId>,
    /// All its memory that the kernel manages; zero for a node without memory.
    pub memory: Bytes,
    /// How much of it was free at discovery, page cache not counted.
    pub free: Bytes,
    /// Distances to nodes, by the SLIT's measure: 10 is the distance to itself. Empty if nothing usable is told.
    pub distances: BTreeMap<NodeId, u32>,
    /// Firmware's figures for the way from the nearest initiators to this memory.
    pub access: Vec<MemoryAccess>,
    /// Caches in front of this memory.
    pub side_caches: Vec<SideCache>,
    /// Its rank among the kernel's memory tiers; a larger number is slower memory.
    pub tier: Option<u32>,
}

/// Kinds of nodes, by their parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// CPUs and memory.
    Full,
    /// Memory without CPUs.
    MemoryOnly,
    /// CPUs without memory.
    CpusOnly,
    /// Neither: a device, or offline parts.
    Empty,
}

impl NodeKind {
    /// The name for tables and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "CPUs and memory",
            Self::MemoryOnly => "memory only",
            Self::CpusOnly => "CPUs only",
            Self::Empty => "neither CPUs nor memory",
        }
    }
}

impl Node {
    /// Its kind.
    pub fn kind(&self) -> NodeKind {
        match (self.cpus.is_empty(), self.memory.0 == 0) {
            (false, false) => NodeKind::Full,
            (true, false) => NodeKind::MemoryOnly,
            (false, true) => NodeKind::CpusOnly,
            (true, true) => NodeKind::Empty,
        }
    }
}

/// Firmware's figures for the way from initiators to a node's memory (ACPI HMAT or CXL CDAT;
/// Documentation/admin-guide/mm/numaperf.rst).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryAccess {
    /// 0: the nearest initiators of any kind; 1: the nearest with CPUs.
    pub class: u8,
    /// The nodes that the figures are for: those with the best way to this memory.
    pub initiators: Vec<NodeId>,
    /// Read latency in nanoseconds.
    pub read_latency_ns: Option<u32>,
    /// Write latency in nanoseconds.
    pub write_latency_ns: Option<u32>,
    /// Read bandwidth in MiB/s.
    pub read_bandwidth_mib_s: Option<u32>,
    /// Write bandwidth in MiB/s.
    pub write_bandwidth_mib_s: Option<u32>,
}

/// A cache that memory has in front of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideCache {
    /// Its level, 1 next to the memory.
    pub level: u8,
    /// Its size.
    pub size: Option<Bytes>,
    /// The size of a line.
    pub line: Option<Bytes>,
    /// True if each line has a single place.
    pub direct_mapped: bool,
    /// True if stores go through to memory at once.
    pub write_through: bool,
}

/// The nodes, and their CPUs' `node` filled in. If the kernel knows none, one node that holds everything.
pub(super) fn discover(reader: &mut Reader<'_>, cpus: &mut [Cpu]) -> Vec<Node> {
    let mut ids = reader.nodes(&format!("{FOLDER}/online")).unwrap_or_default();
    if ids.is_empty() {
        ids = reader.numbered(FOLDER, "node").into_iter().map(NodeId).collect();
    }
    if ids.is_empty() {
        reader.notes.push(Note::NoNodes);
        return vec![single(reader, cpus)];
    }
    let tiers = tiers(reader);
    let mut nodes: Vec<Node> = ids.iter().map(|&id| examine(reader, id, &ids, tiers.get(&id).copied())).collect();
    for cpu in cpus.iter_mut().filter(|cpu| cpu.online) {
        cpu.node = nodes.iter().find(|node| node.cpus.contains(&cpu.id)).map(|node| node.id);
    }
    // A list in a node's folder may be unreadable; the folder of each CPU has a link to its node as well.
    for cpu in cpus.iter_mut().filter(|cpu| cpu.online && cpu.node.is_none()) {
        let linked = reader.numbered(&format!("sys/devices/system/cpu/cpu{}", cpu.id), "node");
        cpu.node = linked.first().map(|&id| NodeId(id)).filter(|id| ids.contains(id));
        if let Some(node) = nodes.iter_mut().find(|node| Some(node.id) == cpu.node) {
            node.cpus.push(cpu.id);
        }
    }
    for node in &mut nodes {
        node.cpus.retain(|id| cpus.iter().any(|cpu| cpu.online && cpu.id == *id));
    }
    note_kinds(reader, &nodes);
    nodes
}

/// The node that stands for everything where the kernel has no NUMA.
fn single(reader: &mut Reader<'_>, cpus: &mut [Cpu]) -> Node {
    let id = NodeId(0);
    for cpu in cpus.iter_mut().filter(|cpu| cpu.online) {
        cpu.node = Some(id);
    }
    let text = reader.text("proc/meminfo").unwrap_or_default();
    Node {
        id,
        cpus: cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect(),
        memory: amount(&text, "MemTotal").unwrap_or_default(),
        free: amount(&text, "MemFree").unwrap_or_default(),
        distances: BTreeMap::new(),
        access: Vec::new(),
        side_caches: Vec::new(),
        tier: None,
    }
}

fn examine(reader: &mut Reader<'_>, id: NodeId, online: &[NodeId], tier: Option<u32>) -> Node {
    let folder = format!("{FOLDER}/node{id}");
    let text = reader.text(&format!("{folder}/meminfo")).unwrap_or_default();
    Node {
        id,
        cpus: reader.cpus(&format!("{folder}/cpulist")).unwrap_or_default(),
        memory: amount(&text, "MemTotal").unwrap_or_default(),
        free: amount(&text, "MemFree").unwrap_or_default(),
        distances: distances(reader, id, online),
        access: [0, 1].into_iter().filter_map(|class| access(reader, &folder, class)).collect(),
        side_caches: side_caches(reader, &folder),
        tier,
    }
}

/// The amount that a line of `meminfo` tells, be it the computer's (`MemFree: 1 kB`) or a node's (`Node 0 MemFree: 1 kB`).
pub(crate) fn amount(text: &str, name: &str) -> Option<Bytes> {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.split_whitespace().last() == Some(name)).then_some(value)
    })?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

/// A node's line of the SLIT: one number for each online node, in ascending order.
fn distances(reader: &mut Reader<'_>, id: NodeId, online: &[NodeId]) -> BTreeMap<NodeId, u32> {
    let text = reader.text(&format!("{FOLDER}/node{id}/distance")).unwrap_or_default();
    let numbers: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    match numbers {
        Some(numbers) if numbers.len() == online.len() => online.iter().copied().zip(numbers).collect(),
        _ => {
            reader.notes.push(Note::NoDistances { node: id });
            BTreeMap::new()
        }
    }
}

fn access(reader: &mut Reader<'_>, node: &str, class: u8) -> Option<MemoryAccess> {
    let folder = format!("{node}/access{class}/initiators");
    let initiators: Vec<NodeId> = reader.numbered(&folder, "node").into_iter().map(NodeId).collect();
    // The kernel writes 0 for what firmware does not tell.
    let mut figure = |name: &str| reader.number(&format!("{folder}/{name}")).filter(|&figure: &u32| figure > 0);
    let access = MemoryAccess {
        class,
        initiators,
        read_latency_ns: figure("read_latency"),
        write_latency_ns: figure("write_latency"),
        read_bandwidth_mib_s: figure("read_bandwidth"),
        write_bandwidth_mib_s: figure("write_bandwidth"),
    };
    let told = [access.read_latency_ns, access.write_latency_ns, access.read_bandwidth_mib_s];
    (!access.initiators.is_empty() || told.iter().any(Option::is_some)).then_some(access)
}

fn side_caches(reader: &mut Reader<'_>, node: &str) -> Vec<SideCache> {
    let folder = format!("{node}/memory_side_cache");
    let levels = reader.numbered(&folder, "index");
    let caches = levels.into_iter().map(|level| {
        let mut number = |name: &str| reader.number::<u64>(&format!("{folder}/index{level}/{name}"));
        SideCache {
            level: u8::try_from(level).unwrap_or(u8::MAX),
            size: number("size").filter(|&size| size > 0).map(Bytes),
            line: number("line_size").filter(|&size| size > 0).map(Bytes),
            direct_mapped: number("indexing") == Some(0),
            write_through: number("write_policy") == Some(1),
        }
    });
    caches.collect()
}

/// The kernel's memory tier of each node (Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers).
fn tiers(reader: &mut Reader<'_>) -> BTreeMap<NodeId, u32> {
    const FOLDER: &str = "sys/devices/virtual/memory_tiering";
    let mut tiers = BTreeMap::new();
    for tier in reader.numbered(FOLDER, "memory_tier") {
        let members = reader.nodes(&format!("{FOLDER}/memory_tier{tier}/nodelist")).unwrap_or_default();
        tiers.extend(members.into_iter().map(|node| (node, tier.into())));
    }
    tiers
}

fn note_kinds(reader: &mut Reader<'_>, nodes: &[Node]) {
    let such = |kinds: &[NodeKind]| {
        nodes.iter().filter(|node| kinds.contains(&node.kind())).map(|node| node.id).collect::<Vec<_>>()
    };
    let without = such(&[NodeKind::CpusOnly, NodeKind::Empty]);
    if !without.is_empty() {
        reader.notes.push(Note::MemoryLess { nodes: without });
    }
    let untold = |id: &NodeId| nodes.iter().any(|node| node.id == *id && node.access.is_empty());
    let unknown: Vec<NodeId> = such(&[NodeKind::MemoryOnly]).into_iter().filter(untold).collect();
    if !unknown.is_empty() {
        reader.notes.push(Note::NoMemoryFigures { nodes: unknown });
    }
    let sum = Bytes(nodes.iter().map(|node| node.memory.0).fold(0, u64::saturating_add));
    let text = reader.text("proc/meminfo").unwrap_or_default();
    if let Some(computer) = amount(&text, "MemTotal").filter(|&computer| computer != sum) {
        reader.notes.push(Note::MemoryDiffers { nodes: sum, computer });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory() {
        let text = "Node 3 MemTotal:       131071 kB\nNode 3 MemFree:        7 kB\nHugePages_Total: 5\n";
        assert_eq!(amount(text, "MemTotal"), Some(Bytes::from_kib(131_071)));
        assert_eq!(amount(text, "MemFree"), Some(Bytes::from_kib(7)));
        assert_eq!(amount(text, "HugePages_Total"), None);
        assert_eq!(amount(text, "Total"), None);
    }
}
