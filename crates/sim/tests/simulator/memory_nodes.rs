//! Nodes with memory and without processors: the random tester, look-ahead, and distances.

use machine::Description;
use sim::random::{RandomReport, RandomTest};
use sim::{Mode, Options, Program, Simulator, Thread};
use units::{Bytes, CpuId, Duration, NodeId};

fn machine(base: &str, changes: &[(&str, &str)]) -> Description {
    match machine::resolve_changed(base, &format!("{base} {changes:?}"), "changed", changes) {
        Ok(resolved) => resolved.description,
        Err(error) => panic!("{error}"),
    }
}

/// Machines of every kind of controller with a network, three nodes of which have memory alone.
fn machines() -> Vec<Description> {
    let memory = ("topology.memory_nodes", "3");
    vec![
        machine("origin2000-r12k-300-8p", &[memory]),
        machine("origin2000-r12k-300-8p", &[memory, ("os.migration", "true"), ("os.migration_threshold", "20")]),
        // Coarse bits and broadcasts include nodes without processors.
        machine("flash-6p", &[memory, ("directory.protocol", "cv=4")]),
        machine("flash-5p", &[memory, ("directory.protocol", "broadcast")]),
        machine("flash-mesh-9p", &[memory, ("directory.protocol", "hybrid/IC")]),
        machine("flash-6p", &[memory, ("directory.protocol", "cv=4"), ("directory.ideal", "zero-overhead")]),
    ]
}

fn passes(test: &RandomTest, machine: &Description) -> RandomReport {
    test.run(machine).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn machines_with_memory_nodes_pass_at_random() {
    for (seed, machine) in (0..).zip(machines()) {
        for delay in [0.0, 3000.0] {
            let test = RandomTest { delay: Duration::from_ns(delay), references: 500, ..RandomTest::new(seed) };
            let report = passes(&test, &machine);
            assert!(report.transactions() > 1000 && report.invalidations() > 100, "{}", machine.name);
            let step = RandomTest { mode: Mode::LockStep, ..test };
            assert!(passes(&step, &machine) == report, "{}: look-ahead changes the run", machine.name);
        }
    }
}

/// Loads of a line on each node, one after another, by processor 0: their latencies in nanoseconds.
fn latencies(machine: &Description) -> Vec<f64> {
    let mut simulator = Simulator::new(machine, Options::default()).unwrap();
    let nodes = machine.topology.nodes() as u16;
    let pages: Vec<_> = (0..nodes).map(|node| simulator.allocate(NodeId(node), Bytes(4096)).unwrap()).collect();
    let times = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let measured = times.clone();
    let run = move |thread: &mut Thread<'_>| {
        for &page in &pages {
            let before = thread.now();
            thread.load_dependent(page);
            thread.drain();
            measured.borrow_mut().push((thread.now() - before).as_ns());
        }
    };
    simulator.run(vec![(CpuId(0), Box::new(run) as Program)]).unwrap();
    times.take()
}

/// A memory node answers as a node with processors does at the same distance.
#[test]
fn a_memory_node_is_as_far_as_any_other() {
    let whole = latencies(&machine("flash-crossbar-6p", &[]));
    let mixed = latencies(&machine("flash-crossbar-4p", &[("topology.memory_nodes", "2")]));
    assert_eq!(whole, mixed);
    let (first, last) = (whole[0], whole[5]);
    assert!(last > first + 100.0, "{whole:?}");
}

#[test]
fn more_nodes_than_a_network_joins_are_refused() {
    let refused = |base: &str, nodes: &str| {
        let changes = [("topology.memory_nodes", nodes)];
        match machine::resolve_changed(base, base, "changed", &changes) {
            Ok(_) => panic!("{base} with {nodes} memory nodes was accepted"),
            Err(error) => error.to_string(),
        }
    };
    assert!(refused("flash-60p", "5").contains("accepted: at most 4"), "{}", refused("flash-60p", "5"));
    assert!(refused("smp-4p", "1").contains("accepted: 0"), "{}", refused("smp-4p", "1"));
}
