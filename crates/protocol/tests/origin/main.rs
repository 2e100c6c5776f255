//! Tests of the Origin protocol, handler by handler: each transaction, each race, each property of the sharer vector.

mod backoff;
mod poison;
mod races;
mod random_walk;
mod sharers;
mod table;
mod transactions;
mod world;
