//! The structure of a server, taken from what its operating system and its processors announce: sockets, nodes, core clusters, caches.

use record::{ComputerCache, ComputerCore, ComputerRow};
use units::{Bytes, CpuId, NodeId};

use crate::fitting::neighbours::Caches;

/// The family of processors whose values stand where nothing was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    /// Rings, and an inclusive third-level cache.
    HaswellEp,
    /// A mesh, and a third-level cache for lines that left the cores' caches.
    SkylakeSp,
    /// Core clusters with a third-level cache each around an I/O die.
    Zen2,
}

impl Family {
    /// The name of its description.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HaswellEp => "haswell-ep",
            Self::SkylakeSp => "skylake-sp",
            Self::Zen2 => "zen2",
        }
    }
}

/// Size and ways of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) size: Bytes,
    pub(super) ways: u32,
}

/// The distance between two cores, from nearest to farthest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Nearness {
    SameCluster,
    SameNode,
    SameSocket,
    OtherSocket,
}

/// The structure of a server.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Structure {
    pub(super) title: String,
    pub(super) family: Family,
    pub(super) microarchitecture: Option<String>,
    /// Bytes of an access of the STREAM loops that were measured, if a description can hold them.
    pub(super) vector: Option<Bytes>,
    pub(super) sockets: u32,
    pub(super) nodes_per_socket: u32,
    pub(super) clusters_per_socket: u32,
    pub(super) cores_per_socket: u32,
    /// Nodes without processors.
    pub(super) memory_nodes: u32,
    /// Memory of the poorest node that has any.
    pub(super) node_memory: Bytes,
    pub(super) line: Bytes,
    /// A base page.
    pub(super) page: Bytes,
    pub(super) l1: Shape,
    pub(super) l2: Shape,
    /// The third-level cache of a core cluster.
    pub(super) l3: Shape,
    pub(super) slices_per_cluster: u32,
    /// Hardware threads of a core.
    pub(super) threads: u32,
    /// Properties that a description cannot hold, in words.
    pub(super) lost: Vec<String>,
    /// By number in the description, the first thread of each core of the machine, and the machine's nodes.
    cpus: Vec<CpuId>,
    nodes: Vec<NodeId>,
}

/// A core with the groups that it belongs to.
struct Member<'a> {
    core: &'a ComputerCore,
    /// The first processor of its core cluster.
    cluster: CpuId,
}

/// The base page where none is announced, of x86-64.
const USUAL_PAGE_KIB: u64 = 4;
/// Ways where none are announced.
const USUAL_WAYS: u32 = 16;
/// The largest slice that a description holds.
const LARGEST_SLICE: u64 = 64 << 20;
/// The least memory of a node in a description, and the most, in mebibytes.
const NODE_MEMORY: (u64, u64) = (64, 4096);

