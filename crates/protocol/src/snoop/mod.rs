//! A snooping MOESI or MESI bus, for the caches of an SMP node (Lai and Falsafi 2000, Section 5: nodes of four processors, a
//! snoopy MOESI protocol within each; for the states, Sweazey and Smith, "A class of compatible cache consistency
//! protocols and their support by the IEEE Futurebus", ISCA 1986).
//!
//! The bus carries one transaction at a time. Every participant except the requester snoops it and returns a [`Reply`];
//! the replies are combined by the wires, and the combined reply determines the outcome at every participant:
//! [`Cache::observe`] for the snooping caches, [`Cache::complete`] for the requester, [`memory`] for memory. If any
//! participant replies "retry", nothing has happened.
//!
//! An external agent takes part by the same means. The [`Device`] of a cluster of such nodes is one: it represents the
//! copies of the other nodes, by retrying transactions for which this node lacks the right and by keeping copies shared
//! that other nodes share; and it uses the bus itself, to take copies that the other nodes request out of this node.
//!
//! A [`Mesi`] bus has the same handlers without the state Owned.
//!
//! No message is ever in flight, so handlers need no outbox: a cache's bus request is part of its state.

mod bus;
mod cache;
mod contract;
mod device;
mod table;

pub use bus::{Command, DataPhase, Reply, Source, memory};
pub use cache::{Cache, CacheOutcome, Moesi, Operation, Start};
pub use contract::{Mesi, Protocol, Snooping};
pub use device::{Device, Recall, Rights};
pub use table::{CacheCase, DeviceCase, TRANSITIONS, cache_cases, device_cases};
