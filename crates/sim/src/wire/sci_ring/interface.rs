//! The link interface of a node: its state, and its steps in the slots where something changes.

use super::intake::Intake;
use super::link::{Change, Link, Mark};
use super::packet::{List, Subaction};
use super::spec::{NEVER, PassTransmission, RingSpec, Slot};
use super::stream::Stream;
use super::{NodeStatistics, Obstacle, Ring};

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

/// Symbols of packets that have come and gone since the start of the run.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Flow {
    /// Those on the link that comes in: of sends and of echoes, of requests and of responses. A packet counts when its first symbol
    /// is sent or, if that cannot change without a new packet, up to a few hundred symbols before.
    pub(super) on_link: [u64; 4],
    /// Taken by the stripper: of sends, of echoes.
    pub(super) stripped: [u64; 2],
    /// Of the node's own sends, of echoes that it has made.
    pub(super) inserted: [u64; 2],
}

impl Flow {
    /// The packet or echo of `mark` is on the link that comes in.
    #[inline]
    pub(super) fn count(&mut self, mark: &Mark) {
        self.on_link[mark.traffic()] += u64::from(mark.symbols());
    }

    /// The opposite of [`Self::count`].
    pub(super) fn uncount(&mut self, mark: &Mark) {
        self.on_link[mark.traffic()] -= u64::from(mark.symbols());
    }
}

/// The state of a node's link interface.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    /// The link that comes in.
    pub(super) link: Link,
    /// The node to which the link leads that goes out.
    pub(super) next: u32,
    /// The multiplexor, behind the changes that are noted.
    pub(super) stream: Stream,
    /// The same behind all that the node has passed on ahead of time.
    pub(super) ahead: Stream,
    /// The slot after the end of an echo that the stripper took.
    pub(super) echo_taken: Slot,
    /// The slot of the last symbol of an echo for this node, and its packet.
    pub(super) echo_ends: (Slot, u32),
    /// The slot in which the end of the busy time is looked for next: as packets come, it ends later than it seemed.
    pub(super) end_sought: Slot,
    /// The slot from which on the node transmits as things are, if it is not busy and has something to send.
    pub(super) start_sought: Slot,
    /// The slot in which the present transmission ends, with the idle behind it.
    pub(super) own_ends: Slot,
    /// The slot up to which waits are accounted for, if packets wait.
    pub(super) accounted: Slot,
    /// The slot up to which the waits of packets count at least ([`Ring::counts`]): changes before it may not be noted yet.
    pub(super) looked_at: Slot,
    /// The subaction of the last packet transmitted.
    pub(super) last: Subaction,
    /// Packets that wait for their first transmission or another.
    pub(super) waiting: u32,
    /// The subaction of the next packet, if there is one that may be sent ([`Self::choose`]): it is looked for at every change on the
    /// link, and changes with packets alone.
    pub(super) turn: Option<Subaction>,
    pub(super) outputs: [Output; 2],
    pub(super) intakes: [Intake; 2],
    pub(super) flow: Flow,
}

/// Changes that a node has passed on ahead of time and that have come are noted when so many are kept, though the node has nothing to do.
pub(super) const LONG_HELD: usize = 24;

impl Interface {
    pub(super) fn new(spec: &RingSpec, next: u32) -> Self {
        let output = Output {
            fresh: List::EMPTY,
            busied: List::EMPTY,
            free: spec.buffers.output,
            outstanding: 0,
            has_refused: false,
        };
        Self {
            link: Link::new(),
            next,
            stream: Stream::START,
            ahead: Stream::START,
            echo_taken: NEVER,
            echo_ends: (NEVER, 0),
            end_sought: 0,
            start_sought: NEVER,
            own_ends: 0,
            accounted: 0,
            looked_at: 0,
            last: Subaction::Response,
            waiting: 0,
            turn: None,
            outputs: [output; 2],
            intakes: [Intake::new(spec.buffers.input); 2],
            flow: Flow::default(),
        }
    }

    /// Finds the subaction whose turn it is among those with a packet that may be sent, after packets have come, gone or been
    /// acknowledged. Requests and responses take turns, and retransmissions precede new packets.
    #[inline]
    pub(super) fn choose(&mut self, transmission: PassTransmission) {
        let [requests, responses] = &self.outputs;
        let all = requests.outstanding + responses.outstanding;
        let can = |subaction: Subaction| {
            let output = &self.outputs[subaction as usize];
            let outstanding = if transmission == PassTransmission::One { all } else { output.outstanding };
            outstanding < transmission.of_each() && !(output.busied.is_empty() && output.fresh.is_empty())
        };
        self.turn = if self.waiting == 0 {
            None
        } else {
            [self.last.other(), self.last].into_iter().find(|&subaction| can(subaction))
        };
    }

