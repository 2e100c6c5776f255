//! The one result schema: every run of anything ends as these records, written a line at a time.
//!
//! A record is a [`Row`]: a structure, flat but for the parts of what it describes, whose fields serialise in the order of its
//! columns; a line of output has its kind and [`Provenance`] behind them. [`RecordWriter`] streams rows as JSON lines or as CSV to
//! any [`std::io::Write`] and flushes after each, so that nothing already measured is lost when a run is interrupted. [`read`] takes
//! back what was written, [`schema`] tells others what that is. [`Warning`]s are typed values with advice, never bare strings.

mod advice;
mod attribution;
mod columns;
mod computer;
mod conditions;
mod diagnosis;
mod evidence;
mod fit;
mod inventory;
mod measurement;
mod mlc;
mod program;
mod provenance;
mod reader;
mod reproduction;
mod row;
mod sample;
mod schema;
mod simulation;
mod statistics;
mod sweep;
mod verification;
mod warning;
mod writer;

pub use advice::AdviceRow;
pub use attribution::{Attribution, DataObject, LineLoss, Losses, PageHome, SourceLine, ThreadTime, first_used};
pub use columns::{ColumnType, RecordColumn, columns};
pub use computer::{ComputerCache, ComputerCore, ComputerNode, ComputerRow};
pub use conditions::{Conditions, Disturbance};
pub use diagnosis::FindingRow;
pub use evidence::Evidence;
pub use fit::FitRow;
pub use inventory::{DeadlockRow, DescriptionRow, MachineRow, TopologyPart, TopologyRow};
pub use measurement::{Parameters, Record, Unit};
pub use mlc::{MLC_MIXES, MlcMix};
pub use program::ProgramRow;
pub use provenance::{Provenance, SCHEMA_VERSION};
pub use reader::{Contents, ReadError, read};
pub use reproduction::{PublicationRow, ReproductionRow};
pub use row::Row;
pub use sample::{ObservableRow, SampleRow, TraceInfoRow};
pub use schema::schema;
pub use simulation::{
    CheckResult, ControllerCacheStatistics, ControllerStatistics, HandlerStatistics, LinkInterfaceStatistics,
    PageStatistics, ProcessorStatistics, ReferenceMix, RegionStatistics, RoundTripParts, SimulationRow,
};
pub use statistics::Statistics;
pub use sweep::{RunState, SweepRunRow, Work};
pub use verification::{VerificationResult, VerificationRow};
pub use warning::Warning;
pub use writer::{Format, RecordWriter, WriteError};
