//! Coherence protocols as pure state machines: no clock, no I/O, no statistics, no allocation.
//!
//! Each handler takes the state of one line at one agent and one event, changes the state, and returns what it sends and what
//! it did, so that a machine can price it. The timing simulator and the model checker run the very same handlers.
//!
//! At the top of the crate is the protocol of the SGI Origin 2000 (Prestor 2001, Chapters 3.1.1-3.2.1 and 4.1). Three agents
//! handle its messages: the [`home`] of a line (its directory entry), a processor's request buffer and cache
//! ([`processor_request`], [`receive`], [`evict`]...), and a node's processor [`invalidate`] interface. Messages may overtake
//! each other without limit. See `processor` and `home` for how each race is resolved.
//!
//! Others have a module of their own: [`msi`] is the family of FLASH's, with the sharing set as a parameter, [`sci`] keeps
//! sharers in a linked list, [`snoop`] lets everybody on a bus look on. They share [`Version`] and [`ProtocolError`].

mod cache_line;
mod directory;
mod error;
mod geometry;
mod home;
mod message;
pub mod msi;
mod outbox;
mod processor;
pub mod sci;
mod sharers;
pub mod snoop;
mod table;

pub use cache_line::{
    Access, CacheContext, CacheLine, HomeAnswer, Intervention, Mesi, OwnerAnswer, Pending, Request, hit,
};
pub use directory::{DirectoryEntry, DirectoryState, Purpose};
pub use error::ProtocolError;
pub use geometry::Geometry;
pub use home::{HomeContext, HomeWork, Transaction, home};
pub use message::{Agent, Message, MessageClass, MessageKind, Version};
pub use outbox::Outbox;
pub use processor::{
    CacheOutcome, Eviction, RequestOutcome, Supplied, evict, invalidate, invalidation_acknowledgement,
    processor_request, receive, retry, serve_deferred,
};
pub use sharers::{SharerVector, Targets, VectorMode};
pub use table::{HomeCase, home_cases};
