//! Latencies of an unloaded ring, its counts, descriptions that cannot work, and planted faults.

use super::super::*;
use super::{finish, packet, ring};

/// The time of delivery of a packet, that of its positive echo, and its round trip delay, on an idle ring.
fn alone(spec: RingSpec, packet: Packet, at: Time) -> (Time, Time, Duration) {
    let mut ring = ring(spec);
    ring.offer(packet, at).unwrap();
    finish(&mut ring);
    let outcomes: Vec<_> = ring.outcomes().collect();
    match outcomes[..] {
        [Outcome::Delivered { at, packet: first }, Outcome::Acknowledged { at: end, packet: second, round_trip }] => {
            assert_eq!([first, second], [packet; 2]);
            (at, end, round_trip)
        }
        _ => panic!("{outcomes:?}"),
    }
}

#[test]
fn packets_of_11_symbols_go_around_16_nodes_in_116_ns() {
    let mut spec = RingSpec::published(16, PassTransmission::One);
    spec.sizes.command = 11;
    assert_eq!(spec.static_round_trip(NodeId(3), NodeId(7), 11), Duration(116_000));
    for to in (0..16).filter(|&to| to != 3) {
        assert_eq!(alone(spec, packet(3, to, 0), Time::ZERO).2, Duration(116_000));
    }
}

#[test]
fn an_unloaded_ring_has_the_static_latencies() {
    for (nodes, wire, stripper) in [(1, 1, 0), (1, 3, 1), (1, 3, 2), (1, 20, 3), (2, 0, 1), (5, 2, 4), (17, 1, 2)] {
        let spec = RingSpec::published(nodes, PassTransmission::OneOfEach);
        let spec = RingSpec { wire: spec.symbol * wire, stripper: spec.symbol * stripper, ..spec };
        for to in 0..nodes as u16 {
            for format in [Format::Command, Format::LongCommand, Format::Data] {
                let packet = Packet { format, ..packet(nodes as u16 - 1, to, 7) };
                let symbols = spec.sizes.of(format);
                // Offered between two edges of the symbol clock, it enters at the second.
                let (delivered, acknowledged, round_trip) = alone(spec, packet, Time(98_001));
                let edge = Time(100_000);
                assert_eq!(delivered.since(edge), spec.static_trip(packet.from, packet.to, symbols));
                assert_eq!(round_trip, spec.static_round_trip(packet.from, packet.to, symbols));
                assert_eq!(acknowledged.since(edge), round_trip);
            }
        }
    }
}

#[test]
fn an_unloaded_node_sends_packets_one_symbol_apart() {
    let spec = RingSpec::published(4, PassTransmission::Several(3));
    let mut ring = ring(spec);
    for tag in 0..3 {
        ring.offer(packet(0, 2, tag), Time::ZERO).unwrap();
    }
    finish(&mut ring);
    let deliveries: Vec<u64> = ring
        .outcomes()
        .filter_map(|outcome| match outcome {
            Outcome::Delivered { at, .. } => Some(at.0 / 2000),
            _ => None,
        })
        .collect();
    assert_eq!(deliveries, [6 + 7, 6 + 7 + 9, 6 + 7 + 18]);
}

#[test]
fn a_delivery_follows_from_the_first_symbol_at_the_target() {
    let spec = RingSpec::published(16, PassTransmission::One);
    for format in [Format::Command, Format::LongCommand, Format::Data] {
        let mut ring = ring(spec);
        ring.offer(Packet { format, ..packet(0, 5, 0) }, Time::ZERO).unwrap();
        let notice = loop {
            let now = ring.next_event().unwrap();
            ring.run_through(now);
            if let Some(Outcome::Delivered { at, .. }) = ring.outcomes().next() {
                break at.since(now);
            }
        };
        assert_eq!(notice, spec.symbol * u64::from(spec.sizes.of(format) - 1));
        assert!(notice >= spec.delivery_notice());
    }
    assert_eq!(spec.delivery_notice(), Duration(14_000));
}

#[test]
fn counts_are_of_traffic_and_throughput() {
    let spec = RingSpec::published(16, PassTransmission::One);
    let mut ring = ring(spec);
    ring.offer(Packet { format: Format::Data, ..packet(0, 5, 0) }, Time::ZERO).unwrap();
    ring.offer(packet(0, 5, 1), Time::ZERO).unwrap();
    finish(&mut ring);
    let statistics = ring.statistics();
    let first = statistics.nodes[0];
    assert_eq!((first.sends, first.echoes, first.inserted, first.payload), ([48, 0], [0, 0], 48, 32));
    let behind = statistics.nodes[5];
    assert_eq!((behind.sends, behind.echoes, behind.accepted), ([0, 0], [8, 0], 2));
    assert_eq!((first.waits, first.static_trips, behind.inserted), ([48 + 39 + 1, 0, 0, 0, 0], 48 + 39 + 48 + 7, 8));
    // 5 links with 48 symbols and 11 with 8; 2 bytes a symbol, in a microsecond.
    let time = Duration(1_000_000);
    let close = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} is not {other}");
    close(statistics.link_traffic(time), 2.0 * f64::from(5 * 48 + 11 * 8) / 16.0);
    close(statistics.raw_throughput(time), 2.0 * f64::from(48 + 8) / 16.0);
    close(statistics.data_throughput(time), 64.0 / 16.0);
    // The second packet waits for the echo of the first, whose last symbol comes in slot 48 + 39.
    close(statistics.round_trip_ns(), 2.0 * f64::from(48 + 39 + (48 + 39 + 1 + 48 + 7)) / 2.0);
    assert_eq!((statistics.retransmissions(), statistics.bypass_utilisation(time)), (0, 0.0));
}

