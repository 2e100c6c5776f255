//! The link interface of a node: output buffers, stripper, bypass FIFO and multiplexor, slot by slot where something changes.

use super::intake::Intake;
use super::link::Change;
use super::packet::{List, Subaction};
use super::spec::{NEVER, PassTransmission, RingSpec, Slot};
use super::{LinkFault, Outcome, Ring};

/// The output side of one subaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// Packets in the output buffer.
    pub(super) fresh: List,
    /// Copies in active buffers whose echoes told that the target was busy.
    pub(super) busied: List,
    /// Free symbols of the output buffer.
    pub(super) free: u32,
    /// Packets on the ring.
    pub(super) outstanding: u32,
    /// Whether a packet found no space since the last one left.
    pub(super) has_refused: bool,
}

/// Packets that have come and gone since the start of the run.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Flow {
    /// Arrived by the link: sends, echoes.
    pub(super) arrived: [u64; 2],
    /// Taken by the stripper.
    pub(super) stripped: [u64; 2],
    /// Sends of the node's own, echoes that it has made.
    pub(super) inserted: [u64; 2],
    /// Sent on the outgoing link.
    pub(super) sent: [u64; 2],
}

/// The state of a node's link interface.
///
/// Times stand for symbols. What the stripper passes on is idles with the go bit from `input_go` on, until the next packet.
/// The multiplexor either passes that on, so that a packet takes no time, or is busy: it sends a packet of the node's own, then
/// the contents of the bypass FIFO. Its link is then taken without a break, an idle behind every packet, until `free_at`; a
/// packet that comes meanwhile leaves at `free_at`, and each idle that the FIFO need not keep brings the two times a symbol
/// nearer. These times replace the FIFO's contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    /// The slot from which the idles that the stripper passes on carry the go bit.
    input_go: Slot,
    /// The slot after the end of an echo that the stripper took.
    echo_taken: Slot,
    /// The slot in which the stripper begins an echo, and its packet.
    echo_due: (Slot, u32),
    /// The slot of the last symbol of an echo for this node, and its packet.
    echo_ends: (Slot, u32),
    /// The first slot in which the node may transmit, if the multiplexor passes symbols on: after a go idle.
    may_start: Slot,
    /// Whether the multiplexor is busy with a packet of the node's own or with the bypass FIFO (recovery).
    is_busy: bool,
    /// The slot in which the present transmission began.
    busy_from: Slot,
    /// The slot in which the next packet from the bypass FIFO can begin.
    free_at: Slot,
    /// Whether a go bit has come in since `busy_from`.
    saved_go: bool,
    /// The slot in which the first packet entered the bypass FIFO, since it was last empty.
    bypass_from: Slot,
    /// The subaction of the last packet transmitted.
    last: Subaction,
    pub(super) outputs: [Output; 2],
    pub(super) intakes: [Intake; 2],
    pub(super) flow: Flow,
}

impl Interface {
    pub(super) fn new(spec: &RingSpec) -> Self {
        let output = Output {
            fresh: List::EMPTY,
            busied: List::EMPTY,
            free: spec.buffers.output,
            outstanding: 0,
            has_refused: false,
        };
        Self {
            input_go: 0,
            echo_taken: NEVER,
            echo_due: (NEVER, 0),
            echo_ends: (NEVER, 0),
            may_start: 0,
            is_busy: false,
            busy_from: 0,
            free_at: 0,
            saved_go: false,
            bypass_from: NEVER,
            last: Subaction::Response,
            outputs: [output; 2],
            intakes: [Intake::new(spec.buffers.input); 2],
            flow: Flow::default(),
        }
    }

    /// The subaction whose turn it is among those with a packet that may be sent. Requests and responses take turns, and
    /// retransmissions precede new packets.
    #[inline]
    fn choose(&self, transmission: PassTransmission) -> Option<Subaction> {
        let [requests, responses] = &self.outputs;
        let all = requests.outstanding + responses.outstanding;
        let can = |subaction: Subaction| {
            let output = &self.outputs[subaction as usize];
            let outstanding = if transmission == PassTransmission::One { all } else { output.outstanding };
            outstanding < transmission.of_each() && !(output.busied.is_empty() && output.fresh.is_empty())
        };
        [self.last.other(), self.last].into_iter().find(|&subaction| can(subaction))
    }

    /// Whether the idles of the input in the busy time, up to and without `slot`, contain a go bit. The idles before the last
    /// packet are in `saved_go`.
    #[inline]
    fn go_before(&self, slot: Slot) -> bool {
        self.saved_go || self.input_go.max(self.busy_from) < slot
    }

