//! Compares the whole golden record with what is measured now, or replaces it.
//!
//! `cargo run --release -p ccnuma-experiments --example golden` compares and fails where anything differs; `-- --write` replaces the record and the
//! README's tables; `-- --write hexsel/2` only the figures of that selection; `-- --write-runs` only the runs of programs, which take
//! seconds; `-- --readme` only the README's tables, from the record as it is. `-- --take lai.jsonl` replaces the tables of which the
//! file of `ccnuma reproduce lai --json=lai.jsonl` has all figures: studies of programs, which take up to hours and are compared by
//! nothing but the next one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use experiments::golden::{self, GoldenError, GoldenRecord};
use experiments::parallel;

/// The action that the command line asks for.
#[derive(Clone, PartialEq, Eq)]
enum Wanted {
    Comparison,
    Record,
    Part(&'static str),
    Taken(PathBuf),
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
        ["--write", part] => match golden::selections().into_iter().find(|selection| selection.words == part) {
            Some(selection) => Wanted::Part(selection.words),
            None => return refused(&words),
        },
        ["--take", file] => Wanted::Taken(file.into()),
        ["--write-runs"] => Wanted::Runs,
        ["--readme"] => Wanted::Readme,
        _ => return refused(&words),
    };
    match done(wanted) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Words that mean nothing here.
fn refused(words: &[String]) -> ExitCode {
    let parts: Vec<&str> = golden::selections().into_iter().map(|selection| selection.words).collect();
    let accepted = "accepted: nothing, --write, --write-runs, --readme, --take FILE, or --write with one of";
    eprintln!("{}: {accepted} {}", words.join(" "), parts.join(", "));
    ExitCode::from(2)
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
    let part = match &wanted {
        Wanted::Part(words) => {
            Some(figures(golden::selections().into_iter().filter(|selection| selection.words == *words))?)
        }
        Wanted::Taken(file) => Some(taken(file)?),
        _ => None,
    };
    if let Some(figures) = part {
        let record = GoldenRecord::read(&folder)?.with_figures(figures);
        record.write(&folder)?;
        write_readme(&record)?;
        return Ok(ExitCode::SUCCESS);
    }
    let known = GoldenRecord::read(&folder)?;
    let now = measured()?;
    if wanted == Wanted::Record {
        let record = GoldenRecord { runs: now.runs, ..known.with_figures(now.figures) };
        record.write(&folder)?;
        write_readme(&record)?;
        return Ok(ExitCode::SUCCESS);
    }
    let differences = known.part(&now.tables(), &now.names_of_runs()).differences(&now);
    differences.iter().for_each(|difference| println!("{difference}"));
    println!("{} of {} figures differ", differences.len(), now.figures.len() + now.runs.len());
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The figures among the records that `ccnuma reproduce` has written into a file.
fn taken(file: &Path) -> Result<Vec<record::ReproductionRow>, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(file).map_err(|source| GoldenError::File { file: file.to_owned(), source })?;
    Ok(record::read::<record::ReproductionRow>(&text)?.rows.into_iter().map(|(row, _)| row).collect())
}

/// Everything, on all cores.
fn measured() -> Result<GoldenRecord, Box<dyn std::error::Error>> {
    Ok(GoldenRecord { figures: figures(golden::selections())?, runs: runs()? })
}

/// The figures of these selections.
fn figures(
    selections: impl IntoIterator<Item = golden::Selection>,
) -> Result<Vec<record::ReproductionRow>, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for selection in selections {
        let start = std::time::Instant::now();
        all.extend(golden::published_figures(selection, |_, _| ())?);
        eprintln!("{}: {:.1} s", selection.words, start.elapsed().as_secs_f64());
    }
    Ok(all)
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
