//! Transition tables of the bus, derived from the handlers: the documented tables cannot differ from the running code.

use units::{CpuId, NodeId};

use super::bus::{Command, Reply};
use super::cache::{Cache, Moesi};
use super::device::{Device, Rights};
use crate::ProtocolError;

/// The transition tables as Markdown, which the test `snoop` of this crate derives from the handlers and holds current.
pub const TRANSITIONS: &str = include_str!("../../TRANSITIONS-snoop.md");

/// A cell of a cache's table: another's transaction meets a copy.
#[derive(Clone, Debug)]
pub struct CacheCase {
    /// State before.
    pub state: Moesi,
    /// Transaction.
    pub command: Command,
    /// Reply and state after, or the reason why the transaction cannot occur.
    pub result: Result<(Reply, Moesi), ProtocolError>,
}

/// Cells of a cache's table, as a snooping participant.
pub fn cache_cases() -> impl Iterator<Item = CacheCase> {
    Moesi::ALL.into_iter().flat_map(|state| {
        Command::ALL.into_iter().map(move |command| {
            let mut cache = Cache { state, ..Cache::default() };
            let result = cache
                .snoop(CpuId(0), command)
                .and_then(|reply| cache.observe(CpuId(0), command).map(|_| (reply, cache.state)));
            CacheCase { state, command, result }
        })
    })
}

/// A cell of the device's table: a transaction of a cache meets the rights of the node.
#[derive(Clone, Debug)]
pub struct DeviceCase {
    /// Rights of the node.
    pub rights: Rights,
    /// Transaction.
    pub command: Command,
    /// Reply, and the right requested from the other nodes; or the reason why the transaction cannot occur.
    pub result: Result<(Reply, Option<Rights>), ProtocolError>,
}

/// Cells of the device's table.
pub fn device_cases() -> impl Iterator<Item = DeviceCase> {
    Rights::ALL.into_iter().flat_map(|rights| {
        Command::ALL.into_iter().map(move |command| {
            let mut device = Device { rights, ..Device::default() };
            let result = device.snoop(NodeId(0), command).map(|reply| (reply, device.fetch));
            DeviceCase { rights, command, result }
        })
    })
}
