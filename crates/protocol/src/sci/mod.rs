//! The typical set of SCI's coherence protocol (IEEE 1596-1992): a directory that is a doubly linked list of the
//! sharers.
//!
//! Memory has only the head of the list; each cache has its neighbours. A reader or writer sends a request to memory,
//! which makes it the new head at once and never waits; the new head then attaches to the old one. Only the head may
//! write: it purges the other elements one by one. An element that leaves, to make room or to become the head, rolls
//! out of the list. (Hexsel and Topham, "The performance of SCI multiprocessor rings", appendix; for an outline,
//! Culler, Singh and Gupta, "Parallel Computer Architecture", Section 8.6.)
//!
//! Rules and the names of states and commands are those of the standard's C code, as restated by Stern and Dill in the
//! Murphi description that comes with "Automatic verification of the SCI cache coherence protocol" (CHARME 1995), with
//! the options FRESH, DIRTY and MODS of the typical set, and without CLEAN, WASH, pairwise sharing, cleansing, QOLB and
//! locks.
//!
//! Every transaction is one request and one response, and a cache has at most one outstanding on a line. A target that
//! cannot perform a request NACKs it (the standard's name is nullified), and the requester retries. Handlers therefore
//! need no outbox: [`memory`] and [`serve`] return the response, [`start`] and [`receive`] the next request, if there
//! is one. Packets may overtake each other without limit.

mod cache_line;
mod contract;
mod memory;
mod message;
mod requester;
mod table;
mod target;

pub use cache_line::{CacheContext, CacheLine, CacheState, Operation, Outstanding};
pub use contract::{CacheWork, Packet, Protocol};
pub use memory::{MemoryLine, MemoryState, MemoryWork, memory};
pub use message::{Command, Report, Request, Response};
pub use requester::{Outcome, Progress, Start, receive, start};
pub use table::{CacheCase, MemoryCase, ResponseCase, TRANSITIONS, cache_cases, memory_cases, response_cases};
pub use target::{ServeWork, serve};
