//! Whatever a machine description is accepted with, runs: every key at either end of its range, or with each of its alternatives,
//! by itself and together with another.
//!
//! A search that is longer than that of an ordinary test run is asked for by environment variables, best with
//! `--nocapture --test-threads=1`:
//! - `PAIRS=n` tries `n` pairs of values instead of 200.
//! - `TELL=1` prints every run when it begins and when it ends, so that one that never ends can be told.

use experiments::{ExperimentError, Simulation, Synchronisation, policies, variant};
use machine::description::extremes;
use rayon::prelude::*;
use sim::Options;
use workloads::{Settings, Workload};

/// Machines that together read every key, with the tables that are varied: all of them on both controllers, all of FLASH's kinds of
/// directories, and pages that move; those of the network on other interconnects; and its own on a bus, on a ring, on clusters and on
/// servers.
const MACHINES: [(&str, &[&str]); 16] = [
    ("origin2000-r12k-300-8p+placement=first-touch+migration+replication+os.migration_threshold=2", EVERY_TABLE),
    ("origin2000-r10k-195-4p+placement=mld", EVERY_TABLE),
    ("flash-8p+hybrid/RAC+placement=fixed=7", EVERY_TABLE),
    ("flash-4p+dynamic-pointer", EVERY_TABLE),
    ("flash-4p+directory.ideal=zero-overhead", EVERY_TABLE),
    (
        "flash-8p+dynamic-pointer/RAC+placement=first-touch+migration+replication+os.migration_threshold=2",
        &["os", "handlers", "magic", "tlb"],
    ),
    ("flash-ring-6p", NETWORK),
    ("origin2000-r12k-300-16p+topology.kind=mesh", NETWORK),
    ("flash-crossbar-4p", NETWORK),
    ("origin2000-r10k-195-6p+topology.kind=ideal", NETWORK),
    ("smp-4p", &["bus", "banks", "memory", "l1", "l2", "l3", "processor"]),
    ("sci-ring-4p", &["sci", "sci_ring", "banks", "memory", "l1", "l2", "processor"]),
    ("dash-8p", &["cluster", "bus", "topology", "double_mesh", "mesh", "banks", "memory", "l1", "l2"]),
    ("dsm-cluster", &["cluster", "bus", "topology", "l1_port", "os", "ideal_network", "memory", "l1", "l2"]),
    ("xeon-8180-2s", &["server", "l3_slice", "home", "socket_link", "memory", "prefetch", "tlb", "l2"]),
    ("xeon-e5-2699v3-2s+cod", &["server", "l3_slice", "home", "socket_link", "ring", "banks", "processor"]),
];
const EVERY_TABLE: &[&str] = &[];
const NETWORK: &[&str] = &["topology", "router", "link", "ring", "mesh", "crossbar", "ideal_network"];

/// The most processors that take part: enough to share, few enough for a machine of thousands.
const THREADS: u16 = 4;

/// Programs of a few thousand references that share, and barriers and schedulers for them.
fn runs(key: &str) -> Vec<(Workload, Option<&'static str>)> {
    let program = |name, settings: &[(&str, u64)]| {
        let settings = settings.iter().fold(Settings::default(), |all, &(name, value)| all.with(name, value));
        Workload::new(name, &settings).expect("a program")
    };
    let fft = program("fft", &[("points", 256)]);
    let scheduled = [Some("gang/cache-affinity"), Some("run-queue/memory-affinity"), Some("batch")];
    match key.starts_with("scheduler.") {
        true => scheduled.map(|scheduler| (fft, scheduler)).to_vec(),
        false => vec![(fft, None), (program("uniform", &[("references", 200)]), None)],
    }
}

/// Runs small programs on a machine, if it is accepted. Whether it was.
///
/// # Errors
/// It is accepted and does not run, or is refused without a word of what would be accepted.
fn runs_if_accepted(machine: &str, key: &str) -> Result<bool, String> {
    let description = match variant::load(machine) {
        Ok(description) => description,
        Err(error) if error.to_string().contains("accepted: ") => return Ok(false),
        Err(error) => return Err(error.to_string()),
    };
    let processors = description.topology.processors.min(THREADS.into()) as u16;
    for (program, scheduler) in runs(key) {
        let name = program.name();
        let simulation = Simulation::new(description.clone(), program, Some(processors), Options::default());
        let simulation = match simulation {
            Ok(simulation) => simulation,
            // The machine is too small for the program, which is said before it starts.
            Err(ExperimentError::NodeMemory { .. } | ExperimentError::MachineMemory { .. }) => return Ok(false),
            Err(error) => return Err(format!("{name}: {error}")),
        };
        let barrier = policies::barrier("llsc").expect("a barrier");
        let mut simulation =
            simulation.with_synchronisation(Synchronisation { barrier, ..Default::default() }).expect("a barrier");
        if let Some(scheduler) = scheduler {
            let scheduling = policies::scheduler(scheduler).expect("a scheduler").expect("one that schedules");
            simulation = simulation.with_scheduling(scheduling).expect("few threads");
        }
        tell(&format!("{machine}: {name} {scheduler:?} begins"));
        let simulated = simulation.run().map_err(|error| format!("{name} {scheduler:?}: {error}"))?;
        tell(&format!("{machine}: {name} {scheduler:?} took {:?}", simulated.took));
        if let Some(wrong) = simulated.wrong {
            return Err(format!("{name} {scheduler:?}: {wrong}"));
        }
    }
    Ok(true)
}

