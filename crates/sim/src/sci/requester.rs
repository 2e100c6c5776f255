//! A node as requester: misses, lines that leave, and the responses to their requests.

use protocol::contract::{Directory, Started};
use protocol::sci::{CacheWork, MemoryState, Operation, Outcome, Packet, Progress, Protocol, Response};
use protocol::{Access, ProtocolError};
use units::{CpuId, LineAddr};

use super::SciNodes;
use super::event::{Opening, SciEvent};
use super::list::Element;
use crate::fault::Fault;
use crate::kernel::{EnvelopeId, Event};
use crate::processor::{Miss, Post};
use crate::system::{Crossing, Served, System};

impl System<SciNodes> {
    /// A processor misses: its transaction begins after the check of its tags. Until then the line is as it was, for other
    /// caches and for the processor. A store that has waited for the line of a load checks the tags as well.
    pub(super) fn on_miss(&mut self, cpu: CpuId, post: &Post, access: Access) {
        let Some(miss) = self.processor_mut(cpu).miss_on(post.line) else { return };
        let upgrades = post.copy.state.is_valid();
        let checked = self.kernel.now + self.controllers.timing.tag_check;
        let at = if upgrades { post.at.max(checked) } else { post.at };
        self.controllers.lookahead.upgrades += u32::from(upgrades);
        let opening = Opening { miss, access, upgrades };
        self.schedule_processor(cpu, at, Event::Node(SciEvent::Begin(cpu, opening)));
    }

    /// The transaction of a miss begins. It waits while its line leaves its list, or the line that it replaces, if that goes
    /// first.
    pub(super) fn on_begin(&mut self, cpu: CpuId, opening: Opening) {
        let node = self.node_of(cpu);
        let Opening { miss, access, upgrades } = opening;
        self.controllers.lookahead.upgrades -= u32::from(upgrades);
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        if self.must_wait(cpu, line) {
            self.controllers.lookahead.upgrades += u32::from(upgrades);
            return self.controllers.caches[cpu.index()].waiting.push(opening);
        }
        if self.processor_mut(cpu).miss(miss).is_some_and(Miss::goes_around) {
            return self.store_around(cpu, opening, line);
        }
        let mut sent = None;
        let (started, element) = self.handle_line(cpu, line, |element, site| {
            (element.purged, element.supplier) = (0, None);
            Protocol.access(site, &mut element.line, access, &mut |packet| sent = Some(packet))
        });
        self.show(cpu, line, &element, started == Started::Done);
        match sent {
            Some(request) => {
                let id = self.packet(request);
                self.on_send(node, id);
            }
            // The others have left the list meanwhile.
            None => self.complete(cpu, line, Operation::Store, false, &element),
        }
    }

    /// Whether a transaction on `line` waits: while the line leaves its list, or another one that goes first.
    fn must_wait(&self, cpu: CpuId, line: LineAddr) -> bool {
        let SciNodes { caches, rollout_first, .. } = &self.controllers;
        let state = &caches[cpu.index()];
        *rollout_first && state.leaving > 0 || state.element(line).leaves
    }

    /// A store to private data goes around the caches: if no cache has the line, the node's own memory writes the word in the access
    /// that reads the line's tag. A line of another node, or one that a cache has, is requested as for any other store, once the
    /// processor has a place for it.
    fn store_around(&mut self, cpu: CpuId, opening: Opening, line: LineAddr) {
        let (node, now, miss) = (self.node_of(cpu), self.kernel.now, opening.miss);
        let later = now + self.controllers.timing.cycle;
        let SciNodes { memory, nodes, lines, .. } = &mut self.controllers;
        if lines.home(line) != node || memory.line(line).state != MemoryState::Home {
            let at = if self.processor_mut(cpu).go_through(miss, now) { now } else { later };
            self.post_now(cpu);
            return self.schedule_processor(cpu, at, Event::Node(SciEvent::Begin(cpu, opening)));
        }
        let contents = &mut memory.line(line).version;
        *contents = contents.next();
        let (version, (unit, number)) = (*contents, lines.memory(line));
        let written = nodes[node.index()].memories[unit].write_word(number, now);
        nodes[node.index()].count_around();
        self.note_service(cpu, line, node, Served::ByHome);
        self.processor_mut(cpu).store_around(miss, version, now);
        self.check_observers();
        self.close_at(cpu, miss, written, written);
    }

    /// A line has left a processor's caches, and leaves its sharing list. The first request takes an access to the line's tag,
    /// which has its neighbours.
    pub(super) fn on_evict(&mut self, cpu: CpuId, post: &Post) {
        let (node, line) = (self.node_of(cpu), post.line);
        let mut sent = None;
        self.handle_line(cpu, line, |element, site| {
            *element = Element { leaves: true, ..*element };
            element.line.version = post.copy.version;
            Protocol.evict(site, &mut element.line, &mut |packet| sent = Some(packet));
        });
        let Some(request) = sent else {
            return debug_assert!(false, "processor {cpu} evicts {line:?}, which is in no list");
        };
        let request = self.spoiled(request);
        let id = self.packet(request);
        self.controllers.caches[cpu.index()].leaving += 1;
        self.controllers.nodes[node.index()].leaving += 1;
        let at = post.at + self.controllers.timing.tag_check;
        self.schedule_processor(cpu, at, Event::Node(SciEvent::Send(node, id)));
    }

