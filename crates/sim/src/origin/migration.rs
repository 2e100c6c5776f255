//! Page migration: the interrupt by the reference counters, the decision, and the bus errors by which processors find
//! the new frame (Prestor 2001, 3.2.1, 3.2.2 and 3.3.2).

use protocol::origin::{Message, MessageKind};
use units::{CpuId, LineAddr, NodeId, PhysicalAddr};

use super::reference_counters::BLOCK_SHIFT;
use super::{HubEvent, Hubs};
use crate::map::address_in;
use crate::os::PageNumber;
use crate::processor::MissId;
use crate::system::System;

impl System<Hubs> {
    /// Counts a processor's request at the home, which may interrupt a processor of the home. Writebacks and the reads
    /// of copy engines do not count as references.
    #[inline]
    pub(super) fn count_reference(&mut self, home: NodeId, message: &Message) {
        use MessageKind as K;
        let wants = matches!(message.kind, K::Read | K::ReadShared | K::ReadExclusive | K::Upgrade | K::UncachedRead);
        if self.controllers.references.is_some() && wants {
            self.count_request(home, message);
        }
    }

    fn count_request(&mut self, home: NodeId, message: &Message) {
        let offset = self.controllers.lines.offset(message.line) * self.line().0;
        let from = self.controllers.geometry.node_of(message.requester);
        let Some(references) = &mut self.controllers.references else { return };
        let Some(block) = references.count(home, offset, from) else { return };
        // The interrupt takes as long as an invalidation to reach the processor.
        let at = self.kernel.now + self.controllers.timing.soonest_invalidation();
        self.schedule(home, at, HubEvent::Interrupt(home, block));
    }

    /// The interrupt is at a processor of the home; the operating system decides about a migration.
    pub(super) fn on_interrupt(&mut self, home: NodeId, block: u32) {
        let interrupted = self.interrupted_processor(home);
        let cost = self.paging.spec().interrupt;
        self.paging.counters_mut().interrupts += 1;
        self.interrupt(interrupted, cost);
        let busiest = self.controllers.references.as_ref().and_then(|counters| counters.busiest(home, block));
        let at = address_in(home, u64::from(block) << BLOCK_SHIFT);
        let Some(transfer) = busiest.and_then(|to| self.paging.begin_move(at, to, &mut self.memory)) else { return };
        self.announce_frames();
        let cost = self.paging.spec().migrate;
        self.interrupt(interrupted, cost);
        self.begin_transfer(transfer);
    }

    /// The processor that takes interrupts of a node: its first or, if it has none, that of the nearest node.
    fn interrupted_processor(&self, node: NodeId) -> CpuId {
        let agent = self.controllers.agent(node);
        if self.is_processor(agent) {
            return agent;
        }
        let topology = self.network.topology();
        let distance = |&cpu: &CpuId| (topology.hops(node, self.node_of(cpu)), cpu);
        (0..self.processors()).map(CpuId).min_by_key(distance).unwrap_or(CpuId(0))
    }

    /// A processor's request for a poisoned line ends in a bus error.
    pub(super) fn bus_error(&mut self, cpu: CpuId, line: LineAddr) {
        let Some(miss) = self.processor_mut(cpu).miss_on(line) else { return };
        self.processor_mut(cpu).trap_miss(miss);
        self.answer_bus_error(cpu, miss);
    }

    /// The transfer of a page is complete: processors with bus errors on its old frame go on.
    pub(super) fn answer_bus_errors(&mut self, page: PageNumber) {
        for cpu in (0..self.processors()).map(CpuId) {
            let misses = self.processor(cpu).ungranted(|line| self.page_of(line) == Some(page));
            let first = misses.into_iter().find(|&id| self.processor(cpu).has_trapped(id));
            if let Some(id) = first {
                self.answer_bus_error(cpu, id);
            }
        }
    }

    /// A processor has trapped on a bus error. It waits while the page is moving, and until all its requests for lines
    /// of the page have come back, because the trap empties its instruction window.
    pub(super) fn answer_bus_error(&mut self, cpu: CpuId, id: MissId) {
        if !self.processor(cpu).has_trapped(id) {
            return;
        }
        let Some(line) = self.processor(cpu).miss(id).map(|miss| miss.line) else { return };
        let Some(page) = self.page_of(line) else { return };
        if self.paging.is_moving(page) {
            return;
        }
        let misses = self.processor(cpu).ungranted(|line| self.page_of(line) == Some(page));
        if !misses.iter().all(|&id| self.processor(cpu).has_trapped(id)) {
            return self.answer_later(cpu, id);
        }
        let now = self.kernel.now;
        let moves = misses.into_iter().filter_map(|id| Some((id, self.where_it_is(cpu, id)?))).collect::<Vec<_>>();
        if !moves.iter().all(|&(id, line)| self.processor(cpu).can_redirect(id, line)) {
            moves.iter().for_each(|&(id, _)| self.processor_mut(cpu).release_slot(id));
            return self.answer_later(cpu, id);
        }
        let cost = self.paging.spec().bus_error;
        self.paging.counters_mut().bus_errors += 1;
        // This page alone is mapped anew: its neighbour may still have a request outstanding at the old frame.
        self.paging.tell(cpu, page);
        let processor = self.processor_mut(cpu);
        processor.spend_in_os(now, cost);
        let mut left = None;
        for (id, line) in moves {
            if !processor.redirect_miss(id, line, now + cost) {
                left = Some(id);
            }
        }
        self.post_now(cpu);
        if let Some(id) = left {
            self.answer_later(cpu, id);
        }
    }

    /// The new line of a miss whose page has moved.
    fn where_it_is(&self, cpu: CpuId, id: MissId) -> Option<LineAddr> {
        let line = self.processor(cpu).miss(id)?.line;
        Some(self.paging.moved(cpu, PhysicalAddr(line.0 * self.line().0))?.line(self.line()))
    }

    fn answer_later(&mut self, cpu: CpuId, id: MissId) {
        let (node, at) = (self.node_of(cpu), self.kernel.now + self.controllers.timing.retry);
        self.schedule(node, at, HubEvent::BusError(cpu, id));
    }

    fn page_of(&self, line: LineAddr) -> Option<PageNumber> {
        self.paging.owner(PhysicalAddr(line.0 * self.line().0))
    }
}
