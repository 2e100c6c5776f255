//! The state of a simulation, as plain data that all of the runtime stands on: the run, its threads, and which of them runs now.
//!
//! All simulated threads run on one thread of the host, so these are plain statics, with neither locks nor thread-local storage:
//! which thread runs is a load away from every reference.

mod hot;
mod run;
mod thread;

pub use hot::{Budget, Frame, HOT, Hot, NOTHING_LATE, Ranges, Reference, Single, current, note_change, number, this};
pub use run::{MODE, Mode, RUN, Run, note, of, run};
pub use thread::{Cancel, Looks, Place, Thrown, Unwinding, UserThread, Wish};
