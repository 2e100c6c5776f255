//! The random tester on Origins and FLASHes with every kind of interconnect: no fault is found, and look-ahead changes nothing.

use machine::Description;
use sim::random::{RandomReport, RandomTest};
use sim::{Mode, Options, Program, Simulator, Thread};
use units::{Bytes, CpuId, Duration, NodeId};

/// Every kind of interconnect besides those of the two families, with other sizes than the families' own.
const WIRES: [(&str, &[(&str, &str)]); 9] = [
    ("ring", &[("topology.nodes_per_router", "1")]),
    ("ring", &[("topology.nodes_per_router", "2")]),
    ("mesh", &[("topology.nodes_per_router", "1")]),
    ("mesh", &[("topology.nodes_per_router", "2"), ("mesh.rows", "1")]),
    ("crossbar", &[("crossbar.latency_ns", "60"), ("link.micropacket_ns", "10")]),
    ("ideal", &[("ideal_network.latency_ns", "1")]),
    ("sci-ring", &[]),
    ("sci-ring", &[("sci_ring.rings", "4"), ("sci_ring.input_packets", "1"), ("sci_ring.output_packets", "1")]),
    (
        "sci-ring",
        &[("sci_ring.transmission", "one"), ("sci_ring.input_packets", "1"), ("sci_ring.output_packets", "1")],
    ),
];

/// A machine of a family with another interconnect.
fn with(base: &str, kind: &str, changes: &[(&str, &str)]) -> Description {
    let changes = [&[("topology.kind", kind)], changes].concat();
    match machine::resolve_changed(base, &format!("{base} {changes:?}"), "changed", &changes) {
        Ok(resolved) => resolved.description,
        Err(error) => panic!("{error}"),
    }
}

/// Every interconnect on a machine with Hubs and on one with MAGICs.
fn machines(origin: &str, flash: &str) -> Vec<Description> {
    let bases = [origin, flash];
    bases.into_iter().flat_map(|base| WIRES.map(|(kind, changes)| with(base, kind, changes))).collect()
}

fn passes(test: &RandomTest, machine: &Description) -> RandomReport {
    test.run(machine).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn every_interconnect_survives() {
    for (seed, machine) in (0..).zip(machines("origin2000-r12k-300-32p", "flash-24p")) {
        for delay in [0.0, 700.0, 5000.0] {
            let test = RandomTest { delay: Duration::from_ns(delay), references: 400, ..RandomTest::new(seed) };
            let report = passes(&test, &machine);
            assert!(report.transactions() > 1000 && report.invalidations() > 100, "{}", machine.name);
        }
    }
}

#[test]
fn running_ahead_changes_nothing_on_any_interconnect() {
    for (seed, machine) in (50..).zip(machines("origin2000-r12k-300-16p", "flash-12p")) {
        for delay in [0.0, 2000.0] {
            let ahead = RandomTest { delay: Duration::from_ns(delay), references: 400, ..RandomTest::new(seed) };
            let step = RandomTest { mode: Mode::LockStep, ..ahead };
            assert!(passes(&ahead, &machine) == passes(&step, &machine), "{}, delay {delay} ns", machine.name);
        }
    }
}

/// A long ring and a long line of slow routers under load, with the smallest buffers that hold a message: what waits goes on. On a
/// ring without a dateline everything soon waits for ever.
#[test]
fn small_buffers_do_not_deadlock() {
    let slow = [("topology.nodes_per_router", "1"), ("router.bypass_cycles", "40")];
    let line = [&slow[..], &[("mesh.rows", "1")]].concat();
    for machine in [with("origin2000-r12k-300-64p", "ring", &slow), with("origin2000-r12k-300-64p", "mesh", &line)] {
        passes(&RandomTest { references: 300, lines: 256, ..RandomTest::new(4) }, &machine);
    }
}

/// The latency of a load from another node, in nanoseconds.
fn remote_load(machine: &Description) -> f64 {
    let mut simulator = Simulator::new(machine, Options::default()).unwrap();
    let base = simulator.allocate(NodeId(5), Bytes(4096)).unwrap();
    let load = move |thread: &mut Thread<'_>| {
        thread.load_dependent(base);
        thread.drain();
    };
    let report = simulator.run(vec![(CpuId(0), Box::new(load) as Program)]).unwrap()[0];
    (report.finished - report.started).as_ns()
}

/// The latency of the interconnect counts twice in that of a remote load, in steps of the controllers' clocks.
#[test]
fn a_remote_load_takes_the_way_there_and_back() {
    for base in ["origin2000-r12k-300-16p", "flash-16p"] {
        for (kind, key) in [("ideal", "ideal_network.latency_ns"), ("crossbar", "crossbar.latency_ns")] {
            let at = |latency: &str| remote_load(&with(base, kind, &[(key, latency)]));
            let (short, long) = (at("100"), at("1100"));
            assert!((long - short - 2000.0).abs() < 30.0, "{base}: {kind} {short} {long}");
        }
        let hops = |positions: &str| {
            remote_load(&with(base, "mesh", &[("topology.nodes_per_router", "1"), ("mesh.columns", positions)]))
        };
        // Node 5 is five columns from node 0 in one row, and one column and one row in a mesh of four columns.
        let (line, square) = if base == "flash-16p" { ("16", "4") } else { ("8", "4") };
        assert!(hops(line) > hops(square) + 300.0, "{base}: {} {}", hops(line), hops(square));
    }
}
