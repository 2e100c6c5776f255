//! The one result schema: every run of anything ends as these records, written a line at a time.
//!
//! A record is a [`Row`]: a structure, flat but for the parts of what it describes, whose fields serialise in the order of its columns. [`RecordWriter`] streams
//! rows as JSON lines or as CSV to any [`std::io::Write`] and flushes after each, so that nothing already measured is
//! lost when a run is interrupted. [`Warning`]s are typed values with advice, never bare strings.

mod attribution;
mod conditions;
mod diagnosis;
mod evidence;
mod fit;
mod inventory;
mod measurement;
mod program;
mod reproduction;
mod row;
mod sample;
mod simulation;
mod statistics;
mod verification;
mod warning;
mod writer;

pub use attribution::{Attribution, DataObject, LineLoss, Losses, PageHome, SourceLine, ThreadTime, first_used};
pub use conditions::{Conditions, Disturbance};
pub use diagnosis::FindingRow;
pub use evidence::Evidence;
pub use fit::FitRow;
pub use inventory::{DeadlockRow, MachineRow, TopologyPart, TopologyRow};
pub use measurement::{OneOrMany, Record, Unit};
pub use program::ProgramRow;
pub use reproduction::ReproductionRow;
pub use row::Row;
pub use sample::{SampleRow, TraceInfoRow};
pub use simulation::{
    CheckResult, ControllerCacheStatistics, ControllerStatistics, HandlerStatistics, ProcessorStatistics,
    RegionStatistics, SimulationRow,
};
pub use statistics::Statistics;
pub use verification::{VerificationResult, VerificationRow};
pub use warning::Warning;
pub use writer::{Format, RecordWriter, WriteError};
