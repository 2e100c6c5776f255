//! Newtypes for time, frequency, size and identity: a bare integer that means nanoseconds is a bug.

mod identity;
mod quantity;

pub use identity::{CpuId, LineAddr, NodeId, PageAddr, PhysicalAddr, RouterId};
pub use quantity::{Bandwidth, Bytes, Duration, Hertz, Time};
