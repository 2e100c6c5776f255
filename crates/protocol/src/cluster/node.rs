//! The device of a node: a participant of the node's bus, and an agent of the protocol between nodes.
//!
//! Races resolve as follows:
//! - *An invalidation during a `READ`* is acknowledged at once. Data that arrive afterwards may be old: the device
//!   discards them and requests the line again.
//! - *A forwarded request before the grant* that made the node the owner, or before the last acknowledgement or the use
//!   of the grant, waits for them.
//! - *A forwarded request after a writeback* is answered from the writeback buffer, which holds the line until the home
//!   has acknowledged the writeback. Until then the device does not request the line again.
//! - *A forwarded request or an invalidation during a replacement* takes its place.
//! - *A forwarded request or an invalidation before the home's own node poisons the line* is handled as ever: the home poisons
//!   the line when it is not busy.

use units::NodeId;

use super::{Collection, Intervention, Line, Message, MessageKind, Protocol, Request, Site};
use crate::contract::Started;
use crate::snoop::{Command, Device, Reply, Rights};
use crate::{Agent, ProtocolError, Version};

/// Outcome of a message at the device of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeOutcome {
    /// Right granted: the retried bus transaction will succeed.
    Granted(Rights),
    /// Right announced; it is granted when all acknowledgements have arrived.
    Announced,
    /// Data discarded, because an invalidation has overtaken them, and requested again.
    Discarded,
    /// Request refused: the line is poisoned, and the transactions that wait for a right end in bus errors.
    Poisoned,
    /// Work put in wait for the bus.
    Waiting,
    /// Request answered from the writeback buffer.
    Supplied,
    /// Invalidation acknowledged without the bus: the node has no copies.
    Acknowledged,
    /// Acknowledgement received: of an invalidation, or of the node's writeback.
    Collected,
}

impl Line {
    /// Snoop reply to a transaction of one of the node's caches, as [`Device::snoop`]. A retried transaction records the
    /// right that it needs, which [`Line::fetch`] requests.
    ///
    /// # Errors
    /// [`ProtocolError`] if the transaction cannot occur under these rights in a correct run.
    #[inline]
    pub fn snoop(&mut self, node: NodeId, command: Command) -> Result<Reply, ProtocolError> {
        let mut device = Device { rights: self.rights, fetch: self.wanted, recall: None };
        let reply = device.snoop(node, command)?;
        self.wanted = device.fetch;
        self.unused &= reply.retry;
        Ok(reply)
    }

    /// Requests the right that a retried transaction needs, unless something else about the line is outstanding: then
    /// the request follows. Returns whether a request was sent.
    #[inline]
    pub fn fetch(&mut self, site: &Site, send: &mut impl FnMut(Message)) -> bool {
        if self.wanted.is_none() && !self.poisons {
            return false;
        }
        let outstanding = self.request.is_some() || self.is_collecting() || self.writeback.is_some();
        if outstanding || self.intervention.is_some() {
            return false;
        }
        let kind = match (self.wanted, self.rights) {
            _ if self.poisons => MessageKind::PoisonRead,
            (Some(Rights::Write), Rights::Read) => MessageKind::Upgrade,
            (Some(Rights::Write), _) => MessageKind::ReadExclusive,
            (Some(Rights::Read | Rights::None) | None, _) => MessageKind::Read,
        };
        self.request = Some(Request { kind, invalidated: false });
        send(Message::new(kind, site.line, Agent::Home(site.home), site.node));
        true
    }

    /// The home's own node is to take the line from all caches and poison it. Returns whether a request was sent, as
    /// [`Line::fetch`].
    #[inline]
    pub fn poison(&mut self, site: &Site, send: &mut impl FnMut(Message)) -> bool {
        self.poisons = true;
        self.fetch(site, send)
    }

    /// Command of the device's own bus request, if its work may be done now: an answer to another node waits for the
    /// grant that it takes, for the use of that grant, and for all acknowledgements.
    #[inline]
    pub fn bus_request(&self) -> Option<Command> {
        let owns = self.rights == Rights::Write && !self.is_collecting();
        match self.intervention? {
            _ if self.unused => None,
            Intervention::Share { .. } if owns => Some(Command::ReadForeign),
            Intervention::Take { .. } if owns => Some(Command::ReadExclusive),
            Intervention::Share { .. } | Intervention::Take { .. } => None,
            Intervention::Replace if owns => Some(Command::ReadExclusive),
            // No cache owns a line that the node may only read.
            Intervention::Invalidate { .. } | Intervention::Replace => Some(Command::Upgrade),
        }
    }

