//! Tests of SCI's typical set, handler by handler: each transaction, each race, long lists, the tables.

mod races;
mod random_walk;
mod table;
mod transactions;
mod world;
