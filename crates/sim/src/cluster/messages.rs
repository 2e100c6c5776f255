//! Messages between devices: their way out, in, and through the protocol engine.

use protocol::Agent;
use protocol::cluster::{Message, MessageKind, NodeOutcome};
use protocol::contract::Bus;
use protocol::snoop::Snooping;
use units::{CpuId, Duration, LineAddr, NodeId, Time};

use super::Cluster;
use super::event::{ClusterEvent, ClusterMessage, NodeMessage};
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::observe::ContentsEvent;
use crate::snooping::{Requester, Transaction};
use crate::system::{Served, System};

impl<const OWNED: bool> System<Cluster<OWNED>> {
    /// A message of the device of `node` leaves at `at`, to the network or to the device itself.
    pub(super) fn send(&mut self, node: NodeId, message: Message, owned: bool, at: Time) {
        if message.kind == MessageKind::InvalidateAcknowledge && self.strikes(Fault::LostAcknowledgement) {
            return;
        }
        self.controllers.devices[node.index()].count(message.kind);
        let to = match message.to {
            Agent::Home(to) | Agent::Interface(to) => to,
            Agent::Processor(_) | Agent::Sharers => return debug_assert!(false, "devices and homes receive messages"),
        };
        let id = self.envelop(ClusterMessage::Node(NodeMessage { message, from: node, owned }), to);
        if to != node {
            let at = at + self.controllers.timing.send;
            return self.schedule(node, at, ClusterEvent::Send(node, id));
        }
        let at = at + self.random_delay();
        self.schedule(node, at, ClusterEvent::Arrive(id));
    }

    /// A message is at the network interface of `node`.
    pub(super) fn on_send(&mut self, node: NodeId, id: EnvelopeId) {
        self.enter_network(node, id);
    }

    /// A message is at its destination: it waits for the protocol engine. There is room for all that a node can have
    /// outstanding, so that it leaves the network.
    pub(super) fn on_arrive(&mut self, id: EnvelopeId) {
        let Some(NodeMessage { message, from, .. }) = self.node_message(id) else { return };
        let (now, to) = (self.kernel.now, self.kernel.envelopes.get(id).to);
        if from != to {
            self.release_buffer(id, now);
        }
        let timing = self.controllers.timing;
        let start = self.controllers.devices[to.index()].engage(now, timing.occupancy);
        let directory = if matches!(message.to, Agent::Home(_)) { timing.directory } else { Duration::ZERO };
        self.schedule(to, start + timing.receive + directory, ClusterEvent::Handle(id));
    }

    /// A message is handled.
    pub(super) fn on_handle(&mut self, id: EnvelopeId) {
        let Some(message) = self.node_message(id) else { return };
        let node = self.kernel.envelopes.get(id).to;
        match message.message.to {
            Agent::Home(_) => self.at_home(node, id, &message),
            _ => {
                self.kernel.envelopes.remove(id);
                self.at_device(node, &message);
            }
        }
    }

    fn node_message(&self, id: EnvelopeId) -> Option<NodeMessage> {
        match self.kernel.envelopes.get(id).message {
            ClusterMessage::Node(message) => Some(message),
            ClusterMessage::Bus(_) => None,
        }
    }

    /// A message is handled at the device of `node`.
    fn at_device(&mut self, node: NodeId, arrived: &NodeMessage) {
        let (message, now) = (&arrived.message, self.kernel.now);
        let site = self.controllers.site(node, message.line);
        let protocol = self.controllers.protocol;
        let (mut sent, mut count) = ([None; 3], 0);
        let mut push = |message| {
            sent[count] = Some(message);
            count += 1;
        };
        let (line, contents) = self.controllers.line(node, message.line);
        let outcome = match line.receive(&protocol, &site, contents, message, &mut push) {
            Ok(outcome) => outcome,
            Err(error) => return self.fail(error),
        };
        if message.kind == MessageKind::Invalidate {
            self.controllers.devices[node.index()].pages.note_invalidated(message.line);
        }
        // Data from the writeback buffer are dirty.
        let owned = outcome == NodeOutcome::Supplied;
        sent.into_iter().flatten().for_each(|message| self.send(node, message, owned, now));
        match message.kind {
            MessageKind::Data | MessageKind::DataExclusive | MessageKind::UpgradeAcknowledge => {
                self.note_grant(node, arrived);
            }
            _ => {}
        }
        if outcome == NodeOutcome::Poisoned {
            self.end_in_bus_errors(node, message.line);
        }
        if outcome == NodeOutcome::Collected {
            self.end_collection(node, message.line);
        }
        if let NodeOutcome::Granted(rights) = outcome {
            self.begin_collection(node, message.line);
            self.keep_granted(node, message.line, rights);
            self.wake(node, message.line);
        }
        self.attend(node, message.line);
    }

