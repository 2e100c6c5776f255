//! `ccnuma diagnose -- ./prog` without a machine: what keeps a program from being faster on this computer.

use std::ffi::OsString;

use experiments::diagnosis::{self, Diagnosis};
use profile::linux::{Lives, Touched};
use profile::session::Program;
use profile::{CounterSource, Sampler};
use record::SimulationRow;
use trace::{SourceDescription, Trace, TraceWriter};

use super::profile::flags::SamplerFlags;
use super::profile::watched;
use crate::failure::Failure;

/// A program that was run on this computer.
pub struct OnHost {
    /// The findings.
    pub found: Diagnosis,
    /// The sources of the data: what they see of the program here, and what not and why.
    pub sight: Vec<SourceDescription>,
}

/// Runs a program on this computer, listens to what it does to memory, and diagnoses it.
///
/// # Errors
/// When it cannot be run, or this computer tells nothing of it.
pub fn run(command: &[OsString]) -> Result<OnHost, Failure> {
    let words = watched::words(command);
    let file = Program::find(&command[0]).map_err(|error| watched::cannot_be_started(&command[0], &error))?;
    // Links have other names than what is mapped.
    let file = file.canonicalize().unwrap_or(file);
    let (files, inventory, mut sources) = SamplerFlags::default().sources(true)?;
    let mut sampler = Sampler::new(sources.counters(), None);
    let preamble = watched::preamble(&files, &inventory, command, &sampler, &sources);
    let mut writer = TraceWriter::new(Vec::new(), &preamble, sources.counters()).map_err(Failure::run)?;
    let mut touched = Touched::new(&files, &inventory);
    let watched = watched::watch(command, &mut sources, &mut sampler, &mut writer, || Ok(()), || touched.listen())?;
    watched.written?;
    touched.listen();
    let written = writer.finish().map_err(Failure::run)?;
    let trace = Trace::read(written.as_slice()).map_err(Failure::run)?;
    let lives = Lives::of(&trace);
    let file = touched.program(&lives).unwrap_or(file);
    let row = SimulationRow { program: words.join(" "), machine: preamble.machine.clone(), ..SimulationRow::default() };
    let told = |moves| touched.attribution(&lives, &file.to_string_lossy(), moves);
    let (found, lacking) = diagnosis::of_host(&file, row, told);
    lacking.into_iter().for_each(|advice| eprintln!("note: {}: {advice}", words[0]));
    let mut sight = preamble.sources;
    sight.push(touched.describe());
    let wrong = watched.status.filter(|status| !status.success()).map(|status| format!("{status}"));
    Ok(OnHost { found: Diagnosis { wrong, ..found }, sight })
}
