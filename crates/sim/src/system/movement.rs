//! Pages that move or are copied: the interrupt by the reference counters, the decision, and the end of a transfer (Prestor
//! 2001, 3.2.1, 3.2.2 and 3.3.2).

use units::{CpuId, LineAddr, NodeId, PhysicalAddr};

use super::{Controller, System};
use crate::kernel::{Event, PageEvent};
use crate::map::node_of;
use crate::observe::ContentsEvent;
use crate::os::{Discovery, PageNumber, PageOperation, Transfer};

impl<C: Controller> System<C> {
    /// The counters of the block of a home's memory that begins at `start` interrupt a processor of the home.
    #[cold]
    pub fn raise_interrupt(&mut self, start: PhysicalAddr) {
        let home = node_of(start);
        let interrupted = self.interrupted_processor(home);
        let at = self.kernel.now + self.controllers.interrupt_delay(&self.network, home, self.node_of(interrupted));
        self.kernel.schedule(home, at, Event::Page(PageEvent::Interrupt(interrupted, start)));
    }

    /// An event of the movement of pages occurs.
    pub(super) fn on_page(&mut self, event: PageEvent) {
        match event {
            PageEvent::Interrupt(cpu, at) => self.on_interrupt(cpu, at),
            PageEvent::Shootdown(cpu, number) => self.on_shootdown(cpu, number),
            PageEvent::BusError(cpu, miss) => self.answer_bus_error(cpu, miss),
            PageEvent::Forget(cpu) => self.forget_translations(cpu),
        }
    }

    /// The interrupt by the counters of the block at `at` is at a processor; the operating system decides about its page.
    fn on_interrupt(&mut self, interrupted: CpuId, at: PhysicalAddr) {
        let cost = self.paging.spec().interrupt;
        self.paging.counters_mut().interrupts += 1;
        self.interrupt(interrupted, cost);
        let transfer = match self.controllers.selected(at) {
            Some(PageOperation::Migrate(to)) => self.paging.begin_move(at, to, &mut self.memory),
            Some(PageOperation::Replicate) => self.paging.begin_replication(at),
            None => None,
        };
        let Some(transfer) = transfer else { return };
        self.announce_frames();
        let cost = self.paging.spec().migrate;
        self.interrupt(interrupted, cost);
        self.begin_transfer(transfer);
    }

    /// Every page that has been placed moves to the node that touches it next, if pages may move (Lai and Falsafi 2000, Section 2). The
    /// directive is given on node `from`, and all processors are interrupted for their translations.
    pub(super) fn touch_again(&mut self, from: NodeId) {
        if C::DISCOVERY.is_none() || !self.paging.is_changing() {
            return;
        }
        self.paging.touch_again();
        for cpu in (0..self.processors()).map(CpuId) {
            let node = self.node_of(cpu);
            let at = self.kernel.now + self.controllers.interrupt_delay(&self.network, from, node);
            self.kernel.schedule(node, at, Event::Page(PageEvent::Forget(cpu)));
        }
    }

    /// The interrupt that takes all translations away is at a processor.
    fn forget_translations(&mut self, cpu: CpuId) {
        self.paging.forget_all(cpu);
        self.processor_mut(cpu).drop_translations();
        let cost = self.paging.spec().shootdown;
        self.interrupt(cpu, cost);
    }

    /// The processor that takes interrupts of a node: its first or, if it has none, that of the nearest node.
    fn interrupted_processor(&self, node: NodeId) -> CpuId {
        let topology = self.network.topology();
        if let Some(first) = topology.cpus_of(node).next() {
            return first;
        }
        let distance = |&cpu: &CpuId| (topology.hops(node, self.node_of(cpu)), cpu);
        (0..self.processors()).map(CpuId).min_by_key(distance).unwrap_or(CpuId(0))
    }

    /// Begins a transfer. Where outdated translations are taken away, those of a frame that is given up are taken first.
    pub(super) fn begin_transfer(&mut self, transfer: Transfer) {
        let interrupts = matches!(C::DISCOVERY, Some(Discovery::Shootdown | Discovery::Poison));
        if interrupts && transfer.recalls() {
            self.shoot_down(transfer);
        } else {
            C::transfer(self, transfer, self.kernel.now);
        }
    }

    /// The line that a line of the source frame of a transfer is written to, if the transfer has a target.
    fn target_line(&self, transfer: &Transfer, source: LineAddr) -> Option<LineAddr> {
        let (frames, node) = (&self.memory.map.frames, node_of(transfer.target()?));
        // A copy may be read from another copy, which stands for the same page.
        frames.local_line(node, frames.remote_line(source).unwrap_or(source))
    }

    /// A line of the source frame goes on its way. Returns the line that it is written to, if the transfer has a target.
    pub fn depart(&mut self, transfer: &Transfer, from: LineAddr) -> Option<LineAddr> {
        let to = self.target_line(transfer, from)?;
        self.observation.probe.contents(match transfer.recalls() {
            true => ContentsEvent::Move { from, to },
            false => ContentsEvent::Copy { from, to },
        });
        Some(to)
    }

    /// The first frame of a page is used by other nodes again, if the page is stored to and all copies of it have been given up: its
    /// poison is cleared, by the kernel of its node.
    pub(super) fn reopen(&mut self, page: PageNumber) {
        if let Some(frame) = self.paging.take_reopened(page) {
            C::reopen(self, frame);
            self.raise_interrupt(frame);
        }
    }

    /// A transfer is complete: processors with bus errors on the old frame, or waiting for the new one, go on.
    pub fn end_transfer(&mut self, transfer: Transfer) {
        let memory = &mut self.memory;
        let (waiting, cost) = match transfer {
            Transfer::Move(page, ..) => (self.paging.end_move(page, memory), self.paging.spec().bus_error),
            Transfer::Copy(page, _, to) => (self.paging.end_copy(page, to), self.paging.spec().page_fault),
            Transfer::Purge(page, from) => (self.paging.end_purge(page, from, memory), self.paging.spec().page_fault),
            Transfer::Gather(page, _) => (self.paging.end_change(page), self.paging.spec().page_fault),
        };
        self.reopen(transfer.page());
        if C::DISCOVERY.is_some_and(Discovery::has_bus_errors) {
            self.answer_bus_errors(transfer.page());
        }
        self.end_page_wait(waiting, cost);
    }
}
