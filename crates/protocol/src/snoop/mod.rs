//! A snooping MOESI bus, as it keeps the caches of an SMP node coherent (Lai and Falsafi 2000, Section 5: nodes of four
//! processors, a snoopy MOESI protocol within each; for the states, Sweazey and Smith, "A class of compatible cache
//! consistency protocols and their support by the IEEE Futurebus", ISCA 1986).
//!
//! The bus carries one transaction at a time. Every participant but the requester looks it up and gives a [`Reply`]; replies
//! are combined as wires are, and from the combined reply everybody knows what has happened: [`Cache::observe`] for those who
//! looked on, [`Cache::complete`] for the requester, [`memory`] for the memory. If anybody says "retry", nothing has happened.
//!
//! An external agent needs no more than that to take part. The [`Device`] of a cluster of such nodes is one: it answers for
//! what the other nodes hold, by retrying what this node has no right to yet and by keeping copies shared that others share;
//! and it uses the bus itself, to take copies out of this node that the others ask for.
//!
//! No message is ever in flight, so no handler needs an outbox: what a cache wants of the bus is part of its state.

mod bus;
mod cache;
mod device;
mod table;

pub use bus::{Command, DataPhase, Reply, Source, memory};
pub use cache::{Cache, CacheOutcome, Moesi, Operation, Start};
pub use device::{Device, Recall, Rights};
pub use table::{CacheCase, DeviceCase, cache_cases, device_cases};
