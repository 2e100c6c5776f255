//! The protocol of servers: cores with private caches, a shared L3 in slices for each core cluster, and homes.
//!
//! One protocol with switches, a [`Design`], serves Haswell-EP, Skylake-SP and its successors, and AMD's Zen. Its agents:
//! - a **core** ([`CoreLine`]), whose private caches are seen as one;
//! - the **caching agent** of a core cluster ([`CachingLine`]): the L3 slice that a line's address selects, with core-valid
//!   bits, snoop filter or shadow tags. A socket has one cluster, or several (cluster-on-die, core complexes);
//! - the **home** of a line ([`HomeLine`]): memory with its directory. On a socket with a directory in memory, the home and
//!   the caching agent of the same socket are one box, whose messages to itself take no time; their roles stay apart.
//!
//! For one line, messages between a core and its caching agent arrive in order, and so do those from a caching agent to the
//! home, except that others pass a request that waits. Messages from homes and between caching agents overtake each other
//! without limit. No message is NACKed: a request that must wait stays in its agent's queue, which is bounded, since a
//! requester has one request of a line under way. A caching agent puts snoops off only while it waits for its own cores.
//!
//! Homes end a transaction with the requester's acknowledgement, as HyperTransport's "source done" does (HyperTransport I/O
//! Link Specification, coherent extension) and CHI's `CompAck`. `TRANSITIONS-server.md` of this crate lists the transitions.

mod caching;
mod core;
mod design;
mod home;
mod message;
mod table;

pub use caching::{
    CachingLine, CachingOutcome, CachingWork, ClusterState, External, Found, L3Copy, Replaced, Request, Stage,
    at_caching_agent, evict_filter, evict_l3,
};
pub use core::{CoreLine, CoreOutcome, access, at_core, evict};
pub use design::{
    CachingSite, CoreSite, Design, DesignError, HomeKind, HomeSite, L3, MAX_CLUSTERS, MAX_CORES, MAX_EARLY_CLUSTERS,
    Sharing,
};
pub use home::{
    Bits, Cause, Early, EarlyResponse, Holders, HomeLine, HomeOutcome, HomeWork, Leaves, Lookup, Transaction, at_home,
    evict_directory_cache, evict_probe_filter,
};
pub use message::{Grant, Lane, Message, MessageKind};
pub use table::{
    CachingCase, CoreCase, DESIGNS, HomeCase, TRANSITIONS, caching_cases, core_cases, describe_caching, describe_home,
    home_cases,
};
