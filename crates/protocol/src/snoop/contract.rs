//! The MOESI bus and the MESI bus as bus protocols, with the cluster's device as a further participant.

use units::{CpuId, NodeId};

use super::{Cache, CacheOutcome, Command, DataPhase, Device, Operation, Reply, Start, memory};
use crate::contract::{Bus, BusAgent, Started};
use crate::{Access, CopyState, ProtocolError, Version};

/// A snooping bus with the state Owned (MOESI), or without (MESI).
///
/// On a MESI bus, a read brings memory up to date if a cache has a modified copy, so that no read-only copy is newer than
/// memory (Papamarcos and Patel, "A low-overhead coherence solution for multiprocessors with private cache memories",
/// ISCA 1984). It is the command of a read on behalf of another node.
#[derive(Clone, Copy, Debug)]
pub struct Snooping<const OWNED: bool>;

/// The MOESI bus.
pub type Protocol = Snooping<true>;
/// The MESI bus.
pub type Mesi = Snooping<false>;

impl From<Start> for Started {
    fn from(start: Start) -> Self {
        match start {
            Start::Done => Self::Done,
            Start::Requested(_) => Self::Requested,
            Start::Blocked => Self::Blocked,
        }
    }
}

impl<const OWNED: bool> Bus for Snooping<OWNED> {
    type CacheLine = Cache;
    type Command = Command;
    type Reply = Reply;
    type Data = DataPhase;
    type Work = CacheOutcome;

    #[inline]
    fn access(line: &mut Cache, access: Access) -> Started {
        if access == Access::UncachedRead && line.request.is_none() {
            // Memory is brought up to date, and other caches keep their copies.
            line.request = Some(Command::ReadForeign);
            return Started::Requested;
        }
        let started = line.start(if access.writes() { Operation::Store } else { Operation::Load });
        if !OWNED && started == Start::Requested(Command::Read) {
            line.request = Some(Command::ReadForeign);
        }
        started.into()
    }

    #[inline]
    fn evict(line: &mut Cache) -> Started {
        line.start(Operation::Evict).into()
    }

    #[inline]
    fn request(line: &Cache) -> Option<Command> {
        line.request
    }

    fn mnemonic(command: Command) -> &'static str {
        command.mnemonic()
    }

    #[inline]
    fn reads(command: Command) -> bool {
        matches!(command, Command::Read | Command::ReadExclusive | Command::ReadForeign)
    }

    #[inline]
    fn writes(command: Command) -> bool {
        matches!(command, Command::ReadExclusive | Command::Upgrade)
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
    fn supplies(reply: &Reply) -> bool {
        reply.owner.is_some()
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
    fn writes_memory(data: &DataPhase) -> bool {
        data.memory_write
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
    fn held(copy: CopyState, contents: Version) -> Cache {
        Cache { state: copy.into(), version: contents, request: None }
    }

    #[inline]
    fn contents(line: &mut Cache) -> &mut Version {
        &mut line.version
    }
}

impl<const OWNED: bool> BusAgent<Snooping<OWNED>> for Device {
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
