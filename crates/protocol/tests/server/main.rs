//! Tests of the protocol of servers.

mod table;
mod transactions;
