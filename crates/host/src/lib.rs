//! A real Linux machine: what it is made of, memory placed and verified, pinned threads, machine-code kernels, clocks.
//!
//! Nothing here knows what an experiment is, or that machines can be simulated: `bench` puts its experiments on top. What
//! cannot be had on a machine is refused with the reason ([`HostError`]), or noted; it never silently becomes something
//! else.

pub mod children;
pub mod clock;
pub mod crew;
pub mod discovery;
mod error;
pub mod interference;
pub mod kernels;
pub mod memory;
pub mod monitoring_group;
pub mod perf;
pub mod statistics;
pub mod threads;

pub use error::HostError;
