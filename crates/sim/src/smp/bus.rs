//! The steps of a bus transaction.

use protocol::snoop::{self, Cache, Command, DataPhase, Moesi, Reply};
use protocol::{ProtocolError, Version};
use units::{CpuId, LineAddr, NodeId, Time};

use super::{Outstanding, Smp, SmpEvent, Transaction};
use crate::fault::Fault;
use crate::processor::CachedCopy;
use crate::system::{Crossing, EnvelopeId, Served, System};

/// What the participants of a transaction have answered.
struct Snooped {
    command: Command,
    phase: DataPhase,
    /// The cache that supplies the line, and the time at which its data are at the bus.
    owner: Option<(CpuId, Time)>,
    /// Caches that have lost their copies.
    invalidated: u16,
}

impl System<Smp> {
    /// A request is at its processor's pins.
    pub(super) fn on_request(&mut self, id: EnvelopeId) {
        let Transaction { cpu, line } = self.envelopes.get(id).message;
        // Another cache may have taken over the line that was to be written back.
        if self.outstanding(cpu, id).is_some_and(|request| request.cache.request.is_none()) {
            return self.forget(id);
        }
        self.controllers.bus.request(id, line, self.now);
        self.grant();
    }

    /// Address phases start as far as the bus permits. Memory starts to read with each of them.
    fn grant(&mut self) {
        while let Some((id, start)) = self.controllers.bus.grant(self.now) {
            let Transaction { cpu, line } = self.envelopes.get(id).message;
            let delay = self.random_delay();
            let Smp { timing, banks, lines, outstanding, .. } = &mut self.controllers;
            let (snooped, read) = (start + timing.bus.snoop, start + timing.bus.address);
            let number = lines.offset(line);
            let request = outstanding[cpu.index()].iter_mut().find(|other| other.id == id);
            if let Some(request) = request.filter(|request| request.reads()) {
                request.read = banks.read(number, read);
            }
            self.schedule(NodeId(0), snooped + delay, SmpEvent::Reply(id));
        }
    }

    /// The combined reply of a transaction is there: all participants have changed their states.
    pub(super) fn on_reply(&mut self, id: EnvelopeId) {
        let Transaction { cpu, line } = self.envelopes.get(id).message;
        let snooped = match self.snoop(cpu, line) {
            Ok(snooped) => snooped,
            Err(error) => return self.fail(error),
        };
        let Snooped { command, phase, owner, invalidated } = snooped;
        self.controllers.sent[command as usize] += 1;
        if matches!(command, Command::ReadExclusive | Command::Upgrade) {
            self.controllers.invalidations.count(invalidated);
        }
        if command != Command::Writeback {
            let served = match owner {
                Some(_) => Served::Asking(NodeId(0)),
                None if invalidated > 0 => Served::Invalidating,
                None => Served::Alone,
            };
            self.note_service(cpu, line, NodeId(0), served);
        }
        let read = self.outstanding(cpu, id).map_or(self.now, |request| request.read);
        match (phase.data, owner) {
            (None, _) => self.finish(cpu, id),
            (Some(_), Some((_, ready))) => self.schedule(NodeId(0), ready, SmpEvent::Data(id)),
            (Some(_), None) => self.schedule(NodeId(0), read.max(self.now), SmpEvent::Data(id)),
        }
    }

    /// Snoops the transaction of `cpu` on `line` at all participants.
    fn snoop(&mut self, cpu: CpuId, line: LineAddr) -> Result<Snooped, ProtocolError> {
        let (mut own, _) = self.view(cpu, line);
        let command = own.request.unwrap_or(Command::Read);
        let (mut reply, mut owner, mut invalidated) = (Reply::default(), None, 0);
        for other in (0..self.controllers.outstanding.len() as u16).map(CpuId).filter(|&other| other != cpu) {
            let (mut cache, place) = self.view(other, line);
            if cache.state == Moesi::Invalid {
                continue;
            }
            let answer = cache.snoop(other, command)?;
            if answer.owner.is_some() {
                owner = Some((other, self.supply(other, line, place.is_some())));
            }
            reply = reply.and(answer);
            cache.observe(other, command)?;
            let gone = cache.state == Moesi::Invalid;
            invalidated += u16::from(gone);
            if gone && self.strikes(Fault::KeptCopy) {
                continue;
            }
            match gone {
                true => self.processor_mut(other).count_invalidation(line),
                false => self.processor_mut(other).count_intervention(line),
            }
            self.put(other, line, cache, place);
        }
        let stale = command == Command::Writeback && self.strikes(Fault::StaleData);
        let written = if stale { Version(own.version.0.wrapping_sub(1)) } else { own.version };
        let memory = self.controllers.contents.line(line);
        let phase = snoop::memory(memory, command, reply, Some(written));
        own.complete(reply, phase);
        if let Some(request) = self.controllers.outstanding[cpu.index()].iter_mut().find(|request| request.line == line)
        {
            (request.cache, request.memory_write) = (own, phase.memory_write);
        }
        Ok(Snooped { command, phase, owner, invalidated })
    }