/// Prints what a search is doing, if that is wanted.
fn tell(what: &str) {
    if std::env::var_os("TELL").is_some() {
        eprintln!("{what}");
    }
}

/// Runs small programs on all machines that are accepted. How many are; panics if any of them does not run.
fn all_that_are_accepted_run(machines: &[(String, &str)]) -> usize {
    let run = |(machine, key): &(String, &str)| {
        let outcome = std::panic::catch_unwind(|| runs_if_accepted(machine, key));
        let outcome = outcome.unwrap_or_else(|_| Err("it panics".to_owned()));
        outcome.map_err(|problem| format!("{machine}: {problem}")).inspect_err(|problem| tell(problem))
    };
    let outcomes: Vec<Result<bool, String>> = machines.par_iter().map(run).collect();
    let problems: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).map(String::as_str).collect();
    assert!(problems.is_empty(), "{} machines do not run:\n{}", problems.len(), problems.join("\n"));
    let accepted = outcomes.into_iter().filter(|outcome| *outcome == Ok(true)).count();
    println!("{accepted} of {} accepted", machines.len());
    accepted
}

/// The name of a machine with another value of a key, in place of one that the name tells.
fn with(machine: &str, key: &str, value: &str) -> String {
    let others = machine.split('+').filter(|change| change.split_once('=').is_none_or(|(known, _)| known != key));
    variant::with(&others.collect::<Vec<_>>().join("+"), key, value)
}

/// Whether a machine's search varies a key.
fn varies(tables: &[&str], key: &str) -> bool {
    tables.is_empty() || key.split_once('.').is_some_and(|(table, _)| tables.contains(&table))
}

/// Every key at every extreme, on every machine whose search varies it.
fn singles() -> Vec<(String, &'static str)> {
    let of = |(machine, tables): (&'static str, &'static [&'static str])| {
        let varied = extremes().filter(move |(key, _)| varies(tables, key));
        varied.flat_map(move |(key, values)| {
            let named = move |value: String| (with(machine, key, value.trim_matches('"')), key);
            values.into_iter().map(named)
        })
    };
    MACHINES.into_iter().flat_map(of).collect()
}

/// Two keys at extremes at once, so many of all such pairs at equal distances.
fn pairs(wanted: usize) -> Vec<(String, &'static str)> {
    let all: Vec<(&str, String)> =
        extremes().flat_map(|(key, values)| values.into_iter().map(move |value| (key, value))).collect();
    // Steps that have no factor in common with the lengths visit all of them.
    let pair = |number: usize| {
        let (machine, tables) = MACHINES[number % MACHINES.len()];
        let of_machine: Vec<_> = all.iter().filter(|(key, _)| varies(tables, key)).collect();
        let count = of_machine.len();
        let (first, second) = (of_machine[number * 97 % count], of_machine[(number * 89 + number / count + 1) % count]);
        let machine = with(machine, first.0, first.1.trim_matches('"'));
        let scheduled = [first.0, second.0].into_iter().find(|key| key.starts_with("scheduler."));
        (with(&machine, second.0, second.1.trim_matches('"')), scheduled.unwrap_or(first.0))
    };
    (0..wanted).map(pair).collect()
}

/// Machines that the search has found not to run are refused with the values that would be accepted.
#[test]
fn what_cannot_run_is_refused() {
    let with = |machine, key, value: u32| {
        variant::load(&variant::with(machine, key, value)).map(|_| ()).map_err(|error| error.to_string())
    };
    let links = "directory.link_store_entries";
    let refused = with("flash-4p+dynamic-pointer", links, 2).expect_err("too few for four nodes");
    let expected =
        "directory.link_store_entries = 2: a line shared by all nodes needs 3 links; accepted: a whole number";
    assert!(refused.contains(expected) && refused.ends_with("from 3 to 1073741824"), "{refused}");
    assert_eq!(with("flash-4p+dynamic-pointer", links, 3), Ok(()));
    assert_eq!(with("flash-4p+hybrid", links, 1), Ok(()), "it has no lists of links");
    let refused = with("flash-4p", "tlb.pages_per_entry", 3).expect_err("no power of two");
    assert!(
        refused.ends_with("tlb.pages_per_entry = 3: it is not a power of two; accepted: 1, 2, 4 or 8"),
        "{refused}"
    );
}

#[test]
fn machines_at_the_ends_of_their_ranges_run() {
    let all = singles();
    let accepted = all_that_are_accepted_run(&all);
    assert!(accepted > all.len() / 3, "only {accepted} of {} machines are accepted", all.len());
}

#[test]
fn machines_with_two_values_at_the_ends_of_their_ranges_run() {
    let wanted = std::env::var("PAIRS").ok().and_then(|pairs| pairs.parse().ok()).unwrap_or(200);
    let all = pairs(wanted);
    let accepted = all_that_are_accepted_run(&all);
    assert!(accepted > all.len() / 10, "only {accepted} of {} machines are accepted", all.len());
}
