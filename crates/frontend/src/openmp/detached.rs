//! Tasks that are over only when an event is fulfilled that the program has been given (OpenMP 5.0, 2.10.1 and 3.5.1): whoever
//! fulfils it, a thread of the team or another, ends the task if its own code is done, and else whoever does that ends it.

use std::cell::Cell;

use super::platform::keep;
use super::tasks::Task;
use super::team::{Team, team};

/// How far the event of a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Event {
    /// The task has none.
    #[default]
    None,
    /// It is not fulfilled.
    Open,
    /// The task's code is done, and only the event is left.
    Awaited,
    /// It is fulfilled.
    Fulfilled,
}

/// What programs know of an event: the task that it belongs to, and its team.
struct Handle {
    task: &'static Task,
    team: &'static Team,
}

/// Gives a task that will be submitted to the running thread's team an event. Returns what the program knows it by.
pub fn detach(task: &'static Task) -> usize {
    let team = team();
    task.event.set(Event::Open);
    task.hold();
    team.detaches.set(true);
    std::ptr::from_ref(keep(Handle { task, team })) as usize
}

impl Team {
    /// The code of a task is done: whether the task is.
    pub fn is_over(&self, task: &'static Task) -> bool {
        let open = |event: &Cell<Event>| {
            let is_open = event.get() == Event::Open;
            if is_open {
                event.set(Event::Awaited);
            }
            is_open
        };
        task.event.get() == Event::None || !self.tasks.with(|_| open(&task.event))
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
    let before = team.tasks.with(|_| task.event.replace(Event::Fulfilled));
    if before == Event::Awaited {
        team.finish(task);
    }
    team.tasks.with(|_| task.let_go());
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
