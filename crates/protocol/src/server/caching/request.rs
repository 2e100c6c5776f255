//! Requests of a cluster's cores: served by the cluster if it has the right and the data, otherwise sent to the home.

use units::NodeId;

use super::{Caching, CachingLine, ClusterState, Found, L3Copy, Request, Stage};
use crate::server::{Grant, HomeKind, Lane, Message, MessageKind};
use crate::{Agent, ProtocolError};

impl<S: FnMut(Message)> Caching<'_, S> {
    /// Begins a core's request, unless the line is busy.
    pub(super) fn core_request(&mut self) -> Result<bool, ProtocolError> {
        use MessageKind as K;
        let Some(core) = self.message.core() else { return Err(self.unexpected("not from a core")) };
        if !self.line.takes(Lane::Request) {
            return Ok(false);
        }
        let mut kind = self.message.kind;
        let bit = self.bit(core);
        if kind != K::CoreUpgrade && self.line.cores & bit != 0 {
            if !self.is_inclusive() {
                return Err(self.unexpected("a core with a copy requests only to write it"));
            }
            // The core has dropped its clean copy silently.
            self.line.cores &= !bit;
            self.line.sole = false;
        }
        if kind == K::CoreUpgrade && self.line.cores & bit == 0 {
            // The copy was invalidated while the request was on its way.
            kind = K::CoreReadOwn;
        }
        self.line.request = Some(Request { core, kind, stage: Stage::Cores });
        self.serve(core, kind)?;
        Ok(true)
    }

    /// Serves a request in the cluster, or sends it to the home.
    fn serve(&mut self, core: units::CpuId, kind: MessageKind) -> Result<(), ProtocolError> {
        use MessageKind as K;
        let others = self.line.cores & !self.bit(core);
        match (kind, self.line.state) {
            (K::CoreRead, ClusterState::Invalid) => self.ask_home(K::ReadData),
            (K::CoreReadCode, ClusterState::Invalid) => self.ask_home(K::ReadCode),
            (K::CoreReadCurrent, ClusterState::Invalid) => self.ask_home(K::ReadCurrent),
            (K::CoreReadOwn | K::CoreUpgrade, ClusterState::Invalid) => self.ask_home(K::ReadOwn),
            (K::CoreReadOwn | K::CoreUpgrade, ClusterState::Shared | ClusterState::Forward | ClusterState::Owned) => {
                self.ask_home(K::Upgrade);
            }
            (K::CoreReadOwn | K::CoreUpgrade, ClusterState::Exclusive) => {
                if others == 0 {
                    return self.supply();
                }
                let wanted = kind == K::CoreReadOwn && self.line.l3 == L3Copy::None && self.line.found == Found::None;
                self.snoop_cores(others, K::CoreSnoopInvalidate, wanted);
            }
            (_, _) => {
                let missing = self.line.l3 == L3Copy::None;
                if others == 0 || !(self.line.sole || missing) {
                    return self.supply();
                }
                let snoop = if kind == K::CoreReadCurrent { K::CoreSnoopCurrent } else { K::CoreSnoopData };
                self.snoop_cores(lowest(others), snoop, missing);
            }
        }
        Ok(())
    }

    /// Completes a core's request with the line that the cluster has.
    pub(super) fn supply(&mut self) -> Result<(), ProtocolError> {
        use MessageKind as K;
        let Some(Request { core, kind, .. }) = self.line.request.take() else {
            return Err(self.unexpected("no request is outstanding"));
        };
        let bit = self.bit(core);
        // The copy that is upgraded has the data.
        let held = kind == K::CoreUpgrade && self.line.cores & bit != 0;
        let Some(version) = (if held { Some(self.line.contents) } else { self.data() }) else {
            return Err(self.unexpected("the cluster has a right and no data"));
        };
        let found = std::mem::take(&mut self.line.found);
        let grant = match kind {
            K::CoreReadCurrent => Grant::None,
            K::CoreReadOwn | K::CoreUpgrade => {
                self.line.cores = bit;
                self.line.sole = true;
                if !self.is_inclusive() {
                    self.line.l3 = L3Copy::None;
                }
                Grant::Modified
            }
            _ => self.grant_read(bit, kind, found, version),
        };
        let go = if held { K::Go } else { K::GoData };
        self.send_to_core(core, go, |message| {
            let message = message.with_grant(grant);
            if held { message } else { message.with_version(version) }
        });
        Ok(())
    }

    /// Gives a core a copy to read: the only one, if no other core and no other cluster has one.
    fn grant_read(&mut self, bit: u64, kind: MessageKind, found: Found, version: crate::Version) -> Grant {
        let alone = self.line.cores & !bit == 0;
        let exclusive = alone && self.line.state == ClusterState::Exclusive && kind == MessageKind::CoreRead;
        let dirty = found == Found::Dirty || self.line.l3 == L3Copy::Dirty;
        self.line.cores |= bit;
        self.line.sole = exclusive;
        if self.is_inclusive() {
            if found == Found::Dirty {
                self.fill(L3Copy::Dirty, version);
            }
            return if exclusive { Grant::Exclusive } else { Grant::Shared };
        }
        match (exclusive, dirty) {
            // A line moves from a victim L3 to the only core that uses it.
            (true, _) => self.line.l3 = L3Copy::None,
            // Cores that share a line have clean copies: the L3 takes the dirty data.
            (false, true) if found == Found::Dirty => self.fill(L3Copy::Dirty, version),
            (false, _) => {}
        }
        match (exclusive, dirty) {
            (true, true) => Grant::Modified,
            (true, false) => Grant::Exclusive,
            (false, _) => Grant::Shared,
        }
    }

    /// Sends the home a request. With early snoop, snoops the other caching agents at the same time.
    fn ask_home(&mut self, kind: MessageKind) {
        if let Some(request) = &mut self.line.request {
            request.stage = Stage::Home(kind);
        }
        self.send_to_home(kind);
        if self.design.home == HomeKind::EarlySnoop {
            let snoop = snoop_of(kind);
            for cluster in (0..self.design.clusters).map(NodeId).filter(|&cluster| cluster != self.site.cluster) {
                self.send_to_agent(Agent::Interface(cluster), snoop, |message| message);
            }
        }
    }

    /// Handles data or a completion for the request that the home has.
    pub(super) fn completion(&mut self) -> Result<bool, ProtocolError> {
        use MessageKind as K;
        if let (Some(Request { stage: Stage::Completion(_), .. }), K::Completion) =
            (self.line.request, self.message.kind)
        {
            self.line.request = None;
            self.send_to_home(K::CompletionAck);
            return Ok(true);
        }
        let Some(asked) = self.line.asked() else { return Err(self.unexpected("the home has no request")) };
        let early = self.design.home == HomeKind::EarlySnoop;
        let owns = matches!(asked, K::ReadOwn | K::Upgrade);
        let completed = matches!(self.line.request, Some(Request { stage: Stage::Data(_), .. }));
        match self.message.kind {
            K::ForwardedData => {
                (self.line.found, self.line.transit) = (Found::Clean, self.message.version);
                // Other copies may have to be invalidated: the home completes the request when they are.
                if owns && (early || !self.message.sole) && !completed {
                    return Ok(true);
                }
                if early && !completed {
                    let request = self.line.request;
                    self.granted(asked)?;
                    self.line.request = request.map(|request| Request { stage: Stage::Completion(asked), ..request });
                    return Ok(true);
                }
            }
            _ if completed => return Err(self.unexpected("the home has completed the request already")),
            K::Data => (self.line.found, self.line.transit) = (Found::Clean, self.message.version),
            _ if !owns && !early => return Err(self.unexpected("a read completes with data")),
            _ if self.line.found != Found::None => {}
            // Another caching agent has sent the data, which the completion has overtaken.
            _ if self.message.dirty => {
                if let Some(request) = &mut self.line.request {
                    request.stage = Stage::Data(asked);
                }
                return Ok(true);
            }
            // The copies that were to be upgraded have been invalidated.
            _ if self.line.state == ClusterState::Invalid => {
                if asked != K::Upgrade {
                    return Err(self.unexpected("no data have come"));
                }
                self.send_to_home(K::CompletionAck);
                self.ask_home(K::ReadOwn);
                return Ok(true);
            }
            _ => {}
        }
        self.send_to_home(K::CompletionAck);
        self.granted(asked)?;
        Ok(true)
    }

    /// Takes what the home or another cluster has granted, and goes on with the request.
    fn granted(&mut self, asked: MessageKind) -> Result<(), ProtocolError> {
        use MessageKind as K;
        let CachingLine { request: Some(request), found, transit, .. } = *self.line else {
            return Err(self.unexpected("no request is outstanding"));
        };
        self.line.request = Some(Request { stage: Stage::Cores, ..request });
        if asked == K::ReadCurrent {
            return self.supply();
        }
        self.line.state = match (asked, self.message.grant) {
            (K::ReadOwn | K::Upgrade, _) | (_, Grant::Exclusive | Grant::Modified) => ClusterState::Exclusive,
            (_, Grant::Forward) => ClusterState::Forward,
            (_, Grant::Shared) => ClusterState::Shared,
            (_, Grant::None) => return Err(self.unexpected("a read is granted a copy")),
        };
        if self.is_inclusive() && found != Found::None && self.line.l3 == L3Copy::None {
            self.fill(L3Copy::Clean, transit);
        }
        self.serve(request.core, request.kind)
    }
}

/// Snoop that a request to the home leads to.
pub(in crate::server) const fn snoop_of(request: MessageKind) -> MessageKind {
    match request {
        MessageKind::ReadOwn => MessageKind::SnoopOwn,
        MessageKind::Upgrade => MessageKind::SnoopInvalidate,
        MessageKind::ReadCurrent => MessageKind::SnoopCurrent,
        _ => MessageKind::SnoopData,
    }
}

/// Lowest bit of a set that is not empty.
const fn lowest(set: u64) -> u64 {
    set & set.wrapping_neg()
}
