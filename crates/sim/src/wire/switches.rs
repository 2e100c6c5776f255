//! The switches that join SCI rings: the link interfaces of all rings by number, and packets that change rings.
//!
//! A switch has an interface on a ring of nodes and one on the ring of all switches. It takes packets for other rings as their
//! target on that ring, which its stripper acknowledges with an echo, stores them in the input buffer of their subaction, and
//! retransmits them on the other ring. A packet keeps its place in the input buffer until it is in the output buffer on the
//! other side. Requests and responses have buffers of their own on both sides; packets wait up, from a ring of nodes to that of the
//! switches, or down, and never from down to up, so that no cycle of full buffers can form.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use machine::description::JoinedRings;
use units::{Duration, NodeId, Time};

use super::sci_ring::Packet;

/// A packet in the input buffer of a switch: the time at which it may enter the output buffer on the other side, the interface
/// that has it, its subaction and format as the lane of a passage, and its tag.
type Crossing = (Time, NodeId, u8, u32);

/// The switches of a machine, or none if it has one ring.
#[derive(Clone, Debug)]
pub struct Switches {
    rings: JoinedRings,
    /// From the last symbol of a packet to its entry into the output buffer on the other side.
    delay: Duration,
    crossings: BinaryHeap<Reverse<Crossing>>,
    /// By tag, the destinations of packets under way.
    destinations: Vec<NodeId>,
}

impl Switches {
    pub fn new(rings: JoinedRings, delay: Duration) -> Self {
        Self { rings, delay, crossings: BinaryHeap::new(), destinations: Vec::new() }
    }

    /// Whether there are any.
    #[inline]
    pub const fn exist(&self) -> bool {
        self.rings.has_switches()
    }

    /// The link interfaces of each ring: those of the rings of nodes, and that of the switches.
    pub fn lengths(&self) -> Vec<u32> {
        let JoinedRings { rings, nodes } = self.rings;
        if !self.exist() {
            return vec![nodes.into()];
        }
        let of_nodes = std::iter::repeat_n(u32::from(nodes) + 1, rings.into());
        of_nodes.chain([rings.into()]).collect()
    }

    /// The link interface of a node. The switch of a ring is behind its last node, the interfaces on the ring of switches behind
    /// all others.
    #[inline]
    pub fn interface(&self, node: NodeId) -> NodeId {
        if self.exist() { NodeId(node.0 + self.rings.ring_of(node)) } else { node }
    }

    /// The interface of a ring's switch on the ring itself.
    const fn lower(&self, ring: u16) -> NodeId {
        NodeId((ring + 1) * (self.rings.nodes + 1) - 1)
    }

    /// The interface of a ring's switch on the ring of switches.
    const fn upper(&self, ring: u16) -> NodeId {
        NodeId(self.rings.rings * (self.rings.nodes + 1) + ring)
    }

    /// Both interfaces of the switch behind a node, if there is one.
    pub fn behind(&self, node: NodeId) -> Option<[NodeId; 2]> {
        let ring = self.rings.ring_of(node);
        let is_last = self.exist() && self.rings.ring_of(NodeId(node.0 + 1)) != ring;
        is_last.then(|| [self.lower(ring), self.upper(ring)])
    }

    /// The other interface of a switch, and its ring; `None` if the interface is a node's.
    #[inline]
    fn other_side(&self, interface: NodeId) -> Option<(NodeId, u16)> {
        let below = self.rings.rings * (self.rings.nodes + 1);
        match interface.0.checked_sub(below) {
            Some(ring) => Some((self.lower(ring), ring)),
            None if (interface.0 + 1).is_multiple_of(self.rings.nodes + 1) => {
                let ring = interface.0 / (self.rings.nodes + 1);
                Some((self.upper(ring), ring))
            }
            None => None,
        }
    }

    /// The interfaces between which a packet travels on its first ring. Notes the destination of the packet.
    #[inline]
    pub fn enter(&mut self, from: NodeId, to: NodeId, tag: u32) -> (NodeId, NodeId) {
        if !self.exist() {
            return (from, to);
        }
        let place = tag as usize;
        if self.destinations.len() <= place {
            self.destinations.resize(place + 1, to);
        }
        self.destinations[place] = to;
        self.leg(from, to, 0)
    }

