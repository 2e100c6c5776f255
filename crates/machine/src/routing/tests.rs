//! Tests of the routes of every Origin, of the deadlock check against an independent one, and of tables as text.

use std::collections::VecDeque;

use proptest::prelude::*;
use units::{NodeId, Port, RouterId};

use super::deadlock::{check, find_cycle};
use super::vector::VectorRoutes;
use super::{RoutingError, RoutingTable};
use crate::{Endpoint, Topology, VirtualNetwork, load};

fn topology(processors: u32) -> Topology {
    match load(&format!("origin2000-r12k-300-{processors}p")) {
        Ok(description) => Topology::new(&description),
        Err(error) => panic!("{error}"),
    }
}

fn without_express(processors: u32) -> Topology {
    let mut description = load("arctic").expect("arctic is built in");
    description.topology.processors = processors;
    description.hypercube.as_mut().expect("an Origin").express_links = false;
    Topology::new(&description)
}

/// Routers between `from` and every node, breadth first over the links, without any routing table.
fn distances(topology: &Topology, from: NodeId) -> Vec<u32> {
    let mut routers = vec![u32::MAX; topology.routers().len()];
    let mut nodes = vec![u32::MAX; topology.nodes().len()];
    let first = topology.nodes()[from.index()].router;
    routers[first.index()] = 1;
    let mut frontier = VecDeque::from([first]);
    while let Some(router) = frontier.pop_front() {
        for port in 1..=6 {
            match topology.outgoing(router, Port(port)) {
                Some((_, Endpoint::Node(node))) => nodes[node.index()] = routers[router.index()],
                Some((_, Endpoint::Router(next, _))) if routers[next.index()] == u32::MAX => {
                    routers[next.index()] = routers[router.index()] + 1;
                    frontier.push_back(next);
                }
                _ => {}
            }
        }
    }
    nodes[from.index()] = 0;
    nodes
}

fn assert_sound(topology: &Topology) {
    let size = topology.processors();
    for from in topology.nodes() {
        let expected = distances(topology, from.id);
        for to in topology.nodes() {
            let hops = topology.hops(from.id, to.id);
            assert_eq!(hops, expected[to.id.index()], "{size}P: {:?} to {:?} is not shortest", from.id, to.id);
            assert_eq!(hops, topology.hops(to.id, from.id), "{size}P: {:?} and {:?} differ", from.id, to.id);
        }
    }
    assert_eq!(check(topology, topology.routing_table(VirtualNetwork::Request)), Ok(None), "{size}P can deadlock");
}

#[test]
fn every_origin_is_routed_by_shortest_paths_without_deadlock() {
    for processors in (2..=512).step_by(2) {
        assert_sound(&topology(processors));
    }
}

#[test]
fn cubes_without_express_links_are_sound_too() {
    for processors in (2..=64).step_by(2) {
        assert_sound(&without_express(processors));
    }
}

#[test]
fn one_node_a_router_is_sound_too() {
    let mut description = load("arctic").expect("arctic is built in");
    description.topology.nodes_per_router = 1;
    for processors in [2, 4, 22, 32, 40, 64, 256] {
        description.topology.processors = processors;
        let machine = Topology::new(&description);
        assert_eq!(machine.nodes().len(), machine.routers().iter().filter(|router| !router.is_metarouter()).count());
        assert_sound(&machine);
    }
}

#[test]
fn a_machine_of_one_processor_is_sound_too() {
    let one = "inherit = \"origin2000-r12k-300\"\n[topology]\nprocessors = 1\nprocessors_per_node = 1\n";
    let machine = Topology::new(&crate::parse("one.toml", one).expect("a machine").description);
    assert_eq!((machine.nodes().len(), machine.routers().len(), machine.links().len()), (1, 1, 1));
    assert_sound(&machine);
    assert!(crate::drawing::svg(&machine).contains("1 processor, 1 node, 1 router"));
}

