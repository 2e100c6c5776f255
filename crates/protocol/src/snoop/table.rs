//! The bus's transition tables, read off the handlers themselves: what documentation prints cannot differ from what runs.

use units::{CpuId, NodeId};

use super::bus::{Command, Reply};
use super::cache::{Cache, Moesi};
use super::device::{Device, Rights};
use crate::ProtocolError;

/// One cell of a cache's table: a transaction of another meets a copy.
#[derive(Clone, Debug)]
pub struct CacheCase {
    /// The state before.
    pub state: Moesi,
    /// The transaction.
    pub command: Command,
    /// The reply, and the state after; or why this cannot happen.
    pub result: Result<(Reply, Moesi), ProtocolError>,
}

/// A cache's table, as a bystander.
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

/// One cell of the device's table: a transaction of a cache meets the rights of the node.
#[derive(Clone, Debug)]
pub struct DeviceCase {
    /// What the node may do.
    pub rights: Rights,
    /// The transaction.
    pub command: Command,
    /// The reply, and what is asked of the other nodes; or why this cannot happen.
    pub result: Result<(Reply, Option<Rights>), ProtocolError>,
}

/// The device's table.
pub fn device_cases() -> impl Iterator<Item = DeviceCase> {
    Rights::ALL.into_iter().flat_map(|rights| {
        Command::ALL.into_iter().map(move |command| {
            let mut device = Device { rights, ..Device::default() };
            let result = device.snoop(NodeId(0), command).map(|reply| (reply, device.fetch));
            DeviceCase { rights, command, result }
        })
    })
}