    /// A right to write has been granted early: releases of the processors that have waited for it wait for the acknowledgements.
    fn begin_collection(&mut self, node: NodeId, line: LineAddr) {
        if !self.controllers.line(node, line).0.is_collecting() {
            return;
        }
        if self.observation.probe.follows_contents() {
            self.observation.probe.contents(ContentsEvent::Unsettled { line });
        }
        for number in 0..self.controllers.devices[node.index()].waiting.len() {
            let (other, id) = self.controllers.devices[node.index()].waiting[number];
            if other != line {
                continue;
            }
            let Some(cpu) = self.writer(id, line) else { continue };
            self.processor_mut(cpu).await_acknowledgements();
            self.controllers.devices[node.index()].collecting.push((line, cpu));
        }
    }

    /// The processor of a bus transaction for a write.
    fn writer(&mut self, id: EnvelopeId, line: LineAddr) -> Option<CpuId> {
        let ClusterMessage::Bus(Transaction { requester: Requester::Processor(cpu), .. }) =
            self.kernel.envelopes.get(id).message
        else {
            return None;
        };
        self.command(cpu, line).filter(|&command| Snooping::<OWNED>::writes(command)).map(|_| cpu)
    }

    /// The last acknowledgement may have arrived: the releases that have waited for it go on.
    fn end_collection(&mut self, node: NodeId, line: LineAddr) {
        if !self.controllers.protocol.early_grant || self.controllers.line(node, line).0.is_collecting() {
            return;
        }
        if self.observation.probe.follows_contents() {
            self.observation.probe.contents(ContentsEvent::Settled { line });
        }
        while let Some(place) =
            self.controllers.devices[node.index()].collecting.iter().position(|&(other, _)| other == line)
        {
            let (_, cpu) = self.controllers.devices[node.index()].collecting.swap_remove(place);
            self.on_acknowledged(cpu);
        }
    }

    /// Records by what a right was granted, for the account of time.
    fn note_grant(&mut self, node: NodeId, &NodeMessage { message, from, owned }: &NodeMessage) {
        let home = self.controllers.buses.lines.home(message.line);
        let served = match (message.acknowledgements, owned || from != home) {
            (_, true) => Served::ByOwner(from),
            (0, false) => Served::ByHome,
            (_, false) => Served::Invalidating,
        };
        if home == node {
            self.controllers.homes.line(message.line).served = Some(served);
        } else if let Some(kept) = self.controllers.devices[node.index()].lines.get_mut(&message.line) {
            kept.served = Some(served);
            kept.fresh = message.kind.carries_data();
        }
    }

    /// The transactions on a poisoned line that wait for a right end in bus errors.
    fn end_in_bus_errors(&mut self, node: NodeId, line: LineAddr) {
        let waiting = &mut self.controllers.devices[node.index()].waiting;
        let ended = waiting.extract_if(.., |&mut (other, _)| other == line).collect::<Vec<_>>();
        ended.into_iter().for_each(|(_, id)| self.end_in_bus_error(id));
    }

    /// The transactions on a line that wait for a right request the bus again.
    pub(super) fn wake(&mut self, node: NodeId, line: LineAddr) {
        let now = self.kernel.now;
        let mut number = 0;
        while let Some(&(other, id)) = self.controllers.devices[node.index()].waiting.get(number) {
            if other != line {
                number += 1;
                continue;
            }
            self.controllers.devices[node.index()].waiting.remove(number);
            self.request_bus(id, now);
        }
    }
}
