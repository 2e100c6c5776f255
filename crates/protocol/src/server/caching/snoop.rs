//! Snoops of the home or of another caching agent, and their responses.

use units::NodeId;

use super::{Caching, ClusterState, External, Found, L3Copy};
use crate::server::{Grant, Lane, Message, MessageKind, Sharing};
use crate::{Agent, ProtocolError, Version};

impl<S: FnMut(Message)> Caching<'_, S> {
    /// Begins a snoop, unless the agent waits for its cores.
    pub(super) fn snoop(&mut self) -> Result<bool, ProtocolError> {
        use ClusterState as C;
        use MessageKind as K;
        let (kind, requester) = (self.message.kind, self.message.requester);
        if !self.line.takes(Lane::Snoop) {
            return Ok(false);
        }
        if matches!(self.message.from, Agent::Interface(_)) && self.line.request.is_some() {
            self.respond(K::RspConflict, requester, |message| message);
            return Ok(true);
        }
        if self.line.state != C::Invalid && requester == self.site.cluster && kind != K::SnoopFlush {
            return Err(self.unexpected("a cluster is not snooped for its own request"));
        }
        self.line.external = Some(External::Snoop { kind, requester });
        let cores = self.line.cores;
        let supplies = matches!(self.line.state, C::Forward | C::Owned | C::Exclusive);
        let missing = self.line.l3 == L3Copy::None;
        match kind {
            K::SnoopOwn | K::SnoopInvalidate | K::SnoopFlush if cores != 0 => {
                let wanted = kind == K::SnoopOwn && supplies && missing;
                self.snoop_cores(cores, K::CoreSnoopInvalidate, wanted);
            }
            K::SnoopData | K::SnoopCurrent if cores != 0 && supplies && (self.line.sole || missing) => {
                let snoop = if kind == K::SnoopCurrent { K::CoreSnoopCurrent } else { K::CoreSnoopData };
                self.snoop_cores(cores & cores.wrapping_neg(), snoop, missing);
            }
            _ => self.answer_snoop(kind, requester)?,
        }
        Ok(true)
    }

    /// Answers a snoop, when the cores have: a line per snoop and state.
    pub(super) fn answer_snoop(&mut self, kind: MessageKind, requester: NodeId) -> Result<(), ProtocolError> {
        use ClusterState as C;
        use MessageKind as K;
        self.line.external = None;
        let state = self.line.state;
        let dirty = self.line.found == Found::Dirty || self.line.l3 == L3Copy::Dirty;
        let moesi = self.design.sharing == Sharing::Moesi;
        match (kind, state) {
            // Nothing, or nothing any more: a writeback is ahead of the response.
            (_, C::Invalid) => self.respond(K::RspI, requester, |message| message),
            (K::SnoopData | K::SnoopCurrent, C::Shared) => self.respond(K::RspS, requester, |message| message),
            (K::SnoopCurrent, C::Forward | C::Owned | C::Exclusive) => {
                self.forward(K::RspFwd, requester, Grant::None, false)?;
            }
            // The newest reader becomes the forwarder.
            (K::SnoopData, C::Forward) => self.share(K::RspSFwd, requester)?,
            (K::SnoopData, C::Exclusive) if !dirty => self.share(K::RspSFwd, requester)?,
            (K::SnoopData, C::Exclusive | C::Owned) if moesi => self.own(requester)?,
            (K::SnoopData, C::Exclusive | C::Owned) => self.share(K::RspSFwdWb, requester)?,
            // A line that the requester needs with its data.
            (K::SnoopOwn, C::Forward | C::Owned | C::Exclusive) => self.give(requester)?,
            // The requester has the data, unless it has lost them meanwhile: dirty ones must not be dropped.
            (K::SnoopInvalidate, C::Owned | C::Exclusive) if dirty => self.give(requester)?,
            (K::SnoopFlush, C::Owned | C::Exclusive) if dirty => {
                let version = self.available()?;
                self.respond(K::RspIWb, requester, |message| message.with_version(version));
                self.lose();
            }
            // Clean copies that nobody needs.
            (_, C::Shared | C::Forward | C::Owned | C::Exclusive) => {
                self.lose();
                self.respond(K::RspI, requester, |message| message);
            }
        }
        self.line.found = Found::None;
        Ok(())
    }

    /// Forwards the line to a reader, and keeps a clean shared copy, in the L3 if no core has one.
    fn share(&mut self, response: MessageKind, requester: NodeId) -> Result<(), ProtocolError> {
        let grant = if self.design.sharing == Sharing::Mesif { Grant::Forward } else { Grant::Shared };
        let version = self.forward(response, requester, grant, false)?;
        self.line.state = ClusterState::Shared;
        self.line.sole = false;
        let newer = self.line.l3 == L3Copy::Dirty || (self.is_inclusive() && self.line.found == Found::Dirty);
        let last = self.line.l3 == L3Copy::None && self.line.cores == 0;
        if newer || last {
            self.fill(L3Copy::Clean, version);
        }
        Ok(())
    }

    /// Forwards dirty data to a reader, and keeps them as their owner, in the L3.
    fn own(&mut self, requester: NodeId) -> Result<(), ProtocolError> {
        let version = self.forward(MessageKind::RspFwd, requester, Grant::Shared, false)?;
        self.line.state = ClusterState::Owned;
        self.line.sole = false;
        if self.line.found == Found::Dirty {
            self.fill(L3Copy::Dirty, version);
        }
        Ok(())
    }

    /// Forwards the line to a writer, and keeps nothing.
    fn give(&mut self, requester: NodeId) -> Result<(), ProtocolError> {
        let sole = self.line.state == ClusterState::Exclusive;
        self.forward(MessageKind::RspIFwd, requester, Grant::Exclusive, sole)?;
        self.lose();
        Ok(())
    }

    /// Sends the line to the requester, and the response to the home.
    fn forward(
        &mut self,
        response: MessageKind,
        requester: NodeId,
        grant: Grant,
        sole: bool,
    ) -> Result<Version, ProtocolError> {
        let version = self.available()?;
        self.send_to_agent(Agent::Interface(requester), MessageKind::ForwardedData, |message| {
            message.for_cluster(requester).with_version(version).with_grant(grant).with_sole(sole)
        });
        self.respond(response, requester, |message| {
            let message = message.with_sole(sole);
            if response.carries_data() { message.with_version(version) } else { message }
        });
        Ok(version)
    }

    /// The line's data, which a cluster that supplies them has.
    fn available(&mut self) -> Result<Version, ProtocolError> {
        self.data().ok_or_else(|| self.unexpected("the cluster has a right and no data"))
    }

    /// Drops every copy: the cores have dropped theirs.
    fn lose(&mut self) {
        self.line.state = ClusterState::Invalid;
        self.line.l3 = L3Copy::None;
        self.line.sole = false;
    }

    /// Sends the home a response to the snoop for a cluster.
    fn respond(&mut self, kind: MessageKind, requester: NodeId, edit: impl FnOnce(Message) -> Message) {
        self.send_to_agent(Agent::Home(self.site.home), kind, |message| edit(message.for_cluster(requester)));
    }
}
