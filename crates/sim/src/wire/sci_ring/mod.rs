//! The link level of an SCI ring (IEEE 1596-1992): register insertion, echoes, retransmission and go bits, exact to the
//! symbol.
//!
//! The rules are those of Hexsel and Topham, "The performance of SCI multiprocessor rings", appendix, logical protocol.
//! Rules that it gives only by their effect follow the standard's link level as generally described, for instance by Scott,
//! Goodman and Vernon ("Performance of the SCI ring", ISCA 1992), to whose model theirs is similar (Section 2). The text of the
//! standard was not at hand, so details of go bits and of ageing may differ from its C code; they are these:
//!
//! - An idle follows every packet. A node transmits directly behind an idle with the go bit, one packet at a time.
//!   Meanwhile the bypass FIFO stores what passes by; afterwards the node is in recovery until idles, of which the FIFO
//!   stores only those behind packets, have drained it.
//! - Until the end of its recovery a node sends stop idles, behind which no node downstream transmits. The go bits that
//!   have come in meanwhile are merged into one, which the last of these idles carries.
//! - A go bit extends over the idles that follow, those that the stripper leaves included, up to the idle behind the
//!   next packet received, whether the stripper takes that packet or not. Without extension, go bits would only become
//!   fewer. Beyond packets, a node that receives nothing but its own echoes could send for ever while another recovers;
//!   up to them, none can: each packet or its echo passes the recovering node, and takes a stop idle from there to
//!   every node behind it.
//! - The stripper takes a send packet at its target and puts the echo in place of its last symbols, idles in place of
//!   the others; it takes an echo at the sender of its packet. The status of the echo is decided with the first symbol
//!   of the packet: whether the input buffer of requests or of responses has space.
//! - Progress of busied packets is by the A/B ageing of the standard's queue allocation protocol (`intake`): no new
//!   packet enters an input buffer before one that was turned down earlier.
//! - A packet is outstanding until the last symbol of its echo. A negative echo returns it to the head of its queue,
//!   where it precedes new packets of its subaction; those of the other subaction are still sent in between. Otherwise
//!   two nodes with one active buffer and full input buffers could wait for each other's responses for ever.
//!
//! There is one class of priority. A node must take responses without waiting for anything; input and output buffers of
//! requests and responses are separate, so responses then always proceed, and requests after them.
//!
//! Only changes on links matter: the first symbols of packets, stop idles behind packets, and go idles behind stop idles
//! (`link`). Between them, the state of a multiplexor is a few times (`stream`). Nodes pass changes on ahead of time as far as
//! they follow from what came before, and those that have nothing of their own take them back if they get something to send
//! (`multiplexor`). Events are the rest: starts and ends of transmissions, packets at their targets, echoes at their senders. The
//! symbols on every link are exactly those of the symbol-by-symbol model that the tests compare with.

mod audit;
mod intake;
mod interface;
mod link;
mod multiplexor;
mod packet;
mod spec;
mod statistics;
mod stream;
mod stripper;
mod wheel;

use units::{Duration, NodeId, Time};

use interface::Interface;
use packet::Records;
use spec::{AHEAD, NEVER, Slot};
use wheel::Wheel;

pub use audit::Imbalance;
pub use packet::{Format, Packet, Subaction};
pub use spec::{BufferSizes, PacketSizes, PassTransmission, RingSpec, SpecError};
pub use statistics::{NodeStatistics, Obstacle, Statistics};

/// An event at the edge of the ring. Its time may lie ahead of the ring's, because it follows from the first symbol of
/// a packet ([`RingSpec::delivery_notice`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The last symbol of an accepted packet is in the input buffer of its target, which holds it until
    /// [`Ring::release`].
    Delivered {
        /// The time.
        at: Time,
        /// The packet.
        packet: Packet,
    },
    /// The last symbol of the positive echo of a packet is at its sender.
    Acknowledged {
        /// The time.
        at: Time,
        /// The packet.
        packet: Packet,
        /// Time since the packet entered the output buffer: the round trip delay (Hexsel and Topham, Section 4).
        round_trip: Duration,
    },
    /// A packet has left an output buffer that has refused another.
    Space {
        /// The time.
        at: Time,
        /// The node.
        node: NodeId,
        /// The output buffer.
        subaction: Subaction,
    },
}

/// An output buffer has no space for a packet. [`Outcome::Space`] follows when a packet leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputFull;

/// A fault to plant in a ring, as a check that its loss of packets is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkFault {
    /// A stripper leaves idles in place of an echo.
    LostEcho,
    /// A bypass FIFO drops a packet.
    DroppedInBypass,
}

/// The place of a link interface.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Interfaces on its ring.
    length: u32,
}

