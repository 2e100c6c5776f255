//! The hot state: what every reference of the running thread looks at.

use std::cell::UnsafeCell;

use sim::Thread;
use units::{Duration, Time};

use super::UserThread;
use crate::runtime::origins::Tracked;

/// Something that only the one thread of the host uses.
#[repr(transparent)]
pub struct Single<T>(UnsafeCell<T>);

// SAFETY: a simulated program has one thread on the host: `pthread_create` and its kin make coroutines. Natively nothing here is
// written after the start.
unsafe impl<T> Sync for Single<T> {}

impl<T> Single<T> {
    /// Around `value`.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Where it is.
    #[inline(always)]
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }
}

/// State that the hot paths look at, together in a line or two of the host's cache.
pub struct Hot {
    /// The processor of the thread that runs now; null outside of the simulation.
    pub thread: *mut Thread<'static>,
    /// The same while references are timed, null while they are only counted.
    pub timed: *mut Thread<'static>,
    /// Where its values come from, where loads wait for their addresses; else null.
    pub tracked: *mut Tracked,
    /// That thread.
    pub user: *mut UserThread,
    /// Ranges of simulated memory.
    pub ranges: Ranges,
    /// The code of the latest reference.
    pub site: usize,
    /// The address of the latest reference, and how often in a row it has been referred to from that code.
    pub looked: usize,
    pub looks: u32,
    /// Whether the next callback tells the program's registers, as long as the thread has no `timed`; whether it has, and they.
    pub inspects: bool,
    pub told: bool,
    pub frame: Frame,
    /// Threads that sleep until a time.
    pub asleep: u32,
    /// Instructions that a reference stands for beside itself.
    pub instructions: u32,
    /// References to memory that is not simulated, in a row.
    pub foreign: u32,
    /// Whether references are only counted.
    pub counting: bool,
    /// Whether the thread that runs is to end at its next reference; it has no `timed` then.
    pub ends: bool,
    /// Whether loads wait for their addresses.
    pub waits: bool,
    /// Whether what threads do is written down.
    pub recording: bool,
    /// Stores so far, and changes of words by atomic operations.
    pub stores: u64,
    /// How many there were when one was last seen, when that was, and when it is too long ago.
    pub seen: (u64, Time),
    pub patience: Duration,
    /// Counts until others get their turn.
    pub budget: Budget,
    /// References that were counted before.
    pub counted: u64,
}

/// Counts that a block of code advances: the first two in one addition of eight bytes.
#[repr(C, align(8))]
pub struct Budget {
    /// Instructions that the compiler has counted and that have not been issued.
    pub pending: u32,
    /// References that are only counted before others get their turn, less those that were; below zero when it is time.
    pub left: i32,
    /// Slots in which nothing issued because results were late, and that have not been waited for ([`crate::runtime::pipeline`]).
    pub stalls: u32,
    /// The number of the state of late results.
    pub late: u32,
}

/// A kind of reference to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    Load,
    Store,
}

/// Ranges of simulated memory.
pub struct Ranges {
    /// The first byte of the executable's data, and how many there are.
    pub globals: usize,
    pub globals_length: usize,
    /// Bytes of the arena that have simulated pages.
    pub arena_length: usize,
    /// The simulated address of its first byte.
    pub arena_start: u64,
    /// The first thread's own variables, which the host has put somewhere: where they begin, how many bytes, and where that is.
    pub own: usize,
    pub own_length: usize,
    pub own_start: u64,
    /// Whether all of that is told by [`crate::runtime::divided`], because words of some lines are apart.
    pub divided: bool,
    /// Whether shared libraries have places of their own ([`crate::runtime::libraries`]).
    pub libraries: bool,
}

impl Ranges {
    /// Nothing is.
    pub const NONE: Self = Self {
        globals: 0,
        globals_length: 0,
        arena_length: 0,
        arena_start: 0,
        own: 0,
        own_length: 0,
        own_start: 0,
        divided: false,
        libraries: false,
    };
}

/// The stack pointer of the program, and the registers that calls preserve, at a callback.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    pub rsp: usize,
    pub rbx: usize,
    pub rbp: usize,
    pub r12: usize,
    pub r13: usize,
    pub r14: usize,
    pub r15: usize,
}

impl Frame {
    /// None has been told.
    pub const NONE: Self = Self { rsp: 0, rbx: 0, rbp: 0, r12: 0, r13: 0, r14: 0, r15: 0 };
}

/// The state of the pipeline in which nothing is late.
pub const NOTHING_LATE: u32 = 0;

/// The hot part of the state.
pub static HOT: Single<Hot> = Single::new(Hot {
    thread: std::ptr::null_mut(),
    timed: std::ptr::null_mut(),
    tracked: std::ptr::null_mut(),
    user: std::ptr::null_mut(),
    ranges: Ranges::NONE,
    site: 0,
    looked: 0,
    looks: 0,
    inspects: false,
    told: false,
    frame: Frame::NONE,
    asleep: 0,
    instructions: 0,
    foreign: 0,
    counting: false,
    ends: false,
    waits: false,
    recording: false,
    stores: 0,
    seen: (0, Time::ZERO),
    patience: Duration::ZERO,
    budget: Budget { pending: 0, left: 0, stalls: 0, late: NOTHING_LATE },
    counted: 0,
});

/// The processor of the running thread; none outside of the simulation.
#[inline(always)]
pub fn current() -> Option<&'static mut Thread<'static>> {
    // SAFETY: the pointer is null or that of the coroutine that runs now, which lives until it ends; there is a thread then.
    unsafe {
        let thread = (*HOT.get()).thread.as_mut()?;
        (*(*HOT.get()).user).looks.calls += 1;
        Some(thread)
    }
}

/// Something changes, or may while nobody runs: threads that wait for that do not wait in vain.
pub fn note_change() {
    if current().is_some() {
        // SAFETY: one thread of the host.
        unsafe { (*HOT.get()).stores += 1 };
    }
}

/// The thread that runs now.
///
/// # Panics
/// Outside of the simulation.
pub fn this() -> *mut UserThread {
    // SAFETY: one thread of the host.
    unsafe { (*HOT.get()).user }
}

/// The number of the thread that runs now.
///
/// # Panics
/// Outside of the simulation.
pub fn number() -> usize {
    // SAFETY: threads are never freed.
    unsafe { (*this()).number }
}
