//! Parts of machines: caches, their replacement and their levels, write buffers, prefetchers, buses, memories,
//! reference and miss counters. Each part has a
//! spec (immutable), a state (plain data) and steps, and is independent of coherence protocols and kinds of machines.

mod banks;
mod cache;
mod cached_copy;
mod dram;
mod hierarchy;
mod levels;
mod miss_counters;
mod others;
mod prefetcher;
mod recency;
mod reference_counters;
mod refresh;
mod snooping_bus;
mod write_buffer;

pub use banks::{Banks, BanksTiming};
pub use cache::{Cache, CacheSpec, Slot, Victim};
pub use cached_copy::CachedCopy;
pub use dram::{Dram, DramTiming, Wake, spread};
pub use hierarchy::{Held, Hierarchy, Place};
pub use levels::{LevelSpec, Levels};
pub use miss_counters::{MissCounters, MissCountersSpec};
pub use others::{Others, is_of_others};
pub use prefetcher::{Prefetcher, PrefetcherSpec, Reference};
pub use reference_counters::{ReferenceCounters, ReferenceCountersSpec};
pub use refresh::Refresh;
pub use snooping_bus::{SnoopingBus, SnoopingBusTiming};
pub use write_buffer::{Completion, WriteBuffer};
