//! Probes of each interconnect between mock nodes, and what every one of them must keep to.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use machine::topology::Endpoint;
use proptest::prelude::*;

use super::*;
use crate::system::Controller;

/// A machine of 16 nodes with the interconnect `kind`.
fn described(kind: &str, changes: &[(&str, &str)]) -> Description {
    let on_router = [("topology.kind", kind), ("topology.nodes_per_router", "1"), ("router.virtual_channels", "4")];
    match machine::resolve_changed("flash-16p", "probe", "changed", &[&on_router, changes].concat()) {
        Ok(resolved) => resolved.description,
        Err(error) => panic!("{error}"),
    }
}

/// An occasion of the event loop. At equal times, those that were planned first come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Enter(NodeId, usize),
    Pass(ChannelId, usize),
    Deliver(ChannelId, usize),
    Retry(ChannelId, u8),
}

/// A message of a probe: sender, parcel, time, random delay of each of its steps.
type Sending = (NodeId, Parcel, Time, Duration);

/// An interconnect between mock nodes, which accept every message at once and keep its place for some time.
struct Bench {
    wires: Wires,
    due: BinaryHeap<Reverse<(Time, usize, Due)>>,
    planned: usize,
    passages: Vec<Passage>,
    /// By message, the time of its delivery and the channel that it came out of.
    delivered: Vec<Option<(Time, ChannelId)>>,
    /// By message, the time of the step that announced its delivery.
    announced: Vec<Time>,
    /// Messages in the order of their deliveries.
    order: Vec<usize>,
    keeps: Duration,
}

impl Bench {
    fn new(description: &Description, keeps: Duration) -> Self {
        let wires = Network::new(description, Topology::new(description), VirtualNetwork::ALL.len()).wires;
        let (due, planned, passages, delivered, announced, order) = Default::default();
        Self { wires, due, planned, passages, delivered, announced, order, keeps }
    }

    fn plan(&mut self, at: Time, due: Due) {
        self.due.push(Reverse((at, self.planned, due)));
        self.planned += 1;
    }

    fn carry_out(&mut self, id: usize, step: Step, now: Time) {
        if step.retries {
            let Retry { channel, lane, at } = self.wires.take_retry().expect("a step that retries has a try");
            self.plan(at, Due::Retry(channel, lane));
        }
        match step.next {
            Next::Pass => self.plan(step.at, Due::Pass(step.channel, id)),
            Next::Deliver => {
                self.announced[id] = now;
                self.plan(step.at, Due::Deliver(step.channel, id));
            }
            Next::Wait => {}
        }
    }

    /// Sends all messages and waits until nothing is due. Returns the time of each delivery.
    fn run(&mut self, sendings: &[Sending]) -> Vec<Time> {
        let count = sendings.len();
        (self.passages, self.delivered) = (vec![Passage::default(); count], vec![None; count]);
        (self.announced, self.order) = (vec![Time::ZERO; count], Vec::new());
        for (id, &(from, _, at, _)) in sendings.iter().enumerate() {
            self.plan(at, Due::Enter(from, id));
        }
        let parcel = |id: usize| Parcel { id: id as u32, ..sendings[id].1 };
        while let Some(Reverse((now, _, due))) = self.due.pop() {
            match due {
                Due::Enter(from, id) => {
                    let step = self.wires.enter(from, parcel(id), &mut self.passages[id], now, sendings[id].3);
                    self.carry_out(id, step, now);
                }
                Due::Pass(channel, id) => {
                    let step = self.wires.pass(channel, parcel(id), &mut self.passages[id], now, sendings[id].3);
                    self.carry_out(id, step, now);
                }
                Due::Deliver(channel, id) => {
                    assert!(self.delivered[id].replace((now, channel)).is_none(), "message {id} arrives twice");
                    self.order.push(id);
                    let passage = &mut self.passages[id];
                    assert!(passage.is_delivered());
                    let when = now + self.keeps;
                    if let Some(retry) = self.wires.release(passage, sendings[id].1.packets, when, now) {
                        self.plan(retry.at, Due::Retry(retry.channel, retry.lane));
                    }
                }
                Due::Retry(channel, lane) => loop {
                    match self.wires.take_ready(channel, lane, now) {
                        Waiting::Ready(id) => {
                            let retry = Retry { channel, lane, at: now };
                            let step = self.wires.leave(retry, parcel(id as usize), &mut self.passages[id as usize]);
                            self.carry_out(id as usize, step, now);
                        }
                        Waiting::Later(retry) => {
                            if let Some(Retry { channel, lane, at }) = retry {
                                self.plan(at, Due::Retry(channel, lane));
                            }
                            break;
                        }
                    }
                },
            }
        }
        self.delivered.iter().map(|delivered| delivered.expect("every message arrives").0).collect()
    }
}

fn message(from: u16, to: u16, packets: u16, at: u64) -> Sending {
    let network = VirtualNetwork::Request;
    let parcel = Parcel { id: 0, to: NodeId(to), network, packets, extends_header: false };
    (NodeId(from), parcel, Time(at), Duration::ZERO)
}

