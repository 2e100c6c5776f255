//! Every protocol, explored: sizes of state spaces, planted faults, litmus tests, and protocols from outside.
//!
//! All tests of this crate are one program: the harness then runs them beside each other, and they are linked once.

mod cluster;
mod conformance;
mod cross_check;
mod exploration;
mod litmus;
mod moesi;
mod msi;
mod own_protocol;
mod pinned;
mod sci;
mod server;
mod sharing_set;