/// FLASH dissertation, Table A.1: the first table forms a cycle over all four routers, the second none.
#[test]
fn the_flash_tables_are_told_apart() {
    let read = |text| VectorRoutes::parse("flash", text, None).expect("a table of routes");
    let deadlock = read(include_str!("../../tables/flash-a1-deadlock.txt"));
    let ring = [(0, 1), (1, 2), (2, 3), (3, 0)].map(|(from, to)| (RouterId(from), RouterId(to)));
    assert_eq!(deadlock.find_cycle(), Some(ring.to_vec()));
    let free = read(include_str!("../../tables/flash-a1-deadlock-free.txt"));
    assert_eq!(free.find_cycle(), None);
    assert_eq!(free.routes().len(), 4);
    assert_eq!(
        [&deadlock, &free].map(|routes| routes.check_pairs("flash", None)),
        [Ok(()), Ok(())],
        "neighbours have links"
    );
}

/// Clockwise routing on the square of a 16-processor Origin is the ring of Table A.1 in a router's own table.
#[test]
fn a_table_that_only_turns_right_deadlocks() {
    let square = without_express(16);
    // From corner to corner 0, 1, 3, 2 and back to 0.
    let next = |router: RouterId| match router.0 {
        0 => Port(6),
        1 => Port(1),
        3 => Port(6),
        _ => Port(1),
    };
    let table = RoutingTable::from_fn(4, 8, |router, node| {
        let own = square.nodes()[node.index()];
        Some(if own.router == router { own.port } else { next(router) })
    });
    let circle = check(&square, &table).expect("every pair is routed").expect("there is a circle");
    let channels: Vec<_> = square.channels().collect();
    let mut routers = circle.iter().map(|channel| channels[channel.index()].from);
    assert_eq!(circle.len(), 4);
    assert!(routers.all(|from| matches!(from, Endpoint::Router(..))));
    // Each channel starts where the one before it ends.
    for (at, channel) in circle.iter().enumerate() {
        let next = channels[circle[(at + 1) % circle.len()].index()];
        let (Endpoint::Router(end, _), Endpoint::Router(start, _)) = (channels[channel.index()].to, next.from) else {
            panic!("the circle passes a node");
        };
        assert_eq!(end, start);
    }
}

#[test]
fn tables_that_lead_nowhere_are_refused() {
    let machine = topology(16);
    let own = machine.routing_table(VirtualNetwork::Request);
    let with = |port: Option<Port>| {
        RoutingTable::from_fn(4, 8, |router, node| {
            if (router, node) == (RouterId(0), NodeId(7)) { port } else { own.exit(router, node) }
        })
    };
    let router = String::from("/hw/module/1/slot/r1/router");
    let (from, to) = (NodeId(0), NodeId(7));
    let refused = |port| check(&machine, &with(port)).expect_err("the table leads nowhere");
    assert_eq!(refused(None), RoutingError::Unrouted { router: router.clone(), from, to });
    assert_eq!(refused(Some(Port(2))), RoutingError::Unconnected { router: router.clone(), to, port: Port(2) });
    assert_eq!(refused(Some(Port(4))), RoutingError::Misdelivered { from, to, delivered: NodeId(1) });
    // The two routers of the first module send packets for node 7 to each other.
    let endless = RoutingTable::from_fn(4, 8, |router, node| match (router.0, node.0) {
        (0, 7) => Some(Port(6)),
        (1, 7) => Some(Port(6)),
        _ => own.exit(router, node),
    });
    assert!(matches!(check(&machine, &endless), Err(RoutingError::Endless { .. })));
    assert!(matches!(endless.path(&machine, from, to), Err(RoutingError::Endless { .. })));
}

#[test]
fn vector_routes_end_at_the_node_they_are_for() {
    let machine = topology(96);
    for from in machine.nodes() {
        for to in machine.nodes().iter().filter(|to| to.id != from.id) {
            let mut at = Endpoint::Router(from.router, from.port);
            for port in machine.vector_route(VirtualNetwork::Request, from.id, to.id) {
                let Endpoint::Router(router, _) = at else { panic!("the route goes on after node {at:?}") };
                at = machine.outgoing(router, port).expect("a connected port").1;
            }
            assert_eq!(at, Endpoint::Node(to.id));
        }
    }
}

