//! Tests of FLASH's double mesh against the text of Appendix A of the dissertation.

use units::{NodeId, RouterId};

use crate::routing::deadlock;
use crate::{Endpoint, LinkClass, RouterPlace, Topology, VirtualNetwork, load};

fn flash(processors: u32) -> Topology {
    match load(&format!("flash-{processors}p")) {
        Ok(description) => Topology::new(&description),
        Err(error) => panic!("{error}"),
    }
}

/// The number of pairs of different nodes at each distance in hops.
fn histogram(topology: &Topology) -> Vec<u32> {
    let mut counts = vec![0; 6];
    for from in topology.nodes() {
        for to in topology.nodes() {
            counts[topology.hops(from.id, to.id) as usize] += 1;
        }
    }
    counts
}

fn metacube_of(topology: &Topology, node: NodeId) -> u16 {
    match topology.routers()[topology.nodes()[node.index()].router.index()].place {
        RouterPlace::Cluster { metacube, .. } => metacube,
        place => panic!("node {node} is at {place:?}"),
    }
}

#[test]
fn parts_of_each_size() {
    // Columns: processors, cluster routers, mesh routers, cables between metacubes.
    let sizes = [
        (1, 1, 0, 0),
        (4, 1, 0, 0),
        (5, 2, 2, 0),
        (8, 2, 2, 0),
        (16, 4, 2, 0),
        (17, 5, 4, 2),
        (32, 8, 4, 2),
        (48, 12, 6, 6),
        (63, 16, 8, 8),
        (64, 16, 8, 8),
    ];
    for (processors, clusters, meshes, between) in sizes {
        let machine = flash(processors);
        let mesh = machine.routers().iter().filter(|router| router.is_mesh()).count();
        assert_eq!((machine.nodes().len(), machine.processors()), (processors as usize, processors));
        assert_eq!((machine.routers().len() - mesh, mesh), (clusters, meshes), "{processors}P");
        let count = |class| machine.links().iter().filter(|link| link.class == class).count();
        let [request, reply] =
            VirtualNetwork::ALL.map(|network| (LinkClass::Cluster(network), LinkClass::Metacube(network)));
        let cables = if meshes > 0 { clusters } else { 0 };
        assert_eq!((count(request.0), count(reply.0)), (cables, cables), "{processors}P");
        assert_eq!((count(request.1), count(reply.1)), (between / 2, between / 2), "{processors}P");
        assert_eq!(count(LinkClass::Node), processors as usize);
        assert_eq!(machine.separates_replies(), meshes > 0, "{processors}P");
    }
}

/// Figure A.5 as reconstructed: 16 cluster and 8 mesh routers, without a free port.
#[test]
fn the_largest_machine_uses_every_port() {
    let machine = flash(64);
    assert_eq!(machine.routers().len(), 24);
    assert!(machine.routers().iter().all(|router| router.ports().count() == 6));
}

#[test]
fn distances() {
    assert_eq!(histogram(&flash(1)), [1, 0, 0, 0, 0, 0]);
    assert_eq!(histogram(&flash(4)), [4, 12, 0, 0, 0, 0]);
    assert_eq!(histogram(&flash(8)), [8, 24, 0, 32, 0, 0]);
    assert_eq!(histogram(&flash(16)), [16, 48, 0, 16 * 12, 0, 0]);
    // Two or three metacubes are all neighbours.
    assert_eq!(histogram(&flash(32)), [32, 32 * 3, 0, 32 * 12, 32 * 16, 0]);
    assert_eq!(histogram(&flash(48)), [48, 48 * 3, 0, 48 * 12, 48 * 32, 0]);
    // One of four metacubes is opposite.
    assert_eq!(histogram(&flash(64)), [64, 64 * 3, 0, 64 * 12, 64 * 32, 64 * 16]);
}

/// Appendix A on Figure A.5: twice the bisection between metacubes 0 and 1 as between 0 and 2 or 0 and 3.
#[test]
fn bisection_between_metacubes() {
    let machine = flash(64);
    let metacube = |end| match end {
        Endpoint::Router(router, _) => match machine.routers()[router.index()].place {
            RouterPlace::Mesh { metacube, .. } => Some(metacube),
            _ => None,
        },
        Endpoint::Node(_) => None,
    };
    let cables = |from, to| {
        let joins = |ends: [Endpoint; 2]| {
            let ends = ends.map(metacube);
            ends == [Some(from), Some(to)] || ends == [Some(to), Some(from)]
        };
        machine.links().iter().filter(|link| from != to && joins(link.ends)).count()
    };
    assert_eq!([cables(0, 1), cables(0, 2), cables(0, 3)], [2, 1, 1]);
    assert_eq!([cables(2, 3), cables(1, 2), cables(1, 3)], [2, 1, 1]);
}

