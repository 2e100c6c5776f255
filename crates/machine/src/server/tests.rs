//! Tests of layouts and ways.

use proptest::prelude::*;

use super::*;

fn package(machine: &str) -> Package {
    let description = crate::load(machine).unwrap_or_else(|error| panic!("{error}"));
    Package::new(description.server.as_ref().expect("a server")).unwrap_or_else(|error| panic!("{error:?}"))
}

#[test]
fn skylakes_mesh_has_its_parts_in_place() {
    let package = package("xeon-8180-2s");
    assert_eq!((package.cores.len(), package.slices.len(), package.memories.len()), (28, 28, 2));
    assert_eq!((package.columns, package.rows), (6, 6));
    let [left, right] = [package.memories[0], package.memories[1]].map(|stop| package.stops[usize::from(stop)].column);
    assert_eq!((left, right), (0, 5));
}

/// Every way is one of neighbouring edges, and there is one between all stops.
#[test]
fn ways_lead_to_their_ends() {
    for machine in ["xeon-8180-2s", "xeon-e5-2699v3-2s", "epyc-7702-2s", "epyc-9654-2s", "xeon-8480-2s"] {
        let package = package(machine);
        let stops = package.stops.len() as u16;
        for (from, to) in (0..stops).flat_map(|from| (0..stops).map(move |to| (from, to))) {
            let mut at = from;
            for edge in package.way(from, to) {
                let edge = package.edges()[usize::from(edge)];
                assert_eq!(edge.from, at, "{machine}: {from} to {to}");
                at = edge.to;
            }
            assert_eq!(at, to, "{machine}");
        }
    }
}

#[test]
fn clusters_of_a_die_meet_in_the_io_die_alone() {
    let package = package("epyc-7702-2s");
    let (one, other) = (package.cores[0], package.cores[4]);
    assert_eq!((package.die_of(one), package.die_of(other)), (1, 1), "two core complexes of a die");
    assert_eq!(package.way(one, other).len(), 2, "out and in");
    assert_eq!(package.way(one, package.cores[3]).len(), 0, "one core complex");
    let [out, into] =
        [package.way(one, other)[0], package.way(other, one)[0]].map(|edge| package.edges()[usize::from(edge)].wire);
    assert_eq!(out, into, "they share the wires of their die");
}

proptest! {
    #[test]
    fn sockets_reach_each_other(count in 1u32..=8, links in 1u32..=7) {
        let Some(sockets) = Sockets::new(count, links) else { return Ok(()) };
        for from in 0..sockets.count {
            let mut used = Vec::new();
            for to in (0..sockets.count).filter(|&to| to != from) {
                let (mut at, mut hops) = (from, 0);
                while at != to {
                    let next = sockets.next(at, to);
                    prop_assert!(sockets.neighbours(at).any(|other| other == next));
                    (at, hops) = (next, hops + 1);
                }
                prop_assert!(hops <= 3);
            }
            for to in sockets.neighbours(from) {
                let links = sockets.links_to(from, to);
                prop_assert!(!links.is_empty());
                used.extend(links);
            }
            let distinct = used.iter().collect::<std::collections::BTreeSet<_>>().len();
            prop_assert_eq!(distinct, used.len());
            prop_assert!(used.len() <= links as usize);
        }
    }
}

/// Servers that cannot be are refused with the key that most likely needs a change.
#[test]
fn impossible_servers_are_refused() {
    type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);
    let cases: [Case; 12] = [
        ("xeon-8180-2s", &[("topology.processors", "54")], "topology.processors = 54"),
        ("arctic", &[("topology.kind", "sockets")], "topology.kind"),
        ("xeon-8180-2s", &[("memory.controllers", "3")], "memory.controllers = 3"),
        ("xeon-8180-2s", &[("server.nodes_per_socket", "3")], "server.nodes_per_socket = 3"),
        ("xeon-8180-2s", &[("server.network", "io-die")], "server.layout"),
        ("xeon-8180-2s", &[("l3_slice.size_kib", "1000")], "l3_slice.size_kib = 1000"),
        ("xeon-8180-2s", &[("l3_slice.filter_sets", "0")], "l3_slice.filter_sets = 0"),
        ("xeon-8180-2s", &[("home.entries", "100")], "home.entries = 100"),
        ("xeon-8180-2s", &[("topology.memory_nodes", "1")], "topology.memory_nodes = 1"),
        ("xeon-e5-2699v3-2s", &[("home.entries", "64")], "home.entries = 64"),
        ("epyc-7702-2s", &[("server.clusters_per_die", "3")], "server.clusters_per_die = 3"),
        ("epyc-7702-2s", &[("home.at_slice", "true")], "home.at_slice = true"),
    ];
    for (machine, changes, expected) in cases {
        let refused = crate::resolve_changed(machine, machine, "", changes).map(|found| found.description.name);
        let message = refused.expect_err(expected).to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn layouts_that_make_no_network_are_refused() {
    let spec = crate::load("xeon-e5-2699v3-2s").expect("a machine").server.expect("a server");
    for (layout, reason) in [
        (&["U C C M"; 0][..], "no stop"),
        (&["U C C M", "C C"], "joins its rings"),
        (&["U C C M B", "C C"], "joins nothing"),
        (&["U C Q M"], "spelled Q"),
        (&["U K M"], "only an I/O die"),
        (&["U C C"], "no memory controllers"),
        (&["U S M"], "no cores"),
    ] {
        let layout = layout.iter().map(|&row| row.to_owned()).collect();
        let spec = ServerSpec { layout, ..spec.clone() };
        let error = Package::new(&spec).expect_err(reason);
        assert!(error.reason.contains(reason) && error.key == "layout", "{error:?}");
    }
}
