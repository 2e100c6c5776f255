//! Bus transactions by which a device takes lines, or copies of them, from its node: for other nodes, and to replace lines.

use protocol::cluster::{Intervention, Line};
use protocol::contract::{Bus, Started};
use protocol::snoop::{Rights, Snooping};
use units::{LineAddr, NodeId, Time};

use super::Cluster;
use super::device::{Answers, Device, Own, Purpose};
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::snooping::Transaction;
use crate::system::System;

impl<const OWNED: bool> System<Cluster<OWNED>> {
    /// Starts to replace a line of another node.
    pub(super) fn replace(&mut self, node: NodeId, line: LineAddr) {
        let site = self.controllers.site(node, line);
        match self.controllers.line(node, line).0.evict(&site) {
            Started::Requested => self.attend(node, line),
            Started::Done => self.controllers.devices[node.index()].tidy(line),
            Started::Blocked => {}
        }
    }

    /// Something about a line has changed: the device requests the bus for the work that may be done now, and so do transactions
    /// that have waited until nothing is outstanding on the line.
    pub(super) fn attend(&mut self, node: NodeId, line: LineAddr) {
        self.request_intervention(node, line);
        if self.controllers.devices[node.index()].blocked.is_empty() {
            return;
        }
        let local = self.controllers.buses.lines.home(line) == node;
        let busy = match local {
            true => self.controllers.line(node, line).0.is_collecting(),
            false => Device::is_busy(&self.controllers.devices[node.index()].lines, line),
        };
        let now = self.kernel.now;
        while !busy
            && let blocked = &mut self.controllers.devices[node.index()].blocked
            && let Some(place) = blocked.iter().position(|&(other, _)| other == line)
        {
            let (_, id) = blocked.remove(place);
            self.request_bus(id, now);
        }
    }

    /// The device requests the bus for the work that may be done now on a line.
    fn request_intervention(&mut self, node: NodeId, line: LineAddr) {
        if self.controllers.buses.lines.home(line) != node {
            self.restore_inclusion(node, line);
            self.controllers.devices[node.index()].tidy(line);
            if !self.controllers.devices[node.index()].lines.contains_key(&line) {
                return;
            }
        }
        if self.controllers.line(node, line).0.bus_request().is_none() {
            return;
        }
        let intervenes = |own: &Own| own.line == line && matches!(own.purpose, Purpose::Intervene(_));
        if self.controllers.devices[node.index()].own.iter().any(intervenes) {
            return;
        }
        self.use_bus(node, line, Purpose::Intervene(Answers::default()));
    }

    /// A line that has lost its frame in an inclusive block cache, and kept a right, because a forwarded request took the place of
    /// its replacement, is replaced again.
    fn restore_inclusion(&mut self, node: NodeId, line: LineAddr) {
        let device = &self.controllers.devices[node.index()];
        let rights = device.lines.get(&line).map_or(Rights::None, |kept| kept.line.rights);
        if !device.frames.includes(rights) || device.holds(line) {
            return;
        }
        let site = self.controllers.site(node, line);
        if let Some(kept) = self.controllers.devices[node.index()].lines.get_mut(&line)
            && kept.line.is_quiet()
        {
            kept.line.evict(&site);
        }
    }

    /// The combined reply to a device's intervention is there: the caches have given up what they must, and the answers leave
    /// when the line has crossed the bus.
    pub(super) fn intervene(&mut self, id: EnvelopeId, transaction: Transaction, ready: Time) {
        let Transaction { node, line, .. } = transaction;
        let Some(command) = self.controllers.line(node, line).0.bus_request() else {
            // Another message has changed the work in the meantime.
            self.controllers.devices[node.index()].own.retain(|own| own.id != id);
            self.end_device(id, transaction);
            return self.attend(node, line);
        };
        let taken = match self.snoop_for_device(node, line, command) {
            Ok(taken) => taken,
            Err(error) => return self.fail(error),
        };
        let site = self.controllers.site(node, line);
        let contents = taken.contents.map(|version| self.spoiled(version));
        let mut answers =
            Answers { owned: taken.owner.is_some(), memory_write: taken.memory_write, ..Answers::default() };
        let state: &mut Line = self.controllers.line(node, line).0;
        let replaces = state.intervention == Some(Intervention::Replace);
        state.complete(&site, contents, &mut |message| answers.push(message));
        if replaces {
            self.controllers.devices[node.index()].pages.note_replaced(line);
        }
        self.move_line(id, transaction, answers, (ready, taken.owner, Snooping::<OWNED>::reads(command)));
    }

    /// The line of an intervention takes its way to the device: over the bus, from memory or from the owner's cache; or none, from
    /// the device's own cache.
    fn move_line(
        &mut self,
        id: EnvelopeId,
        transaction: Transaction,
        answers: Answers,
        (ready, owner, reads): (Time, Option<Time>, bool),
    ) {
        let (Transaction { node, line, .. }, now) = (transaction, self.kernel.now);
        let local = site_is_home(self, node, line);
        let over_bus = owner.or((reads && local).then_some(ready.max(now)));
        if let Some(at) = over_bus {
            if let Some(place) = self.controllers.own(node, id) {
                self.controllers.devices[node.index()].own[place].purpose = Purpose::Intervene(answers);
            }
            return self.schedule_data(node, id, at);
        }
        self.controllers.devices[node.index()].own.retain(|own| own.id != id);
        let from = if reads { ready.max(now) } else { now };
        self.answer(node, &answers, from);
        self.end_device(id, transaction);
        self.attend(node, line);
    }

    /// The answers of an intervention leave at `at`.
    pub(super) fn answer(&mut self, node: NodeId, answers: &Answers, at: Time) {
        let start = self.controllers.devices[node.index()].engage(at, self.controllers.timing.occupancy);
        answers.messages.into_iter().flatten().for_each(|message| self.send(node, message, answers.owned, start));
    }

    /// Contents that a device sends, with a planted fault if it strikes: those before the last store.
    fn spoiled(&mut self, mut version: protocol::Version) -> protocol::Version {
        if self.strikes(Fault::StaleData) {
            version.0 = version.0.wrapping_sub(1);
        }
        version
    }
}

fn site_is_home<const OWNED: bool>(system: &System<Cluster<OWNED>>, node: NodeId, line: LineAddr) -> bool {
    system.controllers.buses.lines.home(line) == node
}
