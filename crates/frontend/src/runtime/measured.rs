//! The measured part of a program: the one that it names, or from its first parallel section to the end of its last.

use sim::Thread;

use super::recording;
use super::state::{Run, UserThread, current, number, run, this};

/// A thread has been made: a parallel section begins, if there is none.
pub fn thread_begins() {
    if run().alive - run().helpers == 2 {
        section_begins();
    }
}

/// The running thread begins a parallel section, its part of one, or a region of one thread. If the program has not said what is to be
/// measured, that is what it does from the first section to the end of the last, however many threads there are.
pub fn section_begins() {
    let Some(thread) = current().filter(|_| !run().regions) else { return };
    run().sections = true;
    // SAFETY: threads are never freed.
    let user = unsafe { &mut *this() };
    if !std::mem::replace(&mut user.in_section, true) {
        measure(thread, true);
    }
}

/// The running thread has ended a parallel section, or its part of one: what it does up to the next is measured if there is one.
pub fn section_ends() {
    let Some(thread) = current().filter(|_| !run().regions) else { return };
    // SAFETY: threads are never freed.
    let user = unsafe { &mut *this() };
    let is_over = user.helper || run().alive - run().helpers == 1;
    if is_over && std::mem::take(&mut user.in_section) {
        thread.measure_up_to_here();
        recording::measured(user.number, false);
    }
}

/// A new thread is measured from its birth, unless the program says otherwise.
pub fn from_birth(thread: &mut Thread<'_>, user: *mut UserThread) {
    if !run().regions {
        // SAFETY: threads are never freed.
        let number = unsafe {
            (*user).in_section = true;
            (*user).number
        };
        // It is not yet the one that runs.
        thread.measure(true);
        recording::measured(number, true);
    }
}

/// The measured part begins or ends.
fn measure(thread: &mut Thread<'_>, on: bool) {
    thread.measure(on);
    recording::measured(number(), on);
}

/// The measured part begins here, in the words of the program.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_roi_begin() {
    if let Some(thread) = current() {
        run().regions = true;
        measure(thread, true);
    }
}

/// As [`ccnuma_roi_begin`], from Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_roi_begin_() {
    ccnuma_roi_begin();
}

/// As [`ccnuma_roi_end`], from Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_roi_end_() {
    ccnuma_roi_end();
}

/// And ends here.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_roi_end() {
    if let Some(thread) = current() {
        run().regions = true;
        measure(thread, false);
    }
}

/// Pages move to the nodes that touch them next.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_first_touch() {
    if let Some(thread) = current() {
        thread.touch_again();
    }
}

/// As [`ccnuma_first_touch`], from Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn ccnuma_first_touch_() {
    ccnuma_first_touch();
}

/// The part of the program that was measured, as records call it.
pub fn part(run: &Run) -> &'static str {
    match (run.regions, run.sections) {
        (true, _) => "regions",
        (false, true) => "sections",
        (false, false) => "whole",
    }
}
