//! The runtime of users' programs, which this command holds: a copied command is all that has to be installed.

use std::ffi::OsString;

use frontend::compiler::{Enclosed, restore};
use frontend::launch::Launch;

use crate::failure::Failure;

/// The runtime that was built with this command, where there is one for the platform.
pub static ENCLOSED: Option<Enclosed> = enclosed();

// A static build has no shared libraries.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", not(target_feature = "crt-static")))]
const fn enclosed() -> Option<Enclosed> {
    let library: Option<(&'static [u8], usize, u64)> = enclose::shared_library!(frontend);
    match library {
        Some((deflated, length, hash)) => Some(Enclosed { deflated, length, hash }),
        None => None,
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", not(target_feature = "crt-static"))))]
const fn enclosed() -> Option<Enclosed> {
    None
}

/// A program of the user's, with its arguments; its runtime is put back if it was removed from the user's cache.
///
/// # Errors
/// There is no such program, it was not built for simulation or may not be executed, or its runtime cannot be put back.
pub fn launch(command: &[OsString]) -> Result<Launch, Failure> {
    let launch = Launch::new(command).map_err(Failure::input)?;
    restore(ENCLOSED.as_ref(), launch.file()).map_err(Failure::input)?;
    Ok(launch)
}
