//! The structure of a machine as its operating system lists it, of this computer or of a simulated server.

use host::discovery::{Cache, CacheKind, Inventory, KernelFiles, announced_inclusion};
use host::kernels::Features;
use machine::description::SliceKind;
use machine::server::Package;
use machine::{Description, Topology};
use record::{ComputerCache, ComputerCore, ComputerNode, ComputerRow};
use units::{Bytes, CpuId, NodeId};

use crate::HostPlatform;

/// Firmware's distances (SLIT) of a simulated server: of a node to itself, to another of its socket, and to one of another socket.
const DISTANCES: [u32; 3] = [10, 12, 21];
/// The makers of processors as CPUID spells them, by whether the third-level cache has shadow tags.
const MAKERS: [&str; 2] = ["GenuineIntel", "AuthenticAMD"];

/// This computer, as far as this process may use it.
pub fn computer_of_host(inventory: &Inventory) -> ComputerRow {
    let usable = inventory.usable_cpus();
    let ids: Vec<NodeId> = inventory.nodes.iter().map(|node| node.id).collect();
    let node = |node: &host::discovery::Node| ComputerNode {
        node: node.id,
        memory_kib: if inventory.usable_nodes().contains(&node.id) { node.memory.0 >> 10 } else { 0 },
        distances: ids.iter().map(|&to| inventory.distance(node.id, to)).collect(),
    };
    let mut cores: Vec<ComputerCore> = Vec::new();
    for &id in &usable {
        let Some(cpu) = inventory.cpu(id) else { continue };
        let mut cpus: Vec<CpuId> = cpu.core_cpus.iter().copied().filter(|other| usable.contains(other)).collect();
        if cpus.is_empty() {
            cpus.push(id);
        }
        if cpus[0] == id {
            let node = cpu.node.unwrap_or_default();
            // Where no socket is announced, a node counts as one.
            cores.push(ComputerCore { cpus, node, socket: cpu.socket.unwrap_or(node.0) });
        }
    }
    let inclusion = if inventory.files == KernelFiles::live() { announced_inclusion() } else { Vec::new() };
    let of_data = inventory.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
    let cache = |cache: &Cache| ComputerCache {
        level: cache.level,
        size_kib: cache.size.map(|size| size.0 >> 10),
        line_bytes: cache.line.map(|line| line.0),
        ways: cache.ways,
        inclusive: inclusion.iter().find(|(level, _)| *level == cache.level).map(|(_, inclusive)| *inclusive),
        cpus: cache.shared_by.iter().copied().filter(|cpu| usable.contains(cpu)).collect(),
    };
    ComputerRow {
        machine: HostPlatform::NAME.to_owned(),
        vendor: inventory.processor.vendor.clone(),
        model: inventory.processor.model.clone(),
        microarchitecture: inventory.processor.microarchitecture.clone(),
        page_kib: Some(inventory.page_size.0 >> 10),
        vector_bytes: Some(Features::detect().vector_bytes()),
        nodes: inventory.nodes.iter().map(node).collect(),
        cores,
        caches: of_data.map(cache).filter(|cache| !cache.cpus.is_empty()).collect(),
    }
}

/// The server of `description`, as an operating system on it would list it; `None` of another kind of machine.
pub fn computer_of_server(description: &Description) -> Option<ComputerRow> {
    let topology = Topology::new(description);
    let (package, slice) = (topology.package()?, description.l3_slice.as_ref()?);
    // A socket is a router of the topology.
    let socket_of_node = |node: NodeId| topology.nodes()[node.index()].router.0;
    let nodes: Vec<NodeId> = (0..topology.nodes().len() as u16).map(NodeId).collect();
    let distance = |from: NodeId, to: NodeId| match (from == to, socket_of_node(from) == socket_of_node(to)) {
        (true, _) => DISTANCES[0],
        (false, true) => DISTANCES[1],
        (false, false) => DISTANCES[2],
    };
    let node = |&node: &NodeId| ComputerNode {
        node,
        memory_kib: description.topology.node_memory.0 >> 10,
        distances: nodes.iter().map(|&to| distance(node, to)).collect(),
    };
    let cores = nodes.iter().flat_map(|&node| {
        let socket = socket_of_node(node);
        let core = |cpu| ComputerCore { cpus: topology.threads_of(cpu).collect(), node, socket };
        topology.cpus_of(node).map(core).collect::<Vec<_>>()
    });
    let shadow_tags = slice.kind == SliceKind::ShadowTags;
    Some(ComputerRow {
        machine: description.name.clone(),
        vendor: Some(MAKERS[usize::from(shadow_tags)].to_owned()),
        model: None,
        microarchitecture: None,
        page_kib: Some(description.tlb.page.0 >> 10),
        vector_bytes: Some(description.processor.vector.0),
        nodes: nodes.iter().map(node).collect(),
        cores: cores.collect(),
        caches: caches(description, &topology, package),
    })
}

/// The private caches of each core, and the third-level cache of each core cluster.
fn caches(description: &Description, topology: &Topology, package: &Package) -> Vec<ComputerCache> {
    let (cores, all) = (package.cores.len() as u16, topology.processors() as u16);
    let threads = |cores: std::ops::Range<u16>| {
        let mut cpus: Vec<CpuId> = cores.flat_map(|core| topology.threads_of(CpuId(core))).collect();
        cpus.sort_unstable();
        cpus
    };
    let cache = |level: u8, size: Bytes, ways: u32, line: Bytes, inclusive: bool, cpus: Vec<CpuId>| ComputerCache {
        level,
        size_kib: Some(size.0 >> 10),
        line_bytes: Some(line.0),
        ways: Some(ways),
        inclusive: Some(inclusive),
        cpus,
    };
    let mut caches = Vec::new();
    for (number, level) in (1..).zip(description.cache_levels()) {
        let of_core = |cpu| cache(number, level.size, level.ways, level.line, number > 1, threads(cpu..cpu + 1));
        caches.extend((0..all).map(of_core));
    }
    let (Some(slice), outer) = (&description.l3_slice, caches.last().map_or(1, |cache| cache.level + 1)) else {
        return caches;
    };
    let line = description.coherent_cache().line;
    for cluster in 0..package.clusters * (all / cores) {
        let each = cores / package.clusters;
        let cpus = threads(cluster * each..(cluster + 1) * each);
        let size = Bytes(slice.size.0 * package.slices_of(0).len() as u64);
        caches.push(cache(outer, size, slice.ways, line, slice.kind == SliceKind::Inclusive, cpus));
    }
    caches
}