/// Every size and both networks: routed, as short as the metacubes allow, in the mesh of the network alone, and
/// deadlock-free.
#[test]
fn every_size_is_routed_without_deadlock_by_the_mesh_of_each_network() {
    for processors in 1..=64 {
        let machine = flash(processors);
        for network in VirtualNetwork::ALL {
            for from in machine.nodes() {
                for to in machine.nodes() {
                    assert_route(&machine, network, from.id, to.id);
                }
            }
            let found = deadlock::check(&machine, machine.routing_table(network));
            assert_eq!(found, Ok(None), "{processors}P: {network} network");
        }
    }
}

fn assert_route(machine: &Topology, network: VirtualNetwork, from: NodeId, to: NodeId) {
    let path = machine.path(network, from, to);
    let size = machine.processors();
    let places: Vec<_> = path.iter().map(|hop| machine.routers()[hop.router.index()].place).collect();
    for (at, place) in places.iter().enumerate() {
        match place {
            RouterPlace::Cluster { .. } => assert!(at == 0 || at + 1 == places.len(), "{size}P: {from} to {to}"),
            RouterPlace::Mesh { network: its, .. } => assert_eq!(*its, network, "{size}P: {from} to {to}"),
            place => panic!("{size}P: {place:?}"),
        }
    }
    let cluster = |node: NodeId| machine.nodes()[node.index()].router;
    let (home, away) = (metacube_of(machine, from), metacube_of(machine, to));
    // In the whole ring of four, the opposite metacube is one hop further.
    let order = if network == VirtualNetwork::Request { [0, 1, 2, 3] } else { [0, 1, 3, 2] };
    let place = |metacube| order.iter().position(|its| *its == metacube).expect("one of four");
    let opposite = size > 48 && place(home).abs_diff(place(away)) == 2;
    let expected = match () {
        () if from == to => 0,
        () if cluster(from) == cluster(to) => 1,
        () if home == away => 3,
        () => 4 + usize::from(opposite),
    };
    assert_eq!(path.len(), expected, "{size}P: {network} from {from} to {to}");
    assert_eq!(machine.routes(network).hops(from, to) as usize, expected);
}

/// The check detects a cycle: requests that all go round the ring in the same direction form one, as in the first half
/// of Table A.1.
#[test]
fn a_ring_that_only_goes_onwards_deadlocks() {
    use crate::routing::RoutingTable;
    let machine = flash(64);
    let own = machine.routing_table(VirtualNetwork::Request);
    let table = RoutingTable::from_fn(24, 64, |router, node| {
        let onwards = match machine.routers()[router.index()].place {
            RouterPlace::Mesh { metacube, network: VirtualNetwork::Request } => metacube != metacube_of(&machine, node),
            _ => false,
        };
        if onwards { Some(units::Port(5)) } else { own.exit(router, node) }
    });
    let circle = deadlock::check(&machine, &table).expect("every pair is routed").expect("a circle");
    assert_eq!(circle.len(), 4);
}

#[test]
fn names_in_the_hardware_graph() {
    let machine = flash(20);
    let path = |router: u16| machine.routers()[RouterId(router).index()].path();
    assert_eq!(machine.nodes()[6].path(), "/hw/module/2/slot/n3/node");
    assert_eq!(machine.nodes()[19].path(), "/hw/module/5/slot/n4/node");
    assert_eq!((path(0).as_str(), path(4).as_str()), ("/hw/module/1/slot/r1/router", "/hw/module/5/slot/r1/router"));
    assert_eq!(
        (path(5), path(6)),
        ("/hw/module/6/slot/r1/meshrouter".into(), "/hw/module/6/slot/r2/meshrouter".into())
    );
    assert_eq!(path(8), "/hw/module/7/slot/r2/meshrouter");
    let mut names: Vec<_> = machine.routers().iter().map(crate::Router::path).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), machine.routers().len());
}
