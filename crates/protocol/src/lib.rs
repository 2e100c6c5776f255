//! Coherence protocols as pure state machines: no clock, no I/O, no statistics, no allocation.
//!
//! Each handler takes the state of one line at one agent and one event. It changes the state, and returns the messages
//! to send and the work done, which a machine prices. The timing simulator and the model checker run the same handlers.
//!
//! Each protocol is a module: [`origin`] is the SGI Origin's, [`msi`] the FLASH family, with the sharing set as a
//! parameter, [`sci`] keeps sharers in a linked list, [`snoop`] is a snooping bus, [`cluster`] joins nodes with such a
//! bus, and [`server`] is that of today's servers. All share [`Access`] from a processor, [`CopyState`] in its cache,
//! [`Version`] for data, [`Agent`] and [`ProtocolError`]. Each but [`cluster`], whose nodes are buses, and [`server`], whose
//! agents are of three kinds, fulfils one of the [`contract`]s, from which the model checker makes its model.

mod access;
mod agent;
pub mod cluster;
mod contents;
pub mod contract;
mod copy;
mod error;
pub mod msi;
pub mod origin;
pub mod sci;
pub mod server;
pub mod snoop;

pub use access::Access;
pub use agent::Agent;
pub use contents::Version;
pub use copy::{CopyState, Rights};
pub use error::ProtocolError;
