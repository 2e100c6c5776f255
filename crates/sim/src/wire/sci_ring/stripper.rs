//! The stripper of a node: packets and echoes that are for it, and the go bits of idles.

use super::link::{Change, Mark};
use super::spec::{NEVER, RingSpec, Slot};
use super::{LinkFault, Outcome, Ring};

impl Ring {
    /// A send packet arrives. Its target takes it; its last symbols become its echo, and the others idles like those
    /// before.
    #[inline]
    pub(super) fn arrive(&mut self, node: usize, id: u32, slot: Slot) {
        let record = self.records.get_mut(id);
        self.nodes[node].flow.arrived[0] += 1;
        if record.packet.to.index() != node {
            let symbols = record.symbols;
            self.pass(node, Mark::packet(slot, Change::Send(id), symbols));
            return;
        }
        let interface = &mut self.nodes[node];
        interface.flow.stripped[0] += 1;
        let admitted = interface.intakes[record.packet.subaction as usize].admit(record.symbols, record.generation);
        record.accepted = admitted.is_ok();
        let (packet, symbols) = (record.packet, Slot::from(record.symbols));
        let statistics = &mut self.statistics.nodes[node];
        match admitted {
            Ok(()) => {
                statistics.accepted += 1;
                self.outcomes.push(Outcome::Delivered { at: self.spec.time(slot + symbols - 1), packet });
            }
            Err(generation) => {
                statistics.busied += 1;
                record.generation = Some(generation);
            }
        }
        let due = slot + symbols - Slot::from(self.spec.sizes.echo);
        interface.echo_due = (due, id);
        if due != slot {
            self.wheel.set(due, node);
        }
    }

    /// The stripper begins the echo of a packet that it has taken.
    pub(super) fn begin_echo(&mut self, node: usize, slot: Slot) {
        let id = std::mem::replace(&mut self.nodes[node].echo_due, (NEVER, 0)).1;
        if self.strikes(LinkFault::LostEcho) {
            return;
        }
        self.nodes[node].flow.inserted[1] += 1;
        self.statistics.nodes[node].inserted += u64::from(self.spec.sizes.echo);
        self.pass(node, Mark::packet(slot, Change::Echo(id), self.spec.sizes.echo));
    }

    /// An echo arrives. The sender of its packet takes it, which leaves idles like those before.
    #[inline]
    pub(super) fn arrive_echo(&mut self, node: usize, id: u32, slot: Slot) {
        let packet = self.records.get(id).packet;
        let interface = &mut self.nodes[node];
        interface.flow.arrived[1] += 1;
        if packet.from.index() != node {
            self.pass(node, Mark::packet(slot, Change::Echo(id), self.spec.sizes.echo));
            return;
        }
        interface.flow.stripped[1] += 1;
        let end = slot + Slot::from(self.spec.sizes.echo);
        interface.echo_ends = (end - 1, id);
        interface.echo_taken = end;
        self.wheel.set(end, node);
        if interface.idles.go_from >= slot {
            // The idles behind it have the go bit unless a stop idle comes.
            interface.idles.go_from = end;
        }
    }

    /// The stripper receives a stop idle behind a packet or behind go idles. In the second case, these extend over it.
    #[inline]
    pub(super) fn stop(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if interface.idles.go_from != slot && interface.echo_taken != slot {
            return;
        }
        if interface.is_busy {
            interface.saved_go = interface.go_before(slot);
            interface.idles.go_from = NEVER;
        } else if interface.idles.pass_stop(slot) {
            self.send_idle(node, slot, Change::Stop);
        }
    }

    /// The stripper receives the first go idle behind stop idles.
    #[inline]
    pub(super) fn go(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if interface.is_busy {
            interface.idles.go_from = interface.idles.go_from.min(slot);
        } else if interface.idles.go(slot) {
            self.send_idle(node, slot, Change::Go);
        }
    }

    /// An echo for this node is complete: its packet is done, or waits for its retransmission.
    pub(super) fn complete_echo(&mut self, node: usize, slot: Slot) {
        self.account(node, slot);
        let (ended, id) = std::mem::replace(&mut self.nodes[node].echo_ends, (NEVER, 0));
        let record = *self.records.get(id);
        let output = &mut self.nodes[node].outputs[record.packet.subaction as usize];
        output.outstanding -= 1;
        if !record.accepted {
            self.records.push(&mut output.busied, id);
            self.nodes[node].waiting += 1;
            return;
        }
        self.records.remove(id);
        let delay = ended - record.entered;
        let on_ring = RingSpec { nodes: self.places[node].length, ..self.spec };
        let unloaded = on_ring.static_slots(record.packet.from, record.packet.to, record.symbols);
        self.statistics.nodes[node].count_round_trip(delay, unloaded);
        let (at, round_trip) = (self.spec.time(ended), self.spec.symbol * delay);
        self.outcomes.push(Outcome::Acknowledged { at, packet: record.packet, round_trip });
    }
}
