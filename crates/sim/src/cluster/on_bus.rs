//! The device as a participant of its node's bus: transactions that it puts off, and those of its own.

use protocol::cluster::MessageKind;
use protocol::contract::Bus;
use protocol::snoop::{Command, Reply, Rights, Snooping};
use protocol::{ProtocolError, Version};
use units::{LineAddr, NodeId, Time};

use super::Cluster;
use super::device::{Device, Own, Purpose};
use super::event::{ClusterEvent, ClusterMessage};
use crate::kernel::EnvelopeId;
use crate::snooping::{BusEvent, Buses, OnBus, Requester, Transaction};
use crate::system::{Served, System};

impl<const OWNED: bool> OnBus for Cluster<OWNED> {
    type Bus = Snooping<OWNED>;

    #[inline]
    fn buses(&mut self) -> &mut Buses<Snooping<OWNED>> {
        &mut self.buses
    }

    #[inline]
    fn message(transaction: Transaction) -> ClusterMessage {
        ClusterMessage::Bus(transaction)
    }

    #[inline]
    fn transaction(message: &ClusterMessage) -> Transaction {
        match message {
            ClusterMessage::Bus(transaction) => *transaction,
            ClusterMessage::Node(message) => unreachable!("{message:?} is no bus transaction"),
        }
    }

    #[inline]
    fn event(event: BusEvent) -> ClusterEvent {
        ClusterEvent::Bus(event)
    }

    #[inline]
    fn contents(&mut self, node: NodeId, line: LineAddr) -> &mut Version {
        self.line(node, line).1
    }

    /// Memory reads lines of its own node, and of pages in the page cache; the device's cache stands for the memories of others.
    fn read(&mut self, node: NodeId, line: LineAddr, at: Time) -> Time {
        if self.buses.lines.home(line) != node && !self.devices[node.index()].pages.holds(line) {
            return at + self.timing.cache;
        }
        let fresh = self.devices[node.index()].lines.get_mut(&line).is_some_and(|kept| std::mem::take(&mut kept.fresh));
        let (memory, number) = self.buses.memory_on(node, line);
        if fresh {
            // The line of a reply goes to memory as it goes to the processor.
            memory.write(number, at + self.timing.cache);
            return at + self.timing.cache;
        }
        memory.read(number, at)
    }

    fn write(&mut self, node: NodeId, line: LineAddr, at: Time) {
        if self.buses.lines.home(line) == node || self.devices[node.index()].pages.holds(line) {
            let (memory, number) = self.buses.memory_on(node, line);
            memory.write(number, at);
        }
    }

    fn outside(
        system: &mut System<Self>,
        id: EnvelopeId,
        transaction: Transaction,
        command: Command,
    ) -> Result<Reply, ProtocolError> {
        system.reply_of_device(id, transaction, command)
    }

    fn performed(system: &mut System<Self>, Transaction { node, line, .. }: Transaction, command: Command) {
        system.after_transaction(node, line, command);
    }

    fn served(&mut self, node: NodeId, line: LineAddr, owned: bool, invalidates: bool) -> (NodeId, Served) {
        let home = self.buses.lines.home(line);
        let granted = match home == node {
            true => self.homes.line(line).served.take(),
            false => self.devices[node.index()].lines.get_mut(&line).and_then(|kept| kept.served.take()),
        };
        let here = match (owned, invalidates) {
            (true, _) => Served::ByOwner(node),
            (false, true) => Served::Invalidating,
            // A line of another node comes from the device's cache.
            (false, false) if home != node => Served::ByOwner(node),
            (false, false) => Served::ByHome,
        };
        (home, granted.unwrap_or(here))
    }

    fn device_granted(
        system: &mut System<Self>,
        id: EnvelopeId,
        Transaction { node, line, .. }: Transaction,
        at: Time,
    ) {
        let controllers = &mut system.controllers;
        let Some(own) = controllers.own(node, id) else { return };
        let reads = match controllers.devices[node.index()].own[own].purpose {
            Purpose::Intervene(_) => controllers.line(node, line).0.bus_request().is_some_and(Snooping::<OWNED>::reads),
            Purpose::Supply(_) | Purpose::Gather | Purpose::Copy => true,
            Purpose::Store => false,
        };
        if reads {
            let ready = controllers.read(node, line, at);
            controllers.devices[node.index()].own[own].ready = ready;
        }
    }

