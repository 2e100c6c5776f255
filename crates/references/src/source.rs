//! Sources of the events of threads: what a trace says of itself, and why it cannot be read.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::encoding::{Decoder, Step};
use crate::event::Event;
use crate::memory::Memory;

/// Header of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// The program, as a person would call it.
    pub program: String,
    /// The command that was run, argument by argument, if that is known.
    pub command: Vec<String>,
    /// The machine on which it was recorded, or the tool that recorded it.
    pub recorded_on: String,
    /// How many threads; none yet while it is being recorded.
    pub threads: usize,
    /// Whether the order in which threads synchronised is in it.
    pub synchronised: bool,
    /// Information that it does not hold, a sentence each.
    pub lost: Vec<String>,
    /// The memory that it refers to, as far as the program has names for it or asks where it is to be.
    pub areas: Vec<Area>,
}

/// Consecutive memory of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Area {
    /// Its name in the program.
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

/// Steps in a [`Portion`] of a source that decodes ahead: few enough to stay in a first-level cache until they are replayed.
pub const BATCH: usize = 1024;

/// Steps of a thread that follow each other.
pub enum Portion<'a> {
    /// As they are.
    Steps(&'a [Step]),
    /// As bytes, decoded one by one as they are needed.
    Encoded(Encoded<'a>),
}

/// Encoded steps.
pub struct Encoded<'a> {
    /// The decoder of the thread's steps, after those before.
    pub(crate) decoder: &'a mut Decoder,
    /// The bytes.
    pub(crate) bytes: &'a [u8],
    /// Number of steps in them.
    pub(crate) steps: u32,
    /// The file, and the place of the bytes in it.
    pub(crate) path: &'a Path,
    pub(crate) at: u64,
}

impl Portion<'_> {
    /// Passes every step to `each`, in order.
    ///
    /// # Errors
    /// The bytes are damaged; the steps before the damage have been passed.
    #[inline(always)]
    pub fn for_each(mut self, mut each: impl FnMut(Step)) -> Result<(), ReferenceError> {
        // `each` is called at one place, so that the compiler can make one loop of decoding and replaying.
        loop {
            let next = match &mut self {
                Self::Steps(steps) => steps.split_off_first().copied(),
                Self::Encoded(encoded) => encoded.next()?,
            };
            match next {
                Some(step) => each(step),
                None => return Ok(()),
            }
        }
    }
}

impl Encoded<'_> {
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Step>, ReferenceError> {
        if self.steps == 0 {
            return if self.bytes.is_empty() && self.decoder.is_between_tokens() {
                Ok(None)
            } else {
                Err(self.damaged("a block goes on after its last step"))
            };
        }
        self.steps -= 1;
        match self.decoder.next(&mut self.bytes) {
            Some(step) => Ok(Some(step)),
            None => Err(self.damaged("a block holds something else than steps")),
        }
    }

    #[cold]
    fn damaged(&self, what: &str) -> ReferenceError {
        ReferenceError::Damaged { path: self.path.to_owned(), at: self.at, what: what.to_owned() }
    }
}

/// The events of one thread, in order, read as they are needed.
pub trait Events: Send {
    /// The next steps; `None` at the end.
    ///
    /// # Errors
    /// The trace cannot be read any further.
    fn next(&mut self) -> Result<Option<Portion<'_>>, ReferenceError>;
}

/// The events of one thread.
pub type ThreadEvents = Box<dyn Events>;

/// Events that come one by one, each a step of its own.
pub(crate) struct OneByOne<I> {
    events: I,
    batch: Vec<Step>,
    /// The site that was told last.
    site: u64,
}

impl<I> OneByOne<I> {
    /// The events of one thread from its start.
    pub(crate) fn new(events: I) -> Self {
        Self { events, batch: Vec::with_capacity(BATCH), site: 0 }
    }
}

impl<I: Iterator<Item = Event> + Send> Events for OneByOne<I> {
    fn next(&mut self) -> Result<Option<Portion<'_>>, ReferenceError> {
        let Self { events, batch, site } = self;
        batch.clear();
        batch.extend(events.take(BATCH).map(|event| {
            let step = Step::of(event, *site);
            *site = step.site();
            step
        }));
        Ok(Some(Portion::Steps(batch)).filter(|_| !batch.is_empty()))
    }
}

impl dyn Events {
    /// Passes every step to `each`, in order.
    ///
    /// # Errors
    /// The trace cannot be read to its end; the steps before have been passed.
    #[inline]
    #[expect(clippy::redundant_closure, reason = "a closure is compiled into the loop, a reference to one is called")]
    pub fn for_each(&mut self, mut each: impl FnMut(Step)) -> Result<(), ReferenceError> {
        while let Some(portion) = self.next()? {
            portion.for_each(|step| each(step))?;
        }
        Ok(())
    }

    /// All of them at once: of a trace that is known to be short.
    ///
    /// # Errors
    /// The trace cannot be read to its end.
    pub fn gathered(&mut self) -> Result<Vec<Event>, ReferenceError> {
        let (mut all, mut site) = (Vec::new(), 0);
        self.for_each(|step| {
            all.extend(step.events(site));
            site = step.site();
        })?;
        Ok(all)
    }
}

/// A trace that can be read, thread by thread, as often as needed.
pub trait Source: Send + Sync {
    /// The header of the trace.
    fn header(&self) -> &Header;

    /// Warnings for its user.
    fn warnings(&self) -> &[Warning];

    /// The memory that it refers to, if the trace tells; else all its events have to be read to know ([`Memory::of`]).
    fn memory(&self) -> Option<&Memory> {
        None
    }

    /// The events of thread `thread`, from the start. None if there is no such thread.
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