impl Structure {
    /// The structure of `computer`.
    ///
    /// # Errors
    /// When it is not announced, or a description of a server cannot hold it, in words.
    pub(super) fn of(computer: &ComputerRow) -> Result<Self, String> {
        let mut lost = Vec::new();
        let first = computer.cores.first().and_then(|core| core.cpus.first()).ok_or("no core is announced")?;
        let private = |level: u8| cache_of(computer, *first, level);
        let (l1, l2) = (private(1).ok_or("no first-level cache is announced")?, private(2));
        let l2 = l2.ok_or("no second-level cache is announced")?;
        let l3 = computer
            .caches
            .iter()
            .filter(|cache| cache.level > 2 && cache.cpus.contains(first))
            .max_by_key(|c| c.level);
        let members = members(computer, l3.map(|cache| cache.level));
        let counts = Counts::of(&members)?;
        let of_cores = || computer.cores.iter().map(|core| core.cpus.len() as u32);
        let (threads, most) = (of_cores().min().unwrap_or(1).max(1), of_cores().max().unwrap_or(1));
        if threads < most {
            lost.push(format!("{most} hardware threads of some cores: {threads} of each are described"));
        }
        if members.iter().filter(|member| l2.cpus.contains(&member.core.cpus[0])).count() > 1 {
            lost.push("a second-level cache that cores share: described as one of each core".to_owned());
        }
        let line = Bytes(l1.line_bytes.unwrap_or(64));
        let inclusive = l3.is_some_and(|cache| cache.inclusive == Some(true));
        let l3 = match l3 {
            Some(cache) => shape(cache, line, "third-level cache", &mut lost)?,
            None => {
                lost.push("no third-level cache is announced: described as the smallest".to_owned());
                let least = u64::from(USUAL_WAYS) * line.0 * u64::from(counts.cores_per_cluster());
                Shape { size: Bytes(least), ways: USUAL_WAYS }
            }
        };
        let (sets, most) = (l3.size.0 / (u64::from(l3.ways) * line.0), l3.size.0.div_ceil(LARGEST_SLICE));
        let slices_per_cluster = slices(sets, u64::from(counts.cores_per_cluster()).max(most)) as u32;
        let nodes = nodes(computer, &members, &mut lost)?;
        lost.extend(stand_in(computer, inclusive));
        let with_memory = computer.nodes.iter().map(|node| node.memory_kib).filter(|&kib| kib > 0).min();
        let mib = (with_memory.unwrap_or(0) >> 10).clamp(NODE_MEMORY.0, NODE_MEMORY.1);
        let with_cores = counts.sockets * counts.nodes_per_socket;
        Ok(Self {
            title: computer.model.clone().unwrap_or_else(|| computer.machine.clone()),
            family: family(computer, inclusive),
            microarchitecture: computer.microarchitecture.clone(),
            vector: computer.vector_bytes.filter(|bytes| [8, 16, 32, 64].contains(bytes)).map(Bytes),
            sockets: counts.sockets,
            nodes_per_socket: counts.nodes_per_socket,
            clusters_per_socket: counts.clusters_per_socket,
            cores_per_socket: counts.cores_per_socket,
            memory_nodes: nodes.len() as u32 - with_cores,
            node_memory: Bytes::from_mib(1 << mib.ilog2()),
            line,
            page: Bytes::from_kib(computer.page_kib.unwrap_or(USUAL_PAGE_KIB)),
            l1: shape(l1, line, "first-level cache", &mut lost)?,
            l2: shape(l2, line, "second-level cache", &mut lost)?,
            l3,
            slices_per_cluster,
            threads,
            lost,
            cpus: members.iter().map(|member| member.core.cpus[0]).collect(),
            nodes,
        })
    }

    /// The caches of a core, and of its cluster.
    pub(super) fn caches(&self) -> Caches {
        Caches { line: self.line, first: self.l1.size, private: self.l2.size, shared: self.l3.size }
    }

    /// Cores in all.
    pub(super) fn cores(&self) -> u32 {
        self.sockets * self.cores_per_socket
    }

    /// Cores of a cluster.
    pub(super) fn cores_per_cluster(&self) -> u32 {
        self.cores_per_socket / self.clusters_per_socket
    }

    /// The number in the description of a processor of the machine; `None` of a further thread of a core.
    pub(super) fn cpu(&self, cpu: CpuId) -> Option<CpuId> {
        self.cpus.iter().position(|&its| its == cpu).map(|number| CpuId(number as u16))
    }

    /// The number in the description of a node of the machine.
    pub(super) fn node(&self, node: NodeId) -> Option<NodeId> {
        self.nodes.iter().position(|&its| its == node).map(|number| NodeId(number as u16))
    }

    /// The node of a core, both as the description numbers them.
    pub(super) fn node_of(&self, cpu: CpuId) -> NodeId {
        NodeId((u32::from(cpu.0) * self.nodes_per_socket / self.cores_per_socket) as u16)
    }

    /// The socket of a node of the description.
    pub(super) fn socket_of(&self, node: NodeId) -> u32 {
        match u32::from(node.0).checked_sub(self.sockets * self.nodes_per_socket) {
            None => u32::from(node.0) / self.nodes_per_socket,
            Some(memory_node) => memory_node % self.sockets,
        }
    }

    /// Whether a node of the description has cores.
    pub(super) fn has_cores(&self, node: NodeId) -> bool {
        u32::from(node.0) < self.sockets * self.nodes_per_socket
    }

    /// The distance between two cores of the description.
    pub(super) fn nearness(&self, one: CpuId, other: CpuId) -> Nearness {
        let group = |size: u32| u32::from(one.0) / size == u32::from(other.0) / size;
        match () {
            () if group(self.cores_per_cluster()) => Nearness::SameCluster,
            () if group(self.cores_per_socket / self.nodes_per_socket) => Nearness::SameNode,
            () if group(self.cores_per_socket) => Nearness::SameSocket,
            () => Nearness::OtherSocket,
        }
    }
}

