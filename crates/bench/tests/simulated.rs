//! The experiments on simulated machines: the contract holds, and what is measured is what the machine is made of.

use bench::{
    Experiment, ListOrder, Outcome, Placement, Plan, Platform, PlatformError, RestartSearch, Settings,
    SimulatedPlatform, State, Suite, SuiteScope, conformance,
};
use units::{Bytes, CpuId, NodeId};

fn platform(machine: &str) -> SimulatedPlatform {
    let description = machine::load(machine).expect("a built-in machine");
    SimulatedPlatform::new(description, sim::Options::default()).expect("a machine that can be simulated")
}

fn settings() -> Settings {
    Settings { lines: Some(256), iterations: 2, ..Settings::simulated() }
}

fn run(platform: &mut dyn Platform, experiment: Experiment, state: State, local: u16, remote: Option<u16>) -> Outcome {
    let placement = Placement::new(NodeId(0), CpuId(local), remote.map(CpuId));
    Plan::new(experiment, state, placement, settings()).run(platform).expect("a valid plan")
}

#[test]
fn every_generation_keeps_the_contract_of_a_platform() {
    for machine in ["origin2000-r10k-195-2p", "origin2000-r10k-250-4p", "origin2000-r12k-300-8p", "bwana"] {
        conformance::check(&mut platform(machine)).unwrap_or_else(|broken| panic!("{machine}: {broken}"));
    }
}

#[test]
fn a_plan_does_not_depend_on_what_was_measured_before() {
    let mut used = platform("origin2000-r12k-300-4p");
    let first = run(&mut used, Experiment::LmbenchRdex, State::Cexm, 0, Some(2));
    run(&mut used, Experiment::BwZero, State::Uown, 1, None);
    let again = run(&mut used, Experiment::LmbenchRdex, State::Cexm, 0, Some(2));
    let elsewhere = run(&mut platform("origin2000-r12k-300-4p"), Experiment::LmbenchRdex, State::Cexm, 0, Some(2));
    assert_eq!(first, again);
    assert_eq!(first, elsewhere);
}

#[test]
fn states_cost_more_in_the_order_of_the_thesis() {
    // Prestor 2001 section 4.3.1: unowned and shared lines alike, then clean, then dirty owners.
    let mut platform = platform("origin2000-r12k-300-4p");
    let mut read = |state, remote| run(&mut platform, Experiment::LmbenchRead, state, 0, remote).record.headline();
    let (unowned, shared) = (read(State::Uown, None), read(State::Shrd, Some(1)));
    let (clean, dirty) = (read(State::Cexm, Some(1)), read(State::Dexd, Some(1)));
    assert!((unowned - shared).abs() < 0.02 * unowned, "{unowned} {shared}");
    assert!(unowned < clean && clean < dirty, "{unowned} {clean} {dirty}");
}

#[test]
fn lines_that_a_neighbour_has_evicted_are_in_memory_again() {
    // The third-level cache that requester and owner share has lost them, too.
    for machine in ["xeon-e5-2699v3-2s", "xeon-8180-2s", "epyc-7702-2s"] {
        let mut platform = platform(machine);
        let mut read = |state, remote| run(&mut platform, Experiment::LmbenchRead, state, 0, remote).record.headline();
        let (unowned, evicted, held) =
            (read(State::Uown, None), read(State::Cexm, Some(1)), read(State::Cexh, Some(1)));
        assert!((evicted - unowned).abs() < 0.1 * unowned, "{machine}: {unowned} {evicted}");
        assert!(held < 0.8 * unowned, "{machine}: {unowned} {held}");
    }
}

#[test]
fn the_first_pass_of_another_socket_writes_directory_bits() {
    // Where memory has such bits, further passes of the same processors find them set, and take no turns of its wires.
    for (machine, has_bits) in [("xeon-e5-2699v3-2s", false), ("xeon-8180-2s", true)] {
        let mut platform = platform(machine);
        let others = platform.layout().cpus_of(NodeId(1)).to_vec();
        let mut reads = |state, remotes| {
            let placement = Placement { home: NodeId(0), locals: others.clone(), remotes };
            let settings = Settings { lines: Some(4096), iterations: 1, ..Settings::simulated() };
            let outcome = Plan::new(Experiment::BwmpRead, state, placement, settings).run(&mut platform);
            outcome.expect("a valid plan").record.headline()
        };
        let (first, further) = (reads(State::Uown, Vec::new()), reads(State::Cexm, others.clone()));
        assert_eq!(further > 1.05 * first, has_bits, "{machine}: {first} MB/s, then {further} MB/s");
    }
}

