//! Tasks that are over only when an event is fulfilled that the program has been given (OpenMP 5.0, 2.10.1 and 3.5.1): whoever
//! fulfils it, a thread of the team or another, ends the task if its own code is done, and else whoever does that ends it.

use super::platform::keep;
use super::tasks::Task;
use super::team::{Team, team};

/// The states of a task's event: it has none,
pub const NONE: u32 = 0;
/// it is not fulfilled,
const OPEN: u32 = 1;
/// the task's code is done and only the event is left,
const AWAITED: u32 = 2;
/// it is fulfilled,
pub const FULFILLED: u32 = 3;
/// and the task is over.
pub const DONE: u32 = 4;

/// The event that a program's handle stands for: the task that it belongs to, and its team.
struct Handle {
    task: &'static Task,
    team: &'static Team,
}

/// Gives a task that will be submitted to the running thread's team an event. Returns what the program knows it by.
pub fn detach(task: &'static Task) -> usize {
    let team = team();
    task.event.set(OPEN);
    task.hold();
    team.detaches.set(true);
    std::ptr::from_ref(keep(Handle { task, team })) as usize
}

impl Task {
    /// The code of the task is done: whether the task is.
    pub(super) fn is_over(&self) -> bool {
        !self.has_event() || self.event.change(|event| (event == OPEN).then_some(AWAITED)).is_err()
    }
}

/// Fulfils an event, once.
///
/// # Safety
/// The program was given it, and has not fulfilled it yet.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_fulfill_event(event: usize) {
    // SAFETY: the caller's promise.
    let Handle { task, team } = unsafe { &*(event as *const Handle) };
    let before = task.event.change(|event| matches!(event, OPEN | AWAITED).then_some(FULFILLED));
    if before == Ok(AWAITED) {
        team.finish(task);
    }
    task.let_go();
    // SAFETY: nobody knows the event any more.
    unsafe { super::platform::free(event as *mut _) };
}

/// As [`omp_fulfill_event`], from Fortran, which hands the event over by value, too.
///
/// # Safety
/// As of that.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_fulfill_event_(event: usize) {
    // SAFETY: the caller's promise.
    unsafe { omp_fulfill_event(event) };
}
