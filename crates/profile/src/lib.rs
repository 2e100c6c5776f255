//! The memory profiler: sources of counters, samples of which no wrap is lost, and what Linux can tell.
//!
//! A [`CounterSource`] has objects and raw counters, and says what it cannot see and why. A [`Sampler`] reads it, makes 64-bit
//! totals of registers of any width ([`Virtualiser`]), and hands samples to a [`Sink`]: the trace file, a screen, both. Nothing
//! here knows that machines can be simulated; a simulated one is a source like any other.

pub mod export;
pub mod lines;
pub mod linux;
mod sampler;
pub mod selection;
pub mod session;
mod sink;
mod source;
mod sources;
mod virtualise;

pub use sampler::{Interval, Readings, Sampler};
pub use sink::{Live, Sink, Tee};
pub use source::{CounterSource, Reading};
pub use sources::Sources;
pub use virtualise::{Virtual, Virtualiser};
