//! What parallel programs are made of: typed arrays, shares of loops, locks, reductions.

mod alone;
mod array;
mod complex;
pub(crate) mod cost;
mod lock;
mod reduction;
mod share;

#[cfg(test)]
pub(crate) use alone::Alone;
pub(crate) use alone::alone;
pub(crate) use array::element;
pub use array::{Array, Element};
pub use lock::Locks;
pub use reduction::Reduction;
pub use share::Share;
pub(crate) use share::thread_grid;
