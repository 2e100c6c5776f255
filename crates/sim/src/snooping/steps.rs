//! The steps of a bus transaction.

use protocol::contract::{Bus, Started};
use protocol::{Access, CopyState, Version};
use units::{CpuId, LineAddr, NodeId, Time};

use super::{BusEvent, OnBus, Outstanding, Requester, Transaction};
use crate::SimError;
use crate::fault::Fault;
use crate::kernel::{EnvelopeId, Event};
use crate::part::CachedCopy;
use crate::processor::{Post, PostKind};
use crate::system::{Crossing, System};

impl<C: OnBus> System<C> {
    /// A processor posts a miss or an eviction, which becomes a transaction.
    pub fn post_on_bus(&mut self, cpu: CpuId, post: &Post) {
        let Post { at, kind, line, copy, .. } = *post;
        let mut cache = C::Bus::held(copy.state, copy.version);
        let started = match kind {
            PostKind::Request(Access::PoisonRead) => return self.fail(SimError::NoUncached { cpu }),
            PostKind::Request(access) => C::Bus::access(&mut cache, access),
            PostKind::Evict => C::Bus::evict(&mut cache),
        };
        debug_assert_eq!(started, Started::Requested, "{kind:?} of {cpu:?} for {line:?} needs no bus: {copy:?}");
        let node = self.node_of(cpu);
        let id = self.bus_transaction(Transaction { node, line, requester: Requester::Processor(cpu) });
        let outstanding = Outstanding { id, line, cache, kind, read: Time::ZERO, memory_write: false };
        self.controllers.buses().outstanding[cpu.index()].push(outstanding);
        self.schedule_processor(cpu, at, Event::Node(C::event(BusEvent::Request(id))));
    }

    /// Registers a transaction, which may then request its bus.
    pub fn bus_transaction(&mut self, transaction: Transaction) -> EnvelopeId {
        self.envelop(C::message(transaction), transaction.node)
    }

    /// A step of a bus transaction is due.
    #[inline]
    pub fn on_bus_event(&mut self, event: BusEvent) {
        match event {
            BusEvent::Request(id) => self.on_bus_request(id),
            BusEvent::Reply(id) => self.on_bus_reply(id),
            BusEvent::Data(id) => self.on_bus_data(id),
            BusEvent::Complete(id) => self.on_bus_complete(id),
        }
    }

    /// Schedules a step of a transaction on the bus of `node`.
    fn schedule_bus(&mut self, node: NodeId, at: Time, event: BusEvent) {
        self.schedule(node, at, C::event(event));
    }

    /// A transaction requests the bus at `at`, for the first time or after it was put off.
    pub fn request_bus(&mut self, id: EnvelopeId, at: Time) {
        let node = self.kernel.envelopes.get(id).to;
        self.schedule_bus(node, at, BusEvent::Request(id));
    }

    /// A request is at its participant's pins.
    fn on_bus_request(&mut self, id: EnvelopeId) {
        let Transaction { node, line, requester } = C::transaction(&self.kernel.envelopes.get(id).message);
        // Another cache may have taken over the line that was to be written back.
        if let Requester::Processor(cpu) = requester
            && self.outstanding(cpu, id).is_some_and(|request| C::Bus::request(&request.cache).is_none())
        {
            return self.forget(id);
        }
        let now = self.kernel.now;
        self.controllers.buses().node(node).wires.request(id, line, now);
        self.grant_bus(node);
    }

    /// Address phases start as far as the bus permits. Memory starts to read with each of them.
    fn grant_bus(&mut self, node: NodeId) {
        let now = self.kernel.now;
        while let Some((id, start)) = self.controllers.buses().node(node).wires.grant(now) {
            let transaction = C::transaction(&self.kernel.envelopes.get(id).message);
            let delay = self.random_delay();
            let wires = &self.controllers.buses().timing.wires;
            let (snooped, read) = (start + wires.snoop, start + wires.address);
            match transaction.requester {
                Requester::Processor(cpu) => self.start_read(cpu, id, transaction, read),
                Requester::Device => C::device_granted(self, id, transaction, read),
            }
            self.schedule_bus(node, snooped + delay, BusEvent::Reply(id));
        }
    }

