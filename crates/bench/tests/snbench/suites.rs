//! Suites follow the machine's shape.

use bench::{Experiment, Layout, Plan, Series, Settings, State, Suite, SuiteScope, average_by_distance};
use units::{Bytes, CpuId, Duration, NodeId};

use crate::mock::{LINE, Mock, row};

fn scope(nodes_per_distance: Option<usize>) -> SuiteScope {
    let settings = Settings { lines: Some(8), iterations: 1, ..Settings::simulated() };
    SuiteScope { nodes_per_distance, ..SuiteScope::whole(settings) }
}

fn plans(suite: Suite, layout: &Layout) -> Vec<Plan> {
    suite.plans(layout, &scope(None)).expect("a sound suite")
}

#[test]
fn the_local_suite_fills_the_table_of_local_results() {
    let plans = plans(Suite::Local, &row(4, Bytes::from_kib(16)));
    let on = |state: State| -> Vec<&str> {
        let local = plans.iter().filter(|plan| plan.series == Series::Local && plan.state == state);
        local.map(|plan| plan.experiment.name()).collect()
    };
    let reads_and_writes = ["lmbench-read", "lmbench-rdex", "restart-read", "bw-read", "bw-rdsh", "bw-rdex"];
    assert_eq!(on(State::Uown), [&reads_and_writes[..], &["bw-zero"]].concat());
    assert_eq!(on(State::Cexh), reads_and_writes);
    assert_eq!(on(State::Shrd).len(), 9);
    assert_eq!(on(State::Dexd), ["lmbench-read", "restart-read", "bw-read", "bw-rdsh"]);
    assert_eq!(on(State::Dext), ["lmbench-rdex", "restart-rdex", "bw-rdex"]);
    assert!(plans.iter().all(|plan| plan.placement.home == NodeId(0) && plan.placement.locals[0] == CpuId(0)));
}

#[test]
fn every_distance_has_its_three_legs() {
    let layout = row(5, Bytes::from_kib(16));
    let plans = plans(Suite::Interventions, &layout);
    for plan in &plans {
        let node = |cpu: CpuId| layout.node_of(cpu).expect("a validated plan");
        let (home, local) = (plan.placement.home, node(plan.placement.locals[0]));
        let remote = plan.placement.remotes.first().map(|&cpu| node(cpu));
        let apart = match plan.series {
            Series::XhopsZero => local == home && remote != Some(home),
            Series::YhopsZero => remote == Some(home) && local != home,
            Series::ZhopsZero => remote == Some(local) && local != home,
            Series::SameNode => local == home && remote == Some(home),
            Series::Unowned => remote.is_none(),
            other => panic!("{other:?} in the interventions suite"),
        };
        assert!(apart, "{plan:?}");
    }
    // Four states: together once, then three series over the four other nodes; two base lines over all five.
    assert_eq!(plans.len(), 4 * (1 + 3 * 4) + 2 * 5);
}

#[test]
fn representatives_are_so_many_at_each_distance() {
    let layout = row(5, Bytes::from_kib(16));
    // From node 1: nodes 0 and 2 one hop away, 3 two, 4 three.
    let plans = Suite::Remote.plans(&layout, &scope(Some(1))).expect("a sound suite");
    let homes = plans.iter().filter(|plan| plan.experiment == Experiment::LmbenchRead);
    let locals: Vec<CpuId> = homes.map(|plan| plan.placement.locals[0]).collect();
    assert_eq!(locals, [CpuId(2), CpuId(0), CpuId(6), CpuId(8)]);
}

#[test]
fn sharers_join_nearest_first_beginning_with_the_peer() {
    let plans = plans(Suite::Invalidations, &row(4, Bytes::from_kib(16)));
    let sets = plans.iter().filter(|plan| plan.series == Series::Sharers && plan.experiment == Experiment::BwZero);
    let sets: Vec<Vec<u16>> = sets.map(|plan| plan.placement.remotes.iter().map(|cpu| cpu.0).collect()).collect();
    assert_eq!(sets, [vec![3], vec![3, 0], vec![3, 0, 4], vec![3, 0, 4, 6]]);
}

#[test]
fn a_machine_of_one_processor_gets_what_it_can_do() {
    let sizes = (LINE, Bytes::from_kib(4), Bytes::from_kib(16));
    let layout = Layout::new("uniprocessor", vec![vec![CpuId(0)], vec![]], |_, _| 0, sizes, Duration(4000));
    let layout = layout.expect("one processor, and a node of memory alone");
    let plans = plans(Suite::All, &layout);
    assert!(!plans.is_empty());
    assert!(plans.iter().all(|plan| matches!(plan.state, State::Uown | State::Shrd)));
    assert!(plans.iter().all(|plan| plan.placement.locals == [CpuId(0)] && plan.placement.remotes.is_empty()));
}

