//! The timing of a node's Hub: system bus, processor interface, memory and directory.

use engine::{Grid, Server};
use machine::description::Description;
use protocol::origin::{DirectoryState, HomeWork, MessageKind};
use units::{Duration, Time};

use super::activity::{Activity, Work};
use super::copy_engine::CopyEngine;
use super::counted::IoTraffic;
use crate::part::Refresh;
use crate::system::BusTiming;
use crate::system::Held;
use crate::{Histogram, NodeStatistics, SimError, Tally};

/// The Hub's part of a machine description, in time instead of cycles.
#[derive(Clone, Debug)]
pub struct HubTiming {
    /// One Hub (and system bus) cycle.
    pub cycle: Duration,
    /// The edges of its clock.
    pub clock: Grid,
    /// The bus between processor and controller.
    pub bus: BusTiming,
    /// From the bus through the processor interface to the crossbar.
    pub interface_out: Duration,
    /// From the crossbar through the processor interface to the bus.
    pub interface_in: Duration,
    /// From an owner's tag check to its answer in the processor interface.
    pub snoop_answer: Duration,
    /// From an owner's tag check to the line at the pins, not counting its read-out.
    pub dirty_answer: Duration,
    /// From one invalidation that a requester sends itself to the next.
    pub backoff_invalidation: Duration,
    /// From a response to the revision that follows it.
    pub revision: Duration,
    /// From the first data that an owner puts on the bus to the message in the processor interface.
    pub supply_seen: Duration,
    /// Occupancy of the processor interface by an invalidation acknowledgement.
    pub acknowledgement: Duration,
    /// From a NACK to the retry.
    pub retry: Duration,
    /// From the completion of a request until its miss register is free.
    pub release: Duration,
    /// Through the crossbar.
    pub crossbar: Duration,
    /// Occupancy of the network interface by a message, in or out.
    pub network_message: Duration,
    /// From the crossbar through the network interface to the link.
    pub network_out: Duration,
    /// From the link through the network interface to the crossbar.
    pub network_in: Duration,
    /// From the start of a memory access to the first data.
    pub memory_data: Duration,
    /// From the start of a memory access to the directory entry.
    pub directory: Duration,
    /// Occupancy of the memory by a line read.
    pub memory_read: Duration,
    /// Occupancy of the memory by a line written.
    pub memory_write: Duration,
    /// Occupancy of the directory by a message that needs no line.
    pub directory_only: Duration,
    /// Refresh of the memory.
    pub refresh: Refresh,
    /// Packets waiting on the request channel at which the home starts to back off.
    pub backoff_packets: u64,
}

impl HubTiming {
    /// The Hub of `description`.
    ///
    /// # Errors
    /// The description has another controller.
    pub fn new(description: &Description) -> Result<Self, SimError> {
        let hub = SimError::table(description.hub.as_ref(), description, "hub")?;
        let sysad = SimError::table(description.sysad.as_ref(), description, "hub")?;
        let memory = &description.memory;
        let cycle = hub.clock.period();
        let cycles = |count: u32| cycle * u64::from(count);
        Ok(Self {
            cycle,
            clock: Grid::new(cycle),
            bus: BusTiming::new(description, sysad, hub.clock),
            interface_out: cycles(hub.pi_request_cycles),
            interface_in: cycles(hub.pi_reply_cycles),
            snoop_answer: cycles(hub.snoop_answer_cycles),
            dirty_answer: cycles(hub.dirty_answer_cycles),
            backoff_invalidation: cycles(hub.backoff_invalidation_cycles),
            revision: cycles(hub.revision_cycles),
            supply_seen: cycles(hub.supply_cycles),
            acknowledgement: cycles(hub.acknowledgement_cycles),
            retry: cycles(hub.retry_cycles),
            release: cycles(hub.release_cycles),
            crossbar: cycles(hub.crossbar_cycles),
            network_message: hub.ni_message,
            network_out: cycles(hub.ni_out_cycles),
            network_in: cycles(hub.ni_in_cycles),
            memory_data: cycles(memory.access_cycles),
            directory: cycles(hub.directory_cycles),
            memory_read: cycles(memory.line_cycles),
            memory_write: cycles(memory.line_write_cycles),
            directory_only: cycles(hub.directory_only_cycles),
            refresh: Refresh::new(memory.refresh_interval, cycles(memory.refresh_cycles)),
            backoff_packets: u64::from(hub.backoff_packets),
        })
    }

    /// From a Hub's crossbar to the bus of its processors.
    pub fn inwards(&self) -> Duration {
        self.crossbar + self.interface_in
    }

    /// The shortest time from a home to the bus of its own node's processors.
    pub fn soonest_invalidation(&self) -> Duration {
        self.directory.min(self.memory_data) + self.inwards()
    }

    /// The shortest time from any event to a message at the bus of other processors, except events of messages that
    /// have reached those processors' Hub. `delivery` is the shortest time from a message's last channel to its node.
    pub fn lookahead(&self, delivery: Option<Duration>) -> Duration {
        let network = delivery.map(|delivery| delivery + self.network_in + self.inwards());
        // The answer to a deferred intervention may go to the owner's neighbour on the same bus.
        let answer = self.snoop_answer.min(self.dirty_answer + self.supply_seen) + self.interface_out + self.inwards();
        network.into_iter().fold(self.soonest_invalidation().min(answer), Duration::min)
    }
}

/// Messages by kind.
pub type MessageCounts = [u64; MessageKind::ALL.len()];

