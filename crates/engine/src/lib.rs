//! Event queue, servers and coroutines: simulated time without any notion of coherence.

mod coroutine;
mod grid;
mod queue;
mod server;

pub use coroutine::{Coroutine, StackPool, Step, Yielder};
pub use grid::Grid;
pub use queue::{EventQueue, Rank, Source};
pub use server::Server;