    /// Echoes that are in the stripper: to be made, and taken but not yet complete.
    pub(super) fn echoes_inside(&self) -> [u64; 2] {
        [self.echo_due, self.echo_ends].map(|(slot, _)| u64::from(slot != NEVER))
    }
}

impl Ring {
    /// Everything that `node` does in `slot`. The order is that of the hardware: a decision to transmit rests on the slots
    /// before, and the multiplexor knows the symbol that comes in.
    pub(super) fn step(&mut self, node: usize, slot: Slot) {
        if self.nodes[node].echo_ends.0 < slot {
            self.complete_echo(node);
        }
        self.start(node, slot);
        match self.links[node].take(slot) {
            None => {}
            Some(Change::Send(id)) => self.arrive(node, id, slot),
            Some(Change::Echo(id)) => self.arrive_echo(node, id, slot),
            Some(Change::Stop) => self.stop(node, slot),
            Some(Change::Go) => self.go(node, slot),
        }
        if self.nodes[node].echo_due.0 == slot {
            self.begin_echo(node, slot);
        }
        if self.nodes[node].echo_taken == slot {
            self.nodes[node].echo_taken = NEVER;
            if self.nodes[node].input_go == slot {
                self.pass_go(node, slot);
            }
        }
        self.plan(node, slot);
    }

    /// Ends a busy time that ends with `slot`, and asks for the next slot in which the multiplexor has something to decide.
    #[inline]
    fn plan(&mut self, node: usize, slot: Slot) {
        let transmission = self.spec.transmission;
        let interface = &mut self.nodes[node];
        if interface.is_busy {
            if interface.free_at != slot + 1 {
                self.wheel.set(interface.free_at - 1, node);
                return;
            }
            self.end_busy(node, slot);
        }
        let interface = &self.nodes[node];
        if interface.may_start != NEVER && interface.choose(transmission).is_some() {
            self.wheel.set(interface.may_start.max(slot + 1), node);
        }
    }

    /// Starts to transmit a packet, if there is one that may be sent and the last symbol was a go idle.
    #[inline]
    fn start(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if interface.is_busy || interface.may_start > slot {
            return;
        }
        let Some(subaction) = interface.choose(self.spec.transmission) else { return };
        interface.last = subaction;
        let output = &mut interface.outputs[subaction as usize];
        output.outstanding += 1;
        let retransmitted = self.records.pop(&mut output.busied);
        let id = retransmitted.or_else(|| self.records.pop(&mut output.fresh)).expect("a packet was chosen");
        let record = *self.records.get(id);
        if retransmitted.is_none() {
            output.free += record.symbols;
            if std::mem::take(&mut output.has_refused) {
                self.outcomes.push(Outcome::Space { at: self.spec.time(slot), node: record.packet.from, subaction });
            }
        }
        interface.is_busy = true;
        interface.busy_from = slot;
        interface.free_at = slot + Slot::from(record.symbols) + 1;
        interface.saved_go = false;
        interface.flow.inserted[0] += 1;
        self.statistics.nodes[node].count_transmission(
            &record.packet,
            record.symbols,
            &self.spec,
            retransmitted.is_none(),
        );
        self.send(node, slot, Change::Send(id));
    }

    /// The multiplexor of `node` sends the first symbol of `change` in `slot`.
    #[inline]
    fn send(&mut self, node: usize, slot: Slot, change: Change) {
        let next = if node + 1 == self.nodes.len() { 0 } else { node + 1 };
        let flow = &mut self.nodes[node].flow;
        match change {
            Change::Send(_) => flow.sent[0] += 1,
            Change::Echo(_) => flow.sent[1] += 1,
            Change::Stop | Change::Go => {}
        }
        #[cfg(test)]
        self.record(node, slot, change);
        self.links[next].push(slot + self.hop, change);
        self.wheel.set(slot + self.hop, next);
    }