/// A ring of nodes with one link interface each, or several rings on the same clock, whose interfaces have consecutive numbers.
///
/// A caller gives it packets ([`Self::offer`]), takes those delivered out of input buffers ([`Self::release`]), and
/// lets it run up to a time ([`Self::run_through`]), all in the order of time. Nothing is allocated meanwhile but by a
/// growing list of outcomes that the caller does not take.
#[derive(Clone, Debug)]
pub struct Ring {
    spec: RingSpec,
    hop: Slot,
    nodes: Vec<Interface>,
    places: Vec<Place>,
    records: Records,
    wheel: Wheel,
    /// The first slot that is still to come.
    clock: Slot,
    outcomes: Vec<Outcome>,
    /// Whether one of them is an [`Outcome::Space`] of the present slot.
    has_space: bool,
    /// By node, all counts but those of links, which [`Interface`] holds.
    statistics: Vec<NodeStatistics>,
    /// The planted fault, and the occasions before it strikes.
    fault: Option<(LinkFault, u32)>,
    /// All changes on links.
    #[cfg(test)]
    trace: Vec<tests::Traced>,
}

impl Ring {
    /// An idle ring, whose links are full of go idles.
    ///
    /// # Errors
    /// The ring cannot work ([`RingSpec::check`]).
    pub fn new(spec: RingSpec) -> Result<Self, SpecError> {
        Self::several(spec, &[spec.nodes])
    }

    /// Idle rings with so many interfaces, as many in all as the specification has nodes. Packets stay on their ring.
    ///
    /// # Errors
    /// They cannot work ([`RingSpec::check`]).
    pub fn several(spec: RingSpec, lengths: &[u32]) -> Result<Self, SpecError> {
        spec.check()?;
        debug_assert_eq!(lengths.iter().sum::<u32>(), spec.nodes);
        let (mut places, mut nodes) = (Vec::new(), Vec::new());
        for &length in lengths {
            let first = places.len() as u32;
            places.extend((0..length).map(|_| Place { length }));
            nodes.extend((0..length).map(|position| Interface::new(&spec, first + (position + 1) % length)));
        }
        let hop = spec.hop();
        // A packet that is passed on ahead of time waits in the bypass FIFO for no longer than one of the node's own takes with its
        // idle, and then has the link for its own symbols, or is a hop away.
        let horizon = AHEAD + 3 * (Slot::from(spec.sizes.longest()) + 1) + hop + 1;
        let count = spec.nodes as usize;
        Ok(Self {
            spec,
            hop,
            nodes,
            places,
            records: Records::new(&spec),
            wheel: Wheel::new(count, horizon),
            clock: 0,
            outcomes: Vec::new(),
            has_space: false,
            statistics: vec![NodeStatistics::default(); count],
            fault: None,
            #[cfg(test)]
            trace: Vec::new(),
        })
    }

    /// The description.
    pub fn spec(&self) -> &RingSpec {
        &self.spec
    }

    /// A packet enters the output buffer of its sender at `now`, and can be transmitted from the next edge of the
    /// symbol clock on. If the ring has run through that edge already, the next one counts.
    ///
    /// # Errors
    /// The output buffer has no space.
    ///
    /// # Panics
    /// Sender or target do not exist.
    pub fn offer(&mut self, packet: Packet, now: Time) -> Result<(), OutputFull> {
        let slot = self.enter_slot(now);
        assert!(packet.to.index() < self.nodes.len(), "node {} is not on the ring", packet.to);
        let node = packet.from.index();
        let symbols = self.spec.sizes.of(packet.format);
        let output = &mut self.nodes[node].outputs[packet.subaction as usize];
        if output.free < symbols {
            output.has_refused = true;
            return Err(OutputFull);
        }
        output.free -= symbols;
        let id = self.records.add(packet, symbols, slot);
        self.catch_up(node, slot);
        self.account(node, slot);
        let output = &mut self.nodes[node].outputs[packet.subaction as usize];
        self.records.push(&mut output.fresh, id);
        self.nodes[node].waiting += 1;
        self.nodes[node].choose(self.spec.transmission);
        self.wheel.set(slot, node);
        Ok(())
    }

    /// The target takes a delivered packet out of its input buffer at `now`; its space serves packets whose first
    /// symbol comes from the next edge of the symbol clock on.
    pub fn release(&mut self, packet: &Packet, now: Time) {
        self.enter_slot(now);
        let intake = &mut self.nodes[packet.to.index()].intakes[packet.subaction as usize];
        intake.release(self.spec.sizes.of(packet.format));
    }

    /// From the entry of a packet of `symbols` symbols into the output buffer of `from` to its last symbol at the stripper of
    /// `to`, which is on the same ring, if nothing else is on it.
    pub fn static_trip(&self, from: NodeId, to: NodeId, symbols: u32) -> Duration {
        // The distance on the ring is that of the numbers, around the interfaces of this ring.
        let length = self.places[from.index()].length;
        let first = NodeId(0);
        let ahead = NodeId(((u32::from(to.0) + length - u32::from(from.0) % length) % length) as u16);
        RingSpec { nodes: length, ..self.spec }.static_trip(first, ahead, symbols)
    }

