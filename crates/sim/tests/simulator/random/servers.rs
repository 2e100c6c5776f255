//! The random tester on servers of many cores.

use sim::random::RandomTest;
use sim::{Fault, Mode};
use units::Duration;

use super::passes;

/// Passes with look-ahead and without, with equal results, and with replacements of filter entries where there are any.
fn server_survives(name: &str, description: &machine::Description, references: u32) {
    for (seed, delay) in [(1, 0.0), (2, 500.0), (3, 30.0)] {
        let test = RandomTest { delay: Duration::from_ns(delay), references, lines: 1024, ..RandomTest::new(seed) };
        let ahead = passes(&test, description);
        let step = passes(&RandomTest { mode: Mode::LockStep, ..test }, description);
        assert!(ahead == step, "{name}, seed {seed}, delay {delay} ns");
        let invalidated = ahead.invalidations();
        assert!(invalidated > 20, "{name}: {invalidated} invalidations");
    }
}

/// Servers of every kind: directories, third-level caches, networks within and between sockets, and the tightest stores.
#[test]
fn servers_survive() {
    let tight = [("l3_slice.trackers", "1"), ("home.trackers", "1"), ("socket_link.credits", "1")];
    let divided = |cores| {
        let nodes =
            [("server.nodes_per_socket", "2"), ("server.clusters_per_socket", "2"), ("memory.controllers", "1")];
        [&nodes[..], &[("topology.processors_per_node", cores)]].concat()
    };
    let sub_numa = divided("14");
    let cluster_on_die =
        [&divided("9")[..], &[("home.kind", "directory"), ("home.entries", "64"), ("home.ways", "8")]].concat();
    let one_node =
        [("server.nodes_per_socket", "1"), ("topology.processors_per_node", "64"), ("memory.controllers", "4")];
    type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], u32);
    let cases: [Case<'_>; 14] = [
        ("xeon-8180-2s", &sub_numa, 80),
        ("xeon-e5-2699v3-2s", &cluster_on_die, 80),
        ("epyc-7702-2s", &one_node, 30),
        ("xeon-8180-2s", &[], 150),
        ("xeon-8180-2s", &tight, 60),
        ("xeon-8180-2s", &[("l2.others_mb_per_s", "20000"), ("l2.size_mib", "0.0625")], 80),
        ("xeon-8180-2s", &[("home.opportunistic_snoops", "true"), ("home.entries", "0")], 80),
        ("xeon-8180-2s", &[("home.at_slice", "false"), ("home.early_read", "false"), ("home.forwarding", "moesi")], 80),
        ("xeon-e5-2699v3-2s", &[], 150),
        ("xeon-e5-2699v3-2s", &[("home.kind", "early-snoop")], 150),
        ("xeon-e5-2699v3-2s", &[("l3_slice.others_mb_per_s", "200000")], 250),
        ("xeon-e5-2699v3-2s", &[("home.kind", "directory"), ("home.entries", "64"), ("home.ways", "8")], 80),
        ("epyc-7702-2s", &[], 60),
        ("epyc-7702-2s", &tight, 30),
    ];
    for (name, changes, references) in cases {
        let description = machine::resolve_changed(name, name, "", changes).unwrap().description;
        server_survives(&format!("{name} {changes:?}"), &description, references);
    }
}

/// Lines of cores that an emptied inclusive cache takes back: no core has run ahead of one, whatever the seed.
#[test]
fn emptied_slices_reach_no_core_within_the_look_ahead() {
    let name = "xeon-e5-2699v3-2s";
    for changes in [&[("home.kind", "directory"), ("home.entries", "64"), ("home.ways", "8")][..], &[]] {
        let description = machine::resolve_changed(name, name, "", changes).unwrap().description;
        for seed in 1..40 {
            let test = RandomTest { delay: Duration::ZERO, references: 80, lines: 1024, ..RandomTest::new(seed) };
            let step = passes(&RandomTest { mode: Mode::LockStep, ..test }, &description);
            assert!(passes(&test, &description) == step, "{changes:?}, seed {seed}");
        }
    }
}

/// Servers whose snoop filters, inclusive caches and probe filters have sets of one line, for which requests wait.
#[test]
fn servers_with_room_for_one_line_survive() {
    let cases: [(&str, &[(&str, &str)]); 3] = [
        ("xeon-8180-2s", &[("l3_slice.filter_ways", "1"), ("l3_slice.ways", "1"), ("l3_slice.size_kib", "1024")]),
        ("xeon-e5-2699v3-2s", &[("l3_slice.ways", "1"), ("l3_slice.size_kib", "2048")]),
        ("epyc-7702-2s", &[("home.ways", "1")]),
    ];
    for (name, changes) in cases {
        let description = machine::resolve_changed(name, name, "", changes).unwrap().description;
        server_survives(&format!("{name} {changes:?}"), &description, 40);
    }
}

/// Eight sockets of 64 cores, with three links each.
#[test]
fn the_largest_servers_survive() {
    let mut description = machine::load("xeon-8180-2s").unwrap();
    let layout = [&["UU M . . U . M ."][..], &["C C C C C C C C"; 8]].concat();
    let server = description.server.as_mut().unwrap();
    (server.layout, server.sockets) = (layout.into_iter().map(str::to_owned).collect(), 8);
    description.socket_link.as_mut().unwrap().links = 3;
    let cores = machine::server::Package::new(description.server.as_ref().unwrap()).unwrap().cores.len() as u32;
    (description.topology.processors, description.topology.processors_per_node) = (8 * cores, cores);
    description.check().unwrap();
    assert_eq!(cores, 64);
    server_survives("8 x 64", &description, 12);
}

#[test]
fn planted_faults_of_servers_are_found() {
    for fault in [Fault::KeptCopy, Fault::StaleData, Fault::LostAcknowledgement] {
        for machine in ["xeon-8180-2s", "xeon-e5-2699v3-2s", "epyc-7702-2s"] {
            let description = machine::load(machine).unwrap();
            let found = (0..6).any(|seed| {
                let test = RandomTest { references: 100, lines: 256, fault: Some(fault), ..RandomTest::new(seed) };
                test.run(&description).is_err()
            });
            assert!(found, "{machine}: {} is not found", fault.name());
        }
    }
}