    /// A send packet arrives. Its target takes it; its last symbols become its echo, and the others idles like those before.
    #[inline]
    fn arrive(&mut self, node: usize, id: u32, slot: Slot) {
        let record = self.records.get_mut(id);
        self.nodes[node].flow.arrived[0] += 1;
        if record.packet.to.index() != node {
            let (symbols, subaction) = (record.symbols, record.packet.subaction);
            self.statistics.nodes[node].count_symbols(subaction, symbols, false);
            self.pass(node, slot, symbols, Change::Send(id));
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
    fn begin_echo(&mut self, node: usize, slot: Slot) {
        let id = std::mem::replace(&mut self.nodes[node].echo_due, (NEVER, 0)).1;
        if self.strikes(LinkFault::LostEcho) {
            return;
        }
        self.nodes[node].flow.inserted[1] += 1;
        self.pass_echo(node, id, slot);
    }

    #[inline]
    fn pass_echo(&mut self, node: usize, id: u32, slot: Slot) {
        let subaction = self.records.get(id).packet.subaction;
        let symbols = self.spec.sizes.echo;
        self.statistics.nodes[node].count_symbols(subaction, symbols, true);
        self.pass(node, slot, symbols, Change::Echo(id));
    }

    /// An echo arrives. The sender of its packet takes it, which leaves idles like those before.
    #[inline]
    fn arrive_echo(&mut self, node: usize, id: u32, slot: Slot) {
        let packet = self.records.get(id).packet;
        let interface = &mut self.nodes[node];
        interface.flow.arrived[1] += 1;
        if packet.from.index() != node {
            self.pass_echo(node, id, slot);
            return;
        }
        interface.flow.stripped[1] += 1;
        let end = slot + Slot::from(self.spec.sizes.echo);
        interface.echo_ends = (end - 1, id);
        interface.echo_taken = end;
        self.wheel.set(end, node);
        if interface.input_go >= slot {
            // Unless the link tells otherwise, the idles behind it have the go bit.
            interface.input_go = end;
        }
    }

    /// A packet leaves the stripper for the multiplexor: at once onto the link, or into the bypass FIFO.
    #[inline]
    fn pass(&mut self, node: usize, slot: Slot, symbols: u32, change: Change) {
        let symbols = Slot::from(symbols);
        let interface = &mut self.nodes[node];
        if !interface.is_busy {
            interface.input_go = slot + symbols;
            interface.may_start = slot + symbols + 1;
            self.send(node, slot, change);
            return;
        }
        interface.saved_go = interface.go_before(slot);
        interface.input_go = slot + symbols;
        interface.bypass_from = interface.bypass_from.min(slot);
        let leaves = interface.free_at;
        debug_assert!(
            leaves > slot && leaves - slot <= Slot::from(self.spec.buffers.bypass),
            "the bypass FIFO has space"
        );
        let statistics = &mut self.statistics.nodes[node];
        statistics.bypassed += 1;
        statistics.bypass_occupancy += symbols * (leaves - slot);
        interface.free_at = leaves + symbols + 1;
        self.send(node, leaves - 1, Change::Stop);
        if self.strikes(LinkFault::DroppedInBypass) {
            return;
        }
        self.send(node, leaves, change);
    }

    /// The stripper sees a stop idle behind a packet or behind go idles. In the second case, these extend over it.
    #[inline]
    fn stop(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if interface.input_go != slot && interface.echo_taken != slot {
            return;
        }
        if interface.is_busy {
            interface.saved_go = interface.go_before(slot);
        } else if interface.may_start <= slot + 1 {
            interface.may_start = NEVER;
            self.send(node, slot, Change::Stop);
        }
        self.nodes[node].input_go = NEVER;
    }

    /// The stripper sees the first go idle behind stop idles.
    #[inline]
    fn go(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if interface.input_go > slot {
            interface.input_go = slot;
            self.pass_go(node, slot);
        }
    }

    /// The idles of the input carry the go bit from `slot` on, and so do those of the output if the multiplexor passes them on.
    #[inline]
    fn pass_go(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if !interface.is_busy && interface.may_start > slot + 1 {
            interface.may_start = slot + 1;
            self.send(node, slot, Change::Go);
        }
    }

    /// The idle in `slot` is the last symbol of a busy time. It carries the go bit if one has come in meanwhile.
    fn end_busy(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        interface.is_busy = false;
        let bypass_from = std::mem::replace(&mut interface.bypass_from, NEVER);
        if bypass_from != NEVER {
            self.statistics.nodes[node].bypass_in_use += slot - bypass_from;
        }
        if interface.go_before(slot + 1) {
            interface.may_start = slot + 1;
        } else {
            interface.may_start = NEVER;
            self.send(node, slot, Change::Stop);
        }
    }

    /// An echo for this node is complete: its packet is done, or waits for its retransmission.
    fn complete_echo(&mut self, node: usize) {
        let (ended, id) = std::mem::replace(&mut self.nodes[node].echo_ends, (NEVER, 0));
        let record = *self.records.get(id);
        let output = &mut self.nodes[node].outputs[record.packet.subaction as usize];
        output.outstanding -= 1;
        if !record.accepted {
            self.records.push(&mut output.busied, id);
            return;
        }
        self.records.remove(id);
        let delay = ended - record.entered;
        self.statistics.nodes[node].count_round_trip(delay);
        let (at, round_trip) = (self.spec.time(ended), self.spec.symbol * delay);
        self.outcomes.push(Outcome::Acknowledged { at, packet: record.packet, round_trip });
    }
}
