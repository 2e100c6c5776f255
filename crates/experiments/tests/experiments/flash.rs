//! Measurements behind the figures of the FLASH dissertation: between which nodes, on which variants of the machine.

use std::collections::BTreeSet;

use bench::{Experiment, Plan, Settings, State, SuiteScope};
use experiments::ideal::{Account, Equation};
use experiments::measurement::{Measurement, ProgramRun, Subject};
use experiments::{Outcome, Reproduction, run, variant};
use units::{CpuId, NodeId};
use workloads::Workload;

fn prepared(selection: &str) -> Reproduction {
    Reproduction::prepare(selection, SuiteScope::whole(Settings::simulated())).expect("a table with a machine")
}

fn plan(measurement: &Measurement) -> &Plan {
    match &measurement.subject {
        Subject::Bench(plan) => plan,
        other => panic!("no plan: {other:?}"),
    }
}

#[test]
fn the_worst_reads_leave_the_metacube_and_the_best_stay_in_the_cluster() {
    let table = prepared("flash/5.2");
    let of_one = |measurement: &&Measurement| measurement.machine == "flash-64p+hybrid";
    let plans: Vec<&Plan> = table.measurements().iter().filter(of_one).map(plan).collect();
    assert_eq!(table.measurements().len(), 3 * plans.len(), "the same of each protocol");
    assert!(plans.iter().all(|plan| plan.experiment == Experiment::LmbenchRead));
    assert!(plans.iter().all(|plan| plan.placement.locals == [CpuId(0)]));
    let homes = |state: State| -> Vec<u16> {
        plans.iter().filter(|plan| plan.state == state).map(|plan| plan.placement.home.0).collect()
    };
    // The requester itself, its neighbour, and the clusters of three metacubes.
    let far: Vec<u16> = (4..16).map(|cluster| cluster * 4).collect();
    assert_eq!(homes(State::Uown), [&[0, 1][..], &far].concat());
    assert_eq!(homes(State::Dexd), [&[1][..], &far].concat());
    for dirty in plans.iter().filter(|plan| plan.state == State::Dexd) {
        assert_eq!(dirty.placement.remotes, [CpuId(dirty.placement.home.0 + 1)], "the owner is beside the home");
    }
}

#[test]
fn upgrades_differ_by_protocol_alone_and_are_measured_once_for_both_figures() {
    let (wide, detailed) = (prepared("flash/5.7"), prepared("flash/5.8"));
    let machines: BTreeSet<&str> = wide.measurements().iter().map(|measured| measured.machine.as_str()).collect();
    let expected = ["cv=2", "dynamic-pointer", "hybrid"]
        .map(|protocol| format!("flash-64p+{protocol}+processor.outstanding_misses=1"));
    assert_eq!(machines, expected.iter().map(String::as_str).collect());
    let [coarse, _, hybrid] = expected.map(|name| variant::load(&name).expect("a variant"));
    assert_eq!(hybrid.processor.outstanding_misses, 1);
    let mut same = hybrid.clone();
    same.directory.as_mut().expect("FLASH has a directory").protocol = "cv=2".to_owned();
    (same.name, same.title) = (coarse.name.clone(), coarse.title.clone());
    assert_eq!(same, coarse);
    // Sets of sharers do not depend on the protocol, nor on the figure.
    let sets = |of: &Reproduction, machine: &str| -> BTreeSet<Vec<u16>> {
        let measured = of.measurements().iter().filter(|measured| measured.machine == machine);
        measured.map(|measured| plan(measured).placement.remotes.iter().map(|cpu| cpu.0).collect()).collect()
    };
    assert_eq!(sets(&wide, &coarse.name), sets(&wide, &hybrid.name));
    let of_few = sets(&detailed, &coarse.name);
    assert!(sets(&wide, &coarse.name).iter().filter(|set| set.len() <= 16).all(|set| of_few.contains(set)));
    let both = wide.measurements().iter().chain(detailed.measurements()).collect::<BTreeSet<_>>().len();
    assert!(both < wide.measurements().len() + detailed.measurements().len(), "a set is measured once for both");
}

#[test]
fn every_program_runs_under_every_protocol_at_both_sizes() {
    let study = prepared("flash/sharing");
    let runs: Vec<(&str, &str, u16)> = study
        .measurements()
        .iter()
        .map(|measured| match &measured.subject {
            Subject::Program(run) => (measured.machine.as_str(), run.workload.program.name(), run.cpus),
            other => panic!("no program: {other:?}"),
        })
        .collect();
    assert_eq!(runs.len(), 5 * 7 * 2);
    assert!(runs.contains(&("flash-64p+cv=2/LB", "wide-read-sharing", 63)));
    assert!(study.rows(&experiments::Outcomes::new()).iter().all(|row| row.theirs.is_none()), "nothing is published");
}

