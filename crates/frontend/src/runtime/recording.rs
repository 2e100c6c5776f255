//! What the program's threads refer to, written down as they run: to be replayed on other machines.
//!
//! Words by which threads synchronise are told by what changes and reads them indivisibly ([`super::state`]): a replay keeps their
//! order. The start of a thread is such a change, too, of the word by which its end is known.

use std::path::Path;

use references::{Access, AccessKind, Event, Header, Recorder, ReferenceError};

use super::callbacks::Reference;
use super::state::{HOT, Single};
use super::threads;

/// What a trace of a compiled program does not hold.
const LOST: [&str; 3] = [
    "how time would change who comes first to a lock or takes which work: the order is that of the recorded run",
    "how many bytes each reference has: each counts as one within a word",
    "which instructions and loads depend on others: all may overlap",
];

/// The recorder, and by thread the place of the program that it was told last.
struct Recording {
    recorder: Recorder,
    sites: Vec<usize>,
}

static RECORDING: Single<Option<Recording>> = Single::new(None);

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
        *RECORDING.get() = Some(Recording { recorder, sites: Vec::new() });
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
    let recording = unsafe {
        (*HOT.get()).recording = false;
        (*RECORDING.get()).take()
    };
    recording.map_or(Ok(()), |recording| recording.recorder.finish())
}

/// The recording, if there is one.
#[inline]
fn recording() -> Option<&'static mut Recording> {
    // SAFETY: one thread of the host, and nobody keeps the reference.
    unsafe { if (*HOT.get()).recording { (*RECORDING.get()).as_mut() } else { None } }
}

/// The running thread refers to memory, after so many instructions.
#[cold]
pub fn refer(address: usize, reference: Reference, instructions: u32, site: usize) {
    let Some(Recording { recorder, sites }) = recording() else { return };
    let thread = threads::number();
    if instructions > 0 {
        recorder.record(thread, Event::Instructions(instructions));
    }
    if thread >= sites.len() {
        sites.resize(thread + 1, 0);
    }
    if std::mem::replace(&mut sites[thread], site) != site {
        recorder.record(thread, Event::Site(site as u64));
    }
    let kind = if reference == Reference::Load { AccessKind::Load } else { AccessKind::Store };
    let access = Access { kind, dependent: false, bytes: 1, address: address as u64 };
    recorder.record(thread, Event::Access(access));
}

/// The running thread has changed a word that others synchronise by.
pub fn changed(address: usize) {
    if let Some(Recording { recorder, .. }) = recording() {
        recorder.change(threads::number(), address as u64);
    }
}

/// The running thread has seen what a word holds that others synchronise by.
pub fn saw(address: usize) {
    if let Some(Recording { recorder, .. }) = recording() {
        recorder.saw(threads::number(), address as u64, 1);
    }
}

/// What is to be measured of thread number `thread` begins or ends.
pub fn measured(thread: usize, on: bool) {
    if let Some(Recording { recorder, .. }) = recording() {
        recorder.record(thread, Event::Measure(on));
    }
}
