//! A node as target: its memory, and its cache as an element of others' lists.

use protocol::contract::{CacheSite, Directory, Handled};
use protocol::sci::{CacheWork, Command, Packet, Protocol, Request, ServeWork};
use protocol::{Agent, ProtocolError};
use units::{CpuId, NodeId, Time};

use super::SciNodes;
use super::event::SciEvent;
use super::list::Element;
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::system::System;

impl System<SciNodes> {
    /// A request reaches memory. It keeps its place in the input buffer until its response is ready.
    pub(super) fn on_memory(&mut self, id: EnvelopeId) {
        let (message, node) = {
            let envelope = self.kernel.envelopes.get(id);
            (envelope.message, envelope.to)
        };
        let line = Protocol::line(&message);
        let SciNodes { memory, nodes, lines, .. } = &mut self.controllers;
        let mut sent = None;
        let handled = Protocol.home(memory.line(line), &mut (), &message, false, &mut |packet| sent = Some(packet));
        let (work, response) = match (handled, sent) {
            (Ok(Handled::Done(work)), Some(response)) => (work, response),
            (Ok(_), _) => return debug_assert!(false, "memory responds to every request"),
            (Err(error), _) => return self.fail(error),
        };
        let ((memory, number), now) = (lines.memory(line), self.kernel.now);
        let banks = &mut nodes[node.index()].memories[memory];
        let ready = match (work.data_read, work.data_write) {
            (true, _) => banks.read_whole(number, now),
            (false, true) => {
                let found = banks.look_up(number, now);
                banks.write(number, found)
            }
            (false, false) => banks.look_up(number, now),
        };
        self.respond(node, id, ready, response);
    }

    /// A request for the cache checks its tags.
    pub(super) fn on_probe(&mut self, id: EnvelopeId, cpu: CpuId, request: &Request) {
        let (now, node) = (self.kernel.now, self.kernel.envelopes.get(id).to);
        let checked = self.processor_mut(cpu).snoop(request.line, now);
        self.schedule(node, checked, SciEvent::Serve(id));
    }

    /// The cache serves a request of another one. A line that is still coming in is waited for.
    pub(super) fn on_serve(&mut self, id: EnvelopeId) {
        let (message, node) = {
            let envelope = self.kernel.envelopes.get(id);
            (envelope.message, envelope.to)
        };
        let Packet::Request(request @ Request { to: Agent::Processor(cpu), .. }) = message else {
            return debug_assert!(false, "caches serve requests");
        };
        let (line, now) = (request.line, self.kernel.now);
        let processor = self.processor_mut(cpu);
        if processor.miss_on(line).and_then(|miss| processor.miss(miss)).is_some_and(|miss| miss.is_granted()) {
            let again = now + self.controllers.timing.cycle;
            return self.schedule(node, again, SciEvent::Serve(id));
        }
        let (work, response) = match self.serve(cpu, &request) {
            Ok(served) => served,
            Err(error) => return self.fail(error),
        };
        let purges = matches!(request.command, Command::FreshInvalid | Command::ValidInvalid) && !work.nacked;
        match (purges, work.data_read) {
            (true, _) => self.processor_mut(cpu).count_invalidation(line),
            (false, true) => self.processor_mut(cpu).count_intervention(line),
            (false, false) => {}
        }
        if purges && self.observation.planted.is_some() && self.strikes(Fault::LostAcknowledgement) {
            self.release_buffer(id, now);
            self.kernel.envelopes.remove(id);
            return;
        }
        let ready = if work.data_read { self.processor_mut(cpu).read_out(now) } else { now };
        let response = self.spoiled(response);
        self.respond(node, id, ready, response);
    }

    /// The protocol's part of a request of another cache.
    fn serve(&mut self, cpu: CpuId, request: &Request) -> Result<(ServeWork, Packet), ProtocolError> {
        let mut sent = None;
        let handler = |element: &mut Element, site: &CacheSite| {
            let lines = std::slice::from_mut(&mut element.line);
            Protocol.receive(site, lines, &Packet::Request(*request), &mut |packet| sent = Some(packet))
        };
        let (progress, element) = self.handle_line(cpu, request.line, handler);
        let keeps = self.observation.planted.is_some()
            && matches!(request.command, Command::FreshInvalid | Command::ValidInvalid)
            && self.strikes(Fault::KeptCopy);
        if !keeps {
            self.show(cpu, request.line, &element, false);
        }
        match (progress?.work, sent) {
            (CacheWork::Served(work), Some(response)) => Ok((work, response)),
            _ => Err(ProtocolError {
                at: Agent::Processor(cpu),
                message: request.command.mnemonic(),
                state: element.line.state.mnemonic(),
                reason: "a cache responds to every request",
            }),
        }
    }

    /// The response to request `id` is ready to leave `node` at `ready`. The request gives up its place.
    fn respond(&mut self, node: NodeId, id: EnvelopeId, ready: Time, response: Packet) {
        self.release_buffer(id, ready);
        self.kernel.envelopes.remove(id);
        let id = self.packet(response);
        self.schedule(node, ready, SciEvent::Send(node, id));
    }
}
