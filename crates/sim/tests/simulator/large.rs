//! Machines of more than 512 nodes: coherence and look-ahead of one line that all nodes share, and protocols that cannot
//! represent so many sharers.

use machine::Description;
use sim::{Mode, Options, Program, SimError, Simulator, Thread, ThreadReport};
use units::{Bytes, CpuId, NodeId, PhysicalAddr};

fn machine(base: &str, protocol: &str) -> Description {
    let changes = [("directory.protocol", protocol)];
    match machine::resolve_changed(base, &format!("{base}+{protocol}"), protocol, &changes) {
        Ok(resolved) => resolved.description,
        Err(error) => panic!("{error}"),
    }
}

/// All nodes read a line of node 1; one in 100 stores to it; all store to a line of their own in the memory of another, and read
/// that of a third node.
fn share(machine: &Description, mode: Mode) -> (Vec<ThreadReport>, u64) {
    let options = Options { mode, check_loads: true, ..Options::default() };
    let mut simulator = Simulator::new(machine, options).unwrap_or_else(|error| panic!("{error}"));
    let nodes = machine.topology.nodes() as u16;
    let pages: Vec<PhysicalAddr> =
        (0..nodes).map(|node| simulator.allocate(NodeId(node), Bytes(4096)).unwrap()).collect();
    let program = |cpu: u16| {
        let of = |node: u16, line: u64| pages[usize::from(node % nodes)].offset(line * 128);
        let (shared, own, other) = (of(1, 0), of(cpu + nodes / 3, 1), of(cpu + nodes / 2, 1));
        let run = move |thread: &mut Thread<'_>| {
            thread.load(shared);
            thread.store(own);
            thread.drain();
            if cpu.is_multiple_of(100) {
                thread.store(shared);
            }
            thread.load(other);
            thread.load_dependent(shared);
            thread.drain();
        };
        (CpuId(cpu), Box::new(run) as Program)
    };
    let reports = simulator.run((0..nodes).map(program).collect()).unwrap_or_else(|error| panic!("{error}"));
    simulator.check_coherence().unwrap_or_else(|fault| panic!("{}: {fault}", machine.name));
    let statistics = (0..nodes).filter_map(|node| simulator.statistics(NodeId(node)));
    (reports, statistics.map(|node| node.invalidations.counts().iter().skip(1).sum::<u64>()).sum())
}

#[test]
fn hundreds_of_nodes_share_a_line() {
    let machines = [
        ("flash-mesh-1024p", "cv=16"),
        ("flash-crossbar-1500p", "limited-pointer/B"),
        ("flash-uncontended-2048p", "cv=32/LB"),
        ("flash-ring-600p", "dynamic-pointer"),
    ];
    for (base, protocol) in machines {
        let machine = machine(base, protocol);
        let (reports, invalidated) = share(&machine, Mode::LookAhead);
        assert!(invalidated > 5, "{base} {protocol}: {invalidated}");
        assert_eq!(share(&machine, Mode::LockStep), (reports, invalidated), "{base} {protocol}");
    }
}

#[test]
fn a_protocol_without_room_for_the_nodes_is_refused() {
    for protocol in ["bit-vector", "cv=15", "hybrid", "dynamic-pointer/IC"] {
        let machine = machine("flash-mesh-1024p", protocol);
        let Err(error) = Simulator::new(&machine, Options::default()) else { panic!("{protocol} was accepted") };
        let SimError::Unsupported { key: "directory.protocol", accepted, .. } = &error else { panic!("{error}") };
        assert!(accepted.contains("cv=16, cv=16/LB") && accepted.contains("dynamic-pointer"), "{error}");
        assert!(!accepted.contains("hybrid") && !accepted.contains("/IC"), "{error}");
    }
}