/// Counts of a node's Hub since the start of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HubCounters {
    /// Messages that the home handled.
    pub received: MessageCounts,
    /// Messages that the home sent; an invalidation to all sharers counts once for each of them.
    pub sent: MessageCounts,
    /// Time the system bus was held.
    pub bus_busy: Duration,
    /// Time the memory or the directory was held.
    pub memory_busy: Duration,
    /// Time messages waited for memory or directory.
    pub memory_queued: Duration,
}

/// The moving parts of a node's Hub.
#[derive(Clone, Debug)]
pub struct Hub {
    /// The system bus that the processors share.
    pub bus: Server,
    /// Memory and directory: one message at a time.
    memory: Server,
    /// The part of the processor interface that counts invalidation acknowledgements.
    pub acknowledgements: Server,
    /// The part of the processor interface that sends invalidations in the home's place after a backoff.
    pub backoffs: Server,
    /// The network interface, shared by the messages of both directions.
    pub network: Server,
    /// The block transfer engine, which copies pages.
    pub engine: CopyEngine,
    /// Messages handled by the home.
    pub received: MessageCounts,
    /// Messages sent by the home.
    pub sent: MessageCounts,
    /// Occupancy of memory or directory by messages of each kind.
    busy: [Duration; MessageKind::ALL.len()],
    /// Writes by the number of invalidations that each caused.
    pub invalidations: Histogram,
    /// Requests for lines by the directory state found.
    pub found: [u64; DirectoryState::ALL.len()],
    /// Among those that found the state exclusive, requests of the owner itself.
    pub found_own: u64,
    /// Messages to all sharers of a line, which the network interface expands.
    pub invalidating: u64,
    /// Reads and writebacks of the first local processor, of the second, and of the local block transfer engine.
    pub local: [u64; 6],
    /// Messages of the block transfer engine.
    pub io: IoTraffic,
    /// Busy times of memory and directory.
    pub activity: Activity,
}

impl Hub {
    /// An idle Hub.
    pub fn new() -> Self {
        Self {
            bus: Server::default(),
            memory: Server::default(),
            acknowledgements: Server::default(),
            backoffs: Server::default(),
            network: Server::default(),
            engine: CopyEngine::default(),
            received: [0; MessageKind::ALL.len()],
            sent: [0; MessageKind::ALL.len()],
            busy: [Duration::ZERO; MessageKind::ALL.len()],
            invalidations: Histogram::default(),
            found: [0; DirectoryState::ALL.len()],
            found_own: 0,
            invalidating: 0,
            local: [0; 6],
            io: IoTraffic::default(),
            activity: Activity::default(),
        }
    }

    /// Reserves memory and directory for a message of `kind` with handler result `work`. Returns the start of its
    /// service.
    ///
    /// The memory is read in parallel with the directory for every request that may need data (Prestor 2001, 3.2.1), so
    /// a NACKed read occupies it as long as a served one. Refresh occupies the memory at fixed intervals.
    #[inline]
    pub fn reserve_memory(&mut self, timing: &HubTiming, now: Time, kind: MessageKind, work: &HomeWork) -> Time {
        let occupancy = match kind {
            _ if work.memory_write => timing.memory_write,
            MessageKind::Upgrade | MessageKind::Transfer | MessageKind::SharingTransfer => timing.directory_only,
            _ => timing.memory_read,
        };
        self.busy[kind as usize] += occupancy;
        let ready = now.max(self.memory.free_at());
        let start = self.memory.reserve_from(now, timing.refresh.free(ready), timing.clock, occupancy);
        let (left, work) = match kind {
            _ if work.memory_write => (start + occupancy, Work::Memory),
            MessageKind::Upgrade | MessageKind::Transfer | MessageKind::SharingTransfer => {
                (start + timing.directory.max(occupancy), Work::Directory)
            }
            _ => (start + timing.memory_data + timing.memory_read, Work::Memory),
        };
        self.activity.work(&timing.refresh, now, left, work);
        start
    }

    /// Occupancy of its parts before `time`.
    pub fn held(&self, time: Time) -> Held {
        let memory = self.memory.busy_before(time);
        Held { bus: self.bus.busy_before(time), controller: memory, queued: self.memory.queued(), memory }
    }

    /// The counts so far.
    pub fn counters(&self) -> HubCounters {
        HubCounters {
            received: self.received,
            sent: self.sent,
            bus_busy: self.bus.busy(),
            memory_busy: self.memory.busy(),
            memory_queued: self.memory.queued(),
        }
    }

    /// The counts in the form that all controllers share.
    pub fn statistics(&self) -> NodeStatistics {
        let tally = |kind: MessageKind, count: u64, busy| Tally { name: kind.mnemonic(), count, busy };
        let kinds = || MessageKind::ALL.iter().copied();
        let handler = |kind| tally(kind, self.received[kind as usize], self.busy[kind as usize]);
        let message = |kind| tally(kind, self.sent[kind as usize], Duration::ZERO);
        NodeStatistics {
            busy: self.memory.busy(),
            queued: self.memory.queued(),
            bus_busy: self.bus.busy(),
            memory_busy: self.memory.busy(),
            handlers: kinds().map(handler).filter(|tally| tally.count > 0).collect(),
            sent: kinds().map(message).filter(|tally| tally.count > 0).collect(),
            invalidations: self.invalidations.clone(),
            reclamations: 0,
            instruction_cache: None,
            data_cache: None,
            remote_access_cache: None,
            pages: None,
            link: None,
            switch: None,
        }
    }
}
