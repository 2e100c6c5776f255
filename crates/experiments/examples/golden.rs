//! Compares the whole golden record with what is measured now, or replaces it.
//!
//! `cargo run --release -p ccnuma-experiments --example golden` compares and fails where anything differs; `-- --write` replaces the record and the
//! README's tables; `-- --write-runs` only the runs of programs, which take seconds; `-- --readme` only those tables, from the record
//! as it is.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use experiments::golden::{self, GoldenError, GoldenRecord};
use experiments::parallel;

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Comparison,
    Record,
    Runs,
    Readme,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Wanted::Comparison,
        ["--write"] => Wanted::Record,
        ["--write-runs"] => Wanted::Runs,
        ["--readme"] => Wanted::Readme,
        _ => {
            eprintln!("{}: accepted: nothing, --write, --write-runs or --readme", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match done(wanted) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn done(wanted: Wanted) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let folder = root().join("golden");
    if wanted == Wanted::Readme {
        write_readme(&GoldenRecord::read(&folder)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if wanted == Wanted::Runs {
        let record = GoldenRecord { runs: runs()?, ..GoldenRecord::read(&folder)? };
        record.write(&folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let now = measured()?;
    if wanted == Wanted::Record {
        now.write(&folder)?;
        write_readme(&now)?;
        return Ok(ExitCode::SUCCESS);
    }
    let differences = GoldenRecord::read(&folder)?.differences(&now);
    differences.iter().for_each(|difference| println!("{difference}"));
    println!("{} of {} figures differ", differences.len(), now.figures.len() + now.runs.len());
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Everything, on all cores.
fn measured() -> Result<GoldenRecord, Box<dyn std::error::Error>> {
    let mut record = GoldenRecord::default();
    for selection in golden::selections() {
        let start = std::time::Instant::now();
        record.figures.extend(golden::published_figures(selection, |_, _| ())?);
        eprintln!("{}: {:.1} s", selection.words, start.elapsed().as_secs_f64());
    }
    record.runs = runs()?;
    Ok(record)
}

/// The runs of programs.
fn runs() -> Result<Vec<golden::RunFigure>, Box<dyn std::error::Error>> {
    let start = std::time::Instant::now();
    let (scratch, mut all) = (tempfile::tempdir()?, Vec::new());
    let work = |run: &golden::Run| {
        let start = std::time::Instant::now();
        let figures = run.figures(scratch.path());
        eprintln!("{:.2} s: {}", start.elapsed().as_secs_f64(), run.name());
        figures
    };
    let keep = |_, figures: Result<Vec<golden::RunFigure>, GoldenError>| {
        all.extend(figures?);
        Ok::<_, GoldenError>(())
    };
    parallel::in_order(&golden::runs(), work, |_| (), keep)?;
    eprintln!("runs: {:.1} s", start.elapsed().as_secs_f64());
    Ok(all)
}

fn write_readme(record: &GoldenRecord) -> Result<(), Box<dyn std::error::Error>> {
    let file = root().join("README.md");
    let readme = std::fs::read_to_string(&file)?;
    Ok(std::fs::write(&file, golden::with_accuracy(&readme, &golden::accuracy_by_paper(&record.figures)?)?)?)
}