    fn device_reply(system: &mut System<Self>, id: EnvelopeId, transaction: Transaction) {
        let Some(place) = system.controllers.own(transaction.node, id) else { return };
        let Own { purpose, ready, .. } = system.controllers.devices[transaction.node.index()].own[place];
        let now = system.kernel.now;
        match purpose {
            Purpose::Intervene(_) => system.intervene(id, transaction, ready),
            Purpose::Supply(_) | Purpose::Copy => system.schedule_data(transaction.node, id, ready.max(now)),
            Purpose::Gather => system.gather_line(id, transaction, ready),
            Purpose::Store => system.schedule_data(transaction.node, id, now),
        }
    }

    fn device_data(system: &mut System<Self>, id: EnvelopeId, Transaction { node, line, .. }: Transaction, end: Time) {
        let Some(place) = system.controllers.own(node, id) else { return };
        let own = system.controllers.devices[node.index()].own.swap_remove(place);
        match own.purpose {
            Purpose::Intervene(answers) => {
                if answers.memory_write {
                    system.controllers.write(node, line, end);
                }
                system.answer(node, &answers, end);
                system.attend(node, line);
            }
            Purpose::Supply(message) => system.send(node, message, false, end),
            Purpose::Store => system.controllers.write(node, line, end),
            Purpose::Gather | Purpose::Copy => system.send_page_line(node, line, end),
        }
    }
}

impl<const OWNED: bool> Cluster<OWNED> {
    /// The place of a device's bus transaction.
    pub(super) fn own(&self, node: NodeId, id: EnvelopeId) -> Option<usize> {
        self.devices[node.index()].own.iter().position(|own| own.id == id)
    }
}

impl<const OWNED: bool> System<Cluster<OWNED>> {
    /// The device requests the bus for a transaction of its own.
    pub(super) fn use_bus(&mut self, node: NodeId, line: LineAddr, purpose: Purpose) {
        let now = self.kernel.now;
        let id = self.own_transaction(node, line, purpose);
        self.request_bus(id, now);
    }

    /// A transaction of the device, which does not request the bus yet.
    pub(super) fn own_transaction(&mut self, node: NodeId, line: LineAddr, purpose: Purpose) -> EnvelopeId {
        let id = self.bus_transaction(Transaction { node, line, requester: Requester::Device });
        self.controllers.devices[node.index()].own.push(Own { id, line, purpose, ready: Time::ZERO });
        id
    }

    /// The data of a device's transaction are ready for the data wires at `at`.
    pub(super) fn schedule_data(&mut self, node: NodeId, id: EnvelopeId, at: Time) {
        self.schedule(node, at, ClusterEvent::Bus(BusEvent::Data(id)));
    }

    /// The device's reply to a processor's transaction. One for which the node lacks the right is put off, and the right is
    /// requested.
    fn reply_of_device(
        &mut self,
        id: EnvelopeId,
        transaction: Transaction,
        command: Command,
    ) -> Result<Reply, ProtocolError> {
        let Transaction { node, line, .. } = transaction;
        let remote = self.controllers.buses.lines.home(line) != node;
        if remote && self.controllers.devices[node.index()].frames.may_lack_lines() {
            self.forget_stale(transaction);
        }
        let mut after = *self.controllers.line(node, line).0;
        let reply = after.snoop(node, command)?;
        if remote && Snooping::<OWNED>::reads(command) {
            let device = &mut self.controllers.devices[node.index()];
            let hit = !reply.retry && (device.pages.holds(line) || device.frames.look_up(line));
            device.count_look_up(hit);
        }
        if reply.retry && remote && self.relocates(id, transaction) {
            return Ok(reply);
        }
        if reply.retry
            && remote
            && let Err(busy) = self.reserve_frame(node, line)
        {
            self.controllers.devices[node.index()].blocked.push((busy, id));
            return Ok(reply);
        }
        *self.controllers.line(node, line).0 = after;
        if reply.retry {
            self.controllers.devices[node.index()].waiting.push((line, id));
            self.fetch(node, line);
        }
        Ok(reply)
    }

    /// Requests the right that a transaction needs which was put off, if nothing else is outstanding on the line.
    pub(super) fn fetch(&mut self, node: NodeId, line: LineAddr) {
        let (site, now) = (self.controllers.site(node, line), self.kernel.now);
        let mut request = None;
        self.controllers.line(node, line).0.fetch(&site, &mut |message| request = Some(message));
        if let Some(message) = request {
            if message.kind != MessageKind::Upgrade && site.home != node {
                self.controllers.devices[node.index()].pages.count_miss(line);
            }
            let timing = self.controllers.timing;
            let start = self.controllers.devices[node.index()].engage(now, timing.occupancy);
            self.send(node, message, false, start + timing.request);
        }
    }