/// Deliveries of messages over a crossbar of 100 ns whose interfaces take 20 ns for a packet.
fn over_a_crossbar(sendings: &[Sending]) -> Vec<u64> {
    let changes = [("crossbar.latency_ns", "100"), ("link.micropacket_ns", "20")];
    let mut bench = Bench::new(&described("crossbar", &changes), Duration::ZERO);
    bench.run(sendings).into_iter().map(|time| time.0 / 1000).collect()
}

#[test]
fn a_message_alone_crosses_the_crossbar_in_its_latency() {
    assert_eq!(over_a_crossbar(&[message(0, 9, 1, 7000)]), [107]);
    assert_eq!(over_a_crossbar(&[message(0, 9, 9, 7000)]), [107], "its first packet");
}

#[test]
fn messages_wait_for_each_other_at_their_receiver() {
    // Nine packets hold the receiver's interface until 280; a head that comes a picosecond sooner waits for as long.
    let sendings = [message(0, 9, 9, 0), message(1, 9, 1, 0), message(2, 9, 1, 180_000), message(3, 9, 1, 219_000)];
    assert_eq!(over_a_crossbar(&sendings), [100, 280, 300, 320]);
    let at = |time| {
        let mut bench = Bench::new(&described("crossbar", &[("crossbar.latency_ns", "100")]), Duration::ZERO);
        bench.run(&[message(0, 9, 9, 0), message(1, 9, 1, time)])[1].0
    };
    assert_eq!([179_999, 180_000, 180_001].map(at), [280_000, 280_000, 280_001]);
}

#[test]
fn messages_wait_for_each_other_at_their_sender() {
    let sendings = [message(0, 9, 9, 0), message(0, 8, 9, 0), message(0, 7, 1, 1000)];
    assert_eq!(over_a_crossbar(&sendings), [100, 280, 460]);
}

#[test]
fn messages_between_different_nodes_do_not_wait() {
    let sendings: Vec<_> = (0..8).map(|pair| message(pair, 8 + pair, 9, 0)).collect();
    assert_eq!(over_a_crossbar(&sendings), [100; 8]);
    // A node sends and receives at once.
    assert_eq!(over_a_crossbar(&[message(0, 1, 9, 0), message(1, 0, 9, 0)]), [100, 100]);
}

#[test]
fn what_waits_at_a_crossbars_sender_is_its_backlog() {
    let mut bench = Bench::new(&described("crossbar", &[("link.micropacket_ns", "20")]), Duration::ZERO);
    let mut passage = Passage::default();
    let (from, parcel, now, delay) = message(3, 4, 9, 0);
    for _ in 0..2 {
        bench.wires.enter(from, parcel, &mut passage, now, delay);
    }
    let backlog = |time| bench.wires.backlog_packets(NodeId(3), VirtualNetwork::Request, Time(time));
    assert_eq!([0, 1, 20_000, 359_999, 360_000].map(backlog), [18, 18, 17, 1, 0]);
    assert_eq!(bench.wires.backlog_packets(NodeId(3), VirtualNetwork::Reply, Time(0)), 0);
}

#[test]
fn nothing_waits_in_an_ideal_network() {
    let mut bench = Bench::new(&described("ideal", &[("ideal_network.latency_ns", "75")]), Duration::ZERO);
    let sendings: Vec<_> = (0..15).map(|from| message(from, 15, 9, u64::from(from % 3) * 1000)).collect();
    let expected: Vec<_> = sendings.iter().map(|sending| sending.2 + Duration::from_ns(75.0)).collect();
    assert_eq!(bench.run(&sendings), expected);
}

/// Every interconnect, in sizes that make messages wait.
fn every_kind() -> Vec<Description> {
    let flash = machine::load("flash-16p").expect("built in");
    let hypercube = machine::load("origin2000-r12k-300-32p").expect("built in");
    let line = described("mesh", &[("mesh.rows", "1")]);
    let tiny = [("sci_ring.input_packets", "1"), ("sci_ring.output_packets", "1"), ("sci_ring.transmission", "one")];
    let plain = ["ring", "mesh", "sci-ring", "crossbar", "ideal"].map(|kind| described(kind, &[]));
    let joined = described("sci-ring", &[&tiny[..], &[("sci_ring.rings", "4")]].concat());
    plain.into_iter().chain([flash, hypercube, line, described("sci-ring", &tiny), joined]).collect()
}

/// A message alone arrives at its unhindered time, by either virtual network.
#[test]
fn what_is_unhindered_is_what_a_message_alone_takes() {
    for description in every_kind() {
        for (from, to, at) in [(0, 15, 0), (15, 0, 1234), (3, 9, 777), (9, 8, 5), (0, 8, 1)] {
            for network in VirtualNetwork::ALL {
                let mut bench = Bench::new(&description, Duration::ZERO);
                let (from, parcel, at, delay) = message(from, to, 1, at);
                let expected = bench.wires.unhindered(network, from, parcel.to, &[at]);
                let found = bench.run(&[(from, Parcel { network, ..parcel }, at, delay)]);
                assert_eq!(found, expected, "{:?} from {from} to {to}", description.topology.kind);
            }
        }
    }
}

