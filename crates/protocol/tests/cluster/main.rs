//! Tests of the protocol between the nodes of a cluster, together with their buses: the tables, transactions, races,
//! random walks on large machines.

mod races;
mod random_walk;
mod table;
mod transactions;
mod world;