#[test]
fn a_full_output_buffer_refuses_packets_until_one_leaves() {
    let spec = RingSpec::published(4, PassTransmission::One);
    let mut ring = ring(RingSpec { buffers: BufferSizes::packets(&spec.sizes, 1, 4), ..spec });
    for tag in 0..5 {
        ring.offer(packet(0, 2, tag), Time::ZERO).unwrap();
    }
    assert_eq!(ring.offer(packet(0, 2, 5), Time::ZERO), Err(OutputFull));
    assert_eq!(ring.offer(Packet { subaction: Subaction::Response, ..packet(0, 2, 6) }, Time::ZERO), Ok(()));
    ring.run_through(Time::ZERO);
    let space = Outcome::Space { at: Time::ZERO, node: NodeId(0), subaction: Subaction::Request };
    assert_eq!(ring.outcomes().collect::<Vec<_>>(), [space]);
}

#[test]
fn rings_that_cannot_work_are_refused() {
    let good = RingSpec::published(4, PassTransmission::Several(2));
    assert_eq!(good.check(), Ok(()));
    let sizes = good.sizes;
    let buffers = good.buffers;
    let bad = [
        (RingSpec { nodes: 0, ..good }, "a ring of 0 nodes: 1 to 65535 are possible"),
        (RingSpec { nodes: 65_536, ..good }, "a ring of 65536 nodes: 1 to 65535 are possible"),
        (RingSpec { symbol: Duration::ZERO, ..good }, "symbols that take no time: the symbol time is at least 1 ps"),
        (RingSpec { wire: Duration(3000), ..good }, "a wire delay of 3 ns: whole symbols of 2 ns are needed"),
        (RingSpec { stripper: Duration(1), ..good }, "a stripper delay of 0.001 ns: whole symbols of 2 ns are needed"),
        (
            RingSpec { wire: Duration::ZERO, stripper: Duration::ZERO, ..good },
            "nodes without delay: wire and stripper take at least a symbol together",
        ),
        (RingSpec { wire: Duration(10_000_000), ..good }, "a hop of 5002 symbols: at most 4096 are possible"),
        (
            RingSpec { sizes: PacketSizes { data: 5000, ..sizes }, ..good },
            "a data packet of 5000 symbols: at most 4096 are possible",
        ),
        (
            RingSpec { sizes: PacketSizes { echo: 9, ..sizes }, ..good },
            "echoes of 9 symbols: 1 to 8 are possible, the size of the smallest packet that an echo replaces",
        ),
        (
            RingSpec { sizes: PacketSizes { command: 0, ..sizes }, ..good },
            "echoes of 4 symbols: 1 to 0 are possible, the size of the smallest packet that an echo replaces",
        ),
        (
            RingSpec { sizes: PacketSizes { payload: 41, ..sizes }, ..good },
            "a line of 41 symbols in data packets of 40",
        ),
        (
            RingSpec { buffers: BufferSizes { output: 39, ..buffers }, ..good },
            "an output buffer of 39 symbols: at least 40 are needed",
        ),
        (
            RingSpec { buffers: BufferSizes { input: 0, ..buffers }, ..good },
            "an input buffer of 0 symbols: at least 40 are needed",
        ),
        (
            RingSpec { buffers: BufferSizes { bypass: 40, ..buffers }, ..good },
            "a bypass FIFO of 40 symbols: at least 41 are needed",
        ),
        (
            RingSpec { transmission: PassTransmission::Several(0), ..good },
            "no active buffers: a node that never has a packet outstanding never sends one",
        ),
    ];
    for (spec, message) in bad {
        assert_eq!(Ring::new(spec).err().map(|error| error.to_string()).as_deref(), Some(message));
    }
}

#[test]
fn lost_packets_and_echoes_are_found() {
    let faults = [
        (LinkFault::LostEcho, "node 2 has taken 4 packets, and made 3 echoes"),
        (LinkFault::DroppedInBypass, "node 1 should have sent 160 symbols of sends, and has sent 120"),
    ];
    for (fault, message) in faults {
        let mut ring = ring(RingSpec::published(4, PassTransmission::Several(4)));
        ring.plant(fault, 1);
        // Node 1 transmits while packets of node 0 pass by.
        for (from, tag) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
            ring.offer(Packet { format: Format::Data, ..packet(from, 2, tag) }, Time::ZERO).unwrap();
        }
        let mut found = None;
        while let Some(time) = ring.next_event() {
            ring.run_through(time);
            found = found.or(ring.audit().err());
        }
        assert_eq!(ring.audit().err().map(|error| error.to_string()).as_deref(), Some(message));
        assert!(found.is_some());
    }
}
