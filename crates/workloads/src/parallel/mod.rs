//! Parts of parallel programs: typed arrays, shares of loops, locks, barriers, reductions, teams that fork and join.

mod alone;
mod array;
mod barrier;
mod complex;
pub(crate) mod cost;
mod halves;
mod lock;
mod openmp;
pub mod queue;
mod reduction;
mod share;

pub(crate) use alone::alone;
#[cfg(test)]
pub(crate) use alone::{Alone, shape_of_one};
pub(crate) use array::element;
pub use array::{Array, Element};
pub use barrier::{Barrier, BarrierKind};
pub(crate) use halves::{half_of, with_half};
pub use lock::{Held, Locks};
pub use openmp::{SharedSums, Team};
pub use reduction::Reduction;
pub use share::Share;
pub(crate) use share::thread_grid;
