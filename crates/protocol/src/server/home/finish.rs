//! The end of a transaction at a home: the grant, and the directory after it.

use units::NodeId;

use super::{Bits, Cause, Holders, Home, Leaves, Lookup, Transaction};
use crate::server::design::bit;
use crate::server::{Grant, HomeKind, Message, MessageKind, Sharing};

impl<S: FnMut(Message, Leaves)> Home<'_, S> {
    /// Grants the request when every response has arrived.
    pub(super) fn try_finish(&mut self) {
        let Some(busy) = self.line.busy else { return };
        if busy.granted || busy.awaited != 0 {
            return;
        }
        match busy.cause {
            Cause::Replacement => {
                self.line.entry = None;
                self.end();
            }
            Cause::Request { kind, requester } => {
                if let Some(busy) = &mut self.line.busy {
                    busy.granted = true;
                }
                let grant = self.grant(&busy, kind, requester);
                self.settle(&busy, kind, requester, grant);
                if busy.acknowledged {
                    self.end_request(requester);
                }
            }
        }
    }

    /// Ends the transaction of a request, and begins the one that it was put before.
    pub(super) fn end_request(&mut self, requester: NodeId) {
        self.end();
        if self.design.home == HomeKind::EarlySnoop {
            self.overtake(requester);
            self.resume();
        }
    }

    /// Sends the completion, unless forwarded data have completed the request; returns the state granted.
    fn grant(&mut self, busy: &Transaction, kind: MessageKind, requester: NodeId) -> Grant {
        use MessageKind as K;
        // A cluster that has not been snooped may be the forwarder.
        let mesif = self.design.sharing == Sharing::Mesif && !busy.others;
        let shared = if mesif { Grant::Forward } else { Grant::Shared };
        let grant = match kind {
            K::ReadCurrent => Grant::None,
            K::ReadOwn | K::Upgrade => Grant::Exclusive,
            _ if busy.forwarder.is_some() || busy.kept != 0 || busy.others || kind == K::ReadCode => shared,
            _ => Grant::Exclusive,
        };
        if busy.complete {
            return grant;
        }
        if busy.forwarder.is_some() || kind == K::Upgrade {
            let forwarded = busy.forwarder.is_some();
            self.send_to_cluster(requester, requester, K::Completion, Leaves::AtOnce, |message| {
                message.with_grant(grant).with_dirty(forwarded)
            });
            return grant;
        }
        // A probe filter's owner has dropped its clean copy.
        let owner_dropped = self.design.home == HomeKind::ProbeFilter
            && self.line.entry.and_then(|holders| holders.owner).is_some_and(|owner| owner != requester);
        if owner_dropped && !busy.written {
            self.work.memory_read = true;
        }
        let leaves = if busy.written { Leaves::AtOnce } else { Leaves::AfterMemory };
        let version = self.line.memory;
        self.send_to_cluster(requester, requester, K::Data, leaves, |message| {
            message.with_grant(grant).with_version(version)
        });
        grant
    }

    /// Brings the directory up to date.
    fn settle(&mut self, busy: &Transaction, kind: MessageKind, requester: NodeId, grant: Grant) {
        if kind == MessageKind::ReadCurrent {
            return;
        }
        match self.design.home {
            HomeKind::HomeSnoop | HomeKind::EarlySnoop => {}
            HomeKind::ProbeFilter => {
                let before = self.line.entry.unwrap_or_default();
                if self.line.entry.is_none() {
                    self.work.lookup = Lookup::Allocated;
                }
                self.line.entry = Some(if grant == Grant::Exclusive {
                    Holders { sharers: 0, owner: Some(requester) }
                } else {
                    let former = before.owner.filter(|&owner| owner == requester).map_or(0, bit);
                    Holders { sharers: before.sharers | busy.kept | former | bit(requester), owner: busy.owner }
                });
            }
            HomeKind::Directory { cached } => self.settle_bits(busy, requester, grant, cached),
        }
    }

    /// Brings the bits in memory and the directory cache up to date.
    fn settle_bits(&mut self, busy: &Transaction, requester: NodeId, grant: Grant, cached: bool) {
        let remote = !self.local();
        let exclusive = grant == Grant::Exclusive;
        let sharers = if exclusive { 0 } else { (busy.kept | bit(requester)) & remote };
        let owner = if exclusive { Some(requester) } else { busy.owner }.filter(|&owner| bit(owner) & remote != 0);
        if let Some(holders) = &mut self.line.entry {
            let unsnooped = if exclusive || !busy.others { 0 } else { holders.sharers };
            *holders = Holders { sharers: sharers | unsnooped, owner };
            return;
        }
        // The line has moved between sockets: the directory cache keeps its exact holders, and the bits stay `A`.
        let moved = busy.forwarder.is_some_and(|forwarder| bit(forwarder) & remote != 0);
        if cached && moved && self.line.bits == Bits::Any {
            self.line.entry = Some(Holders { sharers, owner });
            self.work.lookup = Lookup::Allocated;
            return;
        }
        self.write_bits(match (owner, sharers != 0 || (busy.others && !exclusive)) {
            (Some(_), _) => Bits::Any,
            (None, true) => Bits::Shared,
            (None, false) => Bits::Invalid,
        });
    }
}
