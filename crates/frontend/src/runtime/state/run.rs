//! State that exists once, beside threads: the run, and whether there is one.

use std::collections::VecDeque;

use experiments::policies::{OwnBarrier, OwnLocks};
use rustc_hash::FxHashMap;

use super::{Single, UserThread};
use crate::request::Request;

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

/// State of a run beside its threads' own.
pub struct Run {
    /// The command's request.
    pub request: Request,
    /// How many processors the program may use.
    pub processors: usize,
    /// How many nodes the machine has.
    pub nodes: usize,
    /// Whether the machine places pages where programs ask for them.
    pub follows_plans: bool,
    /// Whether pages move where programs ask for it.
    pub pages_move: bool,
    /// Cores of the machine, and of a node.
    pub cores: usize,
    pub per_node: usize,
    /// Issue slots that pass before anything begins behind an indivisible change of a word.
    pub locked: u32,
    /// The threads that ever were, by number.
    pub threads: Vec<*mut UserThread>,
    /// Threads that have not ended.
    pub alive: usize,
    /// Those of them that wait for parallel regions and are part of no other section.
    pub helpers: usize,
    /// How threads take locks, and meet.
    pub locks: OwnLocks,
    pub barrier: OwnBarrier,
    /// Threads that wait for each word, first come first.
    pub waiters: FxHashMap<usize, VecDeque<*mut UserThread>>,
    /// The program's exit status.
    pub status: i32,
    /// The error, if anything went wrong.
    pub error: Option<String>,
    /// Notes on parts of the program that were not simulated.
    pub notes: Vec<String>,
    /// Whether the program has said itself what is to be measured.
    pub regions: bool,
    /// Whether there was a parallel section.
    pub sections: bool,
}

impl Run {
    /// The node of a processor: the further hardware threads of cores are numbered behind all cores.
    pub fn node_of(&self, processor: usize) -> usize {
        processor % self.cores / self.per_node
    }
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

/// The thread of a `pthread_t`.
pub fn of(handle: libc::pthread_t) -> Option<*mut UserThread> {
    run().threads.get((handle as usize).checked_sub(1)?).copied()
}

/// Something that the reader of the results should know.
pub fn note(what: String) {
    let notes = &mut run().notes;
    if !notes.contains(&what) {
        notes.push(what);
    }
}
