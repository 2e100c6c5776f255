//! Running one measurement on a fresh simulated machine.

use bench::{Plan, SimulatedPlatform};
use machine::Description;

use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::{Measurement, Subject};
use crate::shared_region;

/// Runs `measurement` on a new machine of `description`: the outcome depends on nothing that ran before.
///
/// # Errors
/// When the measurement is impossible on the machine, or the simulation fails.
pub fn run(
    description: &Description,
    measurement: &Measurement,
    options: sim::Options,
) -> Result<Outcome, ExperimentError> {
    match &measurement.subject {
        Subject::Bench(plan) => Ok(Outcome::Bench(Box::new(run_plan(description, plan, options)?))),
        Subject::SharedRegion { threads } => Ok(Outcome::Traffic(shared_region::run(description, *threads, options)?)),
    }
}

/// Runs `plan` on a new machine of `description`.
///
/// # Errors
/// As [`run`].
pub fn run_plan(
    description: &Description,
    plan: &Plan,
    options: sim::Options,
) -> Result<bench::Outcome, ExperimentError> {
    let mut platform = SimulatedPlatform::new(description.clone(), options)?;
    Ok(plan.run(&mut platform)?)
}
