//! Parts of machines: caches and their replacement. Each part has a spec (immutable), a state (plain data) and steps,
//! and is independent of coherence protocols and kinds of machines.

mod cache;
mod recency;

pub use cache::{Cache, CacheSpec, Slot, Victim};
