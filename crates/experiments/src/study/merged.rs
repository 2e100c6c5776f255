//! The records of a study's runs together, in the order of the study, whoever ran them when.

use std::io::{self, Write};

use record::{Format, Record, RecordWriter, SimulationRow, WriteError};

use super::Study;
use super::run::Task;
use super::store::{Store, StoreError};
use crate::simulation::bare_description_row;

/// The records of the runs that are done.
#[derive(Default)]
pub struct Merged {
    /// Each run that is done, in the order of the study.
    pub runs: Vec<MergedRun>,
    /// Records of programs.
    pub simulations: Vec<SimulationRow>,
    /// Records of experiments.
    pub measurements: Vec<Record>,
    /// How many runs are not done.
    pub missing: usize,
}

/// The records of a run.
pub struct MergedRun {
    /// The place of the run in the study.
    pub place: usize,
    /// Its records as lines of JSON.
    pub text: String,
}

/// The fault of records under the key of a run that did not write them.
const OF_ANOTHER: &str = "the records are not those of the run with this key";

/// The records of the runs of `study` that are done in `store`.
///
/// # Errors
/// When they cannot be read, or are those of another run.
pub fn merge(study: &Study, store: &Store) -> Result<Merged, StoreError> {
    let mut merged = Merged::default();
    for (place, run) in study.runs.iter().enumerate() {
        let Some(text) = store.text(run.key)? else {
            merged.missing += 1;
            continue;
        };
        let wrong = |error: record::ReadError| store.no_records(run.key, error);
        match &run.task {
            Task::Simulation { simulation, .. } => {
                let rows = record::read::<SimulationRow>(&text).map_err(wrong)?.rows;
                if !matches!(rows.as_slice(), [(row, _)] if row.identity() == simulation.identity()) {
                    return Err(store.no_records(run.key, OF_ANOTHER));
                }
                merged.simulations.extend(rows.into_iter().map(|(row, _)| row));
            }
            Task::Plan { description, plan, .. } => {
                let rows = record::read::<Record>(&text).map_err(wrong)?.rows;
                let (machine, experiment) = (&description.name, plan.experiment.to_string());
                let has_own = rows.iter().any(|(row, _)| row.experiment == experiment);
                if !has_own || rows.iter().any(|(row, _)| row.machine != *machine) {
                    return Err(store.no_records(run.key, OF_ANOTHER));
                }
                merged.measurements.extend(rows.into_iter().map(|(row, _)| row));
            }
        }
        merged.runs.push(MergedRun { place, text });
    }
    Ok(merged)
}

impl Merged {
    /// Writes the descriptions of the study's machines and all records, as lines of JSON.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn write_lines(&self, study: &Study, store: &Store, mut destination: impl Write) -> Result<(), WriteError> {
        let provenance = store.provenance().clone();
        let mut writer = RecordWriter::<_, SimulationRow>::new(Format::JsonLines, &mut destination, provenance);
        study.machines.iter().try_for_each(|machine| writer.describe(&bare_description_row(machine)))?;
        drop(writer);
        let written: io::Result<()> = self.runs.iter().try_for_each(|run| destination.write_all(run.text.as_bytes()));
        Ok(written.and_then(|()| destination.flush())?)
    }
}
