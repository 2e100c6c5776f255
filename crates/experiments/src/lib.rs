//! Experiments of the papers: their published figures as data, and the runs that reproduce them.
//!
//! A published table is a file under `reference/`, read by [`published`]; what each of its cells means is a formula over
//! measurements, given by a shape in [`tables`]; the [`catalogue`] puts the two together, a line for each table.
//! [`Reproduction`] runs every measurement once, however many figures need it, and says of each figure whether a machine
//! was fitted to it.

pub mod advice;
pub mod calibrated_on;
pub mod calibration;
pub mod catalogue;
pub mod diagnosis;
mod error;
pub mod fitting;
pub mod formula;
pub mod golden;
pub mod ideal;
mod key;
pub mod measurement;
mod outcome;
pub mod parallel;
pub mod picture;
pub mod profiling;
pub mod published;
pub mod remote_reads;
mod reproduction;
mod run;
mod setting_words;
pub mod shared_region;
mod simulation;
pub mod study;
mod system;
pub mod tables;
pub mod utilisation;
pub mod variant;

pub use error::ExperimentError;
pub use execution::{Executable, Relocation};
pub use key::{Detail, RunKey, content_digest};
pub use outcome::{Outcome, Outcomes};
pub use reproduction::{FailedMeasurement, PreparedTable, Reproduction};
pub use run::{Finished, run, run_once, run_plan, run_program, run_windows, suite_settings};
pub use simulation::attribution;
pub use simulation::{
    OwnProgram, Processors, Simulated, Simulation, Sweep, Synchronisation, Variations, bare_description_row,
    description_row, policies, program_rows, run_together,
};
pub use system::{System, Systems};
pub use tables::Reproduced;