    /// Completes the device's own bus transaction, which had these contents on the bus: sends the answers.
    #[inline]
    pub fn complete(&mut self, site: &Site, on_bus: Option<Version>, send: &mut impl FnMut(Message)) {
        let Some(intervention) = self.intervention.take() else { return };
        let owned = self.rights == Rights::Write;
        self.rights = intervention.remaining();
        match (intervention, on_bus) {
            (Intervention::Replace, Some(version)) if owned => {
                self.writeback = Some(version);
                let writeback = Message::new(MessageKind::Writeback, site.line, Agent::Home(site.home), site.node);
                send(writeback.with_version(version));
            }
            (Intervention::Invalidate { requester }, _) => acknowledge(site, requester, send),
            (_, Some(version)) => answer(site, intervention, version, send),
            (_, None) => {}
        }
        self.fetch(site, send);
    }

    /// Starts to replace the line in the block cache. A line with anything outstanding cannot be replaced; memory at the
    /// home keeps its lines.
    #[inline]
    pub fn evict(&mut self, site: &Site) -> Started {
        if site.node == site.home || self.rights == Rights::None {
            return Started::Done;
        }
        if !self.is_quiet() {
            return Started::Blocked;
        }
        self.intervention = Some(Intervention::Replace);
        Started::Requested
    }

    /// Handles a message at the device; `contents` is the line in the block cache, or in memory at the home.
    ///
    /// # Errors
    /// [`ProtocolError`] if the message cannot reach this line in a correct run.
    #[inline]
    pub fn receive(
        &mut self,
        protocol: &Protocol,
        site: &Site,
        contents: &mut Version,
        message: &Message,
        send: &mut impl FnMut(Message),
    ) -> Result<NodeOutcome, ProtocolError> {
        use MessageKind as K;
        let outcome = match message.kind {
            K::Data => self.data(contents, message),
            K::DataExclusive | K::UpgradeAcknowledge => self.exclusive(protocol, contents, message),
            K::Poison => self.refused(),
            K::InvalidateAcknowledge => self.acknowledgement(protocol),
            K::WritebackAcknowledge if self.writeback.take().is_some() => Ok(NodeOutcome::Collected),
            K::WritebackAcknowledge => Err("no writeback is outstanding"),
            K::ForwardRead | K::ForwardReadExclusive => self.forward(site, message, send),
            K::Invalidate => self.invalidate(site, message.requester, send),
            K::Read
            | K::ReadExclusive
            | K::Upgrade
            | K::PoisonRead
            | K::Writeback
            | K::SharingWriteback
            | K::OwnershipTransfer => Err("a message for a home"),
        };
        self.fetch(site, send);
        outcome.map_err(|reason| self.unexpected(site, message, reason))
    }

