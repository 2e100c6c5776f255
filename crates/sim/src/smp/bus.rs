//! The steps of a bus transaction.

use protocol::contract::Bus;
use protocol::{Access, CopyState, ProtocolError, Version};
use units::{CpuId, Duration, LineAddr, NodeId, Time};

use super::{Outstanding, Smp, SmpEvent, Transaction};
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::part::CachedCopy;
use crate::processor::PostKind;
use crate::statistics::Tally;
use crate::system::{Crossing, Served, System};

/// The answers of the participants of a transaction.
struct Snooped<B: Bus> {
    command: B::Command,
    /// Whether data go over the bus.
    data: bool,
    /// The time at which the owner's data are at the bus, if a cache supplies the line.
    owner: Option<Time>,
    /// Caches that have lost their copies.
    invalidated: u16,
}

impl<B: Bus> System<Smp<B>> {
    /// A request is at its processor's pins.
    pub(super) fn on_request(&mut self, id: EnvelopeId) {
        let Transaction { cpu, line } = self.kernel.envelopes.get(id).message;
        // Another cache may have taken over the line that was to be written back.
        if self.outstanding(cpu, id).is_some_and(|request| B::request(&request.cache).is_none()) {
            return self.forget(id);
        }
        self.controllers.bus.request(id, line, self.kernel.now);
        self.grant();
    }

    /// Address phases start as far as the bus permits. Memory starts to read with each of them.
    fn grant(&mut self) {
        while let Some((id, start)) = self.controllers.bus.grant(self.kernel.now) {
            let Transaction { cpu, line } = self.kernel.envelopes.get(id).message;
            let delay = self.random_delay();
            let timing = &self.controllers.timing.bus;
            let (snooped, read) = (start + timing.snoop, start + timing.address);
            let Smp { lines, memories, outstanding, .. } = &mut self.controllers;
            let (memory, number) = lines.memory(line);
            let request = outstanding[cpu.index()].iter_mut().find(|other| other.id == id);
            if let Some(request) = request.filter(|request| B::request(&request.cache).is_some_and(B::reads)) {
                request.read = memories[memory].read(number, read);
            }
            self.schedule(NodeId(0), snooped + delay, SmpEvent::Reply(id));
        }
    }

    /// The combined reply of a transaction is there: all participants have changed their states.
    pub(super) fn on_reply(&mut self, id: EnvelopeId) {
        let Transaction { cpu, line } = self.kernel.envelopes.get(id).message;
        let snooped = match self.snoop(cpu, line) {
            Ok(Some(snooped)) => snooped,
            Ok(None) => return debug_assert!(false, "a granted transaction has a command"),
            Err(error) => return self.fail(error),
        };
        let Snooped { command, data, owner, invalidated } = snooped;
        let Some(&Outstanding { kind, read, .. }) = self.outstanding(cpu, id) else { return };
        self.count(command, invalidated);
        if kind != PostKind::Evict {
            let served = match owner {
                Some(_) => Served::ByOwner(NodeId(0)),
                None if invalidated > 0 => Served::Invalidating,
                None => Served::ByHome,
            };
            self.note_service(cpu, line, NodeId(0), served);
        }
        match (data, owner) {
            (false, _) => self.finish(cpu, id),
            (true, Some(ready)) => self.schedule(NodeId(0), ready, SmpEvent::Data(id)),
            (true, None) => self.schedule(NodeId(0), read.max(self.kernel.now), SmpEvent::Data(id)),
        }
    }

    /// Counts a transaction.
    fn count(&mut self, command: B::Command, invalidated: u16) {
        let Smp { sent, invalidations, .. } = &mut self.controllers;
        let name = B::mnemonic(command);
        match sent.iter_mut().find(|tally| tally.name == name) {
            Some(tally) => tally.count += 1,
            None => sent.push(Tally { name, count: 1, busy: Duration::ZERO }),
        }
        if B::writes(command) {
            invalidations.count(invalidated);
        }
    }

    /// Snoops the transaction of `cpu` on `line` at all participants.
    fn snoop(&mut self, cpu: CpuId, line: LineAddr) -> Result<Option<Snooped<B>>, ProtocolError> {
        let (mut own, _) = self.view(cpu, line);
        let Some(command) = B::request(&own) else { return Ok(None) };
        let (mut reply, mut owner, mut invalidated) = (B::Reply::default(), None, 0);
        for other in (0..self.controllers.outstanding.len() as u16).map(CpuId).filter(|&other| other != cpu) {
            let (mut cache, place) = self.view(other, line);
            if !B::copy(&cache).is_valid() {
                continue;
            }
            let answer = B::snoop(&cache, other, command)?;
            if B::supplies(&answer) {
                owner = Some(self.supply(other, line, place.is_some()));
            }
            reply = B::combine(reply, answer);
            B::observe(&mut cache, other, command)?;
            let gone = !B::copy(&cache).is_valid();
            invalidated += u16::from(gone);
            match gone {
                true => self.processor_mut(other).count_invalidation(line),
                false => self.processor_mut(other).count_intervention(line),
            }
            if !gone || !self.strikes(Fault::KeptCopy) {
                self.put(other, line, cache, place);
            }
        }
        let version = *B::contents(&mut own);
        let stale = !B::reads(command) && !B::writes(command) && self.strikes(Fault::StaleData);
        let written = if stale { Version(version.0.wrapping_sub(1)) } else { version };
        let phase = B::memory(self.controllers.contents.line(line), command, reply, Some(written));
        let (data, memory_write) = (B::on_bus(&phase).is_some(), B::writes_memory(&phase));
        B::complete(&mut own, reply, phase);
        if let Some(request) = self.controllers.outstanding[cpu.index()].iter_mut().find(|request| request.line == line)
        {
            (request.cache, request.memory_write) = (own, memory_write);
        }
        Ok(Some(Snooped { command, data, owner, invalidated }))
    }

