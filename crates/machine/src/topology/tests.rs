//! Origin topologies against the thesis's tables.

use units::NodeId;

use crate::{Topology, load};

fn topology(name: &str) -> Topology {
    match load(name) {
        Ok(description) => Topology::new(&description),
        Err(error) => panic!("{error}"),
    }
}

/// How many nodes are how many hops from node 1, by hops.
fn histogram(topology: &Topology) -> Vec<u32> {
    let mut counts = Vec::new();
    for node in topology.nodes() {
        let hops = topology.hops(NodeId(1), node.id) as usize;
        counts.resize(counts.len().max(hops + 1), 0);
        counts[hops] += 1;
    }
    counts
}

/// Prestor Tables 4.12 and 4.14 (the latter without the home node itself, at 0 hops).
#[test]
fn distances_of_the_thesis_systems() {
    assert_eq!(histogram(&topology("arctic")), [1, 1, 8, 12, 8, 2]);
    assert_eq!(histogram(&topology("stinger")), [1, 1, 6, 12, 20, 18, 6]);
    assert_eq!(histogram(&topology("lego-oil")), [1, 1, 6, 6, 2]);
    assert_eq!(histogram(&topology("bootleg")), [1, 1, 6, 6, 2]);
}

/// Prestor Table 4.13, column hops.
#[test]
fn hops_of_every_node_of_arctic_from_node_1() {
    let arctic = topology("arctic");
    let rows: [(u32, &[u16]); 6] = [
        (0, &[1]),
        (1, &[0]),
        (2, &[2, 3, 4, 5, 8, 9, 16, 17]),
        (3, &[6, 7, 10, 11, 12, 13, 18, 19, 20, 21, 24, 25]),
        (4, &[14, 15, 22, 23, 26, 27, 28, 29]),
        (5, &[30, 31]),
    ];
    for (hops, nodes) in rows {
        for node in nodes {
            assert_eq!(arctic.hops(NodeId(1), NodeId(*node)), hops, "node {node}");
        }
    }
}
