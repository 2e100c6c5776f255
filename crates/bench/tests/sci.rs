//! The costs of transactions on SCI rings: what the parts of Hexsel and Topham's machines add up to, and what they publish.

use bench::{Experiment, Placement, Plan, Settings, SimulatedPlatform, State};
use units::{CpuId, NodeId};

fn platform(machine: &str) -> SimulatedPlatform {
    let description = machine::load(machine).expect("a built-in machine");
    SimulatedPlatform::new(description, sim::Options::default()).expect("a machine that can be simulated")
}

/// The latency in ns of an experiment with lines of node 0 on a ring, by `local`, after `remotes` have used them.
fn latency(machine: &str, experiment: Experiment, state: State, local: u16, remotes: &[u16]) -> f64 {
    let placement = Placement::new(NodeId(0), CpuId(local), remotes.iter().map(|&cpu| CpuId(cpu)));
    let settings = Settings { lines: Some(256), iterations: 1, sharers_drop: Some(false), ..Settings::simulated() };
    let plan = Plan::new(experiment, state, placement, settings);
    plan.run(&mut platform(machine)).expect("a valid plan").record.headline()
}

/// The two ways of a request and a response around a ring of `nodes` nodes: 6 ns a hop, and 2 ns for each symbol after the
/// first.
fn ring(nodes: u16, symbols: [u32; 2]) -> f64 {
    f64::from(nodes) * 6.0 + symbols.iter().map(|&symbols| f64::from(symbols - 1) * 2.0).sum::<f64>()
}

/// Section 4, Express Ring, KSR1 and Hector: a line of memory costs 246 ns and the ring; the primary cache comes before that.
#[test]
fn a_line_of_memory_costs_246_ns_and_the_ring() {
    const PRIMARY: f64 = 10.0;
    let read = |machine: &str, local| latency(machine, Experiment::LmbenchRead, State::Uown, local, &[]);
    for nodes in [1, 2, 8, 16] {
        assert_eq!(read(&format!("sci-ring-{nodes}p"), 0), PRIMARY + 246.0, "{nodes} nodes");
    }
    for nodes in [2, 8, 16] {
        for local in [1, nodes / 2, nodes - 1] {
            let far = read(&format!("sci-ring-{nodes}p"), local);
            assert_eq!(far, PRIMARY + 246.0 + ring(nodes, [8, 40]), "node {local} of {nodes}");
        }
    }
}

/// The same: an invalidation costs 60 ns and the ring, so that a purge grows linearly with the list.
#[test]
fn every_purged_element_costs_60_ns_and_the_ring() {
    for nodes in [4u16, 16] {
        let machine = format!("sci-ring-{nodes}p");
        let cost = |sharers: u16| {
            let sharers: Vec<u16> = (1..=sharers).collect();
            latency(&machine, Experiment::LmbenchUpgrd, State::Shrd, 0, &sharers)
        };
        // The response of the last element names no other, and is shorter by the extended header.
        let each = 60.0 + ring(nodes, [8, 16]);
        let costs: Vec<f64> = (1..nodes).map(cost).collect();
        for pair in costs.windows(2) {
            assert_eq!(pair[1] - pair[0], each, "{nodes} nodes: {costs:?}");
        }
    }
}

/// Table 2, column SCI ring: the least and the greatest cost over rings of 2 to 16 nodes, in processor cycles.
#[test]
fn the_costs_of_table_2_are_within_a_tenth_of_the_published_ranges() {
    let cycles = |ns: f64| ns * 33.0 / 1000.0;
    let over_sizes = |cost: &dyn Fn(u16) -> f64| [2u16, 4, 8, 16].map(|nodes| cycles(cost(nodes)));
    let at = |nodes: u16| format!("sci-ring-33-{nodes}p");
    let read = Experiment::LmbenchRead;
    let near = over_sizes(&|nodes| latency(&at(nodes), read, State::Uown, 0, &[]));
    let far = over_sizes(&|nodes| latency(&at(nodes), read, State::Uown, nodes - 1, &[]));
    // The owner is a third node where there is one.
    let dirty = over_sizes(&|nodes| {
        let (home, owner) = (0, 1);
        if nodes == 2 {
            return latency(&at(nodes), read, State::Dexd, owner, &[home]);
        }
        latency(&at(nodes), read, State::Dexd, nodes - 1, &[owner])
    });
    let stored =
        over_sizes(&|nodes| latency(&at(nodes), Experiment::LmbenchRdex, State::Dext, nodes - 1, &[nodes / 2 - 1]));
    let most = over_sizes(&|nodes| {
        let sharers: Vec<u16> = (0..nodes - 1).collect();
        latency(&at(nodes), Experiment::LmbenchRdex, State::Shrd, nodes - 1, &sharers)
    });
    let within = |what: &str, ours: [f64; 4], least: f64, greatest: f64| {
        for cost in ours {
            assert!((0.9 * least..=1.1 * greatest).contains(&cost), "{what}: {ours:.1?} against {least} to {greatest}");
        }
    };
    within("fill from local memory", near, 26.0, 26.0);
    within("fill from remote node", far, 31.0, 37.0);
    within("fill from dirty-remote", dirty, 49.0, 60.0);
    within("write to dirty remote", stored, 63.0, 207.0);
    within("write to a line with 15 copies", [most[3]; 4], 207.0, 207.0);
}
