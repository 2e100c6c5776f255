//! The home of a line: its directory, and its memory, which the device reaches over the bus.

use protocol::Agent;
use protocol::cluster::{DirectoryState, Entry, HomeOutcome, HomeWork, Message, MessageKind, Transaction, home};
use units::{LineAddr, NodeId, Time};

use super::Cluster;
use super::device::Purpose;
use super::event::{ClusterEvent, NodeMessage};
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::system::System;

impl<const OWNED: bool> System<Cluster<OWNED>> {
    /// A message is handled at its home `node`. If its line is busy, it waits for the owner's report.
    pub(super) fn at_home(&mut self, node: NodeId, id: EnvelopeId, arrived: &NodeMessage) {
        let message = &arrived.message;
        let place = self.controllers.homes.line(message.line);
        let entry = place.entry.get_or_insert(Entry::uncached(node));
        let (before, now) = (*entry, self.kernel.now);
        let mut sent = std::mem::take(&mut self.controllers.outbox);
        let place = self.controllers.homes.line(message.line);
        let Some(entry) = &mut place.entry else { return };
        let outcome = home(entry, node, &mut place.contents, message, &mut |message| sent.push(message));
        match outcome {
            Ok(HomeOutcome::Busy) => self.controllers.devices[node.index()].queued.push_back((message.line, id)),
            Ok(HomeOutcome::Done(work)) => {
                self.kernel.envelopes.remove(id);
                self.forget_sharer(message, &before);
                self.forget_poison(message);
                self.after_home(node, arrived, work, &sent);
                if work.transaction != Transaction::Refusal {
                    self.note_at_home(node, arrived);
                }
            }
            Err(error) => self.fail(error),
        }
        sent.clear();
        self.controllers.outbox = sent;
        if matches!(outcome, Ok(HomeOutcome::Done(_))) {
            self.resume_queued(node, message.line, now);
        }
    }

    /// Sends what the home's handler sends, and reads and writes memory for it.
    fn after_home(&mut self, node: NodeId, arrived: &NodeMessage, work: HomeWork, sent: &[Message]) {
        let now = self.kernel.now;
        if matches!(work.transaction, Transaction::Write | Transaction::WriteInvalidating) {
            self.controllers.devices[node.index()].count_write(work.invalidations);
        }
        for &message in sent {
            // A processor of the home's own node reads memory by its own transaction.
            let reads = message.kind.carries_data() && message.to != Agent::Interface(node);
            match reads {
                true => self.use_bus(node, message.line, Purpose::Supply(message)),
                false => self.send(node, message, false, now),
            }
        }
        if work.memory_write && arrived.from != node {
            self.use_bus(node, arrived.message.line, Purpose::Store);
        }
    }

    /// The oldest message that has waited for a line is handled next, if the line is not busy any more.
    fn resume_queued(&mut self, node: NodeId, line: LineAddr, now: Time) {
        let busy = |entry: &Entry| matches!(entry.state, DirectoryState::Forwarded { .. });
        if self.controllers.homes.line(line).entry.as_ref().is_some_and(busy) {
            return;
        }
        let queued = &mut self.controllers.devices[node.index()].queued;
        let Some(place) = queued.iter().position(|&(other, _)| other == line) else { return };
        let Some((_, id)) = queued.remove(place) else { return };
        let timing = self.controllers.timing;
        let start = self.controllers.devices[node.index()].engage(now, timing.occupancy);
        self.schedule(node, start + timing.directory, ClusterEvent::Handle(id));
    }

    /// A planted fault: the home does not poison a line.
    fn forget_poison(&mut self, message: &Message) {
        if message.kind == MessageKind::PoisonRead && self.strikes(Fault::ForgottenPoison) {
            let entry = self.controllers.homes.line(message.line).entry.as_mut();
            entry.into_iter().for_each(|entry| entry.poisoned = false);
        }
    }

    /// A planted fault: the home does not record a sharer.
    fn forget_sharer(&mut self, message: &Message, before: &Entry) {
        if message.kind != MessageKind::Read || !self.strikes(Fault::ForgottenSharer) {
            return;
        }
        if let Some(entry) = &mut self.controllers.homes.line(message.line).entry
            && entry.state == DirectoryState::Shared
        {
            entry.sharers = before.sharers;
        }
    }
}
