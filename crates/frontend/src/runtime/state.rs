//! What there is one of: the run, and the thread that runs now.
//!
//! All simulated threads run on one thread of the host, so these are plain statics, with neither locks nor thread-local storage:
//! which thread runs is a load away from every reference.

use std::cell::UnsafeCell;
use std::collections::VecDeque;

use experiments::policies::{OwnBarrier, OwnLocks};
use rustc_hash::FxHashMap;
use sim::Thread;
use units::{Duration, Time};

use super::address::{self, Ranges};
use super::callbacks;
use super::loops::Frame;
use super::pipeline::NOTHING_LATE;
use super::recording;
use super::threads::UserThread;
use crate::request::Request;

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

/// What the hot paths look at, together in a line or two of the host's cache.
pub struct Hot {
    /// The processor of the thread that runs now; null outside of the simulation.
    pub thread: *mut Thread<'static>,
    /// The same while references are timed, null while they are only counted.
    pub timed: *mut Thread<'static>,
    /// That thread.
    pub user: *mut UserThread,
    /// What is simulated memory.
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
    /// Whether what threads do is written down.
    pub recording: bool,
    /// Stores so far, and changes of words by atomic operations.
    pub stores: u64,
    /// How many there were when one was last seen, when that was, and when it is too long ago.
    pub seen: (u64, Time),
    pub patience: Duration,
    /// What is counted, until others get their turn.
    pub budget: Budget,
    /// References that were counted before.
    pub counted: u64,
}

/// What a block of code counts: the first two in one addition of eight bytes.
#[repr(C, align(8))]
pub struct Budget {
    /// Instructions that the compiler has counted and that have not been issued.
    pub pending: u32,
    /// References that are only counted before others get their turn, less those that were; below zero when it is time.
    pub left: i32,
    /// Slots in which nothing issued because results were late, and that have not been waited for ([`super::pipeline`]).
    pub stalls: u32,
    /// What is late: the number of a state.
    pub late: u32,
}

/// The hot part of the state.
pub static HOT: Single<Hot> = Single::new(Hot {
    thread: std::ptr::null_mut(),
    timed: std::ptr::null_mut(),
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
    recording: false,
    stores: 0,
    seen: (0, Time::ZERO),
    patience: Duration::ZERO,
    budget: Budget { pending: 0, left: 0, stalls: 0, late: NOTHING_LATE },
    counted: 0,
});

/// How the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Nobody has looked yet.
    Unknown,
    /// On this computer.
    Native,
    /// On a simulated machine, now or soon.
    Simulated,
    /// The simulation is over, and the rest of the program runs on this computer.
    Over,
}

/// How the program runs.
pub static MODE: Single<Mode> = Single::new(Mode::Unknown);

/// What there is of a run beside its threads' own state.
pub struct Run {
    /// What was asked for.
    pub request: Request,
    /// How many processors the program may use.
    pub processors: usize,
    /// How many nodes the machine has.
    pub nodes: usize,
    /// Whether the machine places pages where programs ask for them.
    pub follows_plans: bool,
    /// Whether pages move where programs ask for it.
    pub pages_move: bool,
    /// Processors on a node.
    pub per_node: usize,
    /// The threads that ever were, by number.
    pub threads: Vec<*mut UserThread>,
    /// Threads that have not ended.
    pub alive: usize,
    /// Those of them that wait for parallel regions and are part of no other section.
    pub helpers: usize,
    /// How threads take locks, and meet.
    pub locks: OwnLocks,
    pub barrier: OwnBarrier,
    /// Who waits for which word, first come first.
    pub waiters: FxHashMap<usize, VecDeque<*mut UserThread>>,
    /// What the program exits with.
    pub status: i32,
    /// What went wrong, if anything did.
    pub error: Option<String>,
    /// What was not simulated.
    pub notes: Vec<String>,
    /// Whether the program has said itself what is to be measured.
    pub regions: bool,
    /// Whether there was a parallel section.
    pub sections: bool,
}

/// The run, from the start of the simulation on.
pub static RUN: Single<Option<Run>> = Single::new(None);

/// The run.
///
/// # Panics
/// Outside of a simulation: who calls this has a simulated thread.
pub fn run() -> &'static mut Run {
    // SAFETY: only the one thread of the host comes here, and nobody keeps the reference while another thread may run.
    unsafe { (*RUN.get()).as_mut().unwrap_or_else(|| unreachable!("there is a simulated thread, so there is a run")) }
}

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

/// How the program runs.
#[inline]
pub fn mode() -> Mode {
    // SAFETY: one thread of the host.
    let mode = unsafe { *MODE.get() };
    if mode == Mode::Unknown { first_look() } else { mode }
}

#[cold]
fn first_look() -> Mode {
    let name = c"CCNUMA_SIMULATION";
    debug_assert_eq!(name.to_bytes(), crate::request::VARIABLE.as_bytes());
    // SAFETY: the name ends in a zero; the environment is the C library's, which exists before anything else of the program.
    let asked = unsafe { !libc::getenv(name.as_ptr()).is_null() };
    let mode = if asked { Mode::Simulated } else { Mode::Native };
    if asked {
        address::reserve();
    }
    // SAFETY: one thread of the host.
    unsafe { *MODE.get() = mode };
    mode
}

/// Changes a word of the program indivisibly ([`Thread::indivisible`]). Returns what `change` does.
pub fn indivisible<T>(thread: &mut Thread<'static>, address: usize, change: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.indivisible(address::locate(address), || noted(address, change))
}

/// Stores to a word of the program for others to see, after all that was stored before ([`Thread::release`]).
pub fn release<T>(thread: &mut Thread<'static>, address: usize, change: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.release(address::locate(address), || noted(address, change))
}

/// A change that is written down where what threads do is.
fn noted<T>(address: usize, change: impl FnOnce() -> T) -> T {
    let result = change();
    recording::changed(address);
    result
}

/// Loads a word of the program for what others have stored there ([`Thread::acquire`]).
pub fn acquire<T>(thread: &mut Thread<'static>, address: usize, look: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.acquire(address::locate(address), || {
        recording::saw(address);
        look()
    })
}

/// What the memory of a word tells of it past the caches ([`Thread::at_memory`]).
pub fn at_memory<T>(thread: &mut Thread<'static>, address: usize, look: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.at_memory(address::locate(address), || {
        recording::saw(address);
        look()
    })
}

/// Has the memory of a word change it ([`Thread::change_at_memory`]).
pub fn change_at_memory<T>(thread: &mut Thread<'static>, address: usize, change: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.change_at_memory(address::locate(address), || noted(address, change))
}

/// Something changes, or may while nobody runs: threads that wait for that do not wait in vain.
pub fn note_change() {
    if current().is_some() {
        // SAFETY: one thread of the host.
        unsafe { (*HOT.get()).stores += 1 };
    }
}
