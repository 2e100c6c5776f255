//! The whole catalogue on the real machines: every cell has a formula, and what needs no run is exactly as published.

use bench::{Settings, Suite, SuiteScope};
use experiments::catalogue::ENTRIES;
use experiments::measurement::Subject;
use experiments::{Outcomes, Reproduction, shared_region};

fn scope() -> SuiteScope {
    SuiteScope::whole(Settings::simulated())
}

#[test]
fn every_cell_of_every_table_has_a_formula_and_is_measured_once() {
    let all = Reproduction::prepare("", scope()).expect("the catalogue is complete");
    assert_eq!(all.tables().len(), ENTRIES.len());
    let measurements = all.measurements();
    let distinct: std::collections::BTreeSet<_> = measurements.iter().collect();
    assert_eq!(distinct.len(), measurements.len());
    // A table alone needs no more than its part of the whole.
    let one = Reproduction::prepare("prestor/4.15", scope()).expect("a table");
    assert!(one.measurements().iter().all(|needed| distinct.contains(needed)));
    assert!(one.measurements().len() < measurements.len());
}

#[test]
fn what_topologies_decide_is_exactly_as_published() {
    let all = Reproduction::prepare("", scope()).expect("the catalogue is complete");
    let known: Vec<_> = all.rows(&Outcomes::new()).into_iter().filter(|row| row.ours.is_some()).collect();
    let compared: Vec<_> = known.iter().filter(|row| row.theirs.is_some()).collect();
    // Hops and nodes of Tables 4.11 to 4.14 and 4.19, and the routing tables of FLASH.
    assert!(compared.len() > 120, "only {} figures follow from topologies", compared.len());
    for row in compared {
        assert_eq!(row.ours, row.theirs, "{}/{} {} {}", row.paper, row.table, row.row, row.column);
    }
}

#[test]
fn withheld_tables_have_the_shape_of_their_sisters() {
    let shape = |name: &str| {
        let table = Reproduction::prepare(name, scope()).expect("a table");
        let rows = table.rows(&Outcomes::new());
        assert!(rows.iter().all(|row| row.theirs.is_none() || name.ends_with(['6', '5'])), "{name}");
        rows.into_iter().map(|row| (row.row, row.column)).collect::<Vec<_>>()
    };
    assert_eq!(shape("prestor/4.7"), shape("prestor/4.6"));
    assert_eq!(shape("prestor/4.9"), shape("prestor/4.6"));
    let without_average = |name: &str| shape(name).into_iter().filter(|(row, _)| row != "avg").collect::<Vec<_>>();
    for name in ["prestor/4.17", "prestor/4.18", "prestor/4.20"] {
        assert_eq!(without_average(name), without_average("prestor/4.15"), "{name}");
    }
    // A row for each node of the 128-processor machine.
    assert_eq!(shape("prestor/A.1").len(), 64 * 12);
}

#[test]
fn every_suite_of_the_thesis_has_a_form_on_any_machine() {
    for machine in ["origin2000-r10k-195-2p", "origin2000-r12k-400-12p", "stinger"] {
        let description = machine::load(machine).expect("a parametric machine");
        for suite in Suite::ALL.into_iter().filter(|suite| suite.is_of_the_thesis()) {
            let table = Reproduction::of_suite(suite, &description, scope()).expect("a form");
            assert!(!table.tables().is_empty(), "{machine} {suite}");
            let foreign = table.measurements().iter().find(|needed| needed.machine != machine);
            assert!(foreign.is_none(), "{machine} {suite} needs {foreign:?}");
        }
    }
}

#[test]
fn a_suite_measures_all_that_its_tables_need() {
    let description = machine::load("arctic").expect("a built-in machine");
    let layout = bench::Layout::simulated(&description).expect("a layout");
    for suite in Suite::ALL {
        let table = Reproduction::of_suite(suite, &description, scope()).expect("a form");
        let plans = suite.plans(&layout, &scope()).expect("plans");
        let measured: std::collections::HashSet<_> =
            plans.iter().map(|plan| experiments::measurement::Measurement::of_plan("arctic", plan)).collect();
        for needed in table.measurements() {
            assert!(matches!(needed.subject, Subject::Bench(_)) && measured.contains(needed), "{suite}: {needed:?}");
        }
    }
}

#[test]
fn backoff_grows_with_the_threads_while_the_memory_stays_the_bottleneck() {
    let machine = machine::load("lego-oil").expect("a built-in machine");
    let run = |threads| shared_region::run(&machine, threads, sim::Options::default()).expect("a run");
    let (few, many) = (run(4), run(14));
    assert_eq!(few, run(4), "equal seeds give equal runs");
    // Table 6.1: no backoff with four threads, most invalidations with fourteen.
    assert!(few.read.backoff_pct < 1.0, "{few:?}");
    assert!(many.read.backoff_pct > 40.0, "{many:?}");
    // The memory of the home is what limits both: about 550 MB/s, half of it written.
    for zero in [few.zero, many.zero] {
        let total = zero.exclusive_mb_per_s + zero.writeback_mb_per_s;
        assert!((480.0..620.0).contains(&total), "{zero:?}");
        assert!((zero.exclusive_mb_per_s / zero.writeback_mb_per_s - 1.0).abs() < 0.1, "{zero:?}");
    }
}
