//! Bus errors on poisoned lines of old frames, by which processors find the new frame of a page (Prestor 2001, 3.2.1,
//! Protocol Optimizations; Lai and Falsafi 2000, Section 3.1).

use units::{CpuId, LineAddr};

use super::{Controller, System};
use crate::kernel::{Event, PageEvent};
use crate::os::{Discovery, PageNumber};
use crate::processor::MissId;

impl<C: Controller> System<C> {
    /// A processor's request for a poisoned line ends in a bus error.
    pub fn bus_error(&mut self, cpu: CpuId, line: LineAddr) {
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
        if self.paging.is_locked(page) {
            return;
        }
        let misses = self.processor(cpu).ungranted(|line| self.page_of(line) == Some(page));
        if !misses.iter().all(|&id| self.processor(cpu).has_trapped(id)) {
            return self.answer_later(cpu, id);
        }
        if self.prepares(cpu, page, &misses) {
            return;
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
        self.paging.tell(cpu, page, &self.memory);
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

    /// Where homes select the pages to copy, a bus error is a fault like any other: the page may have to be copied to the node, or its
    /// copies given up. Returns whether the processor waits for that.
    fn prepares(&mut self, cpu: CpuId, page: PageNumber, misses: &[MissId]) -> bool {
        if C::DISCOVERY != Some(Discovery::Poison) {
            return false;
        }
        let writes = misses.iter().any(|&id| self.processor(cpu).stores(id));
        let transfers = self.paging.prepare(page, self.node_of(cpu), writes, &mut self.memory);
        let waits = !transfers.is_empty();
        if waits {
            self.announce_frames();
            transfers.into_iter().for_each(|transfer| self.begin_transfer(transfer));
        }
        self.reopen(page);
        waits
    }

    /// The new line of a miss whose page has moved.
    fn where_it_is(&self, cpu: CpuId, id: MissId) -> Option<LineAddr> {
        let line = self.processor(cpu).miss(id)?.line;
        let at = self.memory.map.lines.address(line);
        Some(self.paging.moved(cpu, at, &self.memory)?.line(self.line()))
    }

    fn answer_later(&mut self, cpu: CpuId, id: MissId) {
        let (node, at) = (self.node_of(cpu), self.kernel.now + self.controllers.retry_delay());
        self.kernel.schedule(node, at, Event::Page(PageEvent::BusError(cpu, id)));
    }

    /// The page that is, or was, in the frame of a line.
    pub(super) fn page_of(&self, line: LineAddr) -> Option<PageNumber> {
        self.paging.owner(self.memory.map.lines.address(line))
    }
}