    /// Symbols of the packets in an output buffer.
    pub fn backlog(&self, node: NodeId, subaction: Subaction) -> u32 {
        self.spec.buffers.output - self.nodes[node.index()].outputs[subaction as usize].free
    }

    /// Runs up to the slot of a call at `now`, but not through it. Slots that are over already cannot be changed: a
    /// call at their time acts in the next one.
    fn enter_slot(&mut self, now: Time) -> Slot {
        let slot = now.0.div_ceil(self.spec.symbol.0).max(self.clock);
        while !self.run_before(slot) {}
        slot
    }

    /// Runs through the slots before `end`, or up to one in which a packet leaves an output buffer that has refused another.
    /// Returns whether it has reached the end.
    #[inline]
    fn run_before(&mut self, end: Slot) -> bool {
        if self.wheel.due() < end && !self.run_slots(end) {
            return false;
        }
        self.clock = self.clock.max(end);
        true
    }

    /// The same for slots in which nodes act or may act.
    #[inline(never)]
    fn run_slots(&mut self, end: Slot) -> bool {
        while self.wheel.due() < end {
            let slot = self.wheel.due();
            self.clock = slot;
            for word in 0..self.wheel.words() {
                let [certain, tentative] = self.wheel.take(slot, word);
                let mut nodes = certain | tentative;
                while nodes != 0 {
                    let bit = nodes & nodes.wrapping_neg();
                    let node = word * 64 + nodes.trailing_zeros() as usize;
                    if certain & bit != 0 || self.acts(node, slot) {
                        self.step(node, slot);
                    }
                    nodes ^= bit;
                }
            }
            self.clock = slot + 1;
            self.wheel.pass(slot + 1);
            if std::mem::take(&mut self.has_space) {
                return false;
            }
        }
        true
    }

    /// Runs through all symbols that begin at or before `until`.
    pub fn run_through(&mut self, until: Time) {
        while !self.run_before(until.0 / self.spec.symbol.0 + 1) {}
    }

    /// Runs through the symbols that begin before `until`, or through the first one with an [`Outcome::Space`]. Returns whether
    /// it has run through all; otherwise packets can be offered at [`Self::reached`] before it runs on.
    #[inline]
    pub fn run_up_to(&mut self, until: Time) -> bool {
        self.run_before(until.0.div_ceil(self.spec.symbol.0))
    }

    /// The time at which the first symbol begins that is still to come.
    #[inline]
    pub fn reached(&self) -> Time {
        self.spec.time(self.clock)
    }

    /// The time up to which the ring must run next for anything to happen in it; `None` if it is idle.
    pub fn next_event(&self) -> Option<Time> {
        let due = self.wheel.due();
        (due != NEVER).then(|| self.spec.time(due))
    }

    /// Takes the outcomes since the last call, in the order of the slots from which they follow, within a slot by node.
    pub fn outcomes(&mut self) -> impl Iterator<Item = Outcome> {
        self.outcomes.drain(..)
    }

    /// The counts since the start of the run.
    pub fn statistics(&self) -> Statistics {
        let nodes = (0..self.nodes.len()).map(|node| self.counts(NodeId(node as u16))).collect();
        Statistics::new(nodes, self.spec.symbol)
    }

    /// The counts of a node since the start of the run.
    pub fn counts(&self, node: NodeId) -> NodeStatistics {
        let [requests, responses, of_requests, of_responses] = self.nodes[self.next(node.index())].flow.on_link;
        let (sends, echoes) = ([requests, responses], [of_requests, of_responses]);
        let mut statistics = self.statistics[node.index()];
        let interface = &self.nodes[node.index()];
        interface.clone().catch_up(&mut statistics, interface.looked_at);
        NodeStatistics { sends, echoes, ..statistics }
    }

    /// Plants a fault that strikes once, after `spared` occasions.
    pub fn plant(&mut self, fault: LinkFault, spared: u32) {
        self.fault = Some((fault, spared));
    }

    /// The slot up to which changes are passed on ahead of time; none are while a fault is planted.
    #[inline]
    fn reach(&self) -> Slot {
        self.clock + if self.fault.is_none() { AHEAD } else { 0 }
    }

    /// Whether `fault` is planted and strikes on this occasion.
    #[inline]
    fn strikes(&mut self, fault: LinkFault) -> bool {
        let Some((planted, spared)) = &mut self.fault else { return false };
        if *planted != fault {
            return false;
        }
        if *spared > 0 {
            *spared -= 1;
            return false;
        }
        self.fault = None;
        true
    }
}

#[cfg(test)]
mod tests;