fn cache_of(computer: &ComputerRow, cpu: CpuId, level: u8) -> Option<&ComputerCache> {
    computer.caches.iter().find(|cache| cache.level == level && cache.cpus.contains(&cpu))
}

/// The first processor of the cluster of a core.
fn cluster_of(computer: &ComputerRow, core: &ComputerCore, outermost: Option<u8>) -> CpuId {
    let (first, socket) = (core.cpus[0], core.socket);
    let shared = outermost.and_then(|level| cache_of(computer, first, level));
    // Without a shared cache, the socket is the cluster.
    let of_socket = || computer.cores.iter().filter(|other| other.socket == socket).map(|other| other.cpus[0]).min();
    shared.and_then(|cache| cache.cpus.first().copied()).or_else(of_socket).unwrap_or(first)
}

/// The cores in the order of the description: by socket, node and cluster.
fn members(computer: &ComputerRow, outermost: Option<u8>) -> Vec<Member<'_>> {
    let usable = computer.cores.iter().filter(|core| !core.cpus.is_empty());
    let mut members: Vec<Member<'_>> =
        usable.map(|core| Member { core, cluster: cluster_of(computer, core, outermost) }).collect();
    members.sort_by_key(|member| (member.core.socket, member.core.node, member.cluster, member.core.cpus[0]));
    members
}

/// How many there are of each group, if all groups of a kind are alike.
struct Counts {
    sockets: u32,
    nodes_per_socket: u32,
    clusters_per_socket: u32,
    cores_per_socket: u32,
}

