//! Shootdowns: the kernel interrupts processors that may have a translation to a frame, before the frame is given up: all of them in
//! systems without poisoned lines, those of the frame's own node in systems with them (Lai and Falsafi 2000, Sections 3.1 and 4.2).
//!
//! The interrupt takes the processor's translation and its TLB entry away. A miss on the frame that the processor has
//! outstanding is completed first, because its line would be filled into the cache after the page has gone.

use units::{CpuId, PhysicalAddr, Time};

use super::{Controller, System};
use crate::fault::Fault;
use crate::kernel::{Event, PageEvent};
use crate::map::node_of;
use crate::os::Transfer;

/// A shootdown under way.
#[derive(Clone, Copy, Debug)]
struct Shootdown {
    /// The transfer that follows it.
    transfer: Transfer,
    /// Processors that have not acknowledged.
    left: usize,
    /// The time at which the handlers of those that have are done.
    done: Time,
}

/// The shootdowns under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Shootdowns {
    /// By number.
    places: Vec<Option<Shootdown>>,
    /// Processors with outstanding misses on the frame of a shootdown, by its number.
    draining: Vec<(CpuId, u32)>,
}

impl Shootdowns {
    fn insert(&mut self, shootdown: Shootdown) -> u32 {
        let free = self.places.iter().position(Option::is_none).unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[free] = Some(shootdown);
        free as u32
    }

    fn frame(&self, number: u32) -> Option<PhysicalAddr> {
        self.places[number as usize].map(|shootdown| shootdown.transfer.source())
    }

    /// Whether no processor has misses to complete.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        self.draining.is_empty()
    }
}

impl<C: Controller> System<C> {
    /// Takes away all translations to the frame that a transfer gives up, and then begins with the transfer.
    pub(super) fn shoot_down(&mut self, transfer: Transfer) {
        let (frame, now) = (transfer.source(), self.kernel.now);
        let holders = self.paging.take_holders(frame);
        if holders.is_empty() {
            return C::transfer(self, transfer, now);
        }
        let number = self.shootdowns.insert(Shootdown { transfer, left: holders.len(), done: now });
        for cpu in holders {
            let node = self.node_of(cpu);
            let at = now + self.controllers.interrupt_delay(&self.network, node_of(frame), node);
            self.kernel.schedule(node, at, Event::Page(PageEvent::Shootdown(cpu, number)));
        }
    }

    /// The interrupt of a shootdown is at a processor.
    pub(super) fn on_shootdown(&mut self, cpu: CpuId, number: u32) {
        let Some(shootdown) = self.shootdowns.places[number as usize] else { return };
        let page = shootdown.transfer.page();
        if !self.strikes(Fault::StaleTranslation) {
            self.paging.forget(cpu, page);
            let at = self.paging.start(page);
            self.processor_mut(cpu).drop_translation(at);
        }
        let cost = self.paging.spec().shootdown;
        self.paging.counters_mut().shootdowns += 1;
        self.interrupt(cpu, cost);
        if let Some(shootdown) = &mut self.shootdowns.places[number as usize] {
            shootdown.done = shootdown.done.max(self.kernel.now + cost);
        }
        self.shootdowns.draining.push((cpu, number));
        self.acknowledge_drained(cpu);
    }

    /// A processor acknowledges the shootdowns on whose frames it has no misses outstanding. The last one to acknowledge begins
    /// the transfer.
    pub(super) fn acknowledge_drained(&mut self, cpu: CpuId) {
        let page = self.paging.page();
        let mut index = 0;
        while let Some(&(other, number)) = self.shootdowns.draining.get(index) {
            let frame = self.shootdowns.frame(number).map(|frame| frame.page(page));
            let lines = self.memory.map.lines;
            let misses = |line| Some(lines.address(line).page(page)) == frame;
            if other != cpu || self.processor(cpu).has_miss(misses) {
                index += 1;
                continue;
            }
            self.shootdowns.draining.swap_remove(index);
            self.acknowledge(number);
        }
    }

    fn acknowledge(&mut self, number: u32) {
        let Some(shootdown) = &mut self.shootdowns.places[number as usize] else { return };
        shootdown.left -= 1;
        let Shootdown { transfer, left, done } = *shootdown;
        if left == 0 {
            self.shootdowns.places[number as usize] = None;
            C::transfer(self, transfer, done.max(self.kernel.now));
        }
    }
}