#[test]
fn a_program_is_a_measurement_like_any_other() {
    let machine = machine::load("origin2000-r12k-300-8p").expect("a machine");
    let measured = |name: &str, cpus: u16| {
        let workload = Workload::new(name, &workloads::Settings::default().with("work", 100)).expect("a program");
        let subject = Subject::Program(ProgramRun::new(workload, cpus));
        let measurement = Measurement { machine: machine.name.clone(), subject };
        match run(&machine, &measurement, sim::Options::default()).expect("a run") {
            Outcome::Program(row) => row,
            other => panic!("no program: {other:?}"),
        }
    };
    let (few, many) = (measured("hot-spot", 2), measured("hot-spot", 8));
    assert_eq!((few.cpus, many.cpus), (2, 8));
    assert!(many.max_utilisation_pct > few.max_utilisation_pct && many.time_ns > few.time_ns, "eight crowd: {many:?}");
    assert_eq!(many, measured("hot-spot", 8), "equal seeds give equal runs");
    let wrong_size = Subject::Program(ProgramRun::new(Workload::all()[0], 9));
    let error =
        run(&machine, &Measurement { machine: machine.name.clone(), subject: wrong_size }, sim::Options::default());
    assert!(error.expect_err("there are eight").to_string().contains("1-8 on "));
}

#[test]
fn homes_of_the_remote_access_cache_are_the_nearest_and_the_farthest() {
    let figure = prepared("flash/5.15");
    let homes: BTreeSet<NodeId> = figure
        .measurements()
        .iter()
        .map(|measured| match &measured.subject {
            Subject::RemoteReads(reads) => reads.home,
            other => panic!("no reads: {other:?}"),
        })
        .collect();
    let layout = bench::Layout::simulated(&machine::load("flash-64p").expect("FLASH")).expect("a layout");
    let hops: BTreeSet<u32> = homes.iter().map(|&home| layout.hops(NodeId(0), home)).collect();
    let all: BTreeSet<u32> = layout.nodes().skip(1).map(|node| layout.hops(NodeId(0), node)).collect();
    assert_eq!((homes.len(), hops.first(), hops.last()), (2, all.first(), all.last()));
    // Eleven hit rates, two homes, with and without: the statements in the text need no more.
    assert_eq!(figure.measurements().len(), 11 * 2 * 2);
}

#[test]
fn upgrades_take_longer_the_more_copies_there_are_under_any_protocol() {
    for protocol in ["cv=2", "dynamic-pointer", "hybrid"] {
        let name = variant::with(&variant::with_protocol("flash-8p", protocol), "processor.outstanding_misses", 1);
        let machine = variant::load(&name).expect("a variant");
        let layout = bench::Layout::simulated(&machine).expect("a layout");
        let settings = Settings { lines: Some(64), ..Settings::simulated() };
        let scope = SuiteScope { draws: 1, ..SuiteScope::whole(settings) };
        let latency = |sharers| {
            let plan = &bench::random_sharers(&layout, sharers, &scope)[0];
            let outcome = experiments::run_plan(&machine, plan, sim::Options::default()).expect("a run");
            bench::upgrade_latency(layout.line, outcome.record.headline())
        };
        let (one, seven) = (latency(1), latency(7));
        assert!(one > 600.0 && seven > 1.2 * one, "{protocol}: {one} ns with one sharer, {seven} ns with seven");
    }
}

#[test]
fn ideal_machines_run_what_the_machine_runs() {
    let study = prepared("flash/ideal");
    let machines: BTreeSet<&str> = study.measurements().iter().map(|measured| measured.machine.as_str()).collect();
    let base = "flash-64p+cv=2/LB+processor.outstanding_misses=1";
    let ideal = ["zero-overhead", "all-local"].map(|ideal| format!("{base}+directory.ideal={ideal}"));
    assert_eq!(machines, BTreeSet::from([base, &ideal[0], &ideal[1]]));
    // Every program at both sizes, once on each machine: the account and the speedups need no runs of their own.
    assert_eq!(study.measurements().len(), 4 * 2 * 3);
}

/// Where all misses are unhindered and local, there is nothing to remove. Where lines are handed round there is, and as much as the
/// account says to within a few percent: a store that misses keeps its place in the window, so long work hides little of it.
#[test]
fn accounts_and_ideal_machines_side_by_side() {
    let gains = |program: &str, cpus: u16| {
        let settings = workloads::Settings::default().with("work", 2000);
        let workload = Workload::new(program, &settings).expect("a program");
        let base = "flash-8p+cv=2/LB+processor.outstanding_misses=1";
        let row = |machine: &str| {
            let description = variant::load(machine).expect("a machine");
            let options = sim::Options::default();
            experiments::run_program(&description, ProgramRun::new(workload, cpus), options).expect("a run")
        };
        let real = row(base);
        let account = Account::of(&real).expect("an account");
        [("zero-overhead", Equation::ZeroOverhead), ("all-local", Equation::AllLocal)].map(|(name, equation)| {
            let ideal = row(&variant::with(base, "directory.ideal", name));
            (real.time_ns / account.time_ns(equation).expect("time left"), real.time_ns / ideal.time_ns)
        })
    };
    for (accounted, simulated) in gains("private", 1) {
        assert!((0.99..1.01).contains(&accounted) && (0.99..1.01).contains(&simulated), "{accounted} {simulated}");
    }
    let [zero_overhead, all_local] = gains("migratory", 8);
    assert!(zero_overhead.1 > 1.02 && all_local.1 > zero_overhead.1, "{zero_overhead:?} {all_local:?}");
    for (accounted, simulated) in [zero_overhead, all_local] {
        assert!((accounted / simulated - 1.0).abs() < 0.03, "{zero_overhead:?} {all_local:?}");
    }
}
