//! Traces of a profiler: objects, counters, their values over time in a file, and the metrics that follow from them.
//!
//! A trace is an Arrow IPC stream ([`TraceWriter`], [`Trace`]) that says all about itself, whoever wrote it: this computer or
//! a simulated one. Nothing here knows where a counter comes from. What is made of traces and records for other programs is a table of
//! Parquet ([`TableWriter`]).

mod counter;
mod file;
pub mod metric;
mod object;
mod preamble;
mod table;
mod value;

pub use counter::{Counter, Register};
pub use file::{Event, Tick, Trace, TraceError, TraceWarning, TraceWriter, WriteError};
pub use object::{Object, ObjectKind};
pub use preamble::{Blind, Preamble, SourceDescription};
pub use table::{Cell, CellType, TableColumn, TableError, TableWriter};
pub use value::Value;
