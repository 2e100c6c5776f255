//! Coherence protocol of the SGI Origin 2000 (Prestor 2001, Chapters 3.1.1-3.2.1 and 4.1).
//!
//! Three agents handle its messages: the [`home()`] of a line (its directory entry), a processor's miss register and
//! cache ([`processor_request`], [`receive`], [`evict`]...), and a node's processor interface ([`invalidate`]).
//! Messages may overtake each other without limit. The modules `processor` and `home` list the races;
//! `TRANSITIONS-origin.md` of this crate lists the home's transitions.

mod cache_line;
mod contract;
mod directory;
mod geometry;
mod home;
mod message;
mod outbox;
mod processor;
mod sharers;
mod table;

pub use cache_line::{
    CacheContext, CacheLine, HomeAnswer, Intervention, Mesi, OwnerAnswer, Pending, Request, miss_request,
};
pub use contract::{CacheWork, Protocol};
pub use directory::{DirectoryEntry, DirectoryState, Purpose};
pub use geometry::Geometry;
pub use home::{HomeContext, HomeWork, Transaction, home};
pub use message::{Message, MessageClass, MessageKind};
pub use outbox::Outbox;
pub use processor::{
    CacheOutcome, Eviction, RequestOutcome, Supplied, evict, invalidate, invalidation_acknowledgement,
    processor_request, receive, retry, serve_deferred,
};
pub use sharers::{SharerVector, Targets, VectorMode};
pub use table::{HomeCase, TRANSITIONS, home_cases};
