//! Directory protocols of FLASH: one MSI base protocol with the sharing set as a parameter, and its variants.
//!
//! The base is common to the seven protocols of the FLASH dissertation (Chapter 5): a home with a directory entry per
//! line, which is clean, dirty or pending; a NACK (FLASH's `NAK`) for a request that meets a pending entry, and a retry
//! by its sender; forwarding to a dirty owner, which answers the requester directly (three hops); collection of
//! invalidation acknowledgements at the home, so that a writer proceeds only when every other copy is gone. The
//! protocols differ in
//! - the [`SharingSet`]: [`CoarseVector`] (bit vector, `CV=n`, `CV=n/LB`, broadcast), [`LimitedPointer`],
//!   [`DynamicPointer`], [`Hybrid`];
//! - the [`Variant`]: clustered invalidation (`/IC`), acknowledgement to requester (`/IR`);
//! - the remote access cache of nodes ([`NodeContext::remote_access_cache`]), which changes no message.
//!
//! The dissertation describes handlers, but not every race; for the others, the rules follow the DASH and FLASH
//! protocols as published (Lenoski et al., "The directory-based cache coherence protocol for the DASH multiprocessor",
//! ISCA 1990; Heinrich, "The performance and scalability of distributed shared-memory cache coherence protocols",
//! Stanford 1998). The model checker verifies them.
//!
//! The agents are a [`home()`] and the cache side of a node ([`access`], [`recall`], [`evict`], [`receive`], [`retry`]).
//! `TRANSITIONS-msi.md` of this crate lists their transitions.

mod cache_line;
pub mod catalogue;
mod contract;
mod directory;
mod home;
mod invalidate;
mod message;
mod node;
mod sharing;
mod table;
mod variant;

pub use cache_line::{Access, CacheLine, Collection, Msi, Place, Relay, Request};
pub use contract::Protocol;
pub use directory::{DirectoryState, Entry, WrittenBack};
pub use home::{HomeOutcome, HomeWork, Transaction, home, reclaim};
pub use invalidate::Invalidations;
pub use message::{Agent, Lane, Message, MessageKind};
pub use node::{AccessOutcome, Eviction, NodeOutcome, access, evict, evict_from_node, recall, receive, retry};
pub use sharing::{
    CoarseHeader, CoarseVector, DynamicPointer, HeaderUse, Hybrid, HybridHeader, Insertion, LimitedPointer, LinkStore,
    ListHeader, Overflow, PointerHeader, SetWork, SharingSet, Site, VECTOR_BITS, VectorStore,
};
pub use table::{HomeCase, NodeCase, TRANSITIONS, home_cases, node_cases};
pub use variant::{Clustering, HomeContext, NodeContext, Variant};
