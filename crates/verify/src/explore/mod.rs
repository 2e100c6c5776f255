//! Breadth-first exploration of every reachable state, and the liveness check on the resulting graph.

mod breadth_first;
mod liveness;
mod store;
mod trace;

pub use breadth_first::{Exploration, explore};
pub use trace::{Trace, TraceStep};
