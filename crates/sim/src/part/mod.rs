//! Parts of machines: caches, their replacement and their levels, write buffers, prefetchers. Each part has a spec (immutable), a state (plain data) and steps,
//! and is independent of coherence protocols and kinds of machines.

mod cache;
mod hierarchy;
mod prefetcher;
mod recency;
mod write_buffer;

pub use cache::{Cache, CacheSpec, Slot, Victim};
pub use hierarchy::{Hierarchy, LevelSpec, Place};
pub use prefetcher::{Prefetcher, PrefetcherSpec, Reference};
pub use write_buffer::{Completion, WriteBuffer};