    /// The owner's cache is read, unless the line is in its writeback buffer. Returns the time of its data at the bus.
    fn supply(&mut self, owner: CpuId, line: LineAddr, buffered: bool) -> Time {
        let (now, supply) = (self.kernel.now, self.controllers.timing.supply);
        if buffered {
            return now + supply;
        }
        let processor = self.processor_mut(owner);
        let found = processor.snoop(line, now);
        processor.read_out(found) + supply
    }

    /// The data of a transaction are ready: they take the data wires, and the requester's cache or memory takes them.
    pub(super) fn on_data(&mut self, id: EnvelopeId) {
        let Transaction { cpu, line } = self.kernel.envelopes.get(id).message;
        let start = self.controllers.bus.transfer(self.kernel.now);
        let timing = self.controllers.timing;
        let whole = start + timing.line;
        if self.outstanding(cpu, id).is_some_and(|request| request.memory_write) {
            let (memory, number) = self.controllers.memory(line);
            memory.write(number, whole);
        }
        // A writeback has no miss.
        let Some(miss) = self.processor_mut(cpu).miss_on(line) else {
            return self.schedule(NodeId(0), whole, SmpEvent::Complete(id));
        };
        let crossing = Crossing { occupancy: timing.bus.data, seen: timing.critical, line: Some(timing.line) };
        self.settle(cpu, id);
        let filled = self.cross_bus(cpu, miss, start, crossing);
        self.schedule(NodeId(0), filled.max(whole), SmpEvent::Complete(id));
    }

    /// A transaction without data is complete at its requester.
    fn finish(&mut self, cpu: CpuId, id: EnvelopeId) {
        let Transaction { line, .. } = self.kernel.envelopes.get(id).message;
        let end = self.kernel.now + self.controllers.timing.completion;
        if let Some(miss) = self.processor_mut(cpu).miss_on(line) {
            self.settle(cpu, id);
            self.close_at(cpu, miss, end, end);
        }
        self.schedule(NodeId(0), end, SmpEvent::Complete(id));
    }

    /// The processor has the copy that its transaction brought.
    fn settle(&mut self, cpu: CpuId, id: EnvelopeId) {
        let requests = &mut self.controllers.outstanding[cpu.index()];
        let Some(place) = requests.iter().position(|request| request.id == id) else { return };
        let Outstanding { line, mut cache, kind, .. } = requests.swap_remove(place);
        let uncached = kind == PostKind::Request(Access::UncachedRead);
        let state = if uncached { CopyState::INVALID } else { B::copy(&cache) };
        let copy = CachedCopy { state, version: *B::contents(&mut cache) };
        self.processor_mut(cpu).set_copy(line, copy, false);
        self.observe_grant(cpu, line);
    }

    /// A transaction is complete: its table entry is free, and with it the writeback buffer of an evicted line.
    pub(super) fn on_complete(&mut self, id: EnvelopeId) {
        let Transaction { line, .. } = self.kernel.envelopes.get(id).message;
        self.controllers.bus.complete(line);
        self.forget(id);
        self.grant();
    }

    /// A transaction is complete, or cancelled before its grant.
    fn forget(&mut self, id: EnvelopeId) {
        let Transaction { cpu, line } = self.kernel.envelopes.remove(id).message;
        let requests = &mut self.controllers.outstanding[cpu.index()];
        if let Some(place) = requests.iter().position(|request| request.id == id) {
            requests.swap_remove(place);
            self.processor_mut(cpu).release_writeback(line);
            self.wake_writeback(cpu, line);
        }
    }

    fn outstanding(&self, cpu: CpuId, id: EnvelopeId) -> Option<&Outstanding<B>> {
        self.controllers.outstanding[cpu.index()].iter().find(|request| request.id == id)
    }

    /// The protocol's state of `line` at a processor, and its place among the outstanding transactions, if it has one.
    fn view(&mut self, cpu: CpuId, line: LineAddr) -> (B::CacheLine, Option<usize>) {
        let requests = &self.controllers.outstanding[cpu.index()];
        if let Some(place) = requests.iter().position(|request| request.line == line) {
            return (requests[place].cache, Some(place));
        }
        let CachedCopy { state, version } = self.processor_mut(cpu).copy(line);
        (B::held(state, version), None)
    }

    /// Another processor's transaction has changed the state of `line` at a processor. A writeback that this cancels no
    /// longer waits for the bus.
    fn put(&mut self, cpu: CpuId, line: LineAddr, mut cache: B::CacheLine, place: Option<usize>) {
        if let Some(place) = place {
            let request = &mut self.controllers.outstanding[cpu.index()][place];
            request.cache = cache;
            let id = request.id;
            if B::request(&cache).is_none() && self.controllers.bus.withdraw(|waiting| waiting == id) {
                self.forget(id);
            }
        }
        let copy = CachedCopy { state: B::copy(&cache), version: *B::contents(&mut cache) };
        self.processor_mut(cpu).set_copy(line, copy, place.is_some());
        self.wake_spinner(cpu);
    }
}