#[test]
fn compiled_routes_follow_the_table() {
    let machine = topology(256);
    let routes = machine.routes(VirtualNetwork::Request);
    for (from, to) in [(0u16, 127u16), (127, 0), (5, 90), (64, 1)].map(|(from, to)| (NodeId(from), NodeId(to))) {
        let mut channel = routes.injection(from);
        let mut taken = Vec::new();
        while let Endpoint::Router(router, _) = routes.channel(channel).to {
            channel = routes.exit(router, to);
            taken.push(channel);
        }
        assert_eq!(routes.channel(channel).to, Endpoint::Node(to));
        assert_eq!(
            taken,
            machine.path(VirtualNetwork::Request, from, to).iter().map(|hop| hop.channel).collect::<Vec<_>>()
        );
        assert_eq!(taken.len(), machine.hops(from, to) as usize);
    }
}

/// Whether the dependencies form a cycle, by removing channels without dependencies until none is left (Kahn).
fn closes_a_circle(routes: &[Vec<u8>]) -> bool {
    let mut waits: Vec<(u8, u8)> = routes.iter().flat_map(|route| route.windows(2).map(|w| (w[0], w[1]))).collect();
    loop {
        let before = waits.len();
        let waiting: Vec<u8> = waits.iter().map(|(held, _)| *held).collect();
        waits.retain(|(_, wanted)| waiting.contains(wanted));
        if waits.len() == before {
            return before > 0;
        }
    }
}

proptest! {
    /// The check agrees with repeated pruning, and a cycle that it returns is one.
    #[test]
    fn cycles_are_found_where_there_are_any(
        routes in prop::collection::vec(prop::collection::vec(0u8..12, 0..5), 0..10)
    ) {
        let found = find_cycle(routes.iter().map(|route| route.iter().copied()));
        prop_assert_eq!(found.is_some(), closes_a_circle(&routes));
        if let Some(circle) = found {
            for (at, held) in circle.iter().enumerate() {
                let wanted = circle[(at + 1) % circle.len()];
                prop_assert!(routes.iter().any(|route| route.windows(2).any(|pair| pair == [*held, wanted])));
            }
        }
    }

    /// A table is equal after printing and reading.
    #[test]
    fn tables_survive_printing(ports in prop::collection::vec(0u16..=6, 4 * 8)) {
        let machine = topology(16);
        let table = RoutingTable::from_fn(4, 8, |router, node| {
            Some(ports[router.index() * 8 + node.index()]).filter(|port| *port > 0).map(Port)
        });
        let read = RoutingTable::parse("table", &table.to_text(&machine), &machine);
        prop_assert_eq!(read, Ok(table));
    }
}

