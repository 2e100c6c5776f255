//! The stripper of a node: packets and echoes that are for it, and the go bits of idles.

use super::link::{Change, Mark};
use super::spec::{NEVER, RingSpec, Slot};
use super::{LinkFault, Outcome, Ring};

impl Ring {
    /// A send packet arrives at its target, which takes it; its last symbols become its echo, and the others idles like those
    /// before.
    #[inline]
    pub(super) fn arrive(&mut self, node: usize, id: u32, slot: Slot) {
        let record = self.records.get_mut(id);
        let interface = &mut self.nodes[node];
        interface.flow.stripped[0] += u64::from(record.symbols);
        let admitted = interface.intakes[record.packet.subaction as usize].admit(record.symbols, record.generation);
        record.accepted = admitted.is_ok();
        let (packet, symbols) = (record.packet, Slot::from(record.symbols));
        let statistics = &mut self.statistics[node];
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
        if self.strikes(LinkFault::LostEcho) {
            return;
        }
        let echo = self.spec.sizes.echo;
        self.nodes[node].link.push_front(Mark::reply(slot + symbols - Slot::from(echo), id, &packet, echo));
    }

    /// An echo arrives at the sender of its packet, which takes it and leaves idles like those before.
    #[inline]
    pub(super) fn arrive_echo(&mut self, node: usize, mark: &Mark) {
        let interface = &mut self.nodes[node];
        let (slot, symbols) = (mark.slot, Slot::from(mark.symbols()));
        interface.flow.stripped[1] += symbols;
        let end = slot + symbols;
        interface.echo_ends = (end - 1, mark.id());
        interface.echo_taken = end;
        if interface.stream.go_from >= slot {
            // The idles behind it have the go bit unless a stop idle comes.
            interface.stream.go_from = end;
            interface.follow();
        }
    }

    /// The idle in `slot` is behind an echo for this node: go bits do not extend over it, and it may be the first one.
    pub(super) fn end_echo(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        interface.echo_taken = NEVER;
        if let Some(mark) = interface.link.first_held()
            && mark.slot == slot
        {
            interface.link.take();
            let stream = &mut interface.stream;
            let goes_on = if mark.is(Change::Stop) { stream.end_go(slot) } else { stream.go(slot) };
            interface.follow();
            if goes_on {
                self.send(node, Mark::idle(slot, mark.change()));
            }
        }
        let interface = &mut self.nodes[node];
        if interface.stream.go_from == slot && interface.stream.pass_go(slot) {
            interface.follow();
            self.send(node, Mark::idle(slot, Change::Go));
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
            return self.nodes[node].choose(self.spec.transmission);
        }
        self.nodes[node].choose(self.spec.transmission);
        self.records.remove(id);
        let delay = ended - record.entered;
        let on_ring = RingSpec { nodes: self.places[node].length, ..self.spec };
        let unloaded = on_ring.static_slots(record.packet.from, record.packet.to, record.symbols);
        self.statistics[node].count_round_trip(delay, unloaded);
        let (at, round_trip) = (self.spec.time(ended), self.spec.symbol * delay);
        self.outcomes.push(Outcome::Acknowledged { at, packet: record.packet, round_trip });
    }
}
