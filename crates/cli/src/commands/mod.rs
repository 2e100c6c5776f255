//! The subcommands, a file each, and a table that several print.

pub mod advise;
pub mod bench;
mod compared;
pub mod compile;
pub mod completions;
pub mod diagnose;
pub mod diagnose_host;
pub mod fit;
pub mod machines;
pub mod man;
pub mod manual;
pub mod profile;
pub mod report;
pub mod reproduce;
pub mod schema;
pub mod shims;
pub mod sim;
pub mod sweep;
pub mod topology;
pub mod verify;
