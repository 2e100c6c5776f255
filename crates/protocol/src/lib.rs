//! Coherence protocols as pure state machines: no clock, no I/O, no statistics, no allocation.
//!
//! Each handler takes the state of one line at one agent and one event, changes the state, and returns what it sends and what
//! it did, so that a machine can price it. The timing simulator and the model checker run the very same handlers.
//!
//! Protocols stand side by side, a module each: [`origin`] is the SGI Origin's, [`msi`] the family of FLASH's, with the sharing
//! set as a parameter, [`sci`] keeps sharers in a linked list, [`snoop`] has every cache look on at a bus. They share the words
//! of this level: [`Access`] from a processor, [`CopyState`] in its cache, [`Version`] for data, [`Agent`] and
//! [`ProtocolError`].

mod access;
mod agent;
mod contents;
mod copy;
mod error;
pub mod msi;
pub mod origin;
pub mod sci;
pub mod snoop;

pub use access::Access;
pub use agent::Agent;
pub use contents::Version;
pub use copy::{CopyState, Rights};
pub use error::ProtocolError;
