//! Parts of which machines are composed. Each is a spec (immutable), a state (plain data) and steps, and names no coherence
//! protocol and no kind of machine.

mod cache;
mod recency;

pub use cache::{Cache, CacheSpec, Slot, Victim};
