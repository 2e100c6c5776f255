//! The directory protocols of FLASH: one MSI base, the sharing set as a parameter, and variants.
//!
//! The base is what the seven protocols of the FLASH dissertation (Chapter 5) have in common: a home with a directory entry a
//! line that is clean, dirty or pending; refusal and retry (`NAK`) of what meets a pending entry; forwarding to a dirty owner
//! that answers the requester directly (three hops); acknowledgements of invalidations collected at the home, so that a
//! writer goes on only when every other copy is gone. What they differ in is
//! - the [`SharingSet`]: [`CoarseVector`] (bit vector, `CV=n`, `CV=n/LB`, broadcast), [`LimitedPointer`], [`DynamicPointer`],
//!   [`Hybrid`];
//! - the [`Variant`]: clustered invalidation (`/IC`), acknowledgement to requester (`/IR`);
//! - whether nodes have a remote access cache ([`NodeContext::remote_access_cache`]), which changes no message.
//!
//! The dissertation describes handlers, not every race; where it is silent, the rules follow the DASH and FLASH protocols as
//! published (Lenoski et al., "The directory-based cache coherence protocol for the DASH multiprocessor", ISCA 1990;
//! Heinrich, "The performance and scalability of distributed shared-memory cache coherence protocols", Stanford 1998). The
//! model checker decides whether they hold.
//!
//! Two kinds of agents: a [`home()`] and a node's cache side ([`access`], [`evict`], [`receive`], [`retry`]). `TRANSITIONS-msi.md`
//! of this crate has their tables.

mod cache_line;
pub mod catalogue;
mod directory;
mod home;
mod invalidate;
mod message;
mod node;
mod sharing;
mod table;
mod variant;

pub use cache_line::{Access, CacheLine, Collection, Msi, Place, Relay, Request};
pub use directory::{DirectoryState, Entry, WrittenBack};
pub use home::{Handled, HomeWork, Transaction, home, reclaim};
pub use invalidate::Invalidations;
pub use message::{Agent, Lane, Message, MessageKind};
pub use node::{AccessOutcome, Eviction, NodeOutcome, access, evict, evict_from_node, receive, retry};
pub use sharing::{
    CoarseHeader, CoarseVector, DynamicPointer, HeaderUse, Hybrid, HybridHeader, Insertion, LimitedPointer, LinkStore,
    ListHeader, Overflow, PointerHeader, SetWork, SharingSet, Site, VectorStore,
};
pub use table::{HomeCase, NodeCase, home_cases, node_cases};
pub use variant::{Clustering, HomeContext, NodeContext, Variant};
