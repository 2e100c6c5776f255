//! The command where it measures this computer, which tests of the simulator would disturb.

#[path = "../common/mod.rs"]
mod common;

mod host_bench;
mod profiler;
mod server_loop;
