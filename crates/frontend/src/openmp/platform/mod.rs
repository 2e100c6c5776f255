//! The base of the parallel runtime: words in memory that threads share, memory for them, threads, processors and time.
//!
//! In a simulation every look at a word is a load of the running thread, every change a store or an indivisible change that others
//! see at its simulated time. On this computer they are the processor's own atomic operations. Everything above this folder is the
//! same for both.

mod lock;
mod memory;
mod thread;
mod time;
mod word;

pub use lock::{Guarded, Lock};
pub use memory::{LINE, Line, allocate, free, keep, pages};
pub use thread::{AtEnd, processor, processors, remember, remembered, spawn};
pub use time::{
    charged, copies, fence, fence_host, instructions, loads, moment, pause_for, seconds, stores, uncharged,
};
pub use word::{Counter, Waiting, Word};