impl Counts {
    fn of(members: &[Member<'_>]) -> Result<Self, String> {
        let sockets = groups(members, |member| u32::from(member.core.socket));
        let nodes = groups(members, |member| u32::from(member.core.node.0));
        let clusters = groups(members, |member| u32::from(member.cluster.0));
        for (what, sizes) in [("sockets", &sockets), ("nodes", &nodes), ("core clusters", &clusters)] {
            let (least, most) = (sizes.iter().min(), sizes.iter().max());
            if least != most {
                let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
                return Err(format!("its {what} have {} usable cores: all alike can be described", sizes.join(", ")));
            }
        }
        let number = |groups: &[u32]| groups.len() as u32;
        let within = |what: &str, groups: &[u32]| match number(groups) % number(&sockets) {
            0 => Ok(number(groups) / number(&sockets)),
            _ => Err(format!("{} {what} do not lie in {} sockets", groups.len(), sockets.len())),
        };
        let most = machine::description::MOST_SOCKETS;
        if number(&sockets) > most {
            return Err(format!("{} sockets: at most {most} can be described", sockets.len()));
        }
        Ok(Self {
            sockets: number(&sockets),
            nodes_per_socket: within("nodes", &nodes)?,
            clusters_per_socket: within("core clusters", &clusters)?,
            cores_per_socket: sockets[0],
        })
    }

    fn cores_per_cluster(&self) -> u32 {
        self.cores_per_socket / self.clusters_per_socket
    }
}

/// The sizes of the groups that `of` puts members into.
fn groups(members: &[Member<'_>], of: impl Fn(&Member<'_>) -> u32) -> Vec<u32> {
    let mut sizes = std::collections::BTreeMap::new();
    members.iter().for_each(|member| *sizes.entry(of(member)).or_insert(0) += 1);
    sizes.into_values().collect()
}

/// The machine's nodes in the order of the description: those with cores as the cores are, then those with memory alone.
fn nodes(computer: &ComputerRow, members: &[Member<'_>], lost: &mut Vec<String>) -> Result<Vec<NodeId>, String> {
    let mut nodes: Vec<NodeId> = members.iter().map(|member| member.core.node).collect();
    nodes.dedup();
    let elsewhere = |&(index, node): &(usize, &NodeId)| nodes[..index].contains(node);
    if let Some((_, node)) = nodes.iter().enumerate().find(elsewhere) {
        return Err(format!("node {node} has cores of several sockets: a node lies in one socket"));
    }
    let without = |node: &&record::ComputerNode| nodes.contains(&node.node) && node.memory_kib == 0;
    if let Some(node) = computer.nodes.iter().find(without) {
        lost.push(format!("node {} has no usable memory: described with memory", node.node));
    }
    let alone: Vec<NodeId> = computer
        .nodes
        .iter()
        .filter(|node| node.memory_kib > 0 && !nodes.contains(&node.node))
        .map(|n| n.node)
        .collect();
    nodes.extend(alone);
    Ok(nodes)
}

/// The shape of a cache as far as a description can hold it: a power of two of sets, of private caches.
fn shape(cache: &ComputerCache, line: Bytes, what: &str, lost: &mut Vec<String>) -> Result<Shape, String> {
    let size = cache.size_kib.filter(|&kib| kib > 0).map(|kib| kib << 10).ok_or(format!("the {what} has no size"))?;
    let most = machine::description::MOST_WAYS;
    let announced = cache.ways.filter(|ways| (1..=most).contains(ways));
    let ways = announced.filter(|&ways| size.is_multiple_of(u64::from(ways) * line.0));
    if let Some(ways) = ways.filter(|&ways| cache.level > 2 || (size / (u64::from(ways) * line.0)).is_power_of_two()) {
        return Ok(Shape { size: Bytes(size), ways });
    }
    // The number of ways is the one with which most of the size can be described.
    let held = |ways: u32| (u64::from(ways) * line.0) << (size / (u64::from(ways) * line.0)).max(1).ilog2();
    let best =
        (2..=most).max_by_key(|&ways| (held(ways), std::cmp::Reverse(ways.abs_diff(USUAL_WAYS)))).unwrap_or(most);
    let described = Bytes(held(best));
    lost.push(format!("{what} of {} in {:?} ways: described as {described} in {best}", Bytes(size), cache.ways));
    Ok(Shape { size: described, ways: best })
}

/// Slices of a cluster: as many as have a power of two of sets each, and `least` of them or more.
fn slices(sets: u64, least: u64) -> u64 {
    let odd = sets >> sets.trailing_zeros();
    let mut slices = odd;
    while slices < least && slices < sets {
        slices *= 2;
    }
    slices
}

/// Makers whose processors have families here, as CPUID spells them.
const INTEL: [&str; 1] = ["GenuineIntel"];
const AMD: [&str; 2] = ["AuthenticAMD", "HygonGenuine"];

/// The family of the processors. One of Intel's stands in for those of other makers.
fn family(computer: &ComputerRow, inclusive: bool) -> Family {
    match computer.vendor.as_deref() {
        Some(vendor) if AMD.contains(&vendor) => Family::Zen2,
        _ if inclusive => Family::HaswellEp,
        _ => Family::SkylakeSp,
    }
}

/// The family that stands in for that of processors whose maker has none here, in words.
fn stand_in(computer: &ComputerRow, inclusive: bool) -> Option<String> {
    let whose = match computer.vendor.as_deref() {
        Some(vendor) if INTEL.contains(&vendor) || AMD.contains(&vendor) => return None,
        Some(vendor) => format!("{vendor}'s processors"),
        None => "its processors, whose maker is unknown".to_owned(),
    };
    let family = family(computer, inclusive).name();
    Some(format!("the family of {whose}: {family} stands in for it where nothing was measured"))
}

#[cfg(test)]
impl Structure {
    /// Any structure, for tests of what follows from one.
    pub(super) fn of_tests() -> Self {
        tests::of("epyc-7702-2s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn of(machine: &str) -> Structure {
        let description = machine::load(machine).unwrap_or_else(|error| panic!("{error}"));
        let computer = bench::computer_of_server(&description).expect("a server");
        Structure::of(&computer).unwrap_or_else(|error| panic!("{machine}: {error}"))
    }

    #[test]
    fn servers_are_what_they_announce() {
        let shape = |kib: u64, ways| Shape { size: Bytes::from_kib(kib), ways };
        let skylake = of("xeon-8180-2s");
        assert_eq!((skylake.sockets, skylake.nodes_per_socket, skylake.clusters_per_socket), (2, 1, 1));
        assert_eq!((skylake.cores_per_socket, skylake.slices_per_cluster), (28, 28));
        assert_eq!((skylake.l1, skylake.l2, skylake.l3), (shape(32, 8), shape(1024, 16), shape(28 * 1408, 11)));
        assert_eq!((skylake.family, of("xeon-e5-2699v3-2s").family), (Family::SkylakeSp, Family::HaswellEp));
        let rome = of("epyc-7702-2s");
        assert_eq!((rome.family, rome.nodes_per_socket, rome.clusters_per_socket), (Family::Zen2, 4, 16));
        assert_eq!((rome.l3, rome.slices_per_cluster), (shape(16 << 10, 16), 4));
        assert_eq!(rome.nearness(CpuId(0), CpuId(3)), Nearness::SameCluster);
        assert_eq!(rome.nearness(CpuId(0), CpuId(4)), Nearness::SameNode);
        assert_eq!(rome.nearness(CpuId(0), CpuId(16)), Nearness::SameSocket);
        assert_eq!(rome.nearness(CpuId(0), CpuId(64)), Nearness::OtherSocket);
    }

    /// A guest of four nodes, one of them with memory alone, is described by a text that loads.
    #[test]
    fn a_memory_node_is_behind_a_link() {
        let mut computer =
            bench::computer_of_server(&machine::load("xeon-8180-2s").expect("a machine")).expect("a server");
        let memory_kib = 1 << 20;
        computer.nodes.push(record::ComputerNode { node: NodeId(2), memory_kib, distances: vec![20, 30, 10] });
        let structure = Structure::of(&computer).expect("a server");
        assert_eq!((structure.memory_nodes, structure.has_cores(NodeId(2))), (1, false));
        let mut values = super::super::base::values(&structure, 2500.0, true, true);
        values.name_defaults("mine.toml").expect("a description");
        let description = values.described("mine.toml").expect("a description");
        assert_eq!((description.topology.memory_nodes, description.memory_link.is_some()), (1, true));
        let mut platform = bench::SimulatedPlatform::new(description, sim::Options::default()).expect("simulated");
        let placement = bench::Placement::new(NodeId(2), CpuId(0), None);
        let settings = bench::Settings { iterations: 1, lines: Some(16), ..bench::Settings::simulated() };
        let plan = bench::Plan::new(bench::Experiment::LmbenchRead, bench::State::Uown, placement, settings);
        assert!(plan.run(&mut platform).expect("measured").record.min > 100.0);
    }

    /// A maker without a family here, such as Arm, is named beside the family that stands in.
    #[test]
    fn a_family_that_stands_in_is_named() {
        let mut computer =
            bench::computer_of_server(&machine::load("xeon-8180-2s").expect("a machine")).expect("a server");
        let said = |computer: &ComputerRow| Structure::of(computer).expect("a server").lost;
        assert_eq!(said(&computer), [""; 0]);
        computer.vendor = Some("Arm".to_owned());
        let stands_in = "skylake-sp stands in for it where nothing was measured";
        assert_eq!(said(&computer), [format!("the family of Arm's processors: {stands_in}")]);
        computer.vendor = None;
        let unknown = "the family of its processors, whose maker is unknown";
        assert_eq!(said(&computer), [format!("{unknown}: {stands_in}")]);
    }

    #[test]
    fn slices_have_a_power_of_two_of_sets() {
        assert_eq!((slices(57344, 28), slices(57344, 2), slices(1 << 15, 6)), (28, 7, 8));
    }

    #[test]
    fn numbers_of_the_machine_need_not_be_those_of_the_description() {
        let mut computer =
            bench::computer_of_server(&machine::load("xeon-8180-2s").expect("a machine")).expect("a server");
        // Even numbers on one socket, odd ones on the other, and a second thread behind all the first.
        for (number, core) in computer.cores.iter_mut().enumerate() {
            let (socket, core_of_socket) = (number / 28, number % 28);
            let first = (2 * core_of_socket + socket) as u16;
            core.cpus = vec![CpuId(first), CpuId(first + 56)];
        }
        for cache in &mut computer.caches {
            let renamed = |cpu: &CpuId| CpuId(2 * (cpu.0 % 28) + cpu.0 / 28);
            cache.cpus = cache.cpus.iter().map(renamed).collect();
            cache.cpus.sort_unstable();
        }
        let structure = Structure::of(&computer).expect("a server");
        assert_eq!(structure.threads, 2);
        assert_eq!((structure.cpu(CpuId(2)), structure.cpu(CpuId(1))), (Some(CpuId(1)), Some(CpuId(28))));
        assert_eq!(structure.cpu(CpuId(56)), None, "a further thread of a core");
        computer.cores.pop();
        let refused = Structure::of(&computer).expect_err("sockets of 28 and 27 cores");
        assert!(refused.contains("28, 27"), "{refused}");
    }
}