#[test]
fn unreadable_tables_are_refused_with_their_line() {
    let machine = topology(16);
    let refusal = |text: &str| match RoutingTable::parse("my.routes", text, &machine) {
        Ok(_) => panic!("{text} was accepted"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        refusal("# mine\n/hw/module/9/slot/r1/router 0:5"),
        "my.routes:2: /hw/module/9/slot/r1/router: there is no such router; accepted: a router's name such as \
         /hw/module/1/slot/r1/router"
    );
    let entry = |word: &str, reason: &str| {
        format!("my.routes:1: {word}: {reason}; accepted: NODE:PORT, node below 8, port 1 to 6")
    };
    let malformed = "this is not a destination and a port";
    for word in ["8:1", "0:7", "0:0", "0-1", ":"] {
        assert_eq!(refusal(&format!("/hw/module/1/slot/r1/router {word}")), entry(word, malformed));
    }
    let twice = "/hw/module/1/slot/r1/router 0:5 0:4";
    assert_eq!(refusal(twice), entry("0:4", "the destination is given twice for this router"));
}

#[test]
fn unreadable_vector_routes_are_refused_with_their_line() {
    let cases = [
        ("0 2: 0 1", "there is no arrow"),
        ("0 -> 2 0 1", "there is no colon"),
        ("0 -> x: 0", "a router is not a number"),
        ("0 -> 2: 1", "the first router on the way is not the source"),
        ("0 -> 2: 0 2", "a router is passed twice"),
    ];
    for (line, reason) in cases {
        let error = VectorRoutes::parse("routes", &format!("\n{line}  # comment"), None).expect_err(line);
        assert_eq!(
            error.to_string(),
            format!("routes:2: {line}: {reason}; accepted: SOURCE -> DESTINATION: SOURCE ROUTER...")
        );
    }
}

#[test]
fn vector_routes_of_a_machine_name_its_routers_and_links() {
    let square = without_express(16);
    let refusal = |text: &str| VectorRoutes::parse("my.routes", text, Some(&square)).expect_err(text).to_string();
    let name = square.name();
    let unknown = format!("my.routes:2: 0 -> 9: 0 1: there is no router 9; accepted: routers of {name}, 0 to 3");
    assert_eq!(refusal("# mine\n0 -> 9: 0 1"), unknown);
    assert!(
        refusal("0 -> 3: 0 2\n0 -> 3: 0")
            .contains("my.routes:2: 0 -> 3: 0: there is no link from router 0 to router 3")
    );
    let diagonals = "0 -> 3: 0 1\n3 -> 0: 3 1\n1 -> 2: 1 0\n2 -> 1: 2 0\n";
    assert_eq!(VectorRoutes::parse("my.routes", diagonals, Some(&square)).map(|routes| routes.routes().len()), Ok(4));
}

#[test]
fn pairs_without_a_route_are_told() {
    let square = without_express(16);
    let said = |text: &str, machine: Option<&Topology>| {
        let routes = VectorRoutes::parse("my.routes", text, machine.map(|machine| &**machine)).expect("routes");
        routes.check_pairs("my.routes", machine.map(|machine| &**machine)).map_err(|error| error.to_string())
    };
    let lacking = |pairs: &str| {
        let accepted = "a line for each pair of routers without a link";
        Err(format!("my.routes: there is no route from router {pairs}; accepted: {accepted}"))
    };
    assert_eq!(said("0 -> 3: 0 1", Some(&square)), lacking("1 to router 2, nor for 2 other pairs"));
    assert_eq!(said("0 -> 3: 0 1\n3 -> 0: 3 1\n1 -> 2: 1 0", Some(&square)), lacking("2 to router 1"));
    // Without a machine, links are those of routes: the way back from 3 to 0 is missing, and no more.
    assert_eq!(said("0 -> 3: 0 1", None), lacking("3 to router 0"));
    assert_eq!(said("0 -> 1: 0\n2 -> 3: 2", None), lacking("0 to router 2, nor for 7 other pairs"));
}

/// Packets of an SCI ring go onwards alone: a route backwards has no link, and the neighbour behind needs a route.
#[test]
fn links_of_a_ring_are_routed_one_way() {
    let ring = Topology::new(&load("sci-ring-3p").expect("a ring"));
    let parse = |text: &str| VectorRoutes::parse("my.routes", text, Some(&ring));
    let backwards = parse("1 -> 0: 1").expect_err("a link of the other direction").to_string();
    assert!(backwards.contains("there is no link from router 1 to router 0"), "{backwards}");
    let (one, all) = ("1 -> 0: 1 2\n", "1 -> 0: 1 2\n2 -> 1: 2 0\n0 -> 2: 0 1\n");
    let lacks = parse(one).expect("a route").check_pairs("my.routes", Some(&ring)).expect_err("two more pairs");
    assert!(lacks.to_string().contains("router 0 to router 2, nor for another pair"), "{lacks}");
    assert_eq!(parse(all).expect("routes").check_pairs("my.routes", Some(&ring)), Ok(()));
}
