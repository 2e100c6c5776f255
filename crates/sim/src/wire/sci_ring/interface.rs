//! The link interface of a node: its state, and its steps in the slots where something changes.

use super::idles::Idles;
use super::intake::Intake;
use super::link::{Change, Mark};
use super::packet::{List, Subaction};
use super::spec::{NEVER, PassTransmission, RingSpec, Slot};
use super::{Obstacle, Ring};

/// The output side of one subaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// Packets in the output buffer.
    pub(super) fresh: List,
    /// Copies in active buffers that wait for retransmission after a negative echo.
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
/// Times stand for symbols. What the stripper passes on is idles with the go bit from `idles.go_from` on, until the next
/// packet. The multiplexor either passes that on, so that a packet takes no time, or is busy: it sends a packet of the
/// node's own, then the contents of the bypass FIFO. Its link is then taken without a break, an idle behind every
/// packet, until `free_at`; a packet that comes meanwhile leaves at `free_at`, and each idle that the FIFO need not
/// keep brings the two times a symbol nearer. These times replace the FIFO's contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    pub(super) idles: Idles,
    /// The same behind all that the node has passed on ahead of time, if there is anything.
    pub(super) ahead: Idles,
    /// The slot after the end of an echo that the stripper took.
    pub(super) echo_taken: Slot,
    /// The slot in which the stripper begins an echo, and its packet.
    pub(super) echo_due: (Slot, u32),
    /// The slot of the last symbol of an echo for this node, and its packet.
    pub(super) echo_ends: (Slot, u32),
    /// Whether the multiplexor is busy with a packet of the node's own or with the bypass FIFO (recovery).
    pub(super) is_busy: bool,
    /// The slot in which the present transmission began.
    pub(super) busy_from: Slot,
    /// The slot in which the next packet from the bypass FIFO can begin.
    pub(super) free_at: Slot,
    /// The slot in which the end of the busy time is looked for next: as packets come, it ends later than it seemed.
    pub(super) end_sought: Slot,
    /// Whether a go bit has come in since `busy_from`.
    pub(super) saved_go: bool,
    /// The slot in which the first packet entered the bypass FIFO, since it was last empty.
    pub(super) bypass_from: Slot,
    /// The slot in which the present transmission ends, with the idle behind it.
    pub(super) own_ends: Slot,
    /// The slot up to which waits are accounted for, if packets wait, and the one in which the last packet has passed by, with
    /// the idle behind it.
    pub(super) accounted: Slot,
    pub(super) passes_until: Slot,
    /// The subaction of the last packet transmitted.
    pub(super) last: Subaction,
    /// Packets that wait for their first transmission or another.
    pub(super) waiting: u32,
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
            idles: Idles::START,
            ahead: Idles::START,
            echo_taken: NEVER,
            echo_due: (NEVER, 0),
            echo_ends: (NEVER, 0),
            is_busy: false,
            busy_from: 0,
            free_at: 0,
            end_sought: 0,
            saved_go: false,
            bypass_from: NEVER,
            own_ends: 0,
            accounted: 0,
            passes_until: 0,
            last: Subaction::Response,
            waiting: 0,
            outputs: [output; 2],
            intakes: [Intake::new(spec.buffers.input); 2],
            flow: Flow::default(),
        }
    }

    /// The subaction whose turn it is among those with a packet that may be sent. Requests and responses take turns,
    /// and retransmissions precede new packets.
    #[inline]
    pub(super) fn choose(&self, transmission: PassTransmission) -> Option<Subaction> {
        if self.waiting == 0 {
            return None;
        }
        let [requests, responses] = &self.outputs;
        let all = requests.outstanding + responses.outstanding;
        let can = |subaction: Subaction| {
            let output = &self.outputs[subaction as usize];
            let outstanding = if transmission == PassTransmission::One { all } else { output.outstanding };
            outstanding < transmission.of_each() && !(output.busied.is_empty() && output.fresh.is_empty())
        };
        [self.last.other(), self.last].into_iter().find(|&subaction| can(subaction))
    }

    /// Whether the idles of the input in the busy time, up to and without `slot`, contain a go bit. The idles before
    /// the last packet are in `saved_go`.
    #[inline]
    pub(super) fn go_before(&self, slot: Slot) -> bool {
        self.saved_go || self.idles.go_from.max(self.busy_from) < slot
    }

    /// Whether an idle that comes in `slot` is noted when the node is looked at next: it is still busy then, so that nothing but its
    /// go bits depends on idles.
    #[inline]
    pub(super) fn notes_idle(&self, slot: Slot) -> bool {
        self.is_busy && slot < self.free_at
    }

    /// Whether the node will pass on what is not for it as it comes, unless one of its own is offered before.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        !self.is_busy && self.waiting == 0 && self.echo_due.0 == NEVER && self.echo_taken == NEVER
    }

    /// A packet passes the node, whose multiplexor passes symbols on.
    #[inline]
    pub(super) fn let_pass(&mut self, slot: Slot, symbols: u32) {
        self.idles.pass_packet(slot, symbols);
        self.passes_until = self.idles.may_start;
    }

    /// The slots from the last that is accounted for up to `slot`, by the obstacle in them.
    #[inline]
    fn waits(&mut self, slot: Slot, transmission: PassTransmission) -> [(Obstacle, Slot); 2] {
        let from = self.accounted;
        let all = slot.saturating_sub(from);
        self.accounted += all;
        let before = |limit: Slot| limit.clamp(from, from + all) - from;
        if self.choose(transmission).is_none() {
            [(Obstacle::ActiveBuffer, all), (Obstacle::ActiveBuffer, 0)]
        } else if self.is_busy {
            let own = before(self.own_ends);
            [(Obstacle::OwnPacket, own), (Obstacle::Recovery, all - own)]
        } else {
            let passing = before(self.passes_until);
            [(Obstacle::PassingPacket, passing), (Obstacle::GoBit, all - passing)]
        }
    }

    /// Echoes that are in the stripper: to be made, and taken but not yet complete.
    pub(super) fn echoes_inside(&self) -> [u64; 2] {
        [self.echo_due, self.echo_ends].map(|(slot, _)| u64::from(slot != NEVER))
    }
}

