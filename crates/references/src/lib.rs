//! References to memory by the threads of a program, one after the other, as a file.
//!
//! A trace holds what each thread did and in which order threads synchronised; what it has lost is how time feeds back: on a
//! machine of another speed another thread might have come to a lock first, or taken other work from a queue. Programs whose
//! threads share out their work beforehand lose nothing.
//!
//! Threads meet in two ways, which all others are made of: at barriers of them all, and at words. A [`Event::Change`] counts a
//! word up, an [`Event::Await`] waits until it has been counted up so often: so replaying keeps the recorded order of locks,
//! flags, starts and ends of threads, whatever the machine.

mod encoding;
mod event;
pub mod file;
pub mod import;
mod kind;
mod memory;
mod source;

pub use encoding::{GRAIN, Step};
pub use event::{Access, AccessKind, Event};
pub use file::{Recorder, ReferenceFile};
pub use kind::open;
pub use memory::Memory;
pub use source::{Area, BATCH, Encoded, Events, Header, Portion, ReferenceError, Source, ThreadEvents, Warning};
