//! Events and symbols agree: every symbol of every link, every outcome, every count.

use proptest::prelude::*;

use super::super::*;
use super::symbols::Symbols;
use super::traffic::{Account, Traffic, run};
use super::{Change, ring, show};

/// A small ring with any delays, sizes, buffers and option.
pub fn spec() -> impl Strategy<Value = RingSpec> {
    let delays = (0u64..4, 0u64..4).prop_filter("a hop takes time", |(wire, stripper)| wire + stripper > 0);
    let sizes = (1u32..5, 0u32..6, 0u32..12, 0u32..24);
    let transmission = prop_oneof![
        Just(PassTransmission::One),
        Just(PassTransmission::OneOfEach),
        (1u32..5).prop_map(PassTransmission::Several)
    ];
    (1u32..9, delays, sizes, (0u32..80, 0u32..80), transmission).prop_map(
        |(nodes, (wire, stripper), (echo, command, long, data), (output, input), transmission)| {
            let command = echo + command;
            let sizes =
                PacketSizes { command, long_command: command + long, data: command + data, payload: data, echo };
            let longest = sizes.longest();
            let buffers = BufferSizes { output: longest + output, input: longest + input, bypass: longest + 1 };
            let symbol = Duration(2000);
            RingSpec { nodes, symbol, wire: symbol * wire, stripper: symbol * stripper, sizes, buffers, transmission }
        },
    )
}

/// Requests within `span` slots, the share `hot` of 4 of them to one node, which serves them slowly.
fn traffic(nodes: u32, most: usize) -> impl Strategy<Value = Traffic> {
    let request = (any::<u64>(), 0..nodes as u16, 0..nodes as u16, 0u8..4, 0usize..3);
    let requests = prop::collection::vec(request, 1..most);
    let service = prop::collection::vec(prop_oneof![Just(0u64), 0u64..200], nodes as usize);
    (requests, 1u64..3000, 0u8..5, 0..nodes as u16, service).prop_map(move |(requests, span, hot, spot, service)| {
        let request = |(tag, (when, from, to, heat, format)): (usize, (u64, u16, u16, u8, usize))| {
            let to = NodeId(if heat < hot { spot } else { to });
            let format = [Format::Command, Format::LongCommand, Format::Data][format];
            (when % span, Packet { from: NodeId(from), to, subaction: Subaction::Request, format, tag: tag as u32 })
        };
        Traffic { requests: requests.into_iter().enumerate().map(request).collect(), service, patience: 300_000 }
    })
}

/// Runs both models and compares them in everything.
fn compare(spec: RingSpec, traffic: &Traffic) -> Result<(Account, Ring), TestCaseError> {
    let mut symbols = Symbols::new(spec);
    let expected = run(&mut symbols, &spec, traffic);
    let mut events = ring(spec);
    let account = run(&mut events, &spec, traffic);
    // Both run until the last echo is complete, and idles have gone around.
    let end = symbols.trace[0].len() as Slot + Slot::from(spec.nodes) * spec.hop() + 100;
    super::Model::run(&mut symbols, end - 1);
    super::Model::run(&mut events, end - 1);
    for node in 0..spec.nodes as usize {
        let (sent, reference) = (events.symbols(node, end), &symbols.trace[node][..end as usize]);
        if let Some(slot) = (0..end as usize).find(|&slot| sent[slot] != reference[slot]) {
            let near = slot.saturating_sub(40)..slot + 8;
            let hop = spec.hop() as usize;
            let upstream = (node + spec.nodes as usize - 1) % spec.nodes as usize;
            let before = show(&symbols.trace[upstream][near.start.saturating_sub(hop)..near.end - hop]);
            let (ours, theirs) = (show(&sent[near.clone()]), show(&reference[near.clone()]));
            prop_assert!(
                false,
                "node {node} differs in slot {slot}\nreceives {before}\nsends    {ours}\nnot      {theirs}"
            );
        }
    }
    prop_assert_eq!(&account.outcomes, &expected.outcomes);
    prop_assert_eq!((account.refused, account.ended), (expected.refused, expected.ended));
    if account.ended.is_some() {
        prop_assert_eq!(&events.statistics().nodes, &symbols.statistics);
    }
    prop_assert_eq!(events.audit(), Ok(()));
    Ok((account, events))
}

/// A ring of the standard's packets with buffers of few packets.
fn standard() -> impl Strategy<Value = RingSpec> {
    let transmission =
        prop_oneof![Just(PassTransmission::One), Just(PassTransmission::OneOfEach), Just(PassTransmission::Several(4))];
    (2u32..9, 1u32..3, 1u32..3, transmission).prop_map(|(nodes, output, input, transmission)| {
        let spec = RingSpec::published(nodes, transmission);
        RingSpec { buffers: BufferSizes::packets(&spec.sizes, output, input), ..spec }
    })
}

