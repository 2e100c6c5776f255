//! The MOESI bus as a bus protocol, with the cluster's device as a further participant.

use std::fmt;

use units::{CpuId, NodeId};

use super::{Cache, CacheOutcome, Command, DataPhase, Device, Moesi, Operation, Reply, Start, memory};
use crate::contract::{Bus, BusAgent, Started};
use crate::{Access, CopyState, ProtocolError, Version};

/// The protocol, which has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct Protocol;

impl From<Start> for Started {
    fn from(start: Start) -> Self {
        match start {
            Start::Done => Self::Done,
            Start::Requested(_) => Self::Requested,
            Start::Blocked => Self::Blocked,
        }
    }
}

impl From<Moesi> for CopyState {
    #[inline]
    fn from(state: Moesi) -> Self {
        match state {
            Moesi::Invalid => Self::INVALID,
            Moesi::Shared => Self::SHARED,
            Moesi::Exclusive => Self::EXCLUSIVE,
            Moesi::Owned => Self::OWNED,
            Moesi::Modified => Self::MODIFIED,
        }
    }
}

impl Bus for Protocol {
    type CacheLine = Cache;
    type Command = Command;
    type Reply = Reply;
    type Data = DataPhase;
    type Work = CacheOutcome;

    #[inline]
    fn access(line: &mut Cache, access: Access) -> Started {
        line.start(if access.writes() { Operation::Store } else { Operation::Load }).into()
    }

    #[inline]
    fn evict(line: &mut Cache) -> Started {
        line.start(Operation::Evict).into()
    }

    #[inline]
    fn request(line: &Cache) -> Option<Command> {
        line.request
    }

    #[inline]
    fn snoop(line: &Cache, cpu: CpuId, command: Command) -> Result<Reply, ProtocolError> {
        line.snoop(cpu, command)
    }

    #[inline]
    fn combine(one: Reply, other: Reply) -> Reply {
        one.and(other)
    }

    #[inline]
    fn is_retry(reply: &Reply) -> bool {
        reply.retry
    }

    #[inline]
    fn observe(line: &mut Cache, cpu: CpuId, command: Command) -> Result<CacheOutcome, ProtocolError> {
        line.observe(cpu, command)
    }

    #[inline]
    fn memory(contents: &mut Version, command: Command, reply: Reply, written: Option<Version>) -> DataPhase {
        memory(contents, command, reply, written)
    }

    #[inline]
    fn on_bus(data: &DataPhase) -> Option<Version> {
        data.data.map(|(version, _)| version)
    }

    #[inline]
    fn complete(line: &mut Cache, reply: Reply, data: DataPhase) -> Option<Access> {
        let command = line.request;
        line.complete(reply, data);
        match command {
            Some(Command::Read | Command::ReadForeign) => Some(Access::Load),
            Some(Command::ReadExclusive | Command::Upgrade) => Some(Access::Store),
            Some(Command::Writeback) | None => None,
        }
    }

    #[inline]
    fn copy(line: &Cache) -> CopyState {
        line.state.into()
    }

    #[inline]
    fn contents(line: &mut Cache) -> &mut Version {
        &mut line.version
    }
}

impl BusAgent<Protocol> for Device {
    #[inline]
    fn snoop(&mut self, node: NodeId, command: Command) -> Result<Reply, ProtocolError> {
        Device::snoop(self, node, command)
    }

    #[inline]
    fn request(&self) -> Option<Command> {
        Device::request(self)
    }

    #[inline]
    fn complete(&mut self) {
        Device::complete(self);
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}
