//! Impossible experiments are refused in one line, before any work.

use bench::{BenchError, Experiment, Placement, Plan, Settings, State, Suite, Traffic};
use units::{Bytes, CpuId, NodeId};

use crate::mock::{Mock, row};

fn refusal(experiment: Experiment, state: State, placement: Placement, settings: Settings) -> String {
    let mut platform = Mock::new(row(4, Bytes::from_kib(16)));
    let error = Plan::new(experiment, state, placement, settings).run(&mut platform).expect_err("an impossible plan");
    assert!(matches!(error, BenchError::Plan(_)), "{error}");
    assert!(platform.census.is_empty(), "work had begun");
    error.to_string()
}

fn placed(home: u16, locals: &[u16], remotes: &[u16]) -> Placement {
    let cpus = |ids: &[u16]| ids.iter().map(|&id| CpuId(id)).collect();
    Placement { home: NodeId(home), locals: cpus(locals), remotes: cpus(remotes) }
}

#[test]
fn places_that_do_not_exist() {
    let read = |placement| refusal(Experiment::LmbenchRead, State::Uown, placement, Settings::simulated());
    assert_eq!(read(placed(9, &[0], &[])), "--home 9: row has no such node; accepted: node 0..3");
    assert_eq!(read(placed(0, &[99], &[])), "--local 99: row has no such CPU; accepted: CPU 0..7, each once");
    assert_eq!(read(placed(0, &[0], &[8])), "--remote 8: row has no such CPU; accepted: CPU 0..7, each once");
    assert_eq!(read(placed(0, &[1, 1], &[])), "--local 1: given twice; accepted: CPU 0..7, each once");
    assert_eq!(read(placed(0, &[], &[])), "--local (none): no requester given; accepted: CPU 0..7");
}

#[test]
fn states_without_the_processors_they_need() {
    let others = " other than the local ones";
    for (state, which) in [(State::Cexh, others), (State::Cexm, ""), (State::Dexd, others)] {
        let error = refusal(Experiment::LmbenchRead, state, placed(0, &[0], &[]), Settings::simulated());
        assert_eq!(
            error,
            format!("--remote (none): state {state} needs a remote CPU that owns the lines; accepted: CPU 0..7{which}")
        );
    }
    let again = Plan::new(Experiment::BwmpRead, State::Cexm, placed(0, &[0, 1], &[0, 1]), Settings::simulated());
    assert_eq!(again.validate(&row(4, Bytes::from_mib(4))), Ok(()), "a requester reads again what it has evicted");
    let own = refusal(Experiment::LmbenchRead, State::Dexd, placed(0, &[0], &[0]), Settings::simulated());
    assert!(own.starts_with("--remote 0: in state DEXD the owner cannot be the requester"), "{own}");
    let two = refusal(Experiment::LmbenchRead, State::Dexd, placed(0, &[0], &[1, 2]), Settings::simulated());
    assert!(two.starts_with("--remote 1 2: in state DEXD a line has one owner"), "{two}");
}

#[test]
fn experiments_that_mean_nothing_in_a_state() {
    for experiment in Experiment::ALL {
        for state in State::ALL {
            let locals: &[u16] = if experiment.is_loaded() { &[0, 2] } else { &[0] };
            let alone = state == State::Uown && !experiment.is_ping_pong();
            let placement = placed(0, locals, if alone { &[] } else { &[1] });
            let plan = Plan::new(experiment, state, placement, Settings::simulated());
            let verdict = plan.validate(&row(4, Bytes::from_mib(4)));
            assert_eq!(verdict.is_ok(), experiment.states().contains(&state), "{experiment} {state}: {verdict:?}");
        }
    }
    let error = refusal(Experiment::BwUpgrd, State::Uown, placed(0, &[0], &[]), Settings::simulated());
    assert_eq!(error, "--state UOWN: bw-upgrd does not apply to this state; accepted: SHRD");
}