/// A ring as `specs` gives it, with up to `most` requests.
fn with_traffic(specs: impl Strategy<Value = RingSpec>, most: usize) -> impl Strategy<Value = (RingSpec, Traffic)> {
    specs.prop_flat_map(move |spec| (Just(spec), traffic(spec.nodes, most)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn events_and_symbols_agree((spec, traffic) in with_traffic(spec(), 80)) {
        let (account, _) = compare(spec, &traffic)?;
        prop_assert!(account.ended.is_some(), "every transaction ends");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn they_agree_on_standard_packets((spec, traffic) in with_traffic(standard(), 120)) {
        let (account, _) = compare(spec, &traffic)?;
        prop_assert!(account.ended.is_some(), "every transaction ends");
    }
}

/// Requests of all nodes at once, every second one to node 0, which serves them slowly.
fn rush(nodes: u16, requests: u32) -> Traffic {
    let request = |tag: u32| {
        let from = NodeId((tag % u32::from(nodes)) as u16);
        let to = NodeId(if tag.is_multiple_of(2) { 0 } else { (tag * 7 / 3 % u32::from(nodes)) as u16 });
        let format = [Format::Data, Format::Command, Format::LongCommand][(tag / 5 % 3) as usize];
        (Slot::from(tag % 40), Packet { from, to, subaction: Subaction::Request, format, tag })
    };
    let service = (0..nodes).map(|node| if node == 0 { 150 } else { 5 }).collect();
    Traffic { requests: (0..requests).map(request).collect(), service, patience: 400_000 }
}

/// Checks that models agree on a rush in which every mechanism of the ring is at work.
fn agree_on_rush(spec: RingSpec, requests: u32) {
    let (account, ring) = compare(spec, &rush(spec.nodes as u16, requests)).unwrap();
    assert!(account.ended.is_some() && account.refused > 0);
    let nodes = &ring.statistics().nodes;
    assert!(nodes.iter().any(|node| node.busied > 0));
    assert!(nodes.iter().any(|node| node.retransmitted > 0));
    assert!(nodes.iter().any(|node| node.bypassed > 0));
    for kind in [Change::Stop, Change::Go] {
        assert!(ring.trace.iter().any(|traced| traced.2 == kind));
    }
}

#[test]
fn they_agree_where_everything_happens() {
    for transmission in [PassTransmission::One, PassTransmission::OneOfEach, PassTransmission::Several(3)] {
        let spec = RingSpec::published(6, transmission);
        agree_on_rush(RingSpec { buffers: BufferSizes::packets(&spec.sizes, 1, 1), ..spec }, 120);
    }
}

/// Rings that have only their clock in common do what each does alone.
#[test]
fn several_rings_are_as_each_alone() {
    let lengths = [3u32, 5, 2];
    let published = |nodes| RingSpec::published(nodes, PassTransmission::OneOfEach);
    // Nothing is taken out of input buffers.
    let buffers = BufferSizes::packets(&published(1).sizes, 4, 64);
    let alone = |nodes| RingSpec { buffers, ..published(nodes) };
    let send = |ring: &mut Ring, first: u16, nodes: u32| {
        for tag in 0..40 {
            let from = (tag % nodes) as u16;
            let to = (from + 1 + (tag / 3 % nodes) as u16) % nodes as u16;
            let packet = Packet { format: Format::Data, ..super::packet(first + from, first + to, tag) };
            // Output buffers have room for four.
            let _ = ring.offer(packet, Time(0));
        }
    };
    let mut together = Ring::several(alone(lengths.iter().sum()), &lengths).unwrap();
    let mut first = 0;
    for nodes in lengths {
        send(&mut together, first, nodes);
        first += nodes as u16;
    }
    super::finish(&mut together);
    assert_eq!(together.audit(), Ok(()));
    let mut first = 0;
    for nodes in lengths {
        let mut ring = ring(alone(nodes));
        send(&mut ring, 0, nodes);
        super::finish(&mut ring);
        let found = &together.statistics().nodes[first..first + nodes as usize];
        assert_eq!(found, ring.statistics().nodes);
        assert!(found.iter().any(|node| node.bypassed > 0));
        first += nodes as usize;
    }
}

#[test]
fn they_agree_on_more_nodes_than_a_word_has_bits() {
    let spec = RingSpec::published(70, PassTransmission::Several(2));
    agree_on_rush(RingSpec { buffers: BufferSizes::packets(&spec.sizes, 2, 1), ..spec }, 280);
}
