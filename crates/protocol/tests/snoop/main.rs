//! Tests of the snooping MOESI bus, handler by handler: each transaction, each race, the cluster device, the tables.

mod bus;
mod device;
mod random_walk;
mod table;
mod world;
