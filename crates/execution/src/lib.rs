//! Programs on simulated processors: threads, the memory that they share, and where pages and words of it are.
//!
//! Programs are generic over their thread, so they are compiled where threads are known: here, and nowhere else for simulated ones.
//! Simulations are set up and evaluated in `experiments`.

mod executable;
mod memory;
mod relocation;
mod thread;

pub use executable::{Executable, ExecutableError};
pub use memory::{SharedRegion, WORD};
pub use relocation::Relocation;
pub use thread::SimulatedThread;