#[test]
fn roles_that_an_experiment_needs() {
    let alone = refusal(Experiment::PingPong, State::Uown, placed(0, &[0], &[]), Settings::simulated());
    assert!(alone.starts_with("--remote (none): ping-pong needs one local and one remote CPU"), "{alone}");
    let mut layout = row(2, Bytes::from_mib(4));
    layout.shares_alone = false;
    for (sharers, refused) in [(&[][..], true), (&[0], true), (&[1], false)] {
        let plan = Plan::new(Experiment::BwUpgrd, State::Shrd, placed(0, &[0], sharers), Settings::simulated());
        let problem = plan.validate(&layout).err().map(|error| error.to_string());
        assert_eq!(problem.is_some_and(|text| text.starts_with("--remote ")), refused, "{sharers:?}");
    }
    let itself = refusal(Experiment::PingPong, State::Uown, placed(0, &[0], &[0]), Settings::simulated());
    assert!(itself.starts_with("--remote 0: "), "{itself}");
    let idle = refusal(Experiment::LoadedRead, State::Uown, placed(0, &[0], &[]), Settings::simulated());
    assert!(idle.starts_with("--local 0: no traffic: the first CPU measures"), "{idle}");
    let silent = Settings { traffic: Traffic { reads: 0, writes: 0, pause: 9 }, ..Settings::simulated() };
    let silent = refusal(Experiment::LoadedRead, State::Uown, placed(0, &[0, 1], &[]), silent);
    assert_eq!(silent, "--traffic 0:0: no accesses; accepted: READS:WRITES, not both zero");
}

#[test]
fn numbers_out_of_range() {
    let none = Settings { iterations: 0, ..Settings::simulated() };
    let error = refusal(Experiment::BwRead, State::Uown, placed(0, &[0], &[]), none);
    assert_eq!(error, "--iterations 0: no measurement would be made; accepted: 1 or more");
    // 16 KiB hold 128 lines; a clean owner must hold the list in half of its cache.
    let many = Settings { lines: Some(65), ..Settings::simulated() };
    let error = refusal(Experiment::LmbenchRead, State::Cexh, placed(0, &[0], &[1]), many);
    assert!(error.starts_with("--lines 65: ") && error.ends_with("accepted: 1..64"), "{error}");
    let empty = Settings { lines: Some(0), ..Settings::simulated() };
    let error = refusal(Experiment::BwRead, State::Uown, placed(0, &[0], &[]), empty);
    assert_eq!(error, "--lines 0: the list is empty; accepted: 1 or more");
}

#[test]
fn names_that_do_not_exist() {
    let experiment = "lmbench-raed".parse::<Experiment>().expect_err("a misspelt experiment").to_string();
    assert!(experiment.starts_with("EXPERIMENT lmbench-raed: unknown experiment; accepted: bw-read "), "{experiment}");
    let state = "EXCL".parse::<State>().expect_err("no composite state").to_string();
    assert_eq!(state, "--state EXCL: unknown coherence state; accepted: UOWN SHRD CEXH CEXM DEXD DEXT");
    let suite = "everything".parse::<Suite>().expect_err("no suite").to_string();
    assert!(suite.ends_with("regions mlc fit overview all"), "{suite}");
}

#[test]
fn default_lists_fit_the_caches_that_must_hold_them() {
    let layout = row(4, Bytes::from_kib(16));
    let lines =
        |experiment, state| Plan::new(experiment, state, placed(0, &[0], &[1]), Settings::simulated()).lines(&layout);
    assert_eq!(lines(Experiment::LmbenchRead, State::Cexm), 1024);
    assert_eq!(lines(Experiment::LmbenchRead, State::Cexh), 64);
    assert_eq!(lines(Experiment::LmbenchRead, State::Dexd), 128);
    assert_eq!(lines(Experiment::BwRdex, State::Shrd), 128);
    assert_eq!(lines(Experiment::BwZero, State::Shrd), 4096);
}
