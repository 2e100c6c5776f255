//! Places in the program's code, in words.

use std::ffi::{CStr, c_void};
use std::mem::zeroed;

use super::state::run;

/// The place of an instruction, for a message: the function, if its name is among the exported ones, and the address, which whoever has
/// the debug information makes a line of.
pub fn place(pc: usize) -> String {
    // SAFETY: all zero is a value of it.
    let mut info: libc::Dl_info = unsafe { zeroed() };
    // SAFETY: it only looks; names that it finds stay.
    let name = unsafe {
        (libc::dladdr(pc as *const c_void, &raw mut info) != 0 && !info.dli_sname.is_null())
            .then(|| CStr::from_ptr(info.dli_sname).to_string_lossy().into_owned())
    };
    match (name, super::libraries::name_of(pc)) {
        // Libraries are at other addresses in every run.
        (name, Some(library)) => format!("{} in {library}", name.unwrap_or_else(|| "a function".to_owned())),
        (Some(name), None) => format!("{name} ({pc:#x})"),
        (None, None) => format!("{pc:#x}"),
    }
}

/// Where each thread is that has not ended: the call that it is in, for one that waits.
pub fn all_threads() -> Vec<String> {
    // SAFETY: threads are never freed.
    let alive = run().threads.iter().map(|&user| unsafe { &*user }).filter(|user| !user.thread.is_null());
    let whereabouts = |user: &super::state::UserThread| match user.called.is_null() {
        true => format!("thread {} in its own code at {}", user.number, place(user.site)),
        false => format!("thread {} in {} called at {}", user.number, user.call_name(), place(user.call)),
    };
    alive.map(whereabouts).collect()
}
