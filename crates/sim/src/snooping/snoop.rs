//! The combined reply of a transaction, at which all participants change their states.

use protocol::contract::Bus;
use protocol::{ProtocolError, Version};
use units::{CpuId, LineAddr, NodeId, Time};

use super::OnBus;
use crate::fault::Fault;
use crate::part::CachedCopy;
use crate::system::System;

/// The answers of the caches on a bus.
pub(super) struct Snooped<B: Bus> {
    pub(super) reply: B::Reply,
    /// The time at which the owner's data are at the bus, if a cache supplies the line.
    pub(super) owner: Option<Time>,
    /// Caches that have lost their copies.
    pub(super) invalidated: u16,
}

/// The outcome of a device's transaction.
pub struct Taken {
    /// The contents on the bus, if the transaction reads.
    pub contents: Option<Version>,
    /// The time at which the owner's data are at the bus, if a cache supplies the line.
    pub owner: Option<Time>,
    /// Whether memory takes the data.
    pub memory_write: bool,
}

impl<C: OnBus> System<C> {
    /// The command of a processor's transaction; `None` if it has no request.
    pub fn command(&mut self, cpu: CpuId, line: LineAddr) -> Option<<C::Bus as Bus>::Command> {
        let (own, _) = self.view(cpu, line);
        C::Bus::request(&own)
    }

    /// All caches of `node` but that of `except` answer and observe a transaction; `outside` is the reply of the device.
    pub(super) fn snoop(
        &mut self,
        node: NodeId,
        line: LineAddr,
        except: Option<CpuId>,
        command: <C::Bus as Bus>::Command,
        outside: <C::Bus as Bus>::Reply,
    ) -> Result<Snooped<C::Bus>, ProtocolError> {
        let (mut reply, mut owner, mut invalidated) = (outside, None, 0);
        for number in 0..self.controllers.buses().node(node).processors.len() {
            let other = self.controllers.buses().node(node).processors[number];
            if Some(other) == except {
                continue;
            }
            let (mut cache, place) = self.view(other, line);
            if !C::Bus::copy(&cache).is_valid() {
                continue;
            }
            let answer = C::Bus::snoop(&cache, other, command)?;
            if C::Bus::supplies(&answer) {
                owner = Some(self.supply(other, line, place.is_some()));
            }
            reply = C::Bus::combine(reply, answer);
            C::Bus::observe(&mut cache, other, command)?;
            let gone = !C::Bus::copy(&cache).is_valid();
            invalidated += u16::from(gone);
            match gone {
                true => self.processor_mut(other).count_invalidation(line),
                false => self.processor_mut(other).count_intervention(line),
            }
            if !gone || !self.strikes(Fault::KeptCopy) {
                self.put(other, line, cache, place);
            }
        }
        Ok(Snooped { reply, owner, invalidated })
    }

    /// Performs the transaction of a device with `command`: no participant puts it off.
    ///
    /// # Errors
    /// The transaction cannot occur beside a copy in a correct run.
    pub fn snoop_for_device(
        &mut self,
        node: NodeId,
        line: LineAddr,
        command: <C::Bus as Bus>::Command,
    ) -> Result<Taken, ProtocolError> {
        let Snooped { reply, owner, .. } = self.snoop(node, line, None, command, Default::default())?;
        let phase = C::Bus::memory(self.controllers.contents(node, line), command, reply, None);
        Ok(Taken { contents: C::Bus::on_bus(&phase), owner, memory_write: C::Bus::writes_memory(&phase) })
    }

    /// The copy of a line at a processor, in its cache, in a miss or in its writeback buffer.
    pub fn copy_on_bus(&mut self, cpu: CpuId, line: LineAddr) -> CachedCopy {
        let (mut cache, _) = self.view(cpu, line);
        CachedCopy { state: C::Bus::copy(&cache), version: *C::Bus::contents(&mut cache) }
    }

    /// The owner's cache is read, unless the line is in its writeback buffer. Returns the time of its data at the bus.
    fn supply(&mut self, owner: CpuId, line: LineAddr, buffered: bool) -> Time {
        let (now, supply) = (self.kernel.now, self.controllers.buses().timing.supply);
        if buffered {
            return now + supply;
        }
        let processor = self.processor_mut(owner);
        let found = processor.snoop(line, now);
        processor.read_out(found) + supply
    }

    /// The protocol's state of `line` at a processor, and its place among the outstanding transactions, if it has one.
    pub(super) fn view(&mut self, cpu: CpuId, line: LineAddr) -> (<C::Bus as Bus>::CacheLine, Option<usize>) {
        let requests = &self.controllers.buses().outstanding[cpu.index()];
        if let Some(place) = requests.iter().position(|request| request.line == line) {
            return (requests[place].cache, Some(place));
        }
        let CachedCopy { state, version } = self.processor_mut(cpu).copy(line);
        (C::Bus::held(state, version), None)
    }

    /// Another participant's transaction has changed the state of `line` at a processor. A writeback that this cancels no
    /// longer waits for the bus.
    fn put(&mut self, cpu: CpuId, line: LineAddr, mut cache: <C::Bus as Bus>::CacheLine, place: Option<usize>) {
        if let Some(place) = place {
            let node = self.node_of(cpu);
            let buses = self.controllers.buses();
            let request = &mut buses.outstanding[cpu.index()][place];
            request.cache = cache;
            let id = request.id;
            if C::Bus::request(&cache).is_none() && buses.node(node).wires.withdraw(|waiting| waiting == id) {
                self.forget(id);
            }
        }
        let copy = CachedCopy { state: C::Bus::copy(&cache), version: *C::Bus::contents(&mut cache) };
        self.processor_mut(cpu).set_copy(line, copy, place.is_some());
        self.wake_spinner(cpu);
    }
}
