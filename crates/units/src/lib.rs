//! Newtypes for time, frequency, size and identity: a bare integer that means nanoseconds is a bug.

mod identity;
mod quantity;

pub use identity::{
    ChannelId, CpuId, LineAddr, LinkId, NodeId, PageAddr, PhysicalAddr, Port, RouterId, VirtualAddr, counted, ranges,
};
pub use quantity::{Bandwidth, Bytes, Duration, Hertz, Length, Time};
