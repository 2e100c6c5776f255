//! Sources of the events of threads: what a trace says of itself, and why it cannot be read.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::encoding::Step;
use crate::event::Event;
use crate::memory::Memory;

/// What a trace says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// The program, as a person would call it.
    pub program: String,
    /// What was run, argument by argument, if that is known.
    pub command: Vec<String>,
    /// The machine on which it was recorded, or the tool that recorded it.
    pub recorded_on: String,
    /// How many threads; none yet while it is being recorded.
    pub threads: usize,
    /// Whether the order in which threads synchronised is in it.
    pub synchronised: bool,
    /// What it does not hold, a sentence each.
    pub lost: Vec<String>,
    /// The memory that it refers to, as far as the program has names for it or asks where it is to be.
    pub areas: Vec<Area>,
}

/// Consecutive memory of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Area {
    /// What the program calls it.
    pub name: String,
    /// Its first byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Near which thread the program asks for it to be.
    pub near: Option<usize>,
}

/// Something about a trace that a person ought to know.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Warning {
    /// The file ends in the middle.
    #[error("{path}: cut off after {bytes} bytes: what was recorded up to there is read; record again for the rest")]
    CutOff {
        /// The file.
        path: PathBuf,
        /// How much of it is whole.
        bytes: u64,
    },
    /// Entries that are not understood.
    #[error(
        "{path}: {count} entries of unknown kind {kind} were skipped: the format may be newer than what is read here"
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Their kind, as a number of the format.
        kind: u16,
        /// How many.
        count: u64,
    },
}

/// Why a trace cannot be read.
#[derive(Debug, Error)]
pub enum ReferenceError {
    /// It cannot be read at all.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is none.
    #[error(
        "{path}: no trace of references; accepted: a file of `ccnuma sim --record`, a drmemtrace file or folder (.gz, .zip or plain), \
         the text of valgrind --tool=lackey --trace-mem=yes"
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// It is ours, of another version.
    #[error("{path}: recorded references of version {found}; accepted: version {accepted}; record the program again")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
        /// The version that can be read.
        accepted: String,
    },
    /// It is damaged.
    #[error("{path}: at byte {at}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        at: u64,
        /// In what way.
        what: String,
    },
}

/// Steps that are read at once: few enough to stay in a first-level cache until they are replayed.
pub const BATCH: usize = 1024;

/// The events of one thread, in order, read as they are needed.
pub trait Events: Send {
    /// Replaces what is in `batch`, which has room for [`BATCH`] steps or more, by the next steps, as many as there is room for; by none at
    /// the end.
    ///
    /// # Errors
    /// The trace cannot be read any further.
    fn fill(&mut self, batch: &mut Vec<Step>) -> Result<(), ReferenceError>;
}

/// The events of one thread.
pub type ThreadEvents = Box<dyn Events>;

/// Events that come one by one, each a step of its own.
pub(crate) struct OneByOne<I> {
    events: I,
    /// The site that was told last.
    site: u64,
}

impl<I> OneByOne<I> {
    /// The events of one thread from its start.
    pub(crate) fn new(events: I) -> Self {
        Self { events, site: 0 }
    }
}

impl<I: Iterator<Item = Event> + Send> Events for OneByOne<I> {
    fn fill(&mut self, batch: &mut Vec<Step>) -> Result<(), ReferenceError> {
        batch.clear();
        let Self { events, site } = self;
        batch.extend(events.take(batch.capacity().max(BATCH)).map(|event| {
            let step = Step::of(event, *site);
            *site = step.site();
            step
        }));
        Ok(())
    }
}

impl dyn Events {
    /// All of them at once: of a trace that is known to be short.
    ///
    /// # Errors
    /// The trace cannot be read to its end.
    pub fn gathered(&mut self) -> Result<Vec<Event>, ReferenceError> {
        let (mut all, mut batch, mut site) = (Vec::new(), Vec::with_capacity(BATCH), 0);
        loop {
            self.fill(&mut batch)?;
            if batch.is_empty() {
                return Ok(all);
            }
            for step in &batch {
                all.extend(step.events(site));
                site = step.site();
            }
        }
    }
}

/// A trace that can be read, thread by thread, as often as needed.
pub trait Source: Send + Sync {
    /// What it says of itself.
    fn header(&self) -> &Header;

    /// What a person ought to know of it.
    fn warnings(&self) -> &[Warning];

    /// The memory that it refers to, if the trace tells; else all its events have to be read to know ([`Memory::of`]).
    fn memory(&self) -> Option<&Memory> {
        None
    }

    /// What thread `thread` did, from the start. Nothing if there is no such thread.
    ///
    /// # Errors
    /// The file cannot be read any more.
    fn events(&self, thread: usize) -> Result<ThreadEvents, ReferenceError>;
}

/// Up to `most` bytes of the beginning of a file.
pub(crate) fn beginning(path: &Path, most: u64) -> Result<Vec<u8>, ReferenceError> {
    use std::io::Read;
    let read = || {
        let mut start = Vec::new();
        input::open(path)?.take(most).read_to_end(&mut start)?;
        Ok(start)
    };
    read().map_err(|source| ReferenceError::Io { path: path.to_owned(), source })
}
