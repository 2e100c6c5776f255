//! The golden record: what is cheap of it is measured again, what it says of calibration holds of all of it, and the README tells
//! what it holds. `cargo run --release -p ccnuma-experiments --example golden` compares the rest.

use std::path::{Path, PathBuf};

use bench::{Settings, SuiteScope};
use experiments::golden::{self, Difference, GoldenRecord, RunFigure, Selection};
use experiments::{Outcomes, Reproduction, parallel};
use record::ReproductionRow;

/// Tables that take seconds, of both families: local and remote reads, interventions, upgrades, curves.
const CHEAP: [&str; 6] = ["prestor/4.6", "prestor/4.10", "prestor/4.15", "prestor/figure-4.5", "flash/5.2", "hexsel/2"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn record() -> GoldenRecord {
    GoldenRecord::read(&root().join("golden")).expect("the record is committed")
}

fn assert_none(differences: &[Difference]) {
    let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
    let advice = "if that is meant: cargo run --release -p ccnuma-experiments --example golden -- --write, and a commit that says why";
    assert!(lines.is_empty(), "{} figures differ from the golden record:\n{}\n{advice}", lines.len(), lines.join("\n"));
}

#[test]
fn cheap_tables_give_the_recorded_figures() {
    let tables = CHEAP.map(str::to_owned);
    let measure = |words| golden::published_figures(Selection { words, quick: false }, |_, _| ()).expect("it runs");
    let now = GoldenRecord { figures: CHEAP.into_iter().flat_map(measure).collect(), runs: Vec::new() };
    assert!(now.figures.len() > 100, "{} figures", now.figures.len());
    assert_none(&record().part(&tables, &[]).differences(&now));
}

#[test]
fn runs_of_programs_give_the_recorded_figures() {
    let scratch = tempfile::tempdir().expect("a folder");
    let mut now = GoldenRecord::default();
    let keep = |_, figures: Result<Vec<RunFigure>, golden::GoldenError>| {
        now.runs.extend(figures?);
        Ok::<_, golden::GoldenError>(())
    };
    let runs = golden::runs();
    parallel::in_order(&runs, |run| run.figures(scratch.path()), |_| (), keep).expect("they run");
    let names: Vec<String> = runs.iter().map(golden::Run::name).collect();
    assert_none(&record().part(&[], &names).differences(&now));
}

/// Without any measurement: tables, published figures and what machines and programs were fitted to.
#[test]
fn what_is_calibrated_is_as_recorded() {
    let unmeasured = |row: ReproductionRow| ReproductionRow { ours: None, error_pct: None, ..row };
    let mut now = GoldenRecord::default();
    for table in record().tables() {
        let reproduction =
            Reproduction::prepare(&table, SuiteScope::whole(Settings::simulated())).expect("tables of the catalogue");
        now.figures.extend(reproduction.rows(&Outcomes::new()).into_iter().map(unmeasured));
    }
    for Selection { words, .. } in golden::selections() {
        let of_words = |table: &String| table == words || table.starts_with(&format!("{words}/"));
        assert!(now.tables().iter().any(of_words), "{words} is not in the record");
    }
    let golden = GoldenRecord { figures: record().figures.into_iter().map(unmeasured).collect(), runs: Vec::new() };
    assert_none(&golden.differences(&now));
}

#[test]
fn the_readme_tells_what_the_record_holds() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let tables = golden::accuracy_by_paper(&record().figures).expect("the catalogue is right");
    let expected = golden::with_accuracy(&readme, &tables).expect("a place for the tables");
    assert!(
        readme == expected,
        "the README's tables are not those of the record: cargo run -p ccnuma-experiments --example golden -- --readme"
    );
}