#[test]
fn distance_and_sharers_cost_time() {
    let mut platform = platform("origin2000-r12k-300-8p");
    let near = run(&mut platform, Experiment::LmbenchRead, State::Uown, 0, None).record;
    let far = run(&mut platform, Experiment::LmbenchRead, State::Uown, 6, None).record;
    assert!(near.xhops < far.xhops && near.min < far.min, "{near:?} {far:?}");

    let mut with_sharers = |remotes: Vec<CpuId>| {
        let placement = Placement { home: NodeId(0), locals: vec![CpuId(0)], remotes };
        let plan = Plan::new(Experiment::LmbenchRdex, State::Shrd, placement, settings());
        plan.run(&mut platform).expect("a valid plan").record.min
    };
    let (one, three) = (with_sharers(vec![CpuId(1)]), with_sharers(vec![CpuId(1), CpuId(2), CpuId(4)]));
    assert!(one < three, "{one} {three}");
}

#[test]
fn the_restart_search_settles_below_the_back_to_back_latency() {
    let mut platform = platform("origin2000-r10k-250-2p");
    let cycle_ns = platform.layout().clock_period.as_ns();
    let restart = RestartSearch { max_work: 160, whole_curve: true, ..RestartSearch::default() };
    let plan = Plan::new(
        Experiment::RestartRead,
        State::Uown,
        Placement::new(NodeId(0), CpuId(0), None),
        Settings { restart, ..settings() },
    );
    let outcome = plan.run(&mut platform).expect("a valid plan");
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    let curve = outcome.restart.expect("a curve");
    assert!(outcome.record.min < curve.points[0].back_to_back_ns);
    for point in &curve.points {
        // A hit takes two cycles, each addition one (Prestor 2001 section 4.2.3); starting and ending weigh little.
        let l1_ns = cycle_ns * f64::from(2 + point.work);
        assert!((point.l1_ns - l1_ns).abs() < 0.1 * cycle_ns + 0.01 * l1_ns, "{point:?}");
        assert!(point.l2_ns.is_some_and(|l2_ns| point.l1_ns < l2_ns && l2_ns < point.back_to_back_ns), "{point:?}");
    }
}

#[test]
fn two_requesters_share_one_memory() {
    let mut platform = platform("origin2000-r12k-300-4p");
    let mut bandwidth = |locals: &[u16]| {
        let locals = locals.iter().map(|&cpu| CpuId(cpu)).collect();
        let placement = Placement { home: NodeId(0), locals, remotes: Vec::new() };
        let plan = Plan::new(Experiment::BwmpRead, State::Uown, placement, settings());
        plan.run(&mut platform).expect("a valid plan").record.headline()
    };
    let (alone, together) = (bandwidth(&[0]), bandwidth(&[0, 1]));
    assert!(together >= 0.98 * alone && together < 1.5 * alone, "{alone} {together}");
}

#[test]
fn the_counters_of_a_plan_outlive_it() {
    let mut platform = platform("origin2000-r12k-300-4p");
    run(&mut platform, Experiment::LmbenchRead, State::Uown, 2, None);
    let simulator = platform.simulator().expect("the plan's simulator");
    assert!(simulator.events() > 0 && simulator.messages_under_way() == 0);
}

#[test]
fn the_suites_run_to_the_end_on_a_small_machine() {
    let mut platform = platform("origin2000-r10k-195-4p");
    let restart = RestartSearch { max_work: 40, ..RestartSearch::default() };
    let settings = Settings { lines: Some(64), iterations: 1, restart, ..Settings::simulated() };
    let plans =
        Suite::All.plans(platform.layout(), &SuiteScope { nodes_per_distance: Some(1), ..SuiteScope::whole(settings) });
    for plan in plans.expect("a sound suite") {
        let outcome = plan.run(&mut platform).unwrap_or_else(|error| panic!("{plan:?}: {error}"));
        assert!(outcome.record.min > 0.0 && outcome.record.max.is_finite(), "{:?}", outcome.record);
    }
}

#[test]
fn a_full_node_is_an_error_and_not_a_panic() {
    let mut platform = platform("origin2000-r12k-300-2p");
    let placement = Placement::new(NodeId(0), CpuId(0), None);
    let settings = Settings { lines: Some(1 << 33), ..Settings::simulated() };
    let error = Plan::new(Experiment::LmbenchRead, State::Uown, placement, settings).run(&mut platform);
    let error = error.expect_err("1 TiB on one node");
    assert!(
        matches!(&error, bench::BenchError::Platform(PlatformError::OutOfMemory { home: NodeId(0), .. })),
        "{error}"
    );
}

