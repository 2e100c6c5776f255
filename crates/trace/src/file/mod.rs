//! The file: an Arrow IPC stream of rows, an object's counters at a moment each, and between them rows that tell of events.
//!
//! Columns are `time_ns`, `object` (a number of this file's), `name`, `event` and `detail` (of rows that are no samples), and
//! one a counter, `KIND.NAME`, empty in rows of objects of other kinds. What may be an estimate has a second column,
//! `KIND.NAME.counted`. The schema's metadata hold the preamble, a column's metadata its counter, as JSON.

mod columns;
mod frames;
mod reader;
mod writer;

use serde::{Deserialize, Serialize};

pub use reader::{Tick, Trace, TraceError, TraceWarning};
pub use writer::{TraceWriter, WriteError};

use crate::Object;

/// Something that happened at a moment, other than counting.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum Event {
    /// An object was seen for the first time; rows name it by `index`.
    Object {
        /// Its number in this file: the objects are numbered from 0 as they come.
        index: u32,
        /// The object.
        #[serde(flatten)]
        object: Object,
    },
    /// An object is no more.
    Gone {
        /// Its number in this file.
        index: u32,
    },
    /// An object is called something else now: its program was replaced (`exec`).
    Renamed {
        /// Its number in this file.
        index: u32,
        /// Its full name from now on.
        title: String,
    },
    /// Something to know about the samples.
    Note {
        /// In one line.
        text: String,
    },
    /// The launched program has ended.
    Exit {
        /// Its exit status; none if a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// Sampling has ended as it should.
    Summary {
        /// How many samples were written, of all objects each.
        ticks: u64,
        /// How often registers were read.
        readings: u64,
        /// Mean time that taking a sample took, in nanoseconds; zero in a simulation.
        sample_ns: u64,
        /// Readings that came so late that a narrow counter may have wrapped unseen.
        late: u64,
    },
}

impl Event {
    /// The word for it in the column `event`.
    fn name(&self) -> &'static str {
        match self {
            Self::Object { .. } => "object",
            Self::Gone { .. } => "gone",
            Self::Renamed { .. } => "renamed",
            Self::Note { .. } => "note",
            Self::Exit { .. } => "exit",
            Self::Summary { .. } => "summary",
        }
    }
}