impl Ring {
    /// Accounts for the waits of packets at `node` up to `slot`, in which its state changes.
    #[inline(always)]
    pub(super) fn account(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        if interface.waiting == 0 {
            interface.accounted = slot;
        } else {
            self.account_waits(node, slot);
        }
    }

    fn account_waits(&mut self, node: usize, slot: Slot) {
        let interface = &mut self.nodes[node];
        let packets = u64::from(interface.waiting);
        for (obstacle, slots) in interface.waits(slot, self.spec.transmission) {
            self.statistics.nodes[node].waits[obstacle as usize] += packets * slots;
        }
    }

    /// A step of `node` in `slot`, in the order of the hardware: the start of a transmission depends on the slots
    /// before, the symbol sent on the one that comes in.
    pub(super) fn step(&mut self, node: usize, slot: Slot) {
        self.catch_up(node, slot);
        self.note_idles(node, slot);
        if self.nodes[node].echo_ends.0 < slot {
            self.complete_echo(node, slot);
        }
        self.start(node, slot);
        self.catch_up(node, slot + 1);
        if let Some(Mark { change, .. }) = self.links[node].take(slot) {
            match change {
                Change::Send(id) => self.arrive(node, id, slot),
                Change::Echo(id) => self.arrive_echo(node, id, slot),
                Change::Stop => self.stop(node, slot),
                Change::Go => self.go(node, slot),
            }
        }
        if self.nodes[node].echo_due.0 == slot {
            self.begin_echo(node, slot);
        }
        if self.nodes[node].echo_taken == slot {
            self.nodes[node].echo_taken = NEVER;
            if self.nodes[node].idles.go_from == slot {
                self.pass_go(node, slot);
            }
        }
        self.plan(node, slot);
    }

    /// The end of a busy time that ends with `slot`, and the next slot in which the multiplexor may end one or
    /// transmit.
    #[inline]
    pub(super) fn plan(&mut self, node: usize, slot: Slot) {
        let transmission = self.spec.transmission;
        let interface = &mut self.nodes[node];
        if interface.is_busy {
            if interface.free_at != slot + 1 {
                if interface.end_sought <= slot {
                    interface.end_sought = interface.free_at - 1;
                    self.wheel.set(interface.end_sought, node);
                }
                return;
            }
            self.end_busy(node, slot);
        }
        let interface = &self.nodes[node];
        if interface.choose(transmission).is_some() {
            if interface.idles.may_start != NEVER {
                self.wheel.set(interface.idles.may_start.max(slot + 1), node);
            } else if let Some(mark) = self.links[node].first_passed() {
                self.wheel.set(mark.slot, node);
            }
        }
    }
}
