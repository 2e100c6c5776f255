//! Origin topologies against the thesis's tables.

use units::{CpuId, NodeId, Port, RouterId};

use crate::{Endpoint, LinkClass, Topology, VirtualNetwork, load};

fn topology(name: &str) -> Topology {
    match load(name) {
        Ok(description) => Topology::new(&description),
        Err(error) => panic!("{error}"),
    }
}

/// The number of nodes at each distance in hops from node 1.
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

/// The lines that the `topology` command of Prestor 3.3.1 prints for a port.
fn listed(topology: &Topology, router: u16, port: u16) -> Option<String> {
    let (_, end) = topology.outgoing(RouterId(router), Port(port))?;
    Some(format!("{}/{port} -> {}", topology.routers()[usize::from(router)].path(), topology.path_of(end)))
}

/// Prestor 3.3.1, Hardware Graph: names of nodes, processors and routers, and the ports of a 16-processor system.
#[test]
fn the_hardware_graph_of_a_sixteen_processor_system() {
    let bitmap = topology("bitmap");
    let nodes: Vec<_> = bitmap.nodes().iter().map(crate::Node::path).collect();
    let slots = (1..=2).flat_map(|module| (1..=4).map(move |slot| format!("/hw/module/{module}/slot/n{slot}/node")));
    assert_eq!(nodes, slots.collect::<Vec<_>>());
    let routers: Vec<_> = bitmap.routers().iter().map(crate::Router::path).collect();
    let slots = (1..=2).flat_map(|module| (1..=2).map(move |slot| format!("/hw/module/{module}/slot/r{slot}/router")));
    assert_eq!(routers, slots.collect::<Vec<_>>());
    let lines = [
        (0, 1, "/hw/module/1/slot/r1/router/1 -> /hw/module/2/slot/r1/router"),
        (0, 4, "/hw/module/1/slot/r1/router/4 -> /hw/module/1/slot/n2/node"),
        (0, 5, "/hw/module/1/slot/r1/router/5 -> /hw/module/1/slot/n1/node"),
        (0, 6, "/hw/module/1/slot/r1/router/6 -> /hw/module/1/slot/r2/router"),
        (1, 1, "/hw/module/1/slot/r2/router/1 -> /hw/module/2/slot/r2/router"),
    ];
    for (router, port, line) in lines {
        assert_eq!(listed(&bitmap, router, port).as_deref(), Some(line));
    }
    assert_eq!(listed(&bitmap, 0, 2), None);
    assert_eq!(bitmap.cpu_path(CpuId(0)).as_deref(), Some("/hw/module/1/slot/n1/node/cpu/a"));
    assert_eq!(bitmap.cpu_path(CpuId(15)).as_deref(), Some("/hw/module/2/slot/n4/node/cpu/b"));
    assert_eq!(bitmap.cpu_path(CpuId(16)), None);
}

#[test]
fn processors_and_nodes_belong_to_each_other() {
    let machine = topology("origin2000-r12k-400-30p");
    assert_eq!(machine.processors(), 30);
    for cpu in (0..30).map(CpuId) {
        let node = machine.node_of(cpu).expect("every processor has a node");
        assert!(machine.cpus_of(node).any(|other| other == cpu));
    }
    assert_eq!(machine.node_of(CpuId(30)), None);
}

/// Prestor Figures 3.5 and 3.6: express links in 16 and 32-processor systems, one metarouter a corner and four cubes.
#[test]
fn links_of_each_size() {
    use LinkClass::{BetweenMetarouters, CubeCable, Express, Metarouter};
    let count = |processors: u32, class| {
        let machine = topology(&format!("origin2000-r12k-300-{processors}p"));
        machine.links().iter().filter(|link| link.class == class).count()
    };
    for (processors, express, cube) in
        [(2, 0, 0), (4, 0, 0), (8, 0, 0), (16, 2, 0), (32, 4, 0), (64, 0, 8), (128, 0, 0)]
    {
        assert_eq!((count(processors, Express), count(processors, CubeCable)), (express, cube), "{processors}P");
    }
    for (processors, up, between) in [(64, 0, 0), (96, 24, 0), (128, 32, 0), (256, 64, 8), (512, 128, 32)] {
        assert_eq!(
            (count(processors, Metarouter), count(processors, BetweenMetarouters)),
            (up, between),
            "{processors}P"
        );
    }
    assert!(!topology("lego-oil").links().iter().any(|link| link.class == Express));
}

#[test]
fn both_ends_of_every_link_know_it() {
    for processors in [2, 12, 32, 64, 100, 128, 300, 512] {
        let machine = topology(&format!("origin2000-r12k-300-{processors}p"));
        for link in machine.links() {
            for (end, other) in [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])] {
                match end {
                    Endpoint::Node(node) => assert_eq!(machine.nodes()[node.index()].link, link.id),
                    Endpoint::Router(router, port) => {
                        let (channel, leads_to) = machine.outgoing(router, port).expect("a linked port");
                        assert_eq!((channel.link(), leads_to), (link.id, other), "{processors}P");
                    }
                }
            }
        }
        let linked: usize = machine.routers().iter().map(|router| router.ports().count()).sum();
        assert_eq!(linked, 2 * machine.links().len() - machine.nodes().len(), "{processors}P: a port too many");
    }
}

/// Cable lengths as in Prestor 4.3.2: 65 to 180 inches, 8 to 23 ns one way.
#[test]
fn cables_are_as_long_as_the_thesis_says() {
    for name in ["arctic", "stinger"] {
        for link in topology(name).links().iter().filter(|link| link.class.is_cable()) {
            assert!((65.0..=180.0).contains(&link.length.as_inches()), "{name}: {}", link.length);
            assert!((8.0..23.0).contains(&link.delay.as_ns()), "{name}: {}", link.delay);
        }
    }
}

/// Prestor Table 4.13 beyond the calibration on two hops: the cables alone account for the differences between nodes at
/// equal distances of three and four hops, to a few nanoseconds. The figures are back-to-back latencies, thus both
/// ways.
#[test]
fn cable_lengths_explain_the_differences_between_equally_distant_nodes() {
    let arctic = topology("arctic");
    let both_ways = |node: u16| -> f64 {
        let cable = |hop: &crate::Hop| arctic.links()[hop.channel.link().index()].delay.as_ns();
        2.0 * arctic.path(VirtualNetwork::Request, NodeId(1), NodeId(node)).iter().map(cable).sum::<f64>()
    };
    // Nearer node, farther node, and the excess latency of the farther one in nanoseconds.
    for (near, far, slower) in [(6, 12, 12.0), (6, 18, 8.0), (12, 20, 8.0), (14, 22, 9.0), (22, 28, 9.0)] {
        let ours = both_ways(far) - both_ways(near);
        assert!((ours - slower).abs() < 4.0, "node {far} against {near}: {ours} ns, measured {slower} ns");
    }
}