    /// A response reaches the requester, which can always take it.
    pub(super) fn on_response(&mut self, id: EnvelopeId, response: &Response) {
        let now = self.kernel.now;
        self.release_buffer(id, now);
        let node = self.kernel.envelopes.remove(id).to;
        let (cpu, line) = (response.to, response.line);
        let (progress, element) = match self.receive(response) {
            Ok(received) => received,
            Err(error) => return self.fail(error),
        };
        if progress.nacked && !element.leaves {
            self.count_nack(cpu, line);
        }
        if let Some(next) = progress.next {
            if progress.filled
                && let Some(miss) = self.processor_mut(cpu).miss_on(line)
            {
                self.processor_mut(cpu).buffer(miss);
            }
            let from = if progress.nacked { now + self.controllers.timing.retry } else { now };
            let ready = self.processor_mut(cpu).snoop(line, from);
            let next = self.spoiled(Packet::Request(next));
            let id = self.packet(next);
            return self.schedule(node, ready, SciEvent::Send(node, id));
        }
        match progress.outcome {
            Outcome::Completed(Operation::Rollout) => self.left(cpu, line),
            Outcome::Completed(operation) => self.complete(cpu, line, operation, progress.filled, &element),
            Outcome::Waiting => debug_assert!(false, "a transaction without a next request is complete"),
        }
    }

    /// The protocol's part of a response. Returns the line as its transaction has left it.
    fn receive(&mut self, response: &Response) -> Result<(Progress, Element), ProtocolError> {
        let (received, element) = self.handle_line(response.to, response.line, |element, site| {
            let before = element.line;
            let lines = std::slice::from_mut(&mut element.line);
            let work = Protocol.receive(site, lines, &Packet::Response(*response), &mut |_| ())?.work;
            let CacheWork::Received(received) = work else {
                unreachable!("a response is received, and no request served");
            };
            element.purged += u16::from(received.purged);
            let asks_cache = before.outstanding.is_some_and(|outstanding| !outstanding.command.is_for_memory());
            if received.filled && asks_cache {
                element.supplier = before.forward;
            }
            Ok::<_, ProtocolError>(received)
        });
        let progress = received?;
        self.show(response.to, response.line, &element, matches!(progress.outcome, Outcome::Completed(_)));
        Ok((progress, element))
    }

    /// A miss is complete. Data that come with its last response cross to the cache now, earlier ones are in the buffer.
    fn complete(&mut self, cpu: CpuId, line: LineAddr, operation: Operation, filled: bool, element: &Element) {
        let (node, now) = (self.node_of(cpu), self.kernel.now);
        let stores = operation == Operation::Store;
        if stores {
            self.controllers.nodes[node.index()].count_purge(element.purged);
        }
        let served = match (element.supplier, element.purged) {
            (Some(supplier), _) => Served::ByOwner(self.node_of(supplier)),
            (None, 0) => Served::ByHome,
            (None, _) => Served::Invalidating,
        };
        self.note_service(cpu, line, self.controllers.lines.home(line), served);
        self.observe_grant(cpu, line);
        let Some(miss) = self.processor_mut(cpu).miss_on(line) else {
            return debug_assert!(false, "processor {cpu} has asked for {line:?} without a miss");
        };
        let timing = self.controllers.timing;
        let store = if stores { timing.store } else { Default::default() };
        if filled {
            let crossing = Crossing { occupancy: timing.line, seen: timing.line + store, line: Some(timing.line) };
            self.cross_bus(cpu, miss, now, crossing);
        } else {
            let end = self.processor_mut(cpu).unbuffer(miss, now) + store;
            self.close_at(cpu, miss, end, end);
        }
    }

    /// A replaced line has left its list: requests that have waited for it go on.
    fn left(&mut self, cpu: CpuId, line: LineAddr) {
        let (node, now) = (self.node_of(cpu), self.kernel.now);
        self.controllers.caches[cpu.index()].leaving -= 1;
        self.controllers.nodes[node.index()].leaving -= 1;
        let mut number = 0;
        while let Some(&opening) = self.controllers.caches[cpu.index()].waiting.get(number) {
            let wanted = self.processor_mut(cpu).miss(opening.miss).map(|miss| miss.line);
            if wanted.is_some_and(|line| self.must_wait(cpu, line)) {
                number += 1;
                continue;
            }
            self.controllers.caches[cpu.index()].waiting.remove(number);
            self.schedule(node, now, SciEvent::Begin(cpu, opening));
        }
        self.processor_mut(cpu).release_writeback(line);
        self.wake_writeback(cpu, line);
    }

    /// A packet with a planted fault, if it strikes: the line's contents before the last store.
    pub(super) fn spoiled(&mut self, mut packet: Packet) -> Packet {
        if self.observation.planted.is_some()
            && let Some(version) = Protocol::carried(&mut packet)
            && self.observation.planted.as_mut().is_some_and(|planted| planted.strikes(Fault::StaleData))
        {
            version.0 = version.0.wrapping_sub(1);
        }
        packet
    }
}
