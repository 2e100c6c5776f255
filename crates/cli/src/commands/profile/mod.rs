//! The profiler's commands: `sar`, `run`, `info`, `dump`.

pub mod dump;
mod flags;
pub mod info;
mod preamble;
pub mod run;
pub mod sar;
#[cfg(feature = "screen")]
mod screen;
mod simulated;
mod summary;
