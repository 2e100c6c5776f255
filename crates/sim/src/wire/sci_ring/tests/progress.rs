//! Progress of every sender on a saturated ring, whatever the others do.

use proptest::prelude::*;

use super::super::*;
use super::agreement::spec;
use super::{packet, ring};

/// A sender with always a packet in its output buffer: of requests, or of both subactions.
#[derive(Clone, Copy, Debug)]
struct Sender {
    /// The target, or `None` for all nodes in turn.
    to: Option<u16>,
    subactions: usize,
}

/// Senders, and the slots in which each node serves a packet.
#[derive(Clone, Debug)]
struct Load {
    senders: Vec<Option<Sender>>,
    service: Vec<Slot>,
}

/// The acknowledgements of a sender.
#[derive(Clone, Copy, Default, Debug)]
struct Share {
    packets: u64,
    /// The longest time without one.
    longest_gap: Slot,
    last: Slot,
}

impl Share {
    fn end_gap(&mut self, slot: Slot) {
        self.longest_gap = self.longest_gap.max(slot.saturating_sub(self.last));
        self.last = slot;
    }
}

/// Saturates a ring for so many slots. Returns the share of each node.
fn saturate(spec: RingSpec, load: &Load, slots: Slot) -> Vec<Share> {
    let mut ring = ring(spec);
    let mut shares = vec![Share::default(); spec.nodes as usize];
    let mut free_at = vec![0; spec.nodes as usize];
    let mut served: Vec<(Slot, Packet)> = Vec::new();
    for slot in 0..slots {
        let now = spec.time(slot);
        served.retain(|&(when, packet)| {
            if when <= slot {
                ring.release(&packet, now);
            }
            when > slot
        });
        for (from, sender) in load.senders.iter().enumerate() {
            let Some(Sender { to, subactions }) = *sender else { continue };
            for subaction in &Subaction::ALL[..subactions] {
                if ring.nodes[from].outputs[*subaction as usize].fresh.is_empty() {
                    let to = to.unwrap_or((slot % Slot::from(spec.nodes)) as u16);
                    let format = [Format::Command, Format::LongCommand, Format::Data][(slot / 7 % 3) as usize];
                    let packet = Packet { subaction: *subaction, format, ..packet(from as u16, to, slot as u32) };
                    ring.offer(packet, now).unwrap();
                }
            }
        }
        ring.run_through(now);
        for outcome in ring.outcomes() {
            match outcome {
                Outcome::Delivered { at, packet } => {
                    let node = packet.to.index();
                    free_at[node] = free_at[node].max(at.0 / spec.symbol.0 + 1) + load.service[node];
                    served.push((free_at[node], packet));
                }
                Outcome::Acknowledged { packet, .. } => {
                    let share = &mut shares[packet.from.index()];
                    share.packets += 1;
                    share.end_gap(slot);
                }
                Outcome::Space { .. } => {}
            }
        }
    }
    ring.audit().unwrap();
    shares.iter_mut().for_each(|share| share.end_gap(slots));
    shares
}

/// All nodes but one send to it, or each to the node so far ahead.
fn all(nodes: u32, to: impl Fn(u16) -> u16, service: Slot) -> Load {
    let sender = |from: u16| (to(from) != from).then_some(Sender { to: Some(to(from)), subactions: 1 });
    Load { senders: (0..nodes as u16).map(sender).collect(), service: vec![service; nodes as usize] }
}

#[test]
fn a_slow_node_with_one_buffer_serves_all_senders_alike() {
    let spec = RingSpec::published(8, PassTransmission::Several(2));
    let spec = RingSpec { buffers: BufferSizes { input: 40, ..spec.buffers }, ..spec };
    let shares = saturate(spec, &all(8, |_| 0, 100), 60_000);
    let counts: Vec<u64> = shares[1..].iter().map(|share| share.packets).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least > 30 && *most <= 2 * least, "{counts:?}");
}

#[test]
fn go_bits_leave_no_node_of_a_saturated_ring_without_its_share() {
    let spec = RingSpec::published(8, PassTransmission::Several(8));
    for distance in [2, 4, 7] {
        let shares = saturate(spec, &all(8, |from| (from + distance) % 8, 0), 40_000);
        let counts: Vec<u64> = shares.iter().map(|share| share.packets).collect();
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(*least > 200 && most <= &(least + least / 2), "{distance}: {counts:?}");
    }
}

/// A ring with any senders and some slow nodes.
fn ring_and_load() -> impl Strategy<Value = (RingSpec, Load)> {
    spec().prop_flat_map(|spec| {
        let nodes = spec.nodes as usize;
        let to = prop::option::of(0..spec.nodes as u16);
        let sender = prop::option::of((to, 1usize..3).prop_map(|(to, subactions)| Sender { to, subactions }));
        let senders = prop::collection::vec(sender, nodes);
        let service = prop::collection::vec(prop_oneof![Just(0u64), 0u64..60], nodes);
        let load = (senders, service).prop_map(|(senders, service)| Load { senders, service });
        (Just(spec), load)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_sender_starves((spec, load) in ring_and_load()) {
        // A turn of all nodes: for each, the longest packet, its service, and a revolution of the ring.
        let nodes = Slot::from(spec.nodes);
        let slowest = load.service.iter().max().unwrap();
        let turn = nodes * (Slot::from(spec.sizes.longest()) + slowest + nodes * spec.hop());
        for (share, sender) in saturate(spec, &load, 20_000).iter().zip(&load.senders) {
            prop_assert!(sender.is_none() || share.longest_gap < 12 * turn, "{:?} in turns of {}", share, turn);
        }
    }
}