    /// Memory starts to read for a processor's transaction, if it reads.
    fn start_read(&mut self, cpu: CpuId, id: EnvelopeId, Transaction { node, line, .. }: Transaction, at: Time) {
        if !self.outstanding(cpu, id).is_some_and(|request| C::Bus::request(&request.cache).is_some_and(C::Bus::reads))
        {
            return;
        }
        let ready = self.controllers.read(node, line, at);
        if let Some(request) = self.outstanding(cpu, id) {
            request.read = ready;
        }
    }

    /// The combined reply of a transaction is there.
    fn on_bus_reply(&mut self, id: EnvelopeId) {
        let transaction = C::transaction(&self.kernel.envelopes.get(id).message);
        match transaction.requester {
            Requester::Processor(cpu) => self.on_reply_to(cpu, id, transaction),
            Requester::Device => C::device_reply(self, id, transaction),
        }
    }

    /// The combined reply of a processor's transaction is there: all participants change their states, unless the device puts
    /// it off.
    fn on_reply_to(&mut self, cpu: CpuId, id: EnvelopeId, transaction: Transaction) {
        let Transaction { node, line, .. } = transaction;
        let Some(command) = self.command(cpu, line) else {
            return debug_assert!(false, "a granted transaction has a command");
        };
        let outside = match C::outside(self, id, transaction, command) {
            Ok(reply) => reply,
            Err(error) => return self.fail(error),
        };
        if C::Bus::is_retry(&outside) {
            return self.end_bus(node, line);
        }
        let snooped = match self.snoop(node, line, Some(cpu), command, outside) {
            Ok(snooped) => snooped,
            Err(error) => return self.fail(error),
        };
        let data = self.complete_own(cpu, node, line, command, snooped.reply);
        let Some(&mut Outstanding { kind, read, .. }) = self.outstanding(cpu, id) else { return };
        let invalidated = C::Bus::writes(command).then_some(snooped.invalidated);
        self.controllers.buses().node(node).count(C::Bus::mnemonic(command), invalidated);
        if kind != PostKind::Evict {
            let (home, served) = self.controllers.served(node, line, snooped.owner.is_some(), snooped.invalidated > 0);
            self.note_service(cpu, line, home, served);
        }
        let now = self.kernel.now;
        match (data, snooped.owner) {
            (false, _) => self.finish(cpu, id),
            (true, Some(ready)) => self.schedule_bus(node, ready, BusEvent::Data(id)),
            (true, None) => self.schedule_bus(node, read.max(now), BusEvent::Data(id)),
        }
        C::performed(self, transaction, command);
    }

    /// The requester's part in the combined reply, and memory's. Returns whether data go over the bus.
    fn complete_own(
        &mut self,
        cpu: CpuId,
        node: NodeId,
        line: LineAddr,
        command: <C::Bus as Bus>::Command,
        reply: <C::Bus as Bus>::Reply,
    ) -> bool {
        let (mut own, place) = self.view(cpu, line);
        let version = *C::Bus::contents(&mut own);
        let stale = !C::Bus::reads(command) && !C::Bus::writes(command) && self.strikes(Fault::StaleData);
        let written = if stale { Version(version.0.wrapping_sub(1)) } else { version };
        let phase = C::Bus::memory(self.controllers.contents(node, line), command, reply, Some(written));
        let (data, memory_write) = (C::Bus::on_bus(&phase).is_some(), C::Bus::writes_memory(&phase));
        C::Bus::complete(&mut own, reply, phase);
        if let Some(place) = place {
            let request = &mut self.controllers.buses().outstanding[cpu.index()][place];
            (request.cache, request.memory_write) = (own, memory_write);
        }
        data
    }

    /// A transaction without data is complete at its requester.
    fn finish(&mut self, cpu: CpuId, id: EnvelopeId) {
        let Transaction { node, line, .. } = C::transaction(&self.kernel.envelopes.get(id).message);
        let end = self.kernel.now + self.controllers.buses().timing.completion;
        if let Some(miss) = self.processor_mut(cpu).miss_on(line) {
            self.settle(cpu, id);
            self.close_at(cpu, miss, end, end);
        }
        self.schedule_bus(node, end, BusEvent::Complete(id));
    }

