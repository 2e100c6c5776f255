//! Tests of the protocol between the nodes of a cluster, together with their buses: the tables, transactions, races,
//! random walks on large machines.

mod table;
