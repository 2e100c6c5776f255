//! Each experiment finds the lines in the state that it asked for.

use bench::{Experiment, Placement, Plan, Platform, Settings, State};
use proptest::prelude::*;
use units::{Bytes, CpuId, NodeId};

use crate::mock::{Mock, Transaction, row};

/// The kernel that an experiment times, by its name in the census.
fn timed(experiment: Experiment) -> &'static str {
    use Experiment::*;
    match experiment {
        BwRead | BwmpRead => "sum",
        BwRdsh => "sum-prefetch",
        BwRdex | BwZero | BwUpgrd => "fill",
        LmbenchRead | RestartRead => "walk",
        LmbenchRdex | LmbenchUpgrd | RestartRdex => "modify",
        LmbenchCas => "compare-exchange",
        AreaRead | RegionRead | LoadedRead | LoadedTriad => "walk",
        BwReadNt => "sum-non-temporal",
        BwWriteNt => "fill-non-temporal",
        StreamCopy | StreamScale | StreamAdd | StreamTriad => "stream",
        PingPong => "ping-pong",
        P3Ru => "read-use",
        P3Rmw => "read-modify-write",
    }
}

/// The experiments that measure lines in the state that was prepared, each of them once.
fn on_prepared_lines() -> Vec<Experiment> {
    let once = |experiment: &Experiment| {
        !(experiment.ranges_over_an_array() || experiment.is_stream() || experiment.is_ping_pong())
    };
    Experiment::ALL.into_iter().filter(once).collect()
}

/// The transaction that Table 4.1 of the thesis gives for a state and an experiment, `nodes` being those with copies.
fn expected(experiment: Experiment, state: State, nodes: usize) -> Transaction {
    let writes = !matches!(
        experiment,
        Experiment::BwRead
            | Experiment::BwmpRead
            | Experiment::BwRdsh
            | Experiment::BwReadNt
            | Experiment::LmbenchRead
            | Experiment::RestartRead
    );
    match state {
        State::Uown => Transaction::Unowned,
        State::Shrd if !writes => Transaction::SharedRead,
        State::Shrd if matches!(experiment, Experiment::BwUpgrd | Experiment::LmbenchUpgrd) => {
            Transaction::Upgrade(nodes)
        }
        State::Shrd => Transaction::Invalidate(nodes),
        State::Cexh => Transaction::CleanHit,
        State::Cexm => Transaction::CleanMiss,
        State::Dexd => Transaction::Downgrade,
        State::Dext => Transaction::Transfer,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any experiment in any of its states, between any processors, more than once: every timed access is the
    /// transaction that the state stands for, and none is anything else.
    #[test]
    fn timed_accesses_are_the_transaction_of_the_state(
        experiment in prop::sample::select(on_prepared_lines()),
        choice in any::<prop::sample::Index>(),
        home in 0u16..4,
        local in 0u16..8,
        others in prop::sample::subsequence((1u16..8).collect::<Vec<_>>(), 1..6),
        iterations in 1u32..4,
    ) {
        let state = *choice.get(experiment.states());
        // Remote processors other than the local one.
        let mut remotes: Vec<CpuId> = others.iter().map(|&step| CpuId((local + step) % 8)).collect();
        if state.needs_owner() {
            remotes.truncate(1);
        } else if state == State::Uown {
            remotes.clear();
        }
        let mut nodes: Vec<u16> = remotes.iter().map(|cpu| cpu.0 / 2).chain([local / 2]).collect();
        nodes.sort_unstable();
        nodes.dedup();

        let settings = Settings { iterations, lines: Some(16), ..Settings::simulated() };
        let placement = Placement::new(NodeId(home), CpuId(local), remotes);
        let mut platform = Mock::new(row(4, Bytes::from_kib(16)));
        let outcome = Plan::new(experiment, state, placement, settings).run(&mut platform);
        let outcome = outcome.map_err(|error| TestCaseError::fail(error.to_string()))?;

        let mut found = platform.transactions(timed(experiment));
        if experiment.is_restart() {
            // The one-element list and its first step.
            found.retain(|transaction| *transaction != Transaction::Hit);
            found.retain(|transaction| *transaction != Transaction::Unowned || state == State::Uown);
        }
        prop_assert_eq!(found, vec![expected(experiment, state, nodes.len())], "{} {}", experiment, state);
        prop_assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    }
}

#[test]
fn a_requester_without_sharers_still_finds_the_line_shared() {
    let mut platform = Mock::new(row(2, Bytes::from_kib(16)));
    let placement = Placement::new(NodeId(0), CpuId(0), None);
    let settings = Settings { lines: Some(16), ..Settings::simulated() };
    Plan::new(Experiment::LmbenchRdex, State::Shrd, placement, settings).run(&mut platform).expect("a valid plan");
    assert_eq!(platform.transactions("modify"), [Transaction::Invalidate(1)]);
}

#[test]
fn several_requesters_that_are_sharers_too_each_upgrade_their_portion() {
    let mut platform = Mock::new(row(3, Bytes::from_kib(16)));
    let everyone = vec![CpuId(0), CpuId(2), CpuId(4)];
    let placement = Placement { home: NodeId(0), locals: everyone.clone(), remotes: everyone };
    let settings = Settings { lines: Some(8), ..Settings::simulated() };
    let plan = Plan::new(Experiment::BwUpgrd, State::Shrd, placement, settings);
    plan.run(&mut platform).expect("a valid plan");
    assert_eq!(platform.transactions("fill"), [Transaction::Upgrade(3)]);
}

#[test]
fn several_owners_own_the_lines_of_one_requester_each() {
    let mut platform = Mock::new(row(4, Bytes::from_kib(16)));
    let placement = Placement { home: NodeId(0), locals: vec![CpuId(0), CpuId(1)], remotes: vec![CpuId(2), CpuId(4)] };
    let settings = Settings { lines: Some(8), ..Settings::simulated() };
    let plan = Plan::new(Experiment::LmbenchRead, State::Dexd, placement, settings);
    let outcome = plan.run(&mut platform).expect("a valid plan");
    assert_eq!(platform.transactions("walk"), [Transaction::Downgrade]);
    // One hop to the first owner, two to the second.
    assert_eq!(outcome.samples, [vec![1080.0; 3], vec![1180.0; 3]]);
    assert_eq!(outcome.record.mean, 1130.0);
}

#[test]
fn bw_zero_begins_with_a_cache_full_of_dirty_lines() {
    for state in [State::Uown, State::Shrd, State::Cexm] {
        let mut platform = Mock::new(row(2, Bytes::from_kib(16)));
        let remote = (state != State::Uown).then_some(CpuId(2));
        let settings = Settings { lines: Some(32), ..Settings::simulated() };
        let placement = Placement::new(NodeId(0), CpuId(0), remote);
        Plan::new(Experiment::BwZero, state, placement, settings).run(&mut platform).expect("a valid plan");
        let l2_lines = (platform.layout().l2.0 / platform.layout().line.0) as usize;
        assert!(platform.dirty_at_fill.is_some_and(|dirty| dirty >= l2_lines), "{:?}", platform.dirty_at_fill);
    }
}
