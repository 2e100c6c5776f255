//! A kernel as executable memory, and the course that it is run over.

use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

use dynasmrt::mmap::{ExecutableBuffer, MutableBuffer};
use units::Bytes;

use super::frame::Frame;
use super::{Architecture, Features, Operation, assemble};
use crate::HostError;
use crate::clock::Source;

/// Elements and steps of a run.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// The first element of the list or array, aligned to 8 bytes, for kernels that store or stream whole lines to a line.
    /// For a ping-pong its word.
    pub start: NonNull<u8>,
    /// Elements of the array; kernels over lists and ping-pongs do not look at it.
    pub elements: u64,
    /// Steps to take; after the last element the first follows.
    pub count: u64,
    /// Arrays that the streaming kernels read ([`Operation::sources`]).
    pub sources: [Option<NonNull<u8>>; 2],
    /// Start of the random sequence of [`Operation::SignChange`].
    pub seed: u64,
}

impl Course {
    /// `count` steps over `elements` elements from `start`, with no sources, and seed zero.
    pub fn new(start: NonNull<u8>, elements: u64, count: u64) -> Self {
        Self { start, elements, count, sources: [None; 2], seed: 0 }
    }

    /// The same, reading from `sources`.
    pub fn reading(mut self, sources: [Option<NonNull<u8>>; 2]) -> Self {
        self.sources = sources;
        self
    }

    /// The same with another random sequence.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Ticks of the clock just before the first step.
    pub started: u64,
    /// Ticks of the clock when the last access of the last step had completed.
    pub ended: u64,
    /// Steps taken: the count, or fewer if it was stopped.
    pub steps: u64,
    /// Result of the kernel: the sum, or for an operation that [needs a list](Operation::needs_list) the address of the
    /// element with which the next step would begin.
    pub value: u64,
}

impl Ran {
    /// Ticks from start to end. An empty section takes [`Clock::overhead`](crate::clock::Clock::overhead) of them already.
    pub fn ticks(&self) -> u64 {
        self.ended.saturating_sub(self.started)
    }
}

/// Stop flag of runs that nobody can stop.
static NEVER: AtomicBool = AtomicBool::new(false);

/// A kernel in executable memory, for one operation and stride. Immutable: any number of threads may run it.
#[derive(Debug)]
pub struct Routine {
    operation: Operation,
    buffer: ExecutableBuffer,
}

impl Routine {
    /// Generates the code for this processor and makes it executable. The memory is never writable and executable at the
    /// same time.
    ///
    /// # Errors
    /// [`HostError::Request`] when the operation cannot have that stride or parameter, [`HostError::Unsupported`] on other
    /// architectures, [`HostError::Call`] when the kernel forbids executable memory.
    pub fn assemble(operation: Operation, stride: Bytes, features: &Features) -> Result<Self, HostError> {
        let architecture = Architecture::NATIVE.ok_or_else(|| HostError::Unsupported {
            what: "machine-code kernels".to_owned(),
            reason: format!("they exist for x86-64 and AArch64, this is {}", std::env::consts::ARCH),
        })?;
        let code = assemble(architecture, operation, stride, features)?;
        let buffer = executable(&code).map_err(|source| HostError::Call {
            call: format!("mmap and mprotect of {} for machine code", Bytes(code.len() as u64)),
            source,
            advice: "allow this program executable memory (SELinux execmem, systemd MemoryDenyWriteExecute)".to_owned(),
        })?;
        Ok(Self { operation, buffer })
    }

    /// The operation at each element.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The machine code.
    pub fn code(&self) -> &[u8] {
        &self.buffer
    }

    /// Runs over `course` until its count, or until `stop` is true: it is looked at every few dozen steps, by kernels that
    /// imitate compiled loops and by [`Operation::SignChange`] once a pass or window.
    ///
    /// The clock is read in the code itself, right before the first and after the last step, with everything before
    /// completed; if `clock` is not the processor's counter, it is read directly around the code.
    ///
    /// # Panics
    /// If a source that the operation reads is missing, the array has fewer elements than one step visits, or anything
    /// is not aligned to a word, for kernels that store or stream whole lines to a line.
    ///
    /// # Safety
    /// For the whole run:
    /// - `elements` elements that are `stride` apart from `start`, of each its first line or as much as a stride, are
    ///   mapped, readable, and writable if the operation [stores](Operation::stores); so are as many from each source;
    /// - Rust code holds no reference to them, and they hold nothing whose bytes Rust code relies on, beyond lists, filled
    ///   words and numbers; what other threads do to them meanwhile is done by routines or atomics;
    /// - if the operation [needs a list](Operation::needs_list), word 0 of `start` begins a circular list that lies
    ///   within that memory, and nobody changes any word 0.
    pub unsafe fn run(&self, clock: Source, course: &Course, stop: Option<&AtomicBool>) -> Ran {
        let wanted = self.operation.sources();
        assert!(course.sources[..wanted].iter().all(Option::is_some), "{:?} reads {wanted} sources", self.operation);
        let per_step = self.operation.elements_per_step();
        assert!(course.elements >= per_step, "{:?} visits {per_step} elements a step", self.operation);
        let alignment = self.operation.alignment().0 as usize;
        for address in course.sources[..wanted].iter().flatten().chain([&course.start]) {
            assert!(address.addr().get().is_multiple_of(alignment), "{:?} at {address:?}, not aligned", self.operation);
        }
        let source = |i: usize| course.sources[i].map_or(std::ptr::null(), |source| source.as_ptr().cast_const());
        let mut frame = Frame {
            start: course.start.as_ptr(),
            elements: course.elements / per_step,
            count: course.count,
            stop: stop.unwrap_or(&NEVER),
            seed: course.seed,
            sources: [source(0), source(1)],
            started: 0,
            ended: 0,
            steps: 0,
            value: 0,
        };
        // SAFETY: the buffer holds a function of this type from its first byte: `program` generated it for this
        // architecture, and the caller vouches for the memory it works on.
        let code = unsafe { std::mem::transmute::<*const u8, extern "C" fn(*mut Frame)>(self.buffer.as_ptr()) };
        let before = clock.now();
        code(&raw mut frame);
        let after = clock.now();
        let (started, ended) = if clock.is_counter() { (frame.started, frame.ended) } else { (before, after) };
        Ran { started, ended, steps: frame.steps, value: frame.value }
    }
}

/// Copies code into fresh memory and makes that executable instead of writable.
fn executable(code: &[u8]) -> std::io::Result<ExecutableBuffer> {
    let mut buffer = MutableBuffer::new(code.len())?;
    buffer.set_len(code.len());
    buffer.copy_from_slice(code);
    let buffer = buffer.make_exec()?;
    dynasmrt::cache_control::synchronize_icache(&buffer);
    Ok(buffer)
}
