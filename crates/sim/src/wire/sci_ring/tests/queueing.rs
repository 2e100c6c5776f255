//! The delays of a loaded ring beside those of queueing theory.
//!
//! At each node, what passes by and the node's own packets share the link, the first before the second. With arrivals that have
//! no memory this is the queue M/G/1 with two priorities and without preemption, except that the upstream link has already spaced
//! what passes by: this waits for the node's own packets alone (Bux and Schlatter, "An approximate method for the performance
//! analysis of buffer insertion rings", IEEE Transactions on Communications, 1983). Scott, Goodman and Vernon ("Performance of the
//! SCI ring", ISCA 1992) refine this by packet trains. Neither has go bits, so waits for these are left out.

use super::super::*;
use super::ring;

/// Formats with their shares of packets, in 32nds: a fifth with lines, as `mp3d` has on 16 nodes.
const MIX: [(Format, u64); 3] = [(Format::Command, 16), (Format::LongCommand, 10), (Format::Data, 6)];

/// Mean waits in slots of a packet: in the output buffer, and in the bypass FIFOs of all other nodes together, with its echo.
#[derive(Clone, Copy, Debug)]
struct Delays {
    output: f64,
    bypass: f64,
}

/// The two waits where each node gets `rate` packets a slot for each of the others alike.
fn expected(spec: &RingSpec, rate: f64) -> Delays {
    let nodes = f64::from(spec.nodes);
    let moment = |power: i32| -> f64 {
        MIX.iter().map(|&(format, share)| share as f64 / 32.0 * f64::from(spec.sizes.of(format) + 1).powi(power)).sum()
    };
    let echo = f64::from(spec.sizes.echo + 1);
    // A packet is on half of the links, its echo on the others; neither passes by at the ends of its way.
    let passing = |power: i32| rate * ((nodes / 2.0 - 1.0) * moment(power) + nodes / 2.0 * echo.powi(power));
    let (ring, own) = (passing(1), rate * moment(1));
    let residual = (passing(2) + rate * moment(2)) / 2.0;
    Delays {
        output: residual / ((1.0 - ring) * (1.0 - ring - own)),
        bypass: rate * moment(2) / 2.0 / (1.0 - ring) * (nodes - 1.0),
    }
}

/// The same measured over so many slots.
fn measured(spec: RingSpec, rate: f64, slots: Slot) -> Delays {
    let mut ring = ring(spec);
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let nodes = spec.nodes as u64;
    let all = (rate * nodes as f64 * (1u64 << 31) as f64) as u64;
    for slot in 0..slots {
        if random(1 << 31) >= all {
            continue;
        }
        let now = spec.time(slot);
        ring.run_through(now);
        let delivered: Vec<Packet> = ring
            .outcomes()
            .filter_map(|outcome| match outcome {
                Outcome::Delivered { packet, .. } => Some(packet),
                _ => None,
            })
            .collect();
        for packet in delivered {
            ring.release(&packet, now);
        }
        let (from, mut drawn) = (random(nodes), random(32));
        let to = (from + 1 + random(nodes - 1)) % nodes;
        let format = MIX.iter().find(|(_, share)| {
            let is_it = drawn < *share;
            drawn = drawn.wrapping_sub(*share);
            is_it
        });
        let packet = Packet {
            from: NodeId(from as u16),
            to: NodeId(to as u16),
            subaction: Subaction::ALL[(slot % 2) as usize],
            format: format.expect("shares are complete").0,
            tag: slot as u32,
        };
        ring.offer(packet, now).expect("output buffers are large");
    }
    super::finish(&mut ring);
    let nodes = &ring.statistics().nodes;
    let sum = |count: fn(&NodeStatistics) -> u64| nodes.iter().map(count).sum::<u64>() as f64;
    let packets = sum(|node| node.transmitted);
    let waits = sum(|node| node.waits.iter().sum::<u64>() - node.waits[Obstacle::GoBit as usize]);
    Delays { output: waits / packets, bypass: sum(|node| node.bypass_delay) / packets }
}

/// Under light loads the delays are those of the theory. Under heavier ones they are longer: what passes by comes in trains, since a
/// bypass FIFO that drains leaves no gaps, so that more packets meet a node that is busy.
#[test]
fn a_loaded_ring_delays_packets_as_queueing_theory_has_it() {
    let spec = RingSpec::published(16, PassTransmission::Several(64));
    let spec = RingSpec { buffers: BufferSizes::packets(&spec.sizes, 64, 64), ..spec };
    for (rate, [output, bypass]) in
        [(1.0 / 1600.0, [0.15, 0.1]), (1.0 / 800.0, [0.15, 0.15]), (1.0 / 400.0, [0.15, 0.4])]
    {
        let (ours, theirs) = (measured(spec, rate, 1_500_000), expected(&spec, rate));
        for (ours, theirs, tolerance) in [(ours.output, theirs.output, output), (ours.bypass, theirs.bypass, bypass)] {
            let difference = (ours / theirs - 1.0).abs();
            assert!(difference < tolerance, "{rate} packets a slot: {ours} slots instead of {theirs}");
        }
    }
}