/// Independent loads that hit in the secondary cache are no faster than its bus: each block holds it for a tag check, and
/// instructions leave the window in order, so that no later hit in the primary cache can hide what piles up.
#[test]
fn a_stream_of_secondary_hits_is_as_slow_as_the_bus() {
    let description = machine::load("origin2000-r10k-195-2p").expect("a description");
    let held = description.l2.as_ref().unwrap().bus_clock.period().as_ns()
        * f64::from(description.l2.as_ref().unwrap().tag_check_cycles);
    let mut platform = SimulatedPlatform::new(description.clone(), sim::Options::default()).expect("simulable");
    let at = |platform: &mut SimulatedPlatform, stride: u64| {
        let settings = Settings { array: Bytes::from_mib(1), stride: Bytes(stride), ..Settings::simulated() };
        let placement = Placement::new(NodeId(0), CpuId(0), None);
        let plan = Plan::new(Experiment::P3Ru, State::Uown, placement, settings);
        plan.run(platform).expect("a measurement").record.median
    };
    let block = description.l1.line.0;
    let each = at(&mut platform, block);
    assert!(each >= held, "{each} ns a block, which holds the bus for {held} ns");
    // Two elements a block: every second load hits in the primary cache, and the blocks come no faster for it.
    let half = at(&mut platform, block / 2);
    assert!((half / (each / 2.0) - 1.0).abs() < 0.1, "{half} ns at half the stride, {each} ns at a block's");
}

/// A machine of this name with these values.
fn changed(machine: &str, changes: &[(&str, &str)]) -> SimulatedPlatform {
    let changed = machine::resolve_changed(machine, machine, "", changes).unwrap_or_else(|error| panic!("{error}"));
    SimulatedPlatform::new(changed.description, sim::Options::default()).expect("a machine that can be simulated")
}

/// What the first processor measures on its own node.
fn alone(mut platform: SimulatedPlatform, experiment: Experiment, settings: &Settings) -> f64 {
    let placement = Placement::new(NodeId(0), CpuId(0), None);
    let plan = Plan::new(experiment, State::Uown, placement, settings.clone());
    plan.run(&mut platform).expect("possible").record.headline()
}

#[test]
fn lists_in_any_order_keep_the_contract() {
    for order in [ListOrder::Random, ListOrder::PageLocal] {
        let mut platform = platform("origin2000-r12k-300-8p").in_order(order);
        conformance::check(&mut platform).unwrap_or_else(|broken| panic!("{order:?}: {broken}"));
    }
}

/// A list by address has a translation for all elements of a page, one in random order hardly any.
#[test]
fn random_lists_wait_for_translations() {
    let settings = Settings { array: Bytes::from_mib(16), stride: Bytes(256), iterations: 1, ..Settings::simulated() };
    let walk = |order| {
        let changes = [("tlb.second_entries", "128"), ("tlb.miss_ns", "400"), ("tlb.large_page_kib", "0")];
        alone(changed("xeon-8180-2s", &changes).in_order(order), Experiment::AreaRead, &settings)
    };
    let (ascending, within, random) = (walk(ListOrder::Ascending), walk(ListOrder::PageLocal), walk(ListOrder::Random));
    assert!(random - ascending > 300.0, "{ascending} and {random} ns");
    assert!(random - within > 300.0, "{within} and {random} ns");
}

/// Wide accesses need fewer instructions a line, so that a window reaches further ahead.
#[test]
fn vectors_speed_up_a_stream() {
    let settings = Settings { lines: Some(4096), iterations: 1, ..Settings::simulated() };
    let triad = |bytes| {
        let changes = [("processor.vector_bytes", bytes), ("prefetch", "none")];
        alone(changed("xeon-8180-2s", &changes), Experiment::StreamTriad, &settings)
    };
    let (words, vectors) = (triad("8"), triad("32"));
    assert!(vectors > 1.3 * words, "{words} and {vectors} MB/s");
}

/// Every sample finds the beginning of its arrays in memory, though the third-level cache would hold them.
#[test]
fn samples_of_a_stream_are_alike() {
    let settings = Settings { lines: Some(2048), iterations: 3, ..Settings::simulated() };
    let placement = Placement::new(NodeId(0), CpuId(0), None);
    let plan = Plan::new(Experiment::StreamTriad, State::Uown, placement, settings);
    let record = plan.run(&mut platform("epyc-7702-2s")).expect("possible").record;
    assert!(record.max < 1.1 * record.min, "{} to {} MB/s", record.min, record.max);
}
