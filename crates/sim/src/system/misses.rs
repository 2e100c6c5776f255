//! The end of a miss: its value, its line, and whoever waited for them.

use units::{CpuId, LineAddr, Time};

use super::{Controller, Event, System};
use crate::processor::{MissId, Wait};

impl<C: Controller> System<C> {
    /// The value of a miss will be at the processor at `value`, the end of the line in its cache at `end`: whoever waits
    /// for the value goes on then.
    #[inline]
    pub fn close_at(&mut self, cpu: CpuId, miss: MissId, value: Time, end: Time) {
        let node = self.node_of(cpu);
        self.processor_mut(cpu).set_value(miss, value);
        self.schedule_common(node, end, Event::Filled(cpu, miss));
        if self.waits(cpu) == Some(Wait::Value(miss)) {
            self.resume_at(cpu, value);
        }
    }

    /// A miss is over, and whoever waits goes on.
    #[inline]
    pub(super) fn on_filled(&mut self, cpu: CpuId, id: MissId) {
        if self.processor_mut(cpu).miss(id).is_none() {
            return;
        }
        if let Err(error) = C::filled(self, cpu, id) {
            return self.fail(error);
        }
        let now = self.now;
        if self.processor_mut(cpu).perform_waiting_store(id, now) {
            return self.post_now(cpu);
        }
        self.heed_observer();
        let processor = self.processor_mut(cpu);
        let free = processor.close_miss(id, now);
        let missing = processor.is_missing();
        match self.waits(cpu) {
            Some(Wait::AnyMiss) => self.resume_at(cpu, free),
            Some(Wait::Miss(other)) if other == id => self.resume(cpu),
            Some(Wait::AllMisses) if !missing => self.resume(cpu),
            _ => {}
        }
    }

    /// Whoever waits for the controller to let go of a line that had left the processor's caches goes on, if it has.
    pub fn wake_writeback(&mut self, cpu: CpuId, line: LineAddr) {
        let free = !self.processor_mut(cpu).is_writing_back(line);
        if free && self.waits(cpu) == Some(Wait::Writeback(line)) {
            self.resume(cpu);
        }
    }

    /// The request of a processor for `line` has been granted, and what it was for is performed: an observer is told.
    #[inline]
    pub fn observe_grant(&mut self, cpu: CpuId, line: LineAddr) {
        if self.observer.is_some() {
            let now = self.now;
            self.processor_mut(cpu).observe_grant(line, now);
            self.heed_observer();
        }
    }

    /// The request of a processor for `line` has been refused.
    pub fn count_refusal(&mut self, cpu: CpuId, line: LineAddr) {
        self.processor_mut(cpu).count_refusal(line);
        self.heed_observer();
    }

    /// Stops if the observer has seen a fault.
    #[inline]
    pub fn heed_observer(&mut self) {
        if let Some(observer) = &self.observer {
            let fault = observer.borrow_mut().take_fault();
            if let Some(fault) = fault {
                self.fail(fault);
            }
        }
    }
}
