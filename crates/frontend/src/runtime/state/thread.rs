//! State of each thread of the program.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use sim::{Thread, ThreadId};
use units::{CpuId, NodeId};

use crate::runtime::origins::Tracked;

/// A thread of the program.
pub struct UserThread {
    /// Its number, in the order in which they were made.
    pub number: usize,
    /// Its number in the simulator.
    pub id: ThreadId,
    /// Its processor, while it has not ended.
    pub thread: *mut Thread<'static>,
    /// Its thread register.
    pub base: usize,
    /// Where its stack begins and how long it is.
    pub stack: (usize, usize),
    /// Whether nobody will join it.
    pub detached: bool,
    /// Its result when it has ended.
    pub result: *mut c_void,
    /// One when it has ended, in simulated memory: who joins it waits for this word.
    pub ended: *mut u32,
    /// Whether somebody joins it.
    pub joined: bool,
    /// Its values of keys.
    pub values: Vec<*mut c_void>,
    /// Whether it was woken by another thread and not by the time.
    pub woken: bool,
    /// Where the program called what may wait, and what that was.
    pub call: usize,
    /// Its name, as C has it; null if there was none.
    pub called: *const c_char,
    /// The code of its latest reference, while another thread runs.
    pub site: usize,
    /// The number of its state of late results, while another thread runs ([`crate::runtime::pipeline`]).
    pub late: u32,
    /// Where its values come from.
    pub tracked: Tracked,
    /// The loop that it may be in; the first fields while another thread runs.
    pub looks: Looks,
    /// Where it wants the pages that it maps.
    pub wish: Wish,
    /// The processors it may run on, if it or its maker has said so.
    pub affinity: Option<Vec<CpuId>>,
    /// Its cancellation.
    pub cancel: Cancel,
    /// How it ends in the midst of what it does.
    pub unwinding: Unwinding,
    /// Whether it waits for parallel regions, and is part of no other section.
    pub helper: bool,
    /// Whether it is in a parallel section, so that what it does is measured.
    pub in_section: bool,
}

/// State of the loop that a thread may be in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    /// The address that the thread referred to last, and how often in a row it has from the same place.
    pub address: usize,
    pub count: u32,
    /// Whether its next callback is to tell its registers.
    pub inspects: bool,
    /// The program's state when it was last told, and how many calls there had been.
    pub before: Option<(u64, u64)>,
    /// Calls of the runtime's functions, but for those at references.
    pub calls: u64,
}

/// Where a thread, or a range of memory, wants its pages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Wish {
    /// Where the machine's placement puts them.
    #[default]
    None,
    /// On the node of whoever asks.
    Local,
    /// On these nodes in turn.
    Nodes(Vec<NodeId>),
}

/// State of a thread's cancellation.
#[derive(Default)]
pub struct Cancel {
    /// It ends when the function returns that the program has called.
    pub due: bool,
    /// Somebody has asked for it.
    pub asked: bool,
    pub disabled: bool,
    pub asynchronous: bool,
    /// It ends already.
    pub ending: bool,
    /// It waits at a cancellation point.
    pub waits: bool,
    /// It does so by looking at a word, where it has a place that it cannot give up.
    pub spins: bool,
}

impl Cancel {
    pub fn heeds(&self) -> bool {
        self.asked && !self.disabled && !self.ending
    }

    /// Whether the thread is to end at its next reference.
    pub fn at_once(&self) -> bool {
        self.asynchronous && self.heeds()
    }
}

/// The head of what is thrown, as the platform's interface for C++ exceptions has it (Itanium C++ ABI, 1.2.1).
#[repr(C, align(16))]
#[derive(Default)]
pub struct Thrown {
    pub class: u64,
    pub caught: Option<extern "C" fn(c_int, *mut Thrown)>,
    pub private: [usize; 2],
}

/// State for unwinding a thread.
pub struct Unwinding {
    pub thrown: Thrown,
    pub places: *mut Place,
    /// The stack of the frame below the program's.
    pub bottom: usize,
}

impl Default for Unwinding {
    fn default() -> Self {
        Self { thrown: Thrown::default(), places: null_mut(), bottom: 0 }
    }
}

/// A place that a thread jumps to before its frame goes: the C library's `__pthread_unwind_buf_t`, whose last words are the library's.
#[repr(C)]
pub struct Place {
    pub registers: [usize; 8],
    pub mask_saved: c_int,
    /// The one before it.
    pub outer: *mut Place,
    /// The stack of the frame that registered it.
    pub stack: usize,
    /// Whether its thread could be cancelled at any time before, if that is so again when it goes; else none of either.
    pub kind: c_int,
}