    /// The way of a packet: the interfaces at the ends of its way on each ring.
    pub fn way(&self, from: NodeId, to: NodeId) -> Vec<(NodeId, NodeId)> {
        let changes = self.exist() && self.rings.ring_of(from) != self.rings.ring_of(to);
        (0..if changes { 3 } else { 1 }).map(|number| self.leg(from, to, number)).collect()
    }

    /// The interfaces between which a packet travels on the ring with this number of its way.
    fn leg(&self, from: NodeId, to: NodeId, number: usize) -> (NodeId, NodeId) {
        let [source, target] = [from, to].map(|node| self.rings.ring_of(node));
        match number {
            0 if source == target => (self.interface(from), self.interface(to)),
            0 => (self.interface(from), self.lower(source)),
            1 => (self.upper(source), self.upper(target)),
            _ => (self.lower(target), self.interface(to)),
        }
    }

    /// Takes a packet that has been delivered to an interface, if that is a switch's. Its last symbol is there at `at`.
    #[inline]
    pub fn takes(&mut self, packet: &Packet, lane: u8, at: Time) -> bool {
        let takes = self.exist() && self.other_side(packet.to).is_some();
        if takes {
            self.crossings.push(Reverse((at + self.delay, packet.to, lane, packet.tag)));
        }
        takes
    }

    /// The time at which the next packet may enter the output buffer on the other side.
    #[inline]
    pub fn next(&self) -> Time {
        self.crossings.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    /// Takes the packet that may enter the output buffer on the other side next: its present interface, and the packet as it is
    /// there, but for subaction and format, which are in the lane: sender, target, lane and tag.
    pub fn cross(&mut self) -> Option<(NodeId, NodeId, NodeId, u8, u32)> {
        let Reverse((_, at, lane, tag)) = self.crossings.pop()?;
        let (other, ring) = self.other_side(at)?;
        let to = self.destinations[tag as usize];
        let target = self.rings.ring_of(to);
        let end = if ring == target { self.interface(to) } else { self.upper(target) };
        Some((at, other, end, lane, tag))
    }

    /// From the last symbol of a packet to its entry into the output buffer on the other side.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// From the first symbol of a packet that is `notice` ahead of its last one to its entry on another ring, at least.
    pub fn soonest(&self, notice: Duration) -> Duration {
        notice + self.delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_lead_from_ring_to_ring_over_two_switches() {
        let switches = Switches::new(JoinedRings { rings: 3, nodes: 4 }, Duration::ZERO);
        let way = |from, to| {
            let way = switches.way(NodeId(from), NodeId(to));
            way.into_iter().map(|(from, to)| (from.0, to.0)).collect::<Vec<_>>()
        };
        assert_eq!(switches.lengths(), [5, 5, 5, 3]);
        assert_eq!(way(1, 3), [(1, 3)]);
        assert_eq!(way(4, 7), [(5, 8)]);
        assert_eq!(way(1, 11), [(1, 4), (15, 17), (14, 13)]);
        assert_eq!(way(8, 0), [(10, 14), (17, 15), (4, 0)]);
        let pairs: Vec<_> = (0..12).filter_map(|node| switches.behind(NodeId(node))).collect();
        assert_eq!(pairs, [[4, 15], [9, 16], [14, 17]].map(|pair| pair.map(NodeId)));
        for (ring, [lower, upper]) in (0..).zip(pairs) {
            assert_eq!(switches.other_side(lower), Some((upper, ring)));
            assert_eq!(switches.other_side(upper), Some((lower, ring)));
        }
        assert!((0..12).all(|node| switches.other_side(switches.interface(NodeId(node))).is_none()));
    }

    #[test]
    fn one_ring_has_no_switch() {
        let switches = Switches::new(JoinedRings { rings: 1, nodes: 16 }, Duration::ZERO);
        assert_eq!((switches.lengths(), switches.behind(NodeId(15))), (vec![16], None));
        assert_eq!(switches.way(NodeId(3), NodeId(9)), [(NodeId(3), NodeId(9))]);
    }
}