    /// Whether the node, which is `node`, does nothing but pass on `mark`, which comes behind all others, if that is not later than
    /// `until`. One test of many conditions is quicker than many tests of one, none of which can be foreseen.
    #[inline]
    pub(super) fn passes(&self, node: usize, mark: &Mark, until: Slot) -> bool {
        (self.waiting == 0)
            & !self.ahead.is_busy
            & (self.echo_taken == NEVER)
            & self.link.is_passed()
            & !self.link.holds(LONG_HELD)
            & !mark.is_for(node)
            & (mark.slot <= until)
    }

    /// Notes the changes that are passed on ahead of time and that have come before `end`. There are none at half of all looks.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, statistics: &mut NodeStatistics, end: Slot) {
        if self.link.has_passed_before(end) {
            self.note_passed(statistics, end);
        }
    }

    /// The same where there are some.
    #[inline(never)]
    fn note_passed(&mut self, statistics: &mut NodeStatistics, end: Slot) {
        if (self.waiting == 0 || self.stream.is_busy) && self.link.are_passed_before(end) {
            self.stream = self.ahead;
            self.link.take_all_passed();
            return;
        }
        if self.stream.is_busy {
            while let Some(mark) = self.link.take_passed(end) {
                self.stream.pass(&mark);
            }
            return;
        }
        self.note_waits(statistics, end);
    }

    /// The same while the multiplexor passes symbols on. Waits count up to the last packet, as by [`Self::account`] at each one: between
    /// two of them nothing changes but the end of a passing packet.
    fn note_waits(&mut self, statistics: &mut NodeStatistics, end: Slot) {
        let (mut stream, mut accounted) = (self.stream, self.accounted);
        let (mut noted, mut passing) = (0, 0);
        for mark in self.link.passed().take_while(|mark| mark.slot < end) {
            if mark.is_packet() {
                let slots = mark.slot.saturating_sub(accounted);
                passing += stream.passes_until.saturating_sub(accounted).min(slots);
                accounted += slots;
                stream.pass_by(mark.slot, mark.symbols());
            } else {
                stream.pass_idle(mark);
            }
            noted += 1;
        }
        self.link.drop_passed(noted);
        let (packets, slots) = (u64::from(self.waiting), accounted - self.accounted);
        if self.turn.is_none() {
            statistics.waits[Obstacle::ActiveBuffer as usize] += packets * slots;
        } else {
            statistics.waits[Obstacle::PassingPacket as usize] += packets * passing;
            statistics.waits[Obstacle::GoBit as usize] += packets * (slots - passing);
        }
        (self.stream, self.accounted) = (stream, accounted);
    }

    /// Accounts for the waits of packets up to `slot`, in which the state changes.
    #[inline]
    pub(super) fn account(&mut self, statistics: &mut NodeStatistics, slot: Slot) {
        if self.waiting == 0 {
            self.accounted = slot;
            return;
        }
        self.account_waits(statistics, slot);
    }

    fn account_waits(&mut self, statistics: &mut NodeStatistics, slot: Slot) {
        let packets = u64::from(self.waiting);
        for (obstacle, slots) in self.obstacles(slot) {
            statistics.waits[obstacle as usize] += packets * slots;
        }
    }

    /// The multiplexor has changed while nothing is passed on ahead of time.
    #[inline]
    pub(super) fn follow(&mut self) {
        debug_assert!(!self.link.has_passed());
        self.ahead = self.stream;
    }

    /// The slots from the last that is accounted for up to `slot`, by the obstacle in them.
    #[inline]
    fn obstacles(&mut self, slot: Slot) -> [(Obstacle, Slot); 2] {
        let from = self.accounted;
        let all = slot.saturating_sub(from);
        self.accounted += all;
        let before = |limit: Slot| limit.clamp(from, from + all) - from;
        if self.turn.is_none() {
            [(Obstacle::ActiveBuffer, all), (Obstacle::ActiveBuffer, 0)]
        } else if self.stream.is_busy {
            let own = before(self.own_ends);
            [(Obstacle::OwnPacket, own), (Obstacle::Recovery, all - own)]
        } else {
            let passing = before(self.stream.passes_until);
            [(Obstacle::PassingPacket, passing), (Obstacle::GoBit, all - passing)]
        }
    }
}

