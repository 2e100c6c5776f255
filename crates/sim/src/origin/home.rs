//! The memory/directory interface: a message enters, occupies memory or directory, and sends messages.

use machine::VirtualNetwork;
use protocol::Agent;
use protocol::origin::{DirectoryState, HomeContext, Message, MessageKind, Outbox, Transaction};
use units::NodeId;

use super::Hubs;
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::system::{Served, System};
use crate::wire::Interconnect;

impl System<Hubs> {
    /// A message reaches the memory/directory interface of its node.
    #[inline]
    pub(super) fn on_home(&mut self, id: EnvelopeId) {
        let (mut message, node) = (self.kernel.envelopes.get(id).message, self.kernel.envelopes.get(id).to);
        let returns = matches!(message.kind, MessageKind::Writeback | MessageKind::SharingWriteback);
        if self.observation.planted.is_some() && returns && message.version.0 > 0 && self.strikes(Fault::StaleData) {
            message.version.0 -= 1;
        }
        self.count_reference(node, &message);
        let output_queue_nearly_full = self.is_output_nearly_full(node);
        let Hubs { geometry, directory, hubs, timing, .. } = &mut self.controllers;
        let context = HomeContext { node, geometry: *geometry, output_queue_nearly_full };
        let mut outbox = Outbox::new();
        let (entry, version) = directory.line(message.line);
        let (found, owner) = (entry.state, entry.owner);
        let work = match protocol::origin::home(entry, version, &message, &context, &mut outbox) {
            Ok(work) => work,
            Err(error) => return self.fail(error),
        };
        let hub = &mut hubs[node.index()];
        let start = hub.reserve_memory(timing, self.kernel.now, message.kind, &work);
        hub.received[message.kind as usize] += 1;
        if matches!(message.kind, MessageKind::Read | MessageKind::ReadShared | MessageKind::ReadExclusive) {
            hub.found[found as usize] += 1;
            hub.found_own += u64::from(found == DirectoryState::Exclusive && owner == message.requester);
        }
        hub.count_local(node, geometry, &message);
        if matches!(message.kind, MessageKind::ReadExclusive | MessageKind::Upgrade)
            && work.transaction != Transaction::Nack
        {
            hub.invalidations.count(work.invalidations);
        }
        if let Some(served) = self.served(work.transaction, &outbox) {
            self.note_service(message.requester, message.line, node, served);
        }
        self.release_buffer(id, start);
        self.kernel.envelopes.remove(id);
        for &answer in outbox.as_slice() {
            let copies = if answer.to == Agent::Sharers { u64::from(work.invalidations) } else { 1 };
            let Hubs { hubs, timing, .. } = &mut self.controllers;
            hubs[node.index()].sent[answer.kind as usize] += copies;
            hubs[node.index()].invalidating += u64::from(answer.to == Agent::Sharers);
            let delay = if answer.kind.carries_data() { timing.memory_data } else { timing.directory };
            let delay = delay + self.random_delay();
            self.dispatch(node, start + delay, answer);
        }
    }

    /// How the home served a request; `None` after a NACK, or if the message was no request.
    #[inline]
    fn served(&self, transaction: Transaction, sent: &Outbox) -> Option<Served> {
        let asked = |message: &Message| match (message.kind, message.to) {
            (MessageKind::InterventionShared | MessageKind::InterventionExclusive, Agent::Processor(owner)) => {
                Some(owner)
            }
            (MessageKind::BackoffReadShared | MessageKind::BackoffReadExclusive, _) => Some(message.owner),
            _ => None,
        };
        match transaction {
            Transaction::Unowned => Some(Served::ByHome),
            Transaction::Invalidate | Transaction::BackoffInvalidate => Some(Served::Invalidating),
            Transaction::InterventionShared
            | Transaction::InterventionExclusive
            | Transaction::BackoffInterventionShared
            | Transaction::BackoffInterventionExclusive => {
                sent.as_slice().iter().find_map(asked).map(|owner| Served::ByOwner(self.node_of(owner)))
            }
            _ => None,
        }
    }

    /// Whether enough packets wait in `node`'s output queue for requests that forwarding could block (Prestor 2001,
    /// 4.1.3).
    #[inline]
    fn is_output_nearly_full(&self, node: NodeId) -> bool {
        let waiting = self.network.wires.backlog_packets(node, VirtualNetwork::Request, self.kernel.now);
        waiting >= self.controllers.timing.backoff_packets
    }
}
