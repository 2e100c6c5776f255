//! Condition variables whose threads look at words until they are signalled, by the mechanism that their locks have.
//!
//! By load-linked and store-conditional all look at a word that counts signals: each signal lets all look at what they wait for, as
//! the standard allows. In a queue each looks at a word of its own. Where the memory counts, each draws a ticket, and looks at a word
//! that says how many have been served.

use std::ffi::c_int;

use experiments::policies::OwnLocks;
use libc::pthread_mutex_t;
use sim::Thread;
use units::Time;
use workloads::{LockKind, SPIN, Thread as _, queue};

use super::caller::{Caller, WORD, Words};
use super::locking::{LINE, give_node, node, refuse, take_node};
use super::state::run;
use super::{cancel, locking, mutex};

/// The words of a condition variable. All zero is what static initialisers make.
#[repr(C)]
#[derive(Default)]
pub struct Condition {
    /// Counts signals; or names the lines that tickets are drawn from; or is the lock of the queue.
    word: u32,
    /// The first and the last node of the queue.
    first: u32,
    last: u32,
}

/// The words of a node that are used here: locks use others.
const NEXT: usize = 4;
const STATE: usize = 5;
const GO: u64 = 0;
const WAIT: u64 = 1;

static MEMORY: Words = Words::at(0);

/// Where the words of a condition variable are.
struct Places {
    word: usize,
    first: usize,
    last: usize,
}

impl Places {
    fn of(condition: *mut Condition) -> Self {
        let start = condition as usize / WORD;
        Self { word: start, first: start + 1, last: start + 2 }
    }
}

/// Waits for a signal, without the mutex meanwhile.
pub fn wait(
    thread: &mut Thread<'static>,
    condition: *mut Condition,
    lock: *mut pthread_mutex_t,
    until: Option<Time>,
) -> c_int {
    let at = Places::of(condition);
    let mut in_time = true;
    let given = match run().locks {
        OwnLocks::Shared(LockKind::LlSc) => {
            let seen = Caller::new(thread, 0).load_acquire(&MEMORY, at.word);
            let given = mutex::give(thread, lock);
            if given == 0 {
                in_time = await_signal(thread, at.word, seen, until);
            }
            given
        }
        _ if until.is_some() => refuse(
            thread,
            "a condition is waited for until a time",
            "whoever waits has a place that nobody can give up",
        ),
        OwnLocks::Queue => {
            let own = take_node();
            join(&mut Caller::new(thread, 0), &at, own.into());
            let given = mutex::give(thread, lock);
            if given == 0 {
                let place = node(own.into()) + STATE;
                spinning(|| Caller::new(thread, 0).await_change(&MEMORY, place, WAIT));
            }
            give_node(own);
            given
        }
        _ => {
            let pair = locking::pair(condition.cast()) / WORD;
            let ticket = Caller::new(thread, 0).fetch_add_at_memory(&MEMORY, pair, 1);
            let given = mutex::give(thread, lock);
            if given == 0 {
                spinning(|| await_turn(&mut Caller::new(thread, 0), pair + LINE / WORD, ticket));
            }
            given
        }
    };
    if given != 0 {
        return given;
    }
    let taken = mutex::take(thread, lock, None);
    if taken == 0 && !in_time { libc::ETIMEDOUT } else { taken }
}

/// A thread that is cancelled while it looks cannot leave its place.
fn spinning<T>(look: impl FnOnce() -> T) -> T {
    cancel::spinning(look)
}

/// Looks until a word holds something else than `seen`, or until a time. Returns whether it does.
fn await_signal(thread: &mut Thread<'static>, word: usize, seen: u64, until: Option<Time>) -> bool {
    let Some(until) = until else {
        spinning(|| Caller::new(thread, 0).await_change(&MEMORY, word, seen));
        return true;
    };
    // Nobody wakes a thread that looks: it has to look at its clock, too.
    while Caller::new(thread, 0).load_acquire(&MEMORY, word) == seen {
        if thread.now() >= until {
            return false;
        }
        thread.instructions(SPIN);
    }
    true
}

/// Looks until so many have been served that the ticket is among them.
fn await_turn(caller: &mut Caller<'_>, word: usize, ticket: u64) {
    let mut served = caller.load_acquire(&MEMORY, word);
    // Both count on when they are full.
    while (ticket as u32).wrapping_sub(served as u32).cast_signed() >= 0 {
        served = caller.await_change(&MEMORY, word, served);
    }
}

/// Joins the queue of those who wait.
fn join(caller: &mut Caller<'_>, at: &Places, own: u64) {
    let place = node(own);
    caller.store(&MEMORY, place + NEXT, 0);
    caller.store(&MEMORY, place + STATE, WAIT);
    alone(caller, at, |caller| {
        let last = caller.load(&MEMORY, at.last);
        match last {
            0 => caller.store(&MEMORY, at.first, own),
            last => caller.store(&MEMORY, node(last) + NEXT, own),
        }
        caller.store(&MEMORY, at.last, own);
    });
}

/// Does `act` with the lock of the queue.
fn alone<T>(caller: &mut Caller<'_>, at: &Places, act: impl FnOnce(&mut Caller<'_>) -> T) -> T {
    let name = take_node();
    queue::acquire(caller, &MEMORY, at.word, node, name.into());
    let result = act(caller);
    queue::release(caller, &MEMORY, at.word, node, name.into());
    give_node(name);
    result
}

/// Takes up to `most` of those who wait out of the queue.
fn leave(caller: &mut Caller<'_>, at: &Places, most: usize) -> Vec<u64> {
    alone(caller, at, |caller| {
        let mut leaving = Vec::new();
        let mut first = caller.load(&MEMORY, at.first);
        while first != 0 && leaving.len() < most {
            leaving.push(first);
            first = caller.load_dependent(&MEMORY, node(first) + NEXT);
        }
        if !leaving.is_empty() {
            caller.store(&MEMORY, at.first, first);
            if first == 0 {
                caller.store(&MEMORY, at.last, 0);
            }
        }
        leaving
    })
}

/// Lets up to `most` threads go on that wait.
pub fn signal(thread: &mut Thread<'static>, condition: *mut Condition, most: usize) {
    let at = Places::of(condition);
    let caller = &mut Caller::new(thread, 0);
    match run().locks {
        OwnLocks::Queue => {
            for name in leave(caller, &at, most) {
                caller.store_release(&MEMORY, node(name) + STATE, GO);
            }
        }
        OwnLocks::Shared(LockKind::AtMemory) => {
            let pair = locking::pair(condition.cast()) / WORD;
            let drawn = caller.load_at_memory(&MEMORY, pair) as u32;
            caller.serve(&MEMORY, pair + LINE / WORD, drawn, u32::try_from(most).unwrap_or(u32::MAX));
        }
        _ => {
            let _before = caller.fetch_add(&MEMORY, at.word, 1);
        }
    }
}
