//! Placement of a set of memory locality domains, as close to a node as its topology allows (Prestor 2001, 3.3.2).

use machine::Topology;
use machine::description::{DomainTopology, OsSpec};
use units::NodeId;

/// The centre nodes of a set of `count` domains, in the order in which threads are assigned to them: near the node that
/// `spec` names, in the topology that it names. Fewer if the machine has fewer nodes with processors.
pub fn domain_nodes(spec: &OsSpec, topology: &Topology, count: usize) -> Vec<NodeId> {
    let nodes = topology.nodes_with_processors();
    let near = NodeId((spec.domain_affinity_node as usize % nodes) as u16);
    let count = count.min(nodes);
    match spec.domain_topology {
        DomainTopology::Any => (0..count).map(|step| NodeId(((near.index() + step) % nodes) as u16)).collect(),
        DomainTopology::Cluster => cluster(topology, near, count),
        DomainTopology::Cube => cube(topology, near, count).unwrap_or_else(|| cluster(topology, near, count)),
    }
}

/// Nodes chosen one after another, each the nearest to all before it together; the lowest number wins a tie.
fn cluster(topology: &Topology, near: NodeId, count: usize) -> Vec<NodeId> {
    let mut chosen = vec![near];
    while chosen.len() < count {
        let others = (0..topology.nodes_with_processors() as u16).map(NodeId).filter(|node| !chosen.contains(node));
        let distance = |node: &NodeId| chosen.iter().map(|&other| topology.hops(other, *node)).sum::<u32>();
        let Some(next) = others.min_by_key(|node| (distance(node), *node)) else { break };
        chosen.push(next);
    }
    chosen
}

/// The nodes of a subcube of at least `count` nodes around `near`, in the dimensions with the fewest hops in total, cut
/// to `count`. `None` if the machine has no complete subcube of that size.
fn cube(topology: &Topology, near: NodeId, count: usize) -> Option<Vec<NodeId>> {
    let nodes = topology.nodes_with_processors();
    let (dimensions, bits) = (count.next_power_of_two().trailing_zeros(), nodes.next_power_of_two().trailing_zeros());
    let members = |mask: u16| {
        let all = (0..1u16 << bits).map(NodeId).filter(|node| (node.0 ^ near.0) & !mask == 0).collect::<Vec<_>>();
        all.iter().all(|node| node.index() < nodes).then_some(all)
    };
    let width = |members: &Vec<NodeId>| {
        let pairs = members.iter().flat_map(|from| members.iter().map(move |to| topology.hops(*from, *to)));
        pairs.sum::<u32>()
    };
    let masks = (0..1u16 << bits).filter(|mask| mask.count_ones() == dimensions);
    let mut found = masks.filter_map(members).min_by_key(width)?;
    found.truncate(count);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(machine: &str, topology: DomainTopology, near: u32, count: usize) -> Vec<u16> {
        let description = machine::load(machine).expect("a machine");
        let spec = OsSpec { domain_topology: topology, domain_affinity_node: near, ..description.os.clone() };
        domain_nodes(&spec, &Topology::new(&description), count).into_iter().map(|node| node.0).collect()
    }

    #[test]
    fn sets_lie_near_the_node_that_was_asked_for() {
        let machine = "origin2000-r12k-300-32p";
        assert_eq!(nodes(machine, DomainTopology::Any, 14, 4), [14, 15, 0, 1]);
        let cluster = nodes(machine, DomainTopology::Cluster, 6, 4);
        assert_eq!(cluster[..2], [6, 7], "the neighbour at the router first");
        let cube = nodes(machine, DomainTopology::Cube, 13, 4);
        assert_eq!(cube.len(), 4);
        assert!(cube.contains(&13) && cube.contains(&12), "one dimension is the router: {cube:?}");
        assert!(cube.iter().all(|node| cube.iter().filter(|other| (*other ^ node).count_ones() == 1).count() == 2));
    }

    #[test]
    fn a_set_larger_than_the_machine_is_the_machine() {
        for topology in [DomainTopology::Any, DomainTopology::Cluster, DomainTopology::Cube] {
            let mut all = nodes("flash-6p", topology, 2, 9);
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 5], "{topology:?}");
        }
    }
}
