//! The profiler's commands: `sar`, `run`, `info`, `dump`.

pub mod dump;
pub mod flags;
pub mod info;
pub mod observable;
pub mod preamble;
pub mod run;
pub mod sar;
#[cfg(feature = "screen")]
mod screen;
mod simulated;
mod summary;
pub mod watched;
