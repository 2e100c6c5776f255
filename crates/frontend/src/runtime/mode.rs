//! How the program runs: found out by whoever asks first.

use super::address;
use super::state::{MODE, Mode};

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
