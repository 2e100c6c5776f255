//! Breadth-first exploration of every reachable state, and what the resulting graph says about liveness.

mod breadth_first;
mod liveness;
mod store;
mod trace;

pub use breadth_first::{Exploration, explore};
pub use trace::{Trace, TraceStep};