    /// Gives a line of another node a frame in the block cache, before it is requested. The line that it replaces is recalled if
    /// inclusion requires that.
    ///
    /// # Errors
    /// The lines of all frames have something outstanding: one of them.
    fn reserve_frame(&mut self, node: NodeId, line: LineAddr) -> Result<(), LineAddr> {
        let Device { frames, lines, pages, .. } = &mut self.controllers.devices[node.index()];
        if !frames.is_block_cache() || pages.holds(line) || frames.look_up(line) {
            return Ok(());
        }
        let Some(victim) = frames.insert(line, |other| Device::is_busy(lines, other))? else { return Ok(()) };
        let rights = lines.get(&victim).map_or(Rights::None, |kept| kept.line.rights);
        if frames.includes(rights) {
            self.replace(node, victim);
        }
        Ok(())
    }

    /// A right has been granted: a remote access cache keeps the line of a reply that may be read.
    pub(super) fn keep_granted(&mut self, node: NodeId, line: LineAddr, rights: Rights) {
        if self.controllers.buses.lines.home(line) == node
            || !self.controllers.devices[node.index()].frames.is_remote_access()
        {
            return;
        }
        match rights {
            Rights::Read => self.keep(node, line),
            // The line goes to the processor that writes it.
            Rights::Write | Rights::None => self.controllers.devices[node.index()].frames.remove(line),
        }
    }

    /// A line of another node enters the remote access cache. The line in its frame stays with the processors that have it, but
    /// what only this cache has is written back.
    fn keep(&mut self, node: NodeId, line: LineAddr) {
        let Device { frames, lines, .. } = &mut self.controllers.devices[node.index()];
        let Ok(Some(victim)) = frames.insert(line, |other| Device::is_busy(lines, other)) else { return };
        let owned = lines.get(&victim).is_some_and(|kept| kept.line.rights == Rights::Write);
        if owned && !self.has_copy(node, victim, |state| state.is_dirty()) {
            self.replace(node, victim);
        }
    }

    /// Forgets the rights to a line that neither the device nor any cache of the node holds any more: clean lines are dropped
    /// without notice.
    fn forget_stale(&mut self, Transaction { node, line, .. }: Transaction) {
        let device = &self.controllers.devices[node.index()];
        let quiet =
            device.lines.get(&line).is_some_and(|kept| kept.line.rights == Rights::Read && kept.line.is_quiet());
        if quiet && !device.holds(line) && !self.has_copy(node, line, |_| true) {
            let device = &mut self.controllers.devices[node.index()];
            device.lines.remove(&line);
            device.pages.note_replaced(line);
        }
    }

    /// Whether a cache of `node` has a copy in such a state.
    fn has_copy(&mut self, node: NodeId, line: LineAddr, such: impl Fn(protocol::CopyState) -> bool) -> bool {
        (0..self.controllers.buses.nodes[node.index()].processors.len()).any(|number| {
            let cpu = self.controllers.buses.nodes[node.index()].processors[number];
            let state = self.copy_on_bus(cpu, line).state;
            state.is_valid() && such(state)
        })
    }

    /// A processor's transaction has been performed.
    fn after_transaction(&mut self, node: NodeId, line: LineAddr, command: Command) {
        let remote = self.controllers.buses.lines.home(line) != node;
        if !remote {
            match command {
                Command::Read | Command::ReadForeign => self.count_page_miss(node, line, node, false),
                Command::ReadExclusive => self.count_page_miss(node, line, node, true),
                // No cache is filled.
                Command::Upgrade | Command::Writeback => {}
            }
        }
        if remote && self.controllers.devices[node.index()].frames.is_remote_access() {
            match command {
                Command::Writeback => self.write_home(node, line),
                // The line of a writer that a sibling reads.
                Command::ReadForeign | Command::Read if self.controllers.line(node, line).0.rights == Rights::Write => {
                    self.keep(node, line);
                }
                Command::Read | Command::ReadForeign => {}
                Command::ReadExclusive | Command::Upgrade => {
                    self.controllers.devices[node.index()].frames.remove(line);
                }
            }
        }
        self.attend(node, line);
    }

    /// A processor has written back a line of another node, which no cache of this one has any more: it goes on to its home.
    fn write_home(&mut self, node: NodeId, line: LineAddr) {
        if self.controllers.line(node, line).0.is_quiet() && !self.has_copy(node, line, |_| true) {
            self.replace(node, line);
        }
    }
}
