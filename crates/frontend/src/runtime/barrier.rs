//! Barriers: who comes last lets all go on. As in the C library threads count themselves in a word and wait for a futex, or they meet
//! by what is asked for in its place.

use std::ffi::{c_int, c_uint};

use experiments::policies::OwnBarrier;
use libc::{pthread_barrier_t, pthread_barrierattr_t};
use rustc_hash::FxHashMap;
use sim::{Cause, Thread};
use workloads::BarrierKind;

use super::caller::{Caller, WORD, Words};
use super::locking::{LINE, lines};
use super::mode::mode;
use super::state::{Mode, Single, current, number, run};
use super::words::{acquire, indivisible, release};
use super::{ending, futex};

/// The runtime's barrier, kept in the program's structure.
#[repr(C)]
struct Barrier {
    /// Threads that have come.
    arrived: u32,
    /// Counts how often all have come.
    rounds: u32,
    /// How many there are.
    threads: u32,
    /// Where the lines are that threads meet by in place of the words above; zero until they are wanted.
    lines: usize,
}

/// Words from one line to the next that share none.
const LINE_WORDS: usize = LINE / WORD;

/// Seats of barriers that are trees, by where the barrier's lines are: the number of each seat's thread.
static SEATS: Single<Option<FxHashMap<usize, Vec<usize>>>> = Single::new(None);

/// Lines of barriers that are no more, by how many threads those had. Their words count on.
static SPARE: Single<Option<FxHashMap<u32, Vec<usize>>>> = Single::new(None);

fn spare(threads: u32) -> &'static mut Vec<usize> {
    // SAFETY: one thread of the host, and nobody keeps the reference while another may run.
    unsafe { (*SPARE.get()).get_or_insert_default().entry(threads).or_default() }
}

/// The running thread's seat in a barrier of so many threads: its own, or one that nobody has, or whose thread has ended.
fn seat(thread: &mut Thread<'static>, lines: usize, threads: usize) -> usize {
    // SAFETY: one thread of the host, and nobody keeps the reference while another may run.
    let seats = unsafe { (*SEATS.get()).get_or_insert_default().entry(lines).or_default() };
    let own = number();
    if let Some(seat) = seats.iter().position(|&thread| thread == own) {
        return seat;
    }
    // SAFETY: threads are never freed.
    let has_ended = |&thread: &usize| unsafe { (*run().threads[thread]).thread.is_null() };
    match seats.iter().position(has_ended) {
        Some(seat) => seats[seat] = own,
        None if seats.len() < threads => seats.push(own),
        None => ending::fail(
            thread,
            &format!(
                "--barrier tree: more than {threads} threads come to a barrier of {threads}, and a tree has a place for each; accepted: \
                 own, ideal, futex, llsc, at-memory"
            ),
        ),
    }
    seats.iter().position(|&thread| thread == own).unwrap_or_default()
}

/// Meets the others as built-in programs do. Returns whether this thread has let them go.
fn meet(thread: &mut Thread<'static>, barrier: *mut Barrier, kind: BarrierKind) -> bool {
    // SAFETY: the program's barrier.
    let (threads, place) = unsafe { ((*barrier).threads as usize, &raw mut (*barrier).lines) };
    let (room, over) = kind.words(LINE_WORDS, threads);
    // SAFETY: as above.
    if unsafe { *place } == 0 {
        // Others may run, and come here, before the lines are there.
        let found = spare(threads as u32).pop().unwrap_or_else(|| lines(room * WORD, LINE));
        // SAFETY: as above.
        unsafe {
            if *place == 0 {
                *place = found;
            } else {
                spare(threads as u32).push(found);
            }
        }
    }
    // SAFETY: as above.
    let start = unsafe { *place };
    let seat = if kind == BarrierKind::Tree { seat(thread, start, threads) } else { 0 };
    let words = Words::at(start);
    // Whoever comes has seen the barrier before this one end.
    let passed = words.peek(over).into();
    workloads::Barrier::passed(kind, LINE_WORDS, threads, &words, passed).wait(&mut Caller::new(thread, seat))
}

/// Waits for the others at no cost but that. Returns whether this thread has let them go.
fn meet_at_once(thread: &mut Thread<'static>, barrier: *mut Barrier) -> bool {
    // SAFETY: the program's barrier.
    let arrived = unsafe { &raw mut (*barrier).arrived };
    thread.drain();
    thread.order();
    // SAFETY: as above.
    let is_last = unsafe {
        *arrived += 1;
        *arrived == (*barrier).threads
    };
    if is_last {
        // SAFETY: as above.
        unsafe { *arrived = 0 };
        super::recording::changed(arrived as usize);
        futex::let_go(thread, arrived as usize, usize::MAX);
    } else {
        futex::wait(thread, arrived as usize, None);
    }
    is_last
}

/// Makes a barrier.
///
/// # Safety
/// As of `pthread_barrier_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    threads: c_uint,
) -> c_int {
    // SAFETY: the caller's promise; the C library's structure is longer.
    unsafe {
        if mode() == Mode::Native {
            return libc::pthread_barrier_init(barrier, attributes, threads);
        }
        if threads == 0 {
            return libc::EINVAL;
        }
        *barrier.cast::<Barrier>() = Barrier { arrived: 0, rounds: 0, threads, lines: 0 };
    }
    0
}

/// A barrier is no more.
///
/// # Safety
/// As of `pthread_barrier_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int {
    if mode() == Mode::Native {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_barrier_destroy(barrier) };
    }
    // SAFETY: the caller's promise.
    let Barrier { threads, lines, .. } = unsafe { &mut *barrier.cast::<Barrier>() };
    if *lines != 0 {
        spare(*threads).push(std::mem::take(lines));
    }
    0
}

/// Waits for all threads.
///
/// # Safety
/// As of `pthread_barrier_wait`.
pub unsafe extern "C" fn barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_barrier_wait(barrier) };
    };
    super::callbacks::settle(thread);
    let by_mechanism = match run().barrier {
        OwnBarrier::Shared(kind) => {
            Some(thread.charged_to(Cause::Barrier, |thread| meet(thread, barrier.cast(), kind)))
        }
        OwnBarrier::Ideal => Some(thread.charged_to(Cause::Barrier, |thread| meet_at_once(thread, barrier.cast()))),
        OwnBarrier::Own | OwnBarrier::Futex => None,
    };
    if let Some(last) = by_mechanism {
        return if last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 };
    }
    // SAFETY: the caller's promise.
    let (arrived, rounds, threads) = unsafe {
        let barrier = barrier.cast::<Barrier>();
        (&raw mut (*barrier).arrived, &raw mut (*barrier).rounds, (*barrier).threads)
    };
    thread.charged_to(Cause::Barrier, |thread| {
        // SAFETY: words of the program's barrier.
        let round = unsafe { rounds.read_volatile() };
        // SAFETY: as above.
        let count = indivisible(thread, arrived as usize, || unsafe {
            let count = arrived.read_volatile() + 1;
            arrived.write_volatile(if count == threads { 0 } else { count });
            count
        });
        if count == threads {
            // SAFETY: as above.
            release(thread, rounds as usize, || unsafe { rounds.write_volatile(round.wrapping_add(1)) });
            futex::wake(thread, rounds as usize, usize::MAX);
            return libc::PTHREAD_BARRIER_SERIAL_THREAD;
        }
        // SAFETY: as above.
        while acquire(thread, rounds as usize, || unsafe { rounds.read_volatile() }) == round {
            futex::wait(thread, rounds as usize, None);
        }
        0
    })
}
