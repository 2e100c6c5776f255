//! Tests of the protocol between the nodes of a cluster, together with their buses: the tables, transactions, races, poison,
//! random walks on large machines.

mod poison;
mod races;
mod random_walk;
mod table;
mod transactions;
mod world;
