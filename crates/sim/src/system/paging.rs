//! Virtual memory over time: page faults and their cost to the processor.

use units::{Bytes, CpuId, Duration, NodeId, PhysicalAddr, VirtualAddr};

use super::{Controller, System};
use crate::SimError;
use crate::kernel::Event;
use crate::os::{Discovery, PagingCounters, Reference};

impl<C: Controller> System<C> {
    /// Maps consecutive virtual pages, each with the node that the program requests, if any.
    ///
    /// # Errors
    /// A requested node does not exist, or has no room left.
    pub fn map(&mut self, planned: &[Option<NodeId>]) -> Result<VirtualAddr, SimError> {
        let nodes = self.network.topology().nodes().len();
        if let Some(node) = planned.iter().flatten().copied().find(|node| node.index() >= nodes) {
            return Err(SimError::NoSuchNode { node, nodes });
        }
        let mapped = self.paging.map(planned, &mut self.memory);
        self.announce_frames();
        let full = |node| SimError::OutOfMemory { node, wanted: self.memory.page(), free: Bytes(0) };
        let start = mapped.map_err(full)?;
        for processor in self.processors.iter_mut().flatten() {
            processor.set_translations(self.paging.known(processor.cpu()).clone());
        }
        Ok(start)
    }

    /// Counts of the operating system's memory management since the start.
    pub fn paging_counters(&self) -> &PagingCounters {
        self.paging.counters()
    }

    /// The physical address of a virtual address, if its page has been placed.
    pub fn place_of(&self, at: VirtualAddr) -> Option<PhysicalAddr> {
        self.paging.frame_of(at)
    }

    /// Allows programs to request page migrations. Returns whether the machine can move pages.
    pub fn let_pages_move(&mut self) -> bool {
        if C::DISCOVERY.is_some() {
            self.paging.let_move();
            for processor in self.processors.iter_mut().flatten() {
                processor.set_translations(self.paging.known(processor.cpu()).clone());
            }
        }
        C::DISCOVERY.is_some()
    }

    /// The processor with the first touch of the page of a virtual address, if it has been touched.
    pub fn toucher_of(&self, at: VirtualAddr) -> Option<CpuId> {
        self.paging.toucher_of(at)
    }

    /// Extends the controllers' directories to newly allocated frames.
    pub fn announce_frames(&mut self) {
        for node in (0..self.network.topology().nodes().len() as u16).map(NodeId) {
            self.controllers.allocated(node, self.memory.within_reach(node).0 / self.line.0);
        }
    }

    /// Handles a processor's page fault, at the processor's own time: provides the translation, and places the page on
    /// its first touch. Returns false if the processor cannot continue.
    pub(super) fn serve_page_fault(&mut self, cpu: CpuId, at: VirtualAddr, writes: bool) -> bool {
        let (now, node) = (self.kernel.now, self.node_of(cpu));
        // Where pages move, translations are dropped at the same times in every mode, so that the same faults trap.
        if self.paging.is_changing() && !self.processor_mut(cpu).begin_trap(at, now) {
            return true;
        }
        match self.paging.refer(self.core_of(cpu), node, at, writes, &mut self.memory) {
            Reference::Known => self.reopen_page_of(at),
            Reference::Untouched => {
                if !self.processor_mut(cpu).begin_trap(at, now) {
                    return true;
                }
                let began_on = self.threads.schedule.as_ref().and_then(|schedule| schedule.scheduler.began_on(cpu));
                let toucher = began_on.map_or(node, |began_on| self.node_of(began_on));
                let Some(cost) = self.paging.first_touch(toucher, at, &mut self.memory) else {
                    self.fail(SimError::MemoryFull { cpu, page: at, at: now });
                    return false;
                };
                self.announce_frames();
                self.paging.note_toucher(at, cpu);
                self.paging.use_placed(self.core_of(cpu), at, writes, &self.memory);
                let processor = self.processor_mut(cpu);
                processor.count_page_fault();
                processor.spend_in_os(now, cost);
            }
            Reference::Wait(transfers) => {
                self.announce_frames();
                transfers.into_iter().for_each(|transfer| self.begin_transfer(transfer));
                return false;
            }
        }
        self.processor_mut(cpu).end_trap();
        true
    }

    /// A page that was only read is stored to: without copies to give up, its frame is used by other nodes again at once.
    fn reopen_page_of(&mut self, at: VirtualAddr) {
        if C::DISCOVERY == Some(Discovery::Poison) {
            self.reopen(self.paging.number(at));
        }
    }

    /// Resumes processors after a transfer that they waited for, with the cost of the trap that waited.
    pub(super) fn end_page_wait(&mut self, cpus: Vec<CpuId>, cost: Duration) {
        let now = self.kernel.now;
        for cpu in cpus {
            self.processor_mut(cpu).spend_in_os(now, cost);
            let time = self.processor_mut(cpu).time();
            self.schedule_processor(cpu, time, Event::Resume(cpu));
        }
    }
}
