//! Early snoop: the requester's caching agent has snooped the other one itself, and the home orders requests that cross.

use units::NodeId;

use super::{Cause, Early, EarlyResponse, Home, Leaves};
use crate::ProtocolError;
use crate::server::caching::snoop_of;
use crate::server::design::bit;
use crate::server::{Message, MessageKind};

impl<S: FnMut(Message, Leaves)> Home<'_, S> {
    /// Handles the response to a requester's snoop.
    pub(super) fn early_response(&mut self, sender: NodeId) -> Result<bool, ProtocolError> {
        let (kind, requester) = (self.message.kind, self.message.requester);
        if requester == sender {
            return Err(self.unexpected("a cluster is not snooped for its own request"));
        }
        let slot = &mut self.line.early[requester.index()];
        if slot.response != EarlyResponse::Outstanding {
            return Err(self.unexpected("the response has arrived already"));
        }
        slot.response = match kind {
            MessageKind::RspConflict => EarlyResponse::Conflict,
            _ => EarlyResponse::Answered { kind, sole: self.message.sole },
        };
        if kind.carries_data() {
            self.take_data();
        }
        self.advance();
        Ok(true)
    }

    /// Goes on with the request under way, as far as the responses allow: completes it, puts it back or snoops for it.
    pub(super) fn advance(&mut self) {
        let Some(busy) = &self.line.busy else { return };
        let Cause::Request { kind, requester } = busy.cause else { return };
        if busy.granted || busy.awaited != 0 {
            return;
        }
        let other = NodeId(requester.0 ^ 1);
        if other.0 >= self.design.clusters {
            return self.try_finish();
        }
        let (mine, theirs) = (self.line.early[requester.index()].response, self.line.early[other.index()].response);
        match (mine, theirs) {
            (EarlyResponse::Outstanding, _) => {}
            (EarlyResponse::Answered { kind, sole }, _) => {
                self.line.early[requester.index()] = Early::default();
                self.gather(other, kind, sole);
                self.try_finish();
            }
            // Nothing has changed at either agent, or the other request has been served: this one comes first now.
            (EarlyResponse::Conflict, EarlyResponse::Conflict | EarlyResponse::Overtaken)
            | (EarlyResponse::Overtaken, _) => {
                self.line.early[requester.index()] = Early::default();
                self.snoop(bit(other), snoop_of(kind), Some(requester), Leaves::AtOnce);
            }
            // This agent has answered the other's snoop before it sent its own request: the other comes first.
            (EarlyResponse::Conflict, EarlyResponse::Answered { .. }) => {
                self.line.early[requester.index()] = Early { response: EarlyResponse::Overtaken, request: Some(kind) };
                self.end();
            }
            // The response to the other's snoop decides. The other agent has a request: it comes.
            (EarlyResponse::Conflict, EarlyResponse::Outstanding) => {}
        }
    }

    /// Ends a request: the one that the requester has answered with a conflict meanwhile is overtaken. The conflict is
    /// ahead of the requester's acknowledgement.
    pub(super) fn overtake(&mut self, requester: NodeId) {
        let slot = &mut self.line.early[usize::from(requester.0 ^ 1)];
        if slot.response == EarlyResponse::Conflict {
            slot.response = EarlyResponse::Overtaken;
        }
    }

    /// Begins the request that was put back, when the one that came before it has ended.
    pub(super) fn resume(&mut self) {
        let put_back = (0..2).find_map(|slot| {
            let request = self.line.early[slot].request.take()?;
            Some((request, NodeId(slot as u16)))
        });
        if let Some((kind, requester)) = put_back {
            self.work.ends = false;
            self.begin(kind, requester);
        }
    }
}
