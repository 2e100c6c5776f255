//! The processors of a program's threads (`os.threads`).

use machine::description::{PlacementKind, ThreadOrder};
use machine::{Description, Topology};
use units::{CpuId, NodeId};

/// The processor of each of `threads` threads, unless a scheduler decides. Each has a core of its own as long as there is one; more
/// take the second hardware threads of cores in the same order, and so on. Siblings share cores from the start.
pub(crate) fn thread_order(description: &Description, topology: &Topology, threads: usize) -> Vec<CpuId> {
    let all = topology.processors() as usize;
    let cores = core_order(description, topology, threads.min(all));
    if description.os.threads == ThreadOrder::Siblings {
        return cores.into_iter().flat_map(|core| topology.threads_of(core)).take(threads).collect();
    }
    if threads <= all {
        return cores;
    }
    let further = |further: usize| cores.iter().map(move |core| CpuId((further * all) as u16 + core.0));
    (0..threads.div_ceil(all)).flat_map(further).take(threads).collect()
}

/// The core of each of `threads` threads, no more than there are. Threads follow a set of memory locality domains to where it is
/// placed (Prestor 2001, 3.3.2).
fn core_order(description: &Description, topology: &Topology, threads: usize) -> Vec<CpuId> {
    let (os, all) = (&description.os, topology.processors());
    if os.placement == PlacementKind::Domains {
        let nodes = threads.div_ceil(description.topology.processors_per_node as usize);
        let centres = sim::domain_nodes(os, topology, nodes);
        return centres.into_iter().flat_map(|node| topology.cpus_of(node)).take(threads).collect();
    }
    let numbers = || (0..all as u16).map(CpuId);
    match os.threads {
        ThreadOrder::Compact | ThreadOrder::Siblings => numbers().take(threads).collect(),
        // The places of OpenMP 5.2, 10.1.3: as many equal parts as threads, of each the first.
        ThreadOrder::Spread => {
            (0..threads).map(|thread| CpuId((thread * all as usize / threads.max(1)) as u16)).collect()
        }
        ThreadOrder::Scatter => Groups::of(description, topology).scattered(numbers()).take(threads).collect(),
        ThreadOrder::Clusters => {
            let groups = Groups::of(description, topology);
            in_turn(numbers().collect(), |cpu| groups.cluster(cpu)).into_iter().take(threads).collect()
        }
    }
}

/// The groups that processors belong to, each by its number.
struct Groups<'t> {
    topology: &'t Topology,
    /// Processors of a socket, of a core cluster; of a node on machines without.
    socket: u16,
    cluster: u16,
}

impl<'t> Groups<'t> {
    fn of(description: &Description, topology: &'t Topology) -> Self {
        let spec = &description.topology;
        let (socket, cluster) = match &description.server {
            Some(server) => {
                let socket = spec.processors / server.sockets;
                (socket, socket / server.clusters_per_socket)
            }
            None => (spec.processors_per_node, spec.processors_per_node),
        };
        Self { topology, socket: socket.max(1) as u16, cluster: cluster.max(1) as u16 }
    }

    fn cluster(&self, cpu: CpuId) -> u16 {
        cpu.0 / self.cluster
    }

    fn node(&self, cpu: CpuId) -> NodeId {
        self.topology.node_of(cpu).unwrap_or_default()
    }

    /// Sockets in turn, of each socket the nodes, of each node the clusters.
    fn scattered(&self, cpus: impl Iterator<Item = CpuId>) -> impl Iterator<Item = CpuId> {
        let by_cluster = in_turn(cpus.collect(), |cpu| self.cluster(cpu));
        let by_node = in_turn(by_cluster, |cpu| self.node(cpu));
        in_turn(by_node, |cpu| cpu.0 / self.socket).into_iter()
    }
}

/// Processors of the groups in turn, each group's in their order.
fn in_turn<G: Ord>(cpus: Vec<CpuId>, group: impl Fn(CpuId) -> G) -> Vec<CpuId> {
    let mut met = std::collections::BTreeMap::new();
    let mut turns: Vec<(usize, G, CpuId)> = Vec::with_capacity(cpus.len());
    for cpu in cpus {
        let of = group(cpu);
        let turn = met.entry(group(cpu)).or_insert(0);
        turns.push((*turn, of, cpu));
        *turn += 1;
    }
    turns.sort_by(|(a, of_a, _), (b, of_b, _)| (a, of_a).cmp(&(b, of_b)));
    turns.into_iter().map(|(_, _, cpu)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(machine: &str, threads: usize) -> Vec<u16> {
        let description = crate::variant::load(machine).unwrap_or_else(|error| panic!("{error}"));
        let topology = Topology::new(&description);
        thread_order(&description, &topology, threads).into_iter().map(|cpu| cpu.0).collect()
    }

    #[test]
    fn threads_take_processors_in_the_order_that_the_machine_says() {
        assert_eq!(order("xeon-6252n-2s", 4), [0, 1, 2, 3]);
        assert_eq!(order("xeon-6252n-2s+threads=spread", 4), [0, 12, 24, 36]);
        assert_eq!(order("xeon-6252n-2s+threads=scatter", 4), [0, 24, 1, 25]);
        assert_eq!(order("xeon-6252n-2s+threads=clusters", 4), [0, 24, 1, 25], "a socket has one cluster");
        // Core clusters of four, four of them a node, four nodes a socket.
        assert_eq!(order("epyc-7702-2s+threads=scatter", 10), [0, 64, 16, 80, 32, 96, 48, 112, 4, 68]);
        assert_eq!(order("epyc-7702-2s+threads=clusters", 6), [0, 4, 8, 12, 16, 20]);
        assert_eq!(order("epyc-7702-2s+threads=clusters", 34)[31..], [124, 1, 5]);
        assert_eq!(order("flash-8p+threads=scatter", 8), [0, 1, 2, 3, 4, 5, 6, 7], "a node has one processor");
        assert_eq!(order("origin2000-r12k-300-8p+threads=scatter", 5), [0, 2, 4, 6, 1]);
        assert_eq!(
            order("xeon-6252n-2s+smt=2+threads=scatter", 50)[47..],
            [47, 48, 72],
            "no core has a second thread before all have one"
        );
        assert_eq!(order("xeon-6252n-2s+smt=2+threads=siblings", 5), [0, 48, 1, 49, 2]);
        assert_eq!(order("xeon-6252n-2s+smt=2+threads=siblings", 96)[94..], [47, 95]);
        let domains = "origin2000-r12k-300-8p+placement=mld";
        assert_eq!(order(&format!("{domains}+threads=scatter"), 3), order(domains, 3), "threads follow domains");
        let mut all = order("epyc-7702-2s+nps=1+threads=scatter", 128);
        all.sort_unstable();
        assert_eq!(all, (0..128).collect::<Vec<_>>(), "each processor once");
    }
}
