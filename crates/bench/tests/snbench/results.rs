//! The figures that come out are those that the machine has.

use bench::{Experiment, Placement, Plan, RestartSearch, Settings, State, conformance, p3};
use proptest::prelude::*;
use record::{Unit, Warning};
use units::{Bytes, CpuId, Duration, NodeId};

use crate::mock::{Mock, TRANSFER, Transaction, row};

fn settings() -> Settings {
    Settings { lines: Some(16), ..Settings::simulated() }
}

#[test]
fn the_mock_is_a_platform() {
    conformance::check(&mut Mock::new(row(3, Bytes::from_kib(16)))).expect("the mock keeps the contract");
}

#[test]
fn a_latency_record_names_roles_and_distances() {
    let mut platform = Mock::new(row(4, Bytes::from_kib(16)));
    let plan = Plan::new(
        Experiment::LmbenchRead,
        State::Cexm,
        Placement::new(NodeId(1), CpuId(4), Some(CpuId(0))),
        settings(),
    );
    let record = plan.run(&mut platform).expect("a valid plan").record;
    assert_eq!((record.home, record.local, record.locals.as_slice()), (NodeId(1), CpuId(4), [CpuId(4)].as_slice()));
    assert_eq!((record.xhops, record.yhops, record.zhops), (1, Some(1), Some(2)));
    // 690 ns, and two hops on the longest leg.
    assert_eq!(
        (record.unit, record.min, record.max, record.stdev, record.n),
        (Unit::Nanoseconds, 890.0, 890.0, Some(0.0), 3)
    );
    assert_eq!(record.headline(), 890.0);
}

#[test]
fn a_bandwidth_counts_lines_and_adds_up_requesters() {
    let mut platform = Mock::new(row(2, Bytes::from_kib(16)));
    let placement = Placement { home: NodeId(0), locals: vec![CpuId(0), CpuId(1)], remotes: vec![] };
    let outcome = Plan::new(Experiment::BwmpRead, State::Uown, placement, settings()).run(&mut platform);
    let outcome = outcome.expect("a valid plan");
    // A line of 128 bytes every 100 ns for each of the two.
    assert_eq!(outcome.samples, [vec![1280.0; 3], vec![1280.0; 3]]);
    assert_eq!(outcome.record.headline(), 2560.0);
    assert_eq!(outcome.record.unit, Unit::MegabytesPerSecond);
    assert_eq!((outcome.record.yhops, outcome.record.zhops), (None, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Back-to-back time less the transfer that contention hides: what the mock is made to have.
    #[test]
    fn the_restart_latency_is_found(home in 0u16..4, owned in any::<bool>()) {
        let mut platform = Mock::new(row(4, Bytes::from_kib(16)));
        let (state, transaction) =
            if owned { (State::Dexd, Transaction::Downgrade) } else { (State::Uown, Transaction::Unowned) };
        let placement = Placement::new(NodeId(home), CpuId(0), owned.then_some(CpuId(1)));
        let outcome = Plan::new(Experiment::RestartRead, state, placement, settings()).run(&mut platform);
        let outcome = outcome.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let back_to_back = transaction.latency_ns() as f64 + 100.0 * f64::from(home);
        let curve = outcome.restart.expect("a restart search gives its curve");
        prop_assert_eq!(curve.points[0].back_to_back_ns, back_to_back);
        prop_assert!((outcome.record.min - (back_to_back - TRANSFER.as_ns())).abs() < 1e-9, "{}", outcome.record.min);
        prop_assert_eq!(outcome.record.n, 19);
        prop_assert!(curve.points.len() < 100, "the search stopped after {} steps", curve.points.len());
        prop_assert!(curve.points.iter().all(|point| point.l1_ns == 4.0 * f64::from(2 + point.work)));
    }
}

#[test]
fn a_whole_curve_goes_to_the_last_kernel_and_measures_the_second_level() {
    let mut platform = Mock::new(row(1, Bytes::from_kib(64)));
    let restart = RestartSearch { max_work: 60, whole_curve: true, ..RestartSearch::default() };
    let settings = Settings { restart, ..settings() };
    let plan = Plan::new(Experiment::RestartRdex, State::Uown, Placement::new(NodeId(0), CpuId(0), None), settings);
    let curve = plan.run(&mut platform).expect("a valid plan").restart.expect("a curve");
    assert_eq!(curve.points.len(), 61);
    assert!(curve.points.iter().all(|point| point.l2_ns.is_some()));
}

#[test]
fn a_search_that_does_not_settle_says_so() {
    let mut platform = Mock::new(row(1, Bytes::from_kib(16)));
    let restart = RestartSearch { bound: Duration(1), max_work: 30, ..RestartSearch::default() };
    let settings = Settings { restart, ..settings() };
    let plan = Plan::new(Experiment::RestartRead, State::Uown, Placement::new(NodeId(0), CpuId(0), None), settings);
    let outcome = plan.run(&mut platform).expect("a valid plan");
    let [Warning::RestartUnsettled { max_work: 30, .. }] = outcome.warnings[..] else {
        panic!("{:?}", outcome.warnings);
    };
    assert!(outcome.warnings[0].to_string().ends_with("until the search converges"), "{}", outcome.warnings[0]);
}

#[test]
fn remotes_of_an_unowned_line_are_not_used_in_silence() {
    let mut platform = Mock::new(row(2, Bytes::from_kib(16)));
    let placement = Placement::new(NodeId(0), CpuId(0), Some(CpuId(2)));
    let outcome = Plan::new(Experiment::LmbenchRead, State::Uown, placement, settings()).run(&mut platform);
    let outcome = outcome.expect("a valid plan");
    assert!(matches!(&outcome.warnings[..], [Warning::RemotesUnused { .. }]), "{:?}", outcome.warnings);
    // Its record names nobody who took no part.
    let record = outcome.record;
    assert_eq!((record.remotes.as_slice(), record.yhops, record.zhops), ([].as_slice(), None, None));
}

#[test]
fn a_p3_point_times_a_loop_that_has_been_running() {
    let mut platform = Mock::new(row(1, Bytes::from_kib(16)));
    let arrays = [Bytes::from_kib(16)];
    let plans = p3::diagram(Experiment::P3Ru, NodeId(0), CpuId(0), arrays, &Settings::simulated());
    for plan in plans {
        let outcome = plan.run(&mut platform).expect("a valid plan");
        // The mock's caches are unlimited: everything hits, four accesses of 8 ns in flight.
        assert_eq!((outcome.record.min, outcome.record.max), (2.0, 2.0), "{}", outcome.record.experiment);
    }
}
