//! Tests of rings, meshes and stars: parts, shortest routes between every pair, and freedom from deadlock.

use proptest::prelude::*;
use units::{Duration, NodeId, Port, RouterId};

use crate::routing::{RoutingTable, deadlock};
use crate::{Description, Endpoint, LinkClass, RouterPlace, Topology, VirtualNetwork, resolve_changed};

/// The machine `base` with changed keys.
fn described(base: &str, changes: &[(&str, &str)]) -> Description {
    match resolve_changed(base, "changed", "changed", changes) {
        Ok(resolved) => resolved.description,
        Err(error) => panic!("{error}"),
    }
}

fn topology(base: &str, changes: &[(&str, &str)]) -> Topology {
    Topology::new(&described(base, changes))
}

/// A machine of this many nodes of one processor each, more than any controller's limit if need be.
fn of_nodes(kind: &str, nodes: u32, on_router: u32, columns: u32) -> Topology {
    let base = [("topology.kind", kind), ("topology.processors_per_node", "1"), ("topology.nodes_per_router", "1")];
    let mut description = described("origin2000-r12k-300-8p", &base);
    description.topology.processors = nodes;
    description.topology.nodes_per_router = on_router;
    if let Some(mesh) = &mut description.mesh {
        mesh.columns = columns;
    }
    Topology::new(&description)
}

/// Links between the routers of two nodes on a shortest way, by arithmetic on their places.
fn links_between(machine: &Topology, from: NodeId, to: NodeId) -> u32 {
    let place = |node: NodeId| machine.routers()[machine.nodes()[node.index()].router.index()].place;
    let routers = machine.routers().len() as u32;
    match (place(from), place(to)) {
        (RouterPlace::Ring { position: one }, RouterPlace::Ring { position: other }) => {
            let direct = u32::from(one.abs_diff(other));
            direct.min(routers - direct)
        }
        (RouterPlace::Grid { column, row }, RouterPlace::Grid { column: to_column, row: to_row }) => {
            u32::from(column.abs_diff(to_column)) + u32::from(row.abs_diff(to_row))
        }
        _ => 0,
    }
}

