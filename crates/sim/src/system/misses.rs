//! The completion of a miss: its value, its line, and the waits for them.

use units::{CpuId, Duration, LineAddr, NodeId, Time};

use super::{Controller, System};
use crate::account::{Distance, Service, Transaction};
use crate::kernel::Event;
use crate::processor::{MissId, Wait};

/// How a home served a request that it did not NACK, for the account of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// By itself.
    ByHome,
    /// By an intervention at the owner on this node.
    ByOwner(NodeId),
    /// By invalidations. Their nodes are not recorded: they count as third nodes.
    Invalidating,
}

/// The crossing of an answer over the bus to its processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Occupancy of the bus.
    pub occupancy: Duration,
    /// From its start to the part that the processor waits for: the critical part of the line, or the completion.
    pub seen: Duration,
    /// The time for the line of data to cross, if there is one.
    pub line: Option<Duration>,
}

impl<C: Controller> System<C> {
    /// The answer to a miss crosses the bus to the processor from `start` on. Returns when the miss is complete.
    pub fn cross_bus(&mut self, cpu: CpuId, miss: MissId, start: Time, crossing: Crossing) -> Time {
        let now = self.kernel.now;
        let processor = self.processor_mut(cpu);
        let seen = start + crossing.seen;
        let value = seen + processor.data_to_value(miss);
        let end = crossing.line.map_or(seen, |line| processor.book_fill(miss, now, start, line)).max(value);
        self.close_at(cpu, miss, value, end);
        end
    }

    /// The value of a miss is available to the processor at `value`, and the end of the line is in its cache at `end`;
    /// a wait for the value ends then.
    #[inline]
    pub fn close_at(&mut self, cpu: CpuId, miss: MissId, value: Time, end: Time) {
        let node = self.node_of(cpu);
        self.processor_mut(cpu).set_value(miss, value);
        self.kernel.schedule(node, end, Event::Filled(cpu, miss));
        self.for_each_thread(cpu, |system, thread| {
            if system.waits(thread) == Some(Wait::value_of(miss)) {
                system.resume_at(thread, value);
            }
        });
    }

    /// Records how the request of `cpu` for a line of `home` was served; the last of several tries counts. No simulated
    /// behaviour depends on it.
    pub fn note_service(&mut self, cpu: CpuId, line: LineAddr, home: NodeId, served: Served) {
        let node = self.node_of(cpu);
        let (third, transaction) = match served {
            Served::ByHome => (false, Transaction::Clean),
            Served::ByOwner(owner) => (owner != node && owner != home, Transaction::Owned),
            Served::Invalidating => (true, Transaction::Invalidating),
        };
        // On a local line the home is not a third node, but an owner on another node is: two hops.
        let distance = Distance::of(home == node, third);
        if let Some(processor) = self.agent_processor(cpu) {
            processor.serve(line, Service { distance, transaction });
        }
    }

    /// A miss is complete, and a wait for it ends.
    #[inline]
    pub(super) fn on_filled(&mut self, cpu: CpuId, id: MissId) {
        let processor = self.processor_mut(cpu);
        if processor.miss(id).is_none() {
            return;
        }
        processor.activate_opener(id);
        if let Err(error) = C::filled(self, cpu, id) {
            return self.fail(error);
        }
        let now = self.kernel.now;
        let processor = self.processor_mut(cpu);
        processor.activate_opener(id);
        if processor.perform_waiting_store(id, now) {
            return self.post_now(cpu);
        }
        self.check_observers();
        let processor = self.processor_mut(cpu);
        processor.activate_opener(id);
        let free = processor.close_miss(id, now);
        if processor.has_posts() {
            self.post_now(cpu);
        }
        if !self.shootdowns.is_drained() {
            self.acknowledge_drained(cpu);
        }
        self.for_each_thread(cpu, |system, thread| system.end_miss_wait(thread, id, free));
    }

    /// Miss `id` is complete, and its miss register free from `free` on: a wait of a hardware thread for that ends.
    #[inline]
    fn end_miss_wait(&mut self, thread: CpuId, id: MissId, free: Time) {
        match self.waits(thread) {
            Some(Wait::AnyMiss) => self.resume_at(thread, free),
            Some(Wait::Miss(awaited)) if awaited.id() == id => self.resume_now(thread),
            Some(Wait::AllMisses) if !self.processor_mut(thread).is_missing() => self.resume_now(thread),
            Some(Wait::Leave) if !self.processor_mut(thread).is_missing() => self.leave(thread),
            _ => {}
        }
    }

    /// All sharers have acknowledged their invalidations for a write of `cpu` that was granted early: a wait for that ends.
    pub fn on_acknowledged(&mut self, cpu: CpuId) {
        let processor = self.processor_mut(cpu);
        processor.end_acknowledgements();
        if processor.is_missing() {
            return;
        }
        match self.waits(cpu) {
            Some(Wait::AllMisses) => self.resume(cpu),
            Some(Wait::Leave) => self.leave(cpu),
            _ => {}
        }
    }

    /// Ends a spin loop whose copy of the line has departed.
    #[inline]
    pub fn wake_spinner(&mut self, cpu: CpuId) {
        let now = self.kernel.now;
        self.for_each_thread(cpu, |system, thread| {
            if let Some(time) = system.processor_mut(thread).take_departure(now) {
                system.resume_at(thread, time.max(now));
                system.looks_again(thread);
            }
        });
    }

    /// A word has changed whose line has been taken away from `cpu`: all spin loops load again.
    pub(super) fn on_published(&mut self, cpu: CpuId) {
        for other in (0..self.hardware_threads()).map(CpuId) {
            if matches!(self.waits(other), Some(Wait::Departure(_) | Wait::Skipping(..))) {
                self.processor_mut(other).look_again();
                self.wake_spinner(self.core_of(other));
            }
        }
        self.resume_at(cpu, self.kernel.now);
    }

    /// Ends a wait for the release of an evicted line, if the controller has released it.
    pub fn wake_writeback(&mut self, cpu: CpuId, line: LineAddr) {
        let free = self.agent_processor(cpu).is_some_and(|processor| !processor.is_writing_back(line));
        if !free {
            return;
        }
        self.for_each_thread(cpu, |system, thread| {
            if system.waits(thread) == Some(Wait::Writeback(line)) {
                system.resume_now(thread);
            }
        });
    }

    /// The request of a processor for `line` is granted, and its access performed: notifies the observers.
    #[inline]
    pub fn observe_grant(&mut self, cpu: CpuId, line: LineAddr) {
        if self.observation.probe.follows_contents() {
            let now = self.kernel.now;
            self.processor_mut(cpu).report_performed(line, now, C::WRITE_PREFETCHES_STORE);
            self.check_observers();
        }
    }

    /// Counts a NACK of a processor's request for `line`.
    pub fn count_nack(&mut self, cpu: CpuId, line: LineAddr) {
        if let Some(processor) = self.agent_processor(cpu) {
            processor.count_nack(line);
        }
        self.check_observers();
    }

    /// Stops the run if an observer has found an error.
    #[inline]
    pub fn check_observers(&mut self) {
        if let Some(error) = self.observation.probe.take_failure() {
            self.fail(error);
        }
    }
}