#[test]
fn areas_grow_and_reach_the_largest() {
    let areas = |array: Bytes| {
        let scope = SuiteScope::whole(Settings { array, ..Settings::simulated() });
        let plans = Suite::Hierarchy.plans(&row(2, Bytes::from_kib(16)), &scope).expect("a sound suite");
        plans.iter().map(|plan| plan.settings.array.0 >> 10).collect::<Vec<_>>()
    };
    assert_eq!(areas(Bytes::from_kib(64)), [4, 6, 8, 12, 16, 24, 32, 48, 64]);
    // Four times what the caches are said to hold, at least.
    assert_eq!(areas(Bytes::from_kib(8)).last(), Some(&64));
}

#[test]
fn every_processor_meets_every_other_with_lines_of_either_and_of_a_third() {
    let plans = plans(Suite::Cores, &row(3, Bytes::from_kib(16)));
    let read = |local: u16, remote: u16| -> Vec<u16> {
        let plans = plans.iter().filter(|plan| plan.experiment == Experiment::LmbenchRead);
        let these =
            plans.filter(|plan| plan.placement.locals == [CpuId(local)] && plan.placement.remotes == [CpuId(remote)]);
        these.map(|plan| plan.placement.home.0).collect()
    };
    for (local, remote) in (0..6).flat_map(|local| (0..6).map(move |remote| (local, remote))) {
        let expected = match (local, remote) {
            _ if local == remote => vec![],
            // On one node: lines of that node, and of the nearest other.
            _ if local / 2 == remote / 2 => vec![local / 2, if local / 2 == 1 { 0 } else { 1 }],
            _ => vec![local / 2, remote / 2, 3 - local / 2 - remote / 2],
        };
        assert_eq!(read(local, remote), expected, "{local} {remote}");
    }
    let pairs = plans.iter().filter(|plan| plan.experiment == Experiment::PingPong);
    assert!(pairs.into_iter().all(|plan| plan.placement.locals[0] < plan.placement.remotes[0]));
}

#[test]
fn nodes_without_processors_are_measured_and_nodes_without_memory_are_not() {
    let sizes = (LINE, Bytes::from_kib(4), Bytes::from_kib(16));
    // Node 1 has processors only, node 2 memory only.
    let cpus = vec![vec![CpuId(0)], vec![CpuId(1), CpuId(2)], vec![]];
    let layout = Layout::new("mixed", cpus, |a, b| u32::from(a != b), sizes, Duration(4000)).expect("a layout");
    let layout = layout.without_memory_on([NodeId(1)]);
    let plans = plans(Suite::Nodes, &layout);
    let latencies = plans.iter().filter(|plan| plan.experiment == Experiment::LmbenchRead);
    let legs: Vec<(u16, u16)> = latencies.map(|plan| (plan.placement.locals[0].0, plan.placement.home.0)).collect();
    assert_eq!(legs, [(0, 0), (1, 0), (0, 2), (1, 2)]);
    let together = plans.iter().filter(|plan| plan.experiment == Experiment::BwmpRead);
    assert!(together.into_iter().all(|plan| plan.placement.locals == [CpuId(1), CpuId(2)]));
}

#[test]
fn a_real_machine_gets_everything_there_is() {
    let mut layout = row(2, Bytes::from_kib(16));
    let series = |layout: &Layout| -> Vec<Series> {
        let mut all: Vec<Series> = plans(Suite::All, layout).iter().map(|plan| plan.series).collect();
        all.dedup();
        all
    };
    assert!(!series(&layout).contains(&Series::Hierarchy), "a description is compared with the thesis");
    layout.real = true;
    let all = series(&layout);
    for wanted in [Series::Hierarchy, Series::Places, Series::Cores, Series::Loaded, Series::Regions, Series::Sharers] {
        assert!(all.contains(&wanted), "{wanted:?}");
    }
}

#[test]
fn averages_are_taken_over_places_equally_far() {
    let layout = row(4, Bytes::from_kib(16));
    let mut platform = Mock::new(layout.clone());
    let plans = plans(Suite::Interventions, &layout);
    let outcomes: Vec<_> = plans.iter().map(|plan| plan.run(&mut platform).expect("a valid plan")).collect();
    let unowned = average_by_distance(&outcomes, Series::Unowned, Experiment::LmbenchRead, State::Uown);
    assert_eq!(unowned.into_iter().collect::<Vec<_>>(), [(0, 400.0), (1, 500.0), (2, 600.0)]);
    for series in [Series::XhopsZero, Series::YhopsZero, Series::ZhopsZero] {
        let dirty = average_by_distance(&outcomes, series, Experiment::LmbenchRdex, State::Dext);
        assert_eq!(dirty.into_iter().collect::<Vec<_>>(), [(0, 900.0), (1, 1000.0), (2, 1100.0)], "{series:?}");
    }
}

#[test]
fn plans_can_be_run_on_other_threads() {
    fn is_plain_data<T: Send + Sync + 'static>() {}
    is_plain_data::<Plan>();
    is_plain_data::<bench::Outcome>();
}