/// Every node reaches every other on a shortest path, and the channels form no cycle.
fn assert_sound(machine: &Topology) {
    for from in machine.nodes() {
        for to in machine.nodes() {
            let links = links_between(machine, from.id, to.id);
            let expected = if from.id == to.id { 0 } else { links + 1 };
            assert_eq!(machine.hops(from.id, to.id), expected, "{} to {}", from.id, to.id);
            let path = machine.path(VirtualNetwork::Reply, from.id, to.id);
            assert_eq!(path.len(), expected as usize);
            if let Some(last) = path.last() {
                let (_, end) = machine.outgoing(last.router, last.out_port).expect("a connected port");
                assert_eq!(end, Endpoint::Node(to.id));
            }
        }
    }
    assert_eq!(deadlock::check(machine, machine.routing_table(VirtualNetwork::Request)), Ok(None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rings_of_any_size_are_sound(routers in 1u32..40, on_router in 1u32..=4, missing in 0u32..4) {
        let nodes = (routers * on_router).saturating_sub(missing.min(on_router - 1));
        let machine = of_nodes("ring", nodes, on_router, 0);
        prop_assert_eq!(machine.routers().len(), routers as usize);
        assert_sound(&machine);
    }

    #[test]
    fn meshes_of_any_sides_are_sound(columns in 1u32..9, rows in 1u32..9, on_router in 1u32..=2, missing in 0u32..2) {
        let nodes = (columns * rows * on_router).saturating_sub(missing.min(on_router - 1));
        let machine = of_nodes("mesh", nodes, on_router, columns);
        let last = machine.routers().last().expect("a router").place;
        prop_assert_eq!(last, RouterPlace::Grid { column: columns as u16 - 1, row: rows as u16 - 1 });
        assert_sound(&machine);
    }
}

/// Every packet of an SCI ring goes onwards, past all link interfaces up to that of its node.
#[test]
fn packets_of_an_sci_ring_go_one_way() {
    for nodes in [1, 2, 3, 16, 64, 500] {
        let machine = topology(&format!("sci-ring-{nodes}p"), &[]);
        let links = if nodes == 1 { 0 } else { nodes };
        let of_ring = machine.links().iter().filter(|link| link.class == LinkClass::Sci).count();
        assert_eq!((of_ring, machine.links().len(), machine.routers().len()), (links, links + nodes, nodes));
        for (from, to) in [(0, nodes - 1), (nodes - 1, 0), (nodes / 2, nodes / 3)] {
            let expected = if from == to { 0 } else { (to + nodes - from) % nodes + 1 };
            let (from, to) = (NodeId(from as u16), NodeId(to as u16));
            assert_eq!(machine.hops(from, to) as usize, expected, "{from} to {to} of {nodes}");
            for (hop, at) in machine.path(VirtualNetwork::Request, from, to).iter().zip(from.index()..) {
                assert_eq!(hop.router.index(), at % nodes);
            }
        }
    }
}

/// Packets of joined rings leave their ring by its switch, if they have to; in switches they wait in one direction.
#[test]
fn packets_of_joined_rings_change_rings_at_switches_alone() {
    for (rings, nodes) in [(2, 1), (2, 8), (4, 4), (16, 16)] {
        let machine = topology(&format!("sci-rings-{rings}x{nodes}"), &[]);
        let of = |class| machine.links().iter().filter(|link| link.class == class).count();
        assert_eq!((of(LinkClass::Sci), of(LinkClass::SciBetweenSwitches)), (rings * (nodes + 1), rings));
        assert_eq!(machine.routers().len(), rings * (nodes + 1));
        let all = rings * nodes;
        let pairs = (0..all).flat_map(|from| (0..all).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let mut waits = Vec::new();
        for (from, to) in pairs {
            let path = machine.path(VirtualNetwork::Request, NodeId(from as u16), NodeId(to as u16));
            let last = path.last().expect("a way");
            let (_, end) = machine.outgoing(last.router, last.out_port).expect("a connected port");
            assert_eq!(end, Endpoint::Node(NodeId(to as u16)));
            let ring_of = |router: RouterId| match machine.routers()[router.index()].place {
                RouterPlace::LinkInterface { ring, .. } => usize::from(ring),
                _ => usize::MAX,
            };
            let visited: Vec<_> =
                path.iter().map(|hop| ring_of(hop.router)).filter(|&ring| ring != usize::MAX).collect();
            assert!(visited.iter().all(|&ring| ring == from / nodes || ring == to / nodes), "{from} to {to}");
            // A packet is stored by the interface of a switch where it leaves a ring: `true` on a ring of nodes.
            let stored = [(from / nodes, true), (to / nodes, false)];
            waits.push(stored.into_iter().filter(|_| from / nodes != to / nodes).collect::<Vec<_>>());
        }
        assert_eq!(deadlock::find_cycle(waits), None, "{rings} rings of {nodes}");
    }
}

/// Sizes beyond the present limit of a description: 1024 routers of a ring, 2048 of a mesh.
#[test]
fn thousands_of_nodes_are_routed_without_deadlock() {
    for (kind, nodes, columns, farthest) in [("ring", 1024, 0, 513), ("mesh", 2048, 64, 64 + 32 - 1)] {
        let machine = of_nodes(kind, nodes, 1, columns);
        let hops = machine.nodes().iter().map(|to| machine.hops(NodeId(0), to.id)).max();
        assert_eq!(hops, Some(farthest), "{kind}");
        if kind == "ring" {
            // A graph of all pairs of the mesh takes too long here; its routes are those of smaller ones.
            assert_eq!(deadlock::check(&machine, machine.routing_table(VirtualNetwork::Request)), Ok(None), "{kind}");
        }
    }
}

/// Without the dateline the same routes of a ring form a cycle, from four routers on.
#[test]
fn a_ring_without_a_dateline_deadlocks() {
    for routers in 2..=9 {
        let machine = of_nodes("ring", routers, 1, 0);
        let own = machine.routing_table(VirtualNetwork::Request);
        let without = RoutingTable::from_fn(routers as usize, routers as usize, |router, node| own.exit(router, node));
        let cycle = deadlock::check(&machine, &without).expect("every pair is routed");
        assert_eq!(cycle.map(|cycle| cycle.len()), (routers >= 4).then_some(routers as usize), "{routers} routers");
        assert_eq!(machine.channel_classes(), if routers >= 4 { 2 } else { 1 });
    }
}

/// The class of virtual channels is part of a table as text.
#[test]
fn tables_of_a_ring_survive_printing() {
    let machine = of_nodes("ring", 9, 2, 0);
    let own = machine.routing_table(VirtualNetwork::Request);
    let text = own.to_text(&machine);
    assert_eq!(RoutingTable::parse("ring", &text, &machine).as_ref(), Ok(own));
    let refused = RoutingTable::parse("ring", "/hw/module/1/slot/r1/router 4:5:2", &machine).expect_err("no class 2");
    assert!(
        refused.accepted.ends_with("NODE:PORT, node below 9, port 1 to 6, or NODE:PORT:CLASS, class 0 to 1"),
        "{refused}"
    );
}

#[test]
fn parts_and_names() {
    let ring = topology("flash-12p", &[("topology.kind", "ring")]);
    assert_eq!((ring.routers().len(), ring.links().len()), (3, 12 + 3));
    assert_eq!(ring.nodes()[5].path(), "/hw/module/2/slot/n2/node");
    assert_eq!(ring.outgoing(RouterId(2), Port(5)).map(|(_, end)| end), Some(Endpoint::Router(RouterId(0), Port(6))));
    let two = topology("flash-8p", &[("topology.kind", "ring")]);
    assert_eq!(two.links().iter().filter(|link| link.class == LinkClass::Ring).count(), 1);
    let mesh = topology("flash-12p", &[("topology.kind", "mesh"), ("topology.nodes_per_router", "1")]);
    // Four columns by three rows: 3 * 3 + 4 * 2 cables.
    assert_eq!((mesh.routers().len(), mesh.links().len()), (12, 12 + 17));
    let column_then_row = mesh.vector_route(VirtualNetwork::Request, NodeId(0), NodeId(6));
    assert_eq!(column_then_row, [3, 3, 5, 1].map(Port));
    let crossbar = topology("origin2000-r12k-300-32p", &[("topology.kind", "crossbar"), ("crossbar.latency_ns", "90")]);
    assert_eq!((crossbar.routers().len(), crossbar.links().len()), (1, 16));
    assert_eq!(crossbar.routers()[0].path(), "/hw/module/17/slot/r1/crossbar");
    assert!(crossbar.links().iter().all(|link| link.delay == Duration::from_ns(45.0)));
    assert_sound(&crossbar);
    assert_sound(&topology("flash-64p", &[("topology.kind", "ideal")]));
}

/// Twin meshes: messages of the two networks meet on no link between routers, and neither can deadlock.
#[test]
fn twin_meshes_share_no_link_between_routers() {
    let machine = topology("dash-48p", &[]);
    assert_eq!((machine.routers().len(), machine.links().len()), (12, 12 + 2 * 17));
    for network in VirtualNetwork::ALL {
        assert_eq!(deadlock::check(&machine, machine.routing_table(network)), Ok(None));
    }
    for (from, to) in (0..12).flat_map(|from| (0..12).map(move |to| (NodeId(from), NodeId(to)))) {
        let channels = |network| machine.path(network, from, to).iter().map(|hop| hop.channel).collect::<Vec<_>>();
        let [request, reply] = VirtualNetwork::ALL.map(channels);
        assert_eq!(request.len(), reply.len());
        let shared = request.iter().filter(|channel| reply.contains(channel)).count();
        assert_eq!(shared, request.len().min(1), "{from:?} to {to:?}: the link to the node alone");
    }
}

/// A mesh's sides, as given or chosen.
#[test]
fn sides_of_a_mesh() {
    let sides = |processors: &str, columns: &str, rows: &str| {
        let changes = [
            ("topology.kind", "mesh"),
            ("topology.nodes_per_router", "1"),
            ("topology.processors", processors),
            ("mesh.columns", columns),
            ("mesh.rows", rows),
        ];
        let found = resolve_changed("flash-4p", "m", "changed", &changes).map(|resolved| {
            match Topology::new(&resolved.description).routers().last().map(|router| router.place) {
                Some(RouterPlace::Grid { column, row }) => (column + 1, row + 1),
                place => panic!("{place:?}"),
            }
        });
        found.map_err(|error| error.to_string())
    };
    assert_eq!(sides("16", "0", "0"), Ok((4, 4)));
    assert_eq!(sides("24", "0", "0"), Ok((6, 4)));
    assert_eq!(sides("7", "0", "0"), Ok((7, 1)));
    assert_eq!(sides("24", "3", "0"), Ok((3, 8)));
    assert_eq!(sides("24", "0", "2"), Ok((12, 2)));
    assert_eq!(sides("24", "8", "3"), Ok((8, 3)));
    assert_eq!(sides("1", "1", "1"), Ok((1, 1)));
    let refused = |columns, rows| sides("24", columns, rows).expect_err("no such mesh");
    assert_eq!(
        refused("5", "0"),
        "mesh.columns = 5: the machine's 24 routers cannot be divided into 5 columns; accepted: 0 (chosen), 1-4,6,8,12,24"
    );
    assert!(refused("0", "7").starts_with("mesh.rows = 7: "));
    assert_eq!(
        refused("6", "6"),
        "mesh.rows = 6: 6 columns of it do not make the machine's 24 routers; accepted: 0 (chosen) or 4"
    );
}
