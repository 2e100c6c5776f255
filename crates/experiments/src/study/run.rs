//! A run of a study: a program or an experiment on a simulated machine, checked, with its key.

use std::sync::Arc;

use bench::Plan;
use machine::Description;
use record::{Record, SimulationRow, SweepRunRow};

use crate::error::ExperimentError;
use crate::key::{Detail, RunKey};
use crate::run::run_plan;
use crate::simulation::Simulation;

/// A run of a study.
pub struct StudyRun {
    /// Its key.
    pub key: RunKey,
    /// Its line in a list, not done yet.
    pub row: SweepRunRow,
    pub(super) task: Task,
}

/// The task of a run.
pub(super) enum Task {
    Simulation { simulation: Box<Simulation>, detail: Detail },
    Plan { description: Arc<Description>, plan: Box<Plan>, options: sim::Options },
}

/// Records of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Records {
    /// Records of a program.
    Simulations(Vec<SimulationRow>),
    /// Records of an experiment: what was measured in one run.
    Measurements(Vec<Record>),
}

/// A run that is over.
pub struct Executed {
    /// Its records.
    pub records: Records,
    /// The fault of a program's results, if there is one.
    pub wrong: Option<String>,
    /// Warnings about the records.
    pub warnings: Vec<String>,
}

impl StudyRun {
    /// How long it takes, measured by what is simulated: those that take longest begin first.
    pub fn cost(&self) -> u64 {
        match &self.task {
            Task::Simulation { simulation, .. } => simulation.cpus() as u64,
            Task::Plan { plan, .. } => (plan.placement.locals.len() + plan.placement.remotes.len()) as u64,
        }
    }

    /// Runs it. The records depend on nothing that ran before.
    ///
    /// # Errors
    /// When the simulation fails.
    pub fn execute(&self) -> Result<Executed, ExperimentError> {
        match &self.task {
            Task::Simulation { simulation, detail } => {
                let simulated = simulation.run()?;
                let row = if detail.parts { simulated.row } else { simulated.row.without_parts() };
                Ok(Executed { records: Records::Simulations(vec![row]), wrong: simulated.wrong, warnings: Vec::new() })
            }
            Task::Plan { description, plan, options } => {
                let outcome = run_plan(description, plan, *options)?;
                let warnings = outcome.warnings.iter().map(ToString::to_string).collect();
                let records = outcome.records().cloned().collect();
                Ok(Executed { records: Records::Measurements(records), wrong: None, warnings })
            }
        }
    }
}
