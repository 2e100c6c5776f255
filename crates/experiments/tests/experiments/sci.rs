//! Programs on SCI rings with the code of Hexsel and Topham's compiler, and their tables.

use bench::{Settings as BenchSettings, SuiteScope};
use experiments::{Reproduction, Simulation};
use record::{ReferenceMix, ReproductionRow, SimulationRow};
use sim::{Mode, Options};
use workloads::{Compiled, Settings};

fn run(machine: &str, program: &str, settings: &[(&str, u64)], mode: Mode) -> SimulationRow {
    let description = machine::load(machine).expect("a machine");
    let settings = settings.iter().fold(Settings::default(), |all, &(name, value)| all.with(name, value));
    let compiled = Compiled::new(program, &settings).expect("a program");
    let options = Options { mode, check_loads: true, seed: 3, ..Options::default() };
    let simulated = Simulation::new(description, compiled, None, options).expect("it can run").run().expect("it ends");
    assert_eq!(simulated.wrong, None, "{program} on {machine}");
    simulated.row
}

const CODE: [(&str, u64); 3] = [("code_instructions", 6600), ("code_loads", 2400), ("code_stores", 400)];

fn mixes(row: &SimulationRow) -> Vec<ReferenceMix> {
    row.processors.iter().flatten().filter_map(|processor| processor.mix).collect()
}

/// Two loads of shared data a product, and a store an element; private references and instructions in proportion to them.
#[test]
fn references_of_unoptimised_code_are_counted_by_their_data() {
    let product = [("side", 12), ("order", 1), ("element", 4)];
    let row = run("sci-ring-2p", "mmult", &[&product[..], &CODE].concat(), Mode::LookAhead);
    let mixes = mixes(&row);
    let sum = |of: fn(&ReferenceMix) -> u64| mixes.iter().map(of).sum::<u64>();
    let [loads, stores] = [12 * 12 * 12 * 2, 12 * 12];
    assert_eq!((sum(|mix| mix.shared_loads), sum(|mix| mix.shared_stores)), (loads, stores));
    // Three instructions a product, and six an element.
    let own = loads + stores + 12 * 12 * 12 * 3 + 12 * 12 * 6;
    // Each thread has remainders of three kinds left.
    let near = |found: u64, expected: u64| found.abs_diff(expected) <= 3 * mixes.len() as u64;
    assert!(near(sum(|mix| mix.private_loads), own * 24 / 10), "{mixes:?}");
    assert!(near(sum(|mix| mix.private_stores), own * 4 / 10), "{mixes:?}");
    assert!(near(sum(|mix| mix.instructions), own * 66 / 10), "{mixes:?}");
    // Every private store goes through to the secondary cache, which takes time.
    assert!(row.spent_ns["private.write"] > 0.0 && row.spent_ns["write-through"] > 0.0, "{:?}", row.spent_ns);
    let all: f64 = row.spent_ns.values().sum();
    assert!((all - row.time_ns * 2.0).abs() < 1e-9 * all, "{:?}", row.spent_ns);
}

#[test]
fn plain_code_leaves_a_program_as_it_is() {
    let settings = [("side", 12), ("code_frame", 4096)];
    let [plain, framed] =
        [&settings[..1], &settings].map(|settings| run("sci-ring-2p", "ge", settings, Mode::LookAhead));
    assert_eq!(plain, framed);
    assert!(mixes(&plain).is_empty());
}

/// Schedules that depend on who comes first, and private references, are the same in lock-step.
#[test]
fn running_ahead_changes_nothing() {
    let paths = |schedule| [("vertices", 17), ("schedule", schedule), ("reload", 1), ("element", 4)];
    let loops =
        [("paths", paths(1).to_vec()), ("paths", paths(2).to_vec()), ("ge", vec![("side", 13), ("shrinking", 1)])];
    for (program, settings) in loops {
        for machine in ["sci-ring-4p", "flash-3p", "origin2000-r12k-300-4p"] {
            let settings = [&settings[..], &CODE].concat();
            let [ahead, in_step] = [Mode::LookAhead, Mode::LockStep].map(|mode| run(machine, program, &settings, mode));
            assert_eq!(ahead, in_step, "{program} on {machine}");
        }
    }
}

fn reproduced(selection: &str) -> Vec<ReproductionRow> {
    let scope = SuiteScope { quick: true, ..SuiteScope::whole(BenchSettings::simulated()) };
    let reproduction = Reproduction::prepare(selection, scope).expect("a table");
    let mut rows = Vec::new();
    let keep = |row| {
        rows.push(row);
        Ok::<_, std::convert::Infallible>(())
    };
    let Ok((_, failures)) = reproduction.run(Options::default(), &(), |_| (), keep);
    assert!(failures.is_empty(), "{failures:?}");
    rows
}

/// A quick run has a figure in every cell, and those of one ring alone are calibrated, besides the division of cholesky's references
/// on one node: fits to other figures of the same runs, such as lengths of sharing lists, do not fix counts of references.
#[test]
fn counts_of_references_are_reproduced_in_all_sizes() {
    let rows = reproduced("hexsel/1");
    assert_eq!(rows.len(), 6 * 5 * 5);
    for row in &rows {
        assert!(row.ours.is_some_and(|ours| ours >= 0.0), "{row:?}");
        let divided = row.row == "cholesky at 1" && ["shared", "private"].contains(&row.column.as_str());
        assert_eq!(row.calibrated, divided || row.row.ends_with(" at 4"), "{row:?}");
    }
}

#[test]
fn traffic_and_statements_of_the_text_are_reproduced() {
    for row in reproduced("hexsel/4") {
        assert!(row.ours.is_some_and(f64::is_finite), "{row:?}");
        if row.column.contains(" under ") || row.column.contains(" from ") {
            assert!(row.theirs == Some(1.0) && [Some(0.0), Some(1.0)].contains(&row.ours), "{row:?}");
        }
    }
}

#[test]
fn time_is_broken_down_into_its_parts() {
    let rows = reproduced("hexsel/figure-2");
    for (program, nodes) in
        ["cholesky", "mp3d", "water"].into_iter().flat_map(|name| [1, 2, 4, 8, 16].map(|nodes| (name, nodes)))
    {
        let part = |figure: &str| {
            let column = format!("{figure} at {nodes}");
            rows.iter().find(|row| row.row == program && row.column == column).and_then(|row| row.ours).expect(figure)
        };
        let all: f64 = ["busy", "read-misses", "write-misses", "synchronisation"].map(part).iter().sum();
        assert!((99.0..100.01).contains(&all), "{program} on {nodes}: {all}");
    }
}
