//! Requests at a home: the caching agents to be snooped, by kind of home.

use units::NodeId;

use super::{Bits, Cause, Home, Leaves, Lookup, Transaction};
use crate::ProtocolError;
use crate::server::caching::snoop_of;
use crate::server::design::bit;
use crate::server::{HomeKind, Lane, Message, MessageKind};

/// Caching agents to be snooped for a request.
struct Targets {
    /// Those that are snooped at once, a bit each.
    now: u64,
    /// Those that are snooped because of the bits in memory, when they have been read.
    after_memory: u64,
    /// Whether others may have clean shared copies.
    others: bool,
}

impl<S: FnMut(Message, Leaves)> Home<'_, S> {
    /// Begins a request, unless the line is busy.
    pub(super) fn request(&mut self) -> Result<bool, ProtocolError> {
        let requester = self.sender()?;
        if !self.line.takes(Lane::Request) {
            return Ok(false);
        }
        self.begin(self.message.kind, requester);
        Ok(true)
    }

    /// Begins the transaction of a request.
    pub(super) fn begin(&mut self, kind: MessageKind, requester: NodeId) {
        let mut transaction = Transaction::new(Cause::Request { kind, requester });
        if self.design.home == HomeKind::EarlySnoop {
            self.work.memory_read = true;
            self.line.busy = Some(transaction);
            return self.advance();
        }
        let Targets { now, after_memory, others } = self.targets(kind, requester);
        transaction.others = others;
        self.line.busy = Some(transaction);
        self.snoop(now, snoop_of(kind), Some(requester), Leaves::AtOnce);
        self.snoop(after_memory, snoop_of(kind), Some(requester), Leaves::AfterMemory);
        self.try_finish();
    }

    /// Caching agents to be snooped.
    fn targets(&mut self, kind: MessageKind, requester: NodeId) -> Targets {
        let others = self.design.all_clusters() & !bit(requester);
        let owns = matches!(kind, MessageKind::ReadOwn | MessageKind::Upgrade);
        // Memory is read while caching agents are snooped, and its data are not used if one of them supplies the line.
        match self.design.home {
            HomeKind::HomeSnoop | HomeKind::EarlySnoop => {
                self.work.memory_read = true;
                Targets { now: others, after_memory: 0, others: false }
            }
            HomeKind::Directory { cached } => {
                self.work.memory_read = true;
                let (local, remote) = (others & self.local(), others & !self.local());
                if let Some(holders) = self.line.entry {
                    self.work.lookup = Lookup::Hit;
                    let listed = holders.all() & remote;
                    let needed = if owns || holders.owner.is_some_and(|owner| owner != requester) { listed } else { 0 };
                    return Targets { now: local | needed, after_memory: 0, others: listed != needed };
                }
                self.work.lookup = if cached { Lookup::Miss } else { Lookup::None };
                if self.opportunistic {
                    return Targets { now: local | remote, after_memory: 0, others: false };
                }
                match self.line.bits {
                    Bits::Invalid => Targets { now: local, after_memory: 0, others: false },
                    Bits::Shared if owns => Targets { now: local, after_memory: remote, others: false },
                    Bits::Shared => Targets { now: local, after_memory: 0, others: remote != 0 },
                    Bits::Any => Targets { now: local, after_memory: remote, others: false },
                }
            }
            HomeKind::ProbeFilter => {
                self.work.lookup = if self.line.entry.is_some() { Lookup::Hit } else { Lookup::Miss };
                let holders = self.line.entry.unwrap_or_default();
                let owner = holders.owner.map_or(0, bit) & others;
                let sharers = holders.sharers & others;
                let now = if owns { owner | sharers } else { owner };
                // An owner supplies the line. If it has dropped its clean copy, memory is read then.
                self.work.memory_read = owner == 0;
                Targets { now, after_memory: 0, others: sharers & !now != 0 }
            }
        }
    }

    /// Handles the response of a caching agent.
    pub(super) fn response(&mut self) -> Result<bool, ProtocolError> {
        let sender = self.sender()?;
        if self.design.home == HomeKind::EarlySnoop && !self.is_awaited(sender) {
            return self.early_response(sender);
        }
        if !self.is_awaited(sender) {
            return Err(self.unexpected("the caching agent has not been snooped"));
        }
        if self.message.kind == MessageKind::RspConflict {
            return Err(self.unexpected("only a requester's snoop meets a conflict"));
        }
        let (kind, sole) = (self.message.kind, self.message.sole);
        if kind.carries_data() {
            self.take_data();
        }
        self.gather(sender, kind, sole);
        self.try_finish();
        Ok(true)
    }

    /// Whether the home has snooped this caching agent and waits for its response.
    fn is_awaited(&self, cluster: NodeId) -> bool {
        self.line.busy.as_ref().is_some_and(|busy| busy.awaited & bit(cluster) != 0)
    }

    /// Takes a response into the transaction.
    pub(super) fn gather(&mut self, sender: NodeId, kind: MessageKind, sole: bool) {
        use MessageKind as K;
        // A requester that has snooped waits for the home's completion.
        let early = self.design.home == HomeKind::EarlySnoop;
        let Some(busy) = &mut self.line.busy else { return };
        busy.awaited &= !bit(sender);
        match kind {
            K::RspS | K::RspSFwd | K::RspSFwdWb => busy.kept |= bit(sender),
            K::RspFwd => busy.owner = Some(sender),
            _ => {}
        }
        match kind {
            K::RspIFwd | K::RspSFwd | K::RspSFwdWb | K::RspFwd => {
                busy.forwarder = Some(sender);
                busy.complete = !early && (sole || kind != K::RspIFwd);
            }
            K::RspIWb => busy.written = true,
            _ => {}
        }
    }
}
