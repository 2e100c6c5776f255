//! References of the program's threads, written down as they run: to be replayed on other machines.
//!
//! Words by which threads synchronise are told by what changes and reads them indivisibly ([`super::state`]): a replay keeps their
//! order. The start of a thread is such a change, too, of the word by which its end is known.

use std::path::Path;

use references::{Access, AccessKind, Event, Header, Recorder, ReferenceError};

use super::state::{HOT, Reference, Single, number};

/// Properties of a compiled program that a trace of it does not hold.
const LOST: [&str; 3] = [
    "timing-dependent order of locks and work distribution (the recorded order is replayed)",
    "sizes of references (each counts as one word)",
    "dependences between instructions (all may overlap)",
];

static RECORDER: Single<Option<Recorder>> = Single::new(None);

/// From here on what threads do is written to the file at `path`.
///
/// # Errors
/// It cannot be written.
pub fn begin(path: &Path, program: &str, machine: &str) -> Result<(), ReferenceError> {
    let header = Header {
        program: program.to_owned(),
        command: program.split(' ').map(str::to_owned).collect(),
        recorded_on: machine.to_owned(),
        threads: 0,
        synchronised: true,
        lost: LOST.map(str::to_owned).to_vec(),
        areas: Vec::new(),
    };
    let recorder = Recorder::create(path, &header)?;
    // SAFETY: one thread of the host.
    unsafe {
        *RECORDER.get() = Some(recorder);
        (*HOT.get()).recording = true;
    }
    Ok(())
}

/// Nothing more is written, and what is left is.
///
/// # Errors
/// Something could not be written, now or before.
pub fn finish() -> Result<(), ReferenceError> {
    // SAFETY: one thread of the host.
    let recorder = unsafe {
        (*HOT.get()).recording = false;
        (*RECORDER.get()).take()
    };
    recorder.map_or(Ok(()), Recorder::finish)
}

/// The recorder, if threads are recorded.
#[inline]
fn recording() -> Option<&'static mut Recorder> {
    // SAFETY: one thread of the host, and nobody keeps the reference.
    unsafe { if (*HOT.get()).recording { (*RECORDER.get()).as_mut() } else { None } }
}

/// The running thread refers to memory, after so many instructions.
#[inline(never)]
pub fn refer(address: usize, reference: Reference, instructions: u32, site: usize) {
    let Some(recorder) = recording() else { return };
    let kind = if reference == Reference::Load { AccessKind::Load } else { AccessKind::Store };
    let access = Access { kind, dependent: false, bytes: 1, address: address as u64 };
    recorder.refer(number(), instructions, site as u64, access);
}

/// The running thread has changed a word that others synchronise by.
pub fn changed(address: usize) {
    if let Some(recorder) = recording() {
        recorder.change(number(), address as u64);
    }
}

/// The running thread has seen what a word holds that others synchronise by.
pub fn saw(address: usize) {
    if let Some(recorder) = recording() {
        recorder.saw(number(), address as u64, 1);
    }
}

/// The measured part of thread number `thread` begins or ends.
pub fn measured(thread: usize, on: bool) {
    if let Some(recorder) = recording() {
        recorder.record(thread, Event::Measure(on));
    }
}