fn sendings() -> impl Strategy<Value = Vec<Sending>> {
    let one = (0u16..16, 1u16..16, any::<bool>(), any::<bool>(), 0u64..3000, 0u64..400).prop_map(
        |(from, further, replies, long, at, delay)| {
            let network = VirtualNetwork::ALL[usize::from(replies)];
            let packets = if long { 9 } else { 1 };
            let to = NodeId((from + further) % 16);
            let parcel = Parcel { id: 0, to, network, packets, extends_header: false };
            (NodeId(from), parcel, Time(at * 1000), Duration(delay * 1000))
        },
    );
    prop::collection::vec(one, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every message arrives once, at its destination, not before it could, behind those of its virtual network that its
    /// sender sent there before; and every packet is counted on its way in and on its way out.
    #[test]
    fn every_interconnect_delivers_in_order(mut sendings in sendings(), delays in any::<bool>(), keeps in 0u64..600) {
        sendings.sort_by_key(|sending| sending.2);
        if !delays {
            sendings.iter_mut().for_each(|sending| sending.3 = Duration::ZERO);
        }
        for description in every_kind() {
            let kind = description.topology.kind;
            let mut bench = Bench::new(&description, Duration(keeps * 1000));
            let arrivals = bench.run(&sendings);
            for (id, &(from, parcel, at, _)) in sendings.iter().enumerate() {
                let (time, channel) = bench.delivered[id].expect("every message arrives");
                prop_assert_eq!(channel, bench.wires.topology().ejection(parcel.to));
                let soonest = bench.wires.unhindered(parcel.network, from, parcel.to, &[at])[0];
                prop_assert!(time >= soonest, "{kind:?}: {time} before {soonest}");
                let from_here = if bench.wires.announces_early() { bench.announced[id] } else { at };
                let soonest = from_here + bench.wires.soonest_delivery().expect("messages are delivered");
                prop_assert!(time >= soonest.max(bench.announced[id]), "{kind:?}: look-ahead would miss it");
                let earlier = |&(other, sent): &(usize, &Sending)| {
                    other < id && sent.0 == from && sent.1.to == parcel.to && sent.1.network == parcel.network
                };
                let order = |id: usize| bench.order.iter().position(|&other| other == id);
                for (other, _) in sendings.iter().enumerate().filter(earlier) {
                    prop_assert!(order(other) < order(id) && arrivals[other] <= time, "{kind:?}");
                }
            }
            let end = arrivals.iter().copied().max().unwrap_or(Time::ZERO) + Duration::from_ns(1e6);
            let mut counts = [0; 2];
            for node in bench.wires.topology().nodes() {
                let mut exact = [0; 4];
                bench.wires.counted(node.router, node.port, 0, end, &mut exact);
                (counts[0], counts[1]) = (counts[0] + exact[1], counts[1] + exact[2]);
            }
            let packets = sendings.iter().map(|sending| u64::from(sending.1.packets)).sum();
            prop_assert_eq!(counts, [packets; 2], "{:?}", kind);
        }
    }
}

/// The channels of a ring use both classes of virtual channels, and no lane but those of the classes.
#[test]
fn messages_across_the_dateline_change_their_virtual_channel() {
    let mut bench = Bench::new(&described("ring", &[]), Duration::ZERO);
    let mut lanes = Vec::new();
    for (from, to) in [(14, 2), (2, 14), (4, 6), (6, 4)] {
        let (from, parcel, mut now, delay) = message(from, to, 1, 0);
        let mut passage = Passage::default();
        let mut step = bench.wires.enter(from, parcel, &mut passage, now, delay);
        let mut taken = vec![passage.lane];
        while step.next == Next::Pass {
            now = step.at;
            step = bench.wires.pass(step.channel, parcel, &mut passage, now, delay);
            taken.push(passage.lane);
        }
        assert_eq!(step.next, Next::Deliver);
        let ends = bench.wires.topology().channels().nth(step.channel.index()).map(|channel| channel.to);
        assert_eq!(ends, Some(Endpoint::Node(parcel.to)));
        lanes.push(taken);
    }
    assert_eq!(lanes, [vec![0, 0, 0, 1, 1, 0], vec![0, 0, 0, 0, 1, 0], vec![0, 1, 1, 0], vec![0, 1, 1, 0]]);
}

/// A description's check and the controllers agree on the number of virtual networks.
#[test]
fn descriptions_have_virtual_channels_for_every_network_of_the_controllers() {
    use machine::description::ControllerKind::{Hub, Magic, Sci};
    assert_eq!(crate::origin::Hubs::NETWORKS.len() as u32, Hub.networks());
    assert_eq!(crate::flash::Magics::NETWORKS.len() as u32, Magic.networks());
    assert_eq!(crate::sci::SciNodes::NETWORKS.len() as u32, Sci.networks());
    for networks in [crate::origin::Hubs::NETWORKS, crate::flash::Magics::NETWORKS, crate::sci::SciNodes::NETWORKS] {
        assert!(networks.iter().zip(VirtualNetwork::ALL).all(|(one, other)| *one == other), "in the order of numbers");
    }
}