    /// Receives the line with the right to read.
    #[inline]
    fn data(&mut self, contents: &mut Version, message: &Message) -> Result<NodeOutcome, &'static str> {
        let Some(Request { kind: MessageKind::Read, invalidated }) = self.request.take() else {
            return Err("no right to read has been requested");
        };
        if invalidated {
            return Ok(NodeOutcome::Discarded);
        }
        *contents = message.version;
        Ok(self.grant(Rights::Read))
    }

    /// Receives the right to write, with the line or for the node's copies. The home's own node can receive it for a
    /// `READ`.
    #[inline]
    fn exclusive(
        &mut self,
        protocol: &Protocol,
        contents: &mut Version,
        message: &Message,
    ) -> Result<NodeOutcome, &'static str> {
        let Some(request) = self.request.take() else {
            return Err("nothing has been requested");
        };
        match (message.kind, self.rights) {
            (MessageKind::DataExclusive, Rights::None) => *contents = message.version,
            (MessageKind::DataExclusive, _) => return Err("the node has a copy, which the home lists"),
            (_, Rights::Read) if request.kind == MessageKind::Upgrade => {}
            (_, Rights::Read | Rights::Write) if request.kind == MessageKind::PoisonRead => {}
            (_, _) => return Err("the node has no copy to upgrade"),
        }
        self.poisons &= request.kind != MessageKind::PoisonRead;
        self.collection.announced = true;
        self.collection.balance += message.acknowledgements as i16;
        Ok(if protocol.early_grant || self.collection.balance == 0 {
            let granted = self.grant(Rights::Write);
            self.settle();
            granted
        } else {
            NodeOutcome::Announced
        })
    }

    /// Receives the refusal of a request for a poisoned line.
    #[inline]
    fn refused(&mut self) -> Result<NodeOutcome, &'static str> {
        match self.request.take() {
            Some(Request { kind: MessageKind::PoisonRead, .. }) => Err("the home refuses nothing to its own node"),
            Some(_) => {
                // Those that would use an earlier grant may end, too: an invalidation does not wait for them.
                (self.wanted, self.unused) = (None, false);
                Ok(NodeOutcome::Poisoned)
            }
            None => Err("nothing has been requested"),
        }
    }

    /// Collects an acknowledgement.
    #[inline]
    fn acknowledgement(&mut self, protocol: &Protocol) -> Result<NodeOutcome, &'static str> {
        let expected = self.request.is_some_and(|request| request.kind != MessageKind::Read);
        if !expected && !self.collection.announced {
            return Err("no acknowledgement is outstanding");
        }
        self.collection.balance -= 1;
        Ok(if self.settle() && !protocol.early_grant { self.grant(Rights::Write) } else { NodeOutcome::Collected })
    }

    /// Ends the collection if all acknowledgements have arrived.
    #[inline]
    fn settle(&mut self) -> bool {
        let ends = self.collection.announced && self.collection.balance == 0;
        if ends {
            self.collection = Collection::default();
        }
        ends
    }

    #[inline]
    fn grant(&mut self, rights: Rights) -> NodeOutcome {
        self.rights = rights;
        self.wanted = None;
        self.unused = true;
        NodeOutcome::Granted(rights)
    }

    /// Receives a forwarded request.
    #[inline]
    fn forward(
        &mut self,
        site: &Site,
        message: &Message,
        send: &mut impl FnMut(Message),
    ) -> Result<NodeOutcome, &'static str> {
        let requester = message.requester;
        let intervention = match message.kind {
            MessageKind::ForwardRead => Intervention::Share { requester },
            _ => Intervention::Take { requester },
        };
        if let Some(version) = self.writeback {
            answer(site, intervention, version, send);
            return Ok(NodeOutcome::Supplied);
        }
        let owner_to_be = self.request.is_some() || self.is_collecting();
        if self.rights != Rights::Write && !owner_to_be {
            return Err("the node does not own the line, and will not");
        }
        self.intervene(intervention)
    }

    /// Receives an invalidation.
    #[inline]
    fn invalidate(
        &mut self,
        site: &Site,
        requester: NodeId,
        send: &mut impl FnMut(Message),
    ) -> Result<NodeOutcome, &'static str> {
        match self.rights {
            Rights::None => {
                if let Some(request) = &mut self.request {
                    request.invalidated = request.kind == MessageKind::Read;
                }
                acknowledge(site, requester, send);
                Ok(NodeOutcome::Acknowledged)
            }
            Rights::Read => self.intervene(Intervention::Invalidate { requester }),
            Rights::Write => Err("an owner is no sharer"),
        }
    }

    /// Puts an answer to another node in wait for the bus. A replacement that waits for the bus is overtaken.
    #[inline]
    fn intervene(&mut self, intervention: Intervention) -> Result<NodeOutcome, &'static str> {
        if !matches!(self.intervention, None | Some(Intervention::Replace)) {
            return Err("the home waits for an answer of this node already");
        }
        self.intervention = Some(intervention);
        Ok(NodeOutcome::Waiting)
    }

    fn unexpected(&self, site: &Site, message: &Message, reason: &'static str) -> ProtocolError {
        let state = match self.rights {
            Rights::None if self.writeback.is_some() => "with a writeback outstanding",
            Rights::None => "without rights",
            Rights::Read => "with the right to read",
            Rights::Write => "with the right to write",
        };
        ProtocolError { at: Agent::Interface(site.node), message: message.kind.mnemonic(), state, reason }
    }
}

/// Answers a forwarded request: the line to the requester, and a report to the home.
#[inline]
fn answer(site: &Site, intervention: Intervention, version: Version, send: &mut impl FnMut(Message)) {
    let (requester, data, report) = match intervention {
        Intervention::Share { requester } => (requester, MessageKind::Data, MessageKind::SharingWriteback),
        Intervention::Take { requester } => (requester, MessageKind::DataExclusive, MessageKind::OwnershipTransfer),
        Intervention::Invalidate { .. } | Intervention::Replace => return,
    };
    send(Message::new(data, site.line, Agent::Interface(requester), requester).with_version(version));
    let report = Message::new(report, site.line, Agent::Home(site.home), requester);
    send(if report.kind.carries_data() { report.with_version(version) } else { report });
}

/// Acknowledges an invalidation.
#[inline]
fn acknowledge(site: &Site, requester: NodeId, send: &mut impl FnMut(Message)) {
    send(Message::new(MessageKind::InvalidateAcknowledge, site.line, Agent::Interface(requester), requester));
}
