//! Parts of machines: caches and their replacement. Each part has a spec (immutable), a state (plain data) and steps,
//! and is independent of coherence protocols and kinds of machines.

mod banks;
mod cache;
mod recency;
mod snooping_bus;

pub use banks::{Banks, BanksTiming};
pub use cache::{Cache, CacheSpec, Slot, Victim};
pub use snooping_bus::{SnoopingBus, SnoopingBusTiming};
