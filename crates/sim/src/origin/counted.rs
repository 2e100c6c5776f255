//! Exact counts for the counters of a Hub: memory and directory in six modes, and the traffic of its input and output
//! section.

use protocol::origin::{DirectoryState, Geometry, Message, MessageKind};
use units::{Duration, NodeId, Time};

use super::hub::{Hub, HubTiming};
use crate::counters::CounterUnit;

/// Internal micropackets of 64 bits (Prestor 2001, 5.2.2): two for a header (one network packet), 16 for the data of a
/// line.
const HEADER: u64 = 2;
const LINE: u64 = 16;

/// Messages between the crossbar and a Hub's input and output section, which holds the block transfer engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IoTraffic {
    /// Messages to the crossbar, and those among them with data.
    pub sent: (u64, u64),
    /// Messages from the crossbar, and those among them with data.
    pub received: (u64, u64),
}

impl IoTraffic {
    /// A message goes to the crossbar.
    pub fn send(&mut self, data: bool) {
        self.sent = (self.sent.0 + 1, self.sent.1 + u64::from(data));
    }

    /// A message comes from the crossbar.
    pub fn receive(&mut self, data: bool) {
        self.received = (self.received.0 + 1, self.received.1 + u64::from(data));
    }

    /// The count of a mode, in the order of the section's select codes.
    fn mode(&self, mode: usize) -> u64 {
        let all = |(messages, lines): (u64, u64)| messages * HEADER + lines * LINE;
        let data = |(_, lines): (u64, u64)| lines * LINE;
        match mode {
            4 => all(self.sent),
            5 => all(self.received),
            6 => data(self.received),
            7 => data(self.sent),
            8 => all(self.sent) + all(self.received),
            9 => data(self.sent) + data(self.received),
            // Nothing is attached to the XBow.
            _ => 0,
        }
    }
}

impl Hub {
    /// The number of occurrences of each event of a unit's mode before `time`.
    pub fn counted(&self, timing: &HubTiming, unit: CounterUnit, mode: usize, time: Time, exact: &mut [u64]) {
        if unit == CounterUnit::HubIo {
            exact[0] = self.io.mode(mode);
            return;
        }
        exact.copy_from_slice(&match mode {
            0 => self.activity_cycles(timing, time),
            1 => self.outgoing(),
            2 => self.forwarded(),
            3 => self.incoming(),
            4 => self.directory_states(),
            _ => self.local,
        });
    }

    /// Cycles: idle; blocked, always zero because output queues have room for all messages; refresh; directory alone;
    /// memory; other.
    fn activity_cycles(&self, timing: &HubTiming, time: Time) -> [u64; 6] {
        let spent = self.activity.before(&timing.refresh, time);
        let idle = time.since(Time::ZERO) - spent.busy();
        [idle, Duration::ZERO, spent.refresh, spent.directory, spent.memory, Duration::ZERO]
            .map(|spent| spent.0 / timing.cycle.0)
    }

    /// Counts a message at this home, on node `node`, if it is a read or a writeback by a local processor or by the
    /// local block transfer engine.
    #[inline]
    pub fn count_local(&mut self, node: NodeId, geometry: &Geometry, message: &Message) {
        use MessageKind as K;
        let wrote = match message.kind {
            K::Read | K::ReadShared | K::ReadExclusive | K::UncachedRead | K::PoisonRead => false,
            K::Writeback => true,
            _ => return,
        };
        let first = node.0 * geometry.processors_per_node;
        let slot = message.requester.0.wrapping_sub(first);
        if slot < geometry.processors_per_node.min(2) {
            let whose = if self.engine.awaits(message.line) { 2 } else { usize::from(slot) };
            self.local[whose * 2 + usize::from(wrote)] += 1;
        }
    }

    fn sent_of(&self, kinds: &[MessageKind]) -> u64 {
        kinds.iter().map(|&kind| self.sent[kind as usize]).sum()
    }

    fn received_of(&self, kinds: &[MessageKind]) -> u64 {
        kinds.iter().map(|&kind| self.received[kind as usize]).sum()
    }

    /// An invalidation to all sharers counts as one message here; the network interface expands it.
    fn outgoing(&self) -> [u64; 6] {
        use MessageKind as K;
        let backoff = self.sent_of(&[K::BackoffInvalidate, K::BackoffReadShared, K::BackoffReadExclusive]);
        let told = [
            self.sent_of(&[
                K::SharedReply,
                K::ExclusiveReply,
                K::SharedSpeculative,
                K::ExclusiveSpeculative,
                K::UncachedReply,
                K::PoisonReply,
                K::SharedResponse,
                K::ExclusiveResponse,
            ]),
            self.sent_of(&[K::WritebackExclusiveAcknowledge, K::WritebackBusyAcknowledge]),
            self.sent_of(&[K::InterventionShared, K::InterventionExclusive]) + self.invalidating,
            backoff,
            self.sent_of(&[K::Nack]),
        ];
        let expanded = self.sent_of(&[K::Invalidate]);
        let all = self.sent.iter().sum::<u64>() - expanded + self.invalidating;
        let [data, writebacks, interventions, backoffs, refusals] = told;
        [data, writebacks, interventions, backoffs, refusals, all - told.iter().sum::<u64>()]
    }

    fn forwarded(&self) -> [u64; 6] {
        use MessageKind as K;
        let one = |kind| self.sent_of(&[kind]);
        [
            one(K::InterventionShared),
            one(K::InterventionExclusive),
            self.invalidating,
            one(K::BackoffReadShared),
            one(K::BackoffReadExclusive),
            one(K::BackoffInvalidate),
        ]
    }

    fn incoming(&self) -> [u64; 6] {
        use MessageKind as K;
        let reads = self.received_of(&[K::Read, K::ReadShared, K::ReadExclusive, K::UncachedRead, K::PoisonRead]);
        let lines = self.received_of(&[K::Writeback, K::SharingWriteback]);
        let revisions = self.received_of(&[K::Transfer, K::SharingTransfer]);
        let all = self.received.iter().sum::<u64>();
        [reads, lines, revisions, 0, 0, all - reads - lines - revisions]
    }

    fn directory_states(&self) -> [u64; 6] {
        let found = |state: DirectoryState| self.found[state as usize];
        let busy =
            found(DirectoryState::BusyShared) + found(DirectoryState::BusyExclusive) + found(DirectoryState::Wait);
        [
            found(DirectoryState::Unowned),
            found(DirectoryState::Shared),
            self.found_own,
            found(DirectoryState::Exclusive) - self.found_own,
            busy,
            found(DirectoryState::Poisoned),
        ]
    }
}