    /// The data of a transaction are ready: they take the data wires, and their destination takes them.
    fn on_bus_data(&mut self, id: EnvelopeId) {
        let transaction = C::transaction(&self.kernel.envelopes.get(id).message);
        let Transaction { node, line, requester } = transaction;
        let (now, buses) = (self.kernel.now, self.controllers.buses());
        let start = buses.node(node).wires.transfer(now);
        let timing = buses.timing;
        let whole = start + timing.line;
        let Requester::Processor(cpu) = requester else {
            self.schedule_bus(node, whole, BusEvent::Complete(id));
            return C::device_data(self, id, transaction, whole);
        };
        if self.outstanding(cpu, id).is_some_and(|request| request.memory_write) {
            self.controllers.write(node, line, whole);
        }
        // A writeback has no miss.
        let Some(miss) = self.processor_mut(cpu).miss_on(line) else {
            return self.schedule_bus(node, whole, BusEvent::Complete(id));
        };
        let crossing = Crossing { occupancy: timing.wires.data, seen: timing.critical, line: Some(timing.line) };
        self.settle(cpu, id);
        let filled = self.cross_bus(cpu, miss, start, crossing);
        self.schedule_bus(node, filled.max(whole), BusEvent::Complete(id));
    }

    /// The processor has the copy that its transaction brought.
    fn settle(&mut self, cpu: CpuId, id: EnvelopeId) {
        let requests = &mut self.controllers.buses().outstanding[cpu.index()];
        let Some(place) = requests.iter().position(|request| request.id == id) else { return };
        let Outstanding { line, mut cache, kind, .. } = requests.swap_remove(place);
        let uncached = kind == PostKind::Request(Access::UncachedRead);
        let state = if uncached { CopyState::INVALID } else { C::Bus::copy(&cache) };
        let copy = CachedCopy { state, version: *C::Bus::contents(&mut cache) };
        self.processor_mut(cpu).set_copy(line, copy, false);
        self.observe_grant(cpu, line);
    }

    /// A transaction is complete: its table entry is free, and with it the writeback buffer of an evicted line.
    fn on_bus_complete(&mut self, id: EnvelopeId) {
        let Transaction { node, line, .. } = C::transaction(&self.kernel.envelopes.get(id).message);
        self.controllers.buses().node(node).wires.complete(line);
        self.forget(id);
        self.grant_bus(node);
    }

    /// The device's transaction `id` needs no more of the bus after its reply.
    pub fn end_device(&mut self, id: EnvelopeId, Transaction { node, line, .. }: Transaction) {
        self.kernel.envelopes.remove(id);
        self.end_bus(node, line);
    }

    /// A transaction on `line` is complete or put off: the next may start.
    pub fn end_bus(&mut self, node: NodeId, line: LineAddr) {
        self.controllers.buses().node(node).wires.complete(line);
        self.grant_bus(node);
    }

    /// A processor's transaction that was put off ends in a bus error. The processor keeps the copy that it has.
    pub fn end_in_bus_error(&mut self, id: EnvelopeId) {
        let Transaction { line, requester, .. } = C::transaction(&self.kernel.envelopes.remove(id).message);
        let Requester::Processor(cpu) = requester else {
            return debug_assert!(false, "a device requests no lines that may be poisoned");
        };
        self.controllers.buses().outstanding[cpu.index()].retain(|request| request.id != id);
        self.bus_error(cpu, line);
    }

    /// A transaction is complete, or cancelled before its grant.
    pub(super) fn forget(&mut self, id: EnvelopeId) {
        let Transaction { line, requester, .. } = C::transaction(&self.kernel.envelopes.remove(id).message);
        let Requester::Processor(cpu) = requester else { return };
        let requests = &mut self.controllers.buses().outstanding[cpu.index()];
        if let Some(place) = requests.iter().position(|request| request.id == id) {
            requests.swap_remove(place);
            self.processor_mut(cpu).release_writeback(line);
            self.wake_writeback(cpu, line);
        }
    }

    /// The outstanding transaction `id` of a processor.
    fn outstanding(&mut self, cpu: CpuId, id: EnvelopeId) -> Option<&mut Outstanding<C::Bus>> {
        self.controllers.buses().outstanding[cpu.index()].iter_mut().find(|request| request.id == id)
    }
}