impl Ring {
    /// Accounts for the waits of packets at `node` up to `slot`, in which its state changes.
    #[inline]
    pub(super) fn account(&mut self, node: usize, slot: Slot) {
        self.nodes[node].account(&mut self.statistics[node], slot);
    }

    /// Notes the changes that `node` has passed on ahead of time and that have come before `end`.
    #[inline]
    pub(super) fn catch_up(&mut self, node: usize, end: Slot) {
        self.nodes[node].catch_up(&mut self.statistics[node], end);
    }

    /// Whether `node` still starts or ends a transmission in `slot`, as was to be expected. A packet or a stop idle that came meanwhile
    /// keeps it from that in half of all cases, and a step would do nothing then but to find the end of a busy time, which is later.
    #[inline]
    pub(super) fn acts(&mut self, node: usize, slot: Slot) -> bool {
        let interface = &mut self.nodes[node];
        interface.looked_at = slot + 1;
        if !interface.ahead.is_busy {
            return interface.turn.is_some() && interface.start_sought <= slot;
        }
        let free_at = interface.ahead.free_at;
        if free_at != slot + 1 {
            self.seek_end(node, slot, free_at - 1);
        }
        free_at == slot + 1
    }

    /// A step of `node` in `slot`, in the order of the hardware: the start of a transmission depends on the slots
    /// before, the symbol sent on the one that comes in.
    pub(super) fn step(&mut self, node: usize, slot: Slot) {
        self.catch_up(node, slot);
        self.take_own(node, slot);
        if self.nodes[node].echo_ends.0 < slot {
            self.complete_echo(node, slot);
        }
        self.start(node, slot);
        self.take_own(node, slot + 1);
        if self.nodes[node].echo_taken == slot {
            self.end_echo(node, slot);
        }
        self.settle(node, slot);
    }

    /// Takes the changes before `end` that are for `node`: sends in their slots, echoes at the latest when they are complete.
    #[inline(always)]
    fn take_own(&mut self, node: usize, end: Slot) {
        if self.nodes[node].link.has_own(node, end) {
            self.take_first_own(node, end);
        }
    }

    /// The same where one is there, which is so at every fifth look.
    #[inline(never)]
    fn take_first_own(&mut self, node: usize, end: Slot) {
        while let Some(mark) = self.nodes[node].link.take_own(node, end) {
            if mark.is(Change::Send) {
                return self.arrive(node, mark.id(), mark.slot);
            }
            self.arrive_echo(node, &mark);
        }
    }

    /// Passes on what comes in, ends a busy time that ends with `slot`, and finds the next slot in which the multiplexor may end
    /// one or transmit.
    fn settle(&mut self, node: usize, slot: Slot) {
        self.advance(node);
        self.catch_up(node, slot + 1);
        if self.nodes[node].stream.is_busy {
            let free_at = self.nodes[node].ahead.free_at;
            if free_at != slot + 1 {
                return self.seek_end(node, slot, free_at - 1);
            }
            self.end_busy(node, slot);
            self.advance(node);
        }
        self.seek_start(node, slot + 1);
    }

    /// The busy time of `node` ends with the slot `end`, unless another packet comes before.
    #[inline]
    pub(super) fn seek_end(&mut self, node: usize, slot: Slot, end: Slot) {
        let interface = &mut self.nodes[node];
        if interface.end_sought <= slot || interface.end_sought > end {
            interface.end_sought = end;
            self.wheel.set_tentative(end, node);
        }
    }

    /// Finds the slot in which `node`, which is not busy, will transmit as things are: `soonest` or later.
    #[inline]
    pub(super) fn seek_start(&mut self, node: usize, soonest: Slot) {
        let interface = &self.nodes[node];
        if interface.turn.is_none() {
            return;
        }
        let mut stream = interface.stream;
        for mark in self.nodes[node].link.passed() {
            if stream.may_start <= mark.slot {
                break;
            }
            stream.pass(mark);
        }
        self.nodes[node].start_sought = stream.may_start;
        if stream.may_start != NEVER {
            self.wheel.set_tentative(stream.may_start.max(soonest), node);
        }
    }
}