    /// The owner's cache is read, unless the line is in its writeback buffer. Returns the time of its data at the bus.
    fn supply(&mut self, owner: CpuId, line: LineAddr, buffered: bool) -> Time {
        let (now, supply) = (self.now, self.controllers.timing.supply);
        if buffered {
            return now + supply;
        }
        let processor = self.processor_mut(owner);
        let found = processor.snoop(line, now);
        processor.read_out(found) + supply
    }

    /// The data of a transaction are ready: they take the data wires, and the requester's cache or memory takes them.
    pub(super) fn on_data(&mut self, id: EnvelopeId) {
        let Transaction { cpu, line } = self.envelopes.get(id).message;
        let start = self.controllers.bus.transfer(self.now);
        let timing = self.controllers.timing;
        let whole = start + timing.line;
        if self.outstanding(cpu, id).is_some_and(|request| request.memory_write) {
            let number = self.controllers.lines.offset(line);
            self.controllers.banks.write(number, whole);
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
        let Transaction { line, .. } = self.envelopes.get(id).message;
        let end = self.now + self.controllers.timing.completion;
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
        let Outstanding { line, cache, uncached, .. } = requests.swap_remove(place);
        let state = if uncached { Moesi::Invalid } else { cache.state };
        let copy = CachedCopy { state: state.into(), version: cache.version };
        self.processor_mut(cpu).set_copy(line, copy, false);
        self.observe_grant(cpu, line);
    }

    /// A transaction is complete: its table entry is free, and with it the writeback buffer of an evicted line.
    pub(super) fn on_complete(&mut self, id: EnvelopeId) {
        let Transaction { line, .. } = self.envelopes.get(id).message;
        self.controllers.bus.complete(line);
        self.forget(id);
        self.grant();
    }

    /// A transaction is complete, or cancelled before its grant.
    fn forget(&mut self, id: EnvelopeId) {
        let Transaction { cpu, line } = self.envelopes.remove(id).message;
        let requests = &mut self.controllers.outstanding[cpu.index()];
        if let Some(place) = requests.iter().position(|request| request.id == id) {
            requests.swap_remove(place);
            self.processor_mut(cpu).release_writeback(line);
            self.wake_writeback(cpu, line);
        }
    }

    fn outstanding(&self, cpu: CpuId, id: EnvelopeId) -> Option<&Outstanding> {
        self.controllers.outstanding[cpu.index()].iter().find(|request| request.id == id)
    }

    /// The protocol's state of `line` at a processor, and its place among the outstanding transactions, if it has one.
    fn view(&mut self, cpu: CpuId, line: LineAddr) -> (Cache, Option<usize>) {
        let requests = &self.controllers.outstanding[cpu.index()];
        if let Some(place) = requests.iter().position(|request| request.line == line) {
            return (requests[place].cache, Some(place));
        }
        let CachedCopy { state, version } = self.processor_mut(cpu).copy(line);
        (Cache { state: state.into(), version, request: None }, None)
    }

    /// Another processor's transaction has changed the state of `line` at a processor. A writeback that this cancels no
    /// longer waits for the bus.
    fn put(&mut self, cpu: CpuId, line: LineAddr, cache: Cache, place: Option<usize>) {
        if let Some(place) = place {
            let request = &mut self.controllers.outstanding[cpu.index()][place];
            request.cache = cache;
            let id = request.id;
            if cache.request.is_none() && self.controllers.bus.withdraw(|waiting| waiting == id) {
                self.forget(id);
            }
        }
        let copy = CachedCopy { state: cache.state.into(), version: cache.version };
        self.processor_mut(cpu).set_copy(line, copy, place.is_some());
        self.wake_spinner(cpu);
    }
}
