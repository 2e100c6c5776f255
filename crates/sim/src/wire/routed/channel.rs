//! A channel: one direction of a link, with packet timing, virtual channels and credits.

use std::collections::VecDeque;
use std::rc::Rc;

use engine::Grid;
use machine::description::MOST_VIRTUAL_CHANNELS;
use units::{Duration, NodeId, RouterId, Time};

use crate::wire::meter::{Meter, Metered};

/// Maximum number of virtual channels of a link.
const MOST_LANES: usize = MOST_VIRTUAL_CHANNELS as usize;

/// The receiving end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The network interface of a node.
    Node(NodeId),
    /// A router.
    Router(RouterId),
}

/// The fixed properties of channels of one kind, which share one copy of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelSpec {
    /// Multiples of the time to send one packet.
    pub packets: Grid,
    /// From the start of a message to its arrival at the far end: across the wire, synchronisation at its ends included, and
    /// before that through the queue of the router that it leaves, if it leaves one.
    pub through_queue: Duration,
    /// The same past that queue, if the router lets a message without contention bypass it (Prestor 2001, 3.2.3).
    pub past_queue: Option<Duration>,
    /// Packets start at edges of this clock: the crossing into another clock domain.
    pub grid: Grid,
    /// The period of that clock, which a message may wait for without contention; zero without such a crossing.
    pub crossing: Duration,
    /// Packets that the buffer at the far end holds for each virtual channel.
    pub buffer_packets: u16,
}

impl ChannelSpec {
    /// The earliest start of a packet that is ready at `time`.
    #[inline]
    pub fn first_start(&self, time: Time) -> Time {
        self.grid.edge(time)
    }
}

/// A message that a channel accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The start of its first packet.
    pub start: Time,
    /// From the start of the first packet to the end of the last, interleaved packets of other channels included.
    pub spread: Duration,
    /// Whether it neither waited nor interleaved with other messages.
    pub unhindered: bool,
}

/// A message that a channel queued for lack of credits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    /// The time for the next try of the queue, if credits are already returning and no try is planned.
    pub next_try: Option<Time>,
}

/// The part of a virtual channel's state that a message with credits does not read.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Lane {
    /// Credits on their way back, by time and number of packets, unordered. They are collected on demand.
    returning: Vec<(Time, u16)>,
    /// Messages that wait for credits, each with its packets.
    waiting: VecDeque<(u32, u16)>,
    /// The planned time of the next try of the queue; [`Time::MAX`] without one.
    next_try: Time,
}

impl Lane {
    const IDLE: Self = Self { returning: Vec::new(), waiting: VecDeque::new(), next_try: Time::MAX };
}

/// One direction of a link: a serial line shared packet by packet by virtual channels with credit flow control (Prestor
/// 2001, 3.2.3).
///
/// Messages pass many channels in turn, so the host's first-level cache seldom has the next one: a message reads two cache
/// lines of it, and a third for the credits that return.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Channel {
    /// The fixed properties.
    pub spec: Rc<ChannelSpec>,
    /// The far end.
    pub to: End,
    /// For each virtual channel, the time at which the last accepted packet has left.
    free_at: [Time; MOST_LANES],
    /// For each virtual channel, the packets for which the far buffer has room.
    credits: [u16; MOST_LANES],
    /// The virtual channels that messages wait for, a bit each.
    waited_for: u8,
    /// The number of virtual channels in use, the first of `lanes`.
    used: u8,
    lanes: Box<[Lane; MOST_LANES]>,
    /// The counts of its port's registers.
    pub meter: Meter,
}

const _: () = assert!(size_of::<Channel>() == 128 && size_of::<Lane>() == 64);

impl Channel {
    /// An idle channel of so many virtual channels, with all its credits.
    pub fn new(spec: Rc<ChannelSpec>, to: End, lanes: u8) -> Self {
        Self {
            to,
            free_at: [Time::ZERO; MOST_LANES],
            credits: [spec.buffer_packets; MOST_LANES],
            waited_for: 0,
            used: lanes,
            lanes: Box::new([Lane::IDLE; MOST_LANES]),
            meter: Meter::default(),
            spec,
        }
    }

    /// Sends a message of `packets` packets on virtual channel `lane` if no message waits there and the far buffer has
    /// room for all of it; otherwise the message `id` joins the queue.
    ///
    /// Packets of different virtual channels alternate on the wire: a message in progress on another channel delays
    /// this one by at most this one's own length, and is delayed by as much. The message starts no sooner than `delay`
    /// after `now`, and later ones of its virtual channel no sooner than it.
    ///
    /// # Errors
    /// The message waits, until [`Channel::send_waiting`] at the time given.
    #[inline(always)]
    pub fn send(&mut self, id: u32, lane: usize, packets: u16, now: Time, delay: Duration) -> Result<Sent, Queued> {
        let first_to_wait = !self.is_waiting(lane);
        if first_to_wait && (self.credits[lane] >= packets || self.collect_credits(lane, now) >= packets) {
            return Ok(self.transmit(lane, packets, now + delay));
        }
        self.waited_for |= 1 << lane;
        self.lanes[lane].waiting.push_back((id, packets));
        Err(Queued { next_try: if first_to_wait { self.next_credits(lane) } else { None } })
    }

    /// The time of the next known return of credits for `lane`.
    pub fn next_credits(&self, lane: usize) -> Option<Time> {
        self.lanes[lane].returning.iter().map(|&(time, _)| time).min()
    }

    /// Whether a message waits on `lane`.
    #[inline]
    pub fn is_waiting(&self, lane: usize) -> bool {
        self.waited_for >> lane & 1 != 0
    }

    /// Plans a try of the queue of `lane` at `time`. Returns whether no earlier one was planned.
    pub fn plan_try(&mut self, lane: usize, time: Time) -> bool {
        let planned = &mut self.lanes[lane].next_try;
        let is_sooner = time < *planned;
        *planned = time.min(*planned);
        is_sooner
    }

    /// Whether a try of the queue of `lane` is planned for now.
    pub fn is_due(&self, lane: usize, now: Time) -> bool {
        self.lanes[lane].next_try == now
    }

    /// Takes the first waiting message of `lane` if its packets have credits now; otherwise the plan of a try is cleared.
    pub fn take_ready(&mut self, lane: usize, now: Time) -> Option<u32> {
        let credits = self.collect_credits(lane, now);
        let Lane { waiting, next_try, .. } = &mut self.lanes[lane];
        let ready = waiting.pop_front_if(|(_, packets)| *packets <= credits);
        if ready.is_none() {
            *next_try = Time::MAX;
        } else if waiting.is_empty() {
            self.waited_for &= !(1 << lane);
        }
        ready.map(|(id, _)| id)
    }

    /// Sends a message of `packets` packets, for which there are credits.
    pub fn send_ready(&mut self, lane: usize, packets: u16, now: Time) -> Sent {
        self.transmit(lane, packets, now)
    }

    #[inline(always)]
    fn transmit(&mut self, lane: usize, packets: u16, now: Time) -> Sent {
        let own = self.spec.packets.period() * u64::from(packets);
        let first = self.spec.first_start(now.max(self.free_at[lane]));
        let (mut others, mut slot) = (Duration::ZERO, Duration::ZERO);
        let used = &mut self.free_at[..usize::from(self.used)];
        for (index, other) in used.iter_mut().enumerate() {
            let backlog = other.since(first);
            if index != lane && backlog > Duration::ZERO {
                let shared = backlog.min(own);
                *other += shared;
                others = others.max(shared);
                // The packet in progress is not interrupted.
                slot = slot.max(self.spec.packets.divide(backlog).1);
            }
        }
        let start = first + slot;
        self.free_at[lane] = first + own + others;
        self.credits[lane] -= packets;
        self.meter.accept(packets);
        Sent {
            start,
            spread: self.free_at[lane].since(start),
            unhindered: others == Duration::ZERO && first.since(now) <= self.spec.crossing,
        }
    }

    /// Collects the credits that have returned by `now`. Returns all that `lane` has then.
    fn collect_credits(&mut self, lane: usize, now: Time) -> u16 {
        let (credits, returning) = (&mut self.credits[lane], &mut self.lanes[lane].returning);
        returning.retain(|&(time, packets)| {
            let back = time <= now;
            *credits += if back { packets } else { 0 };
            !back
        });
        *credits
    }

    /// The far end frees `packets` packets at `when`. Returns `true` if a message waits for them, in which case the
    /// caller must call [`Channel::send_waiting`] at that time.
    #[inline]
    pub fn give_credits(&mut self, lane: usize, when: Time, packets: u16) -> bool {
        self.lanes[lane].returning.push((when, packets));
        self.is_waiting(lane)
    }

    /// Packets of `lane` accepted and not sent by `now`; a waiting message counts as one packet.
    pub fn backlog_packets(&self, lane: usize, now: Time) -> u64 {
        let (whole, rest) = self.spec.packets.divide(self.free_at[lane].since(now));
        whole + u64::from(rest > Duration::ZERO) + self.lanes[lane].waiting.len() as u64
    }
}

impl Metered for Channel {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Packets sent before `time`, derived from the packets accepted and the time still needed to send them.
    fn packets_before(&self, time: Time) -> u64 {
        let last = self.free_at.iter().copied().fold(Time::ZERO, Time::max);
        self.meter.packets_before(time, last, self.spec.packets.period())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel() -> Channel {
        let spec = ChannelSpec {
            packets: Grid::new(Duration(20)),
            through_queue: Duration(48),
            past_queue: None,
            grid: Grid::ANY,
            crossing: Duration::ZERO,
            buffer_packets: 16,
        };
        Channel::new(Rc::new(spec), End::Router(RouterId(1)), 2)
    }

    #[test]
    fn messages_of_one_virtual_channel_follow_each_other() {
        let mut channel = channel();
        let first = channel.send(0, 0, 9, Time(100), Duration::ZERO).unwrap();
        assert_eq!(first, Sent { start: Time(100), spread: Duration(180), unhindered: true });
        let second = channel.send(1, 0, 1, Time(101), Duration::ZERO).unwrap();
        assert_eq!(second, Sent { start: Time(280), spread: Duration(20), unhindered: false });
    }

    #[test]
    fn a_short_message_of_another_virtual_channel_slips_in() {
        let mut channel = channel();
        channel.send(0, 1, 9, Time(100), Duration::ZERO).unwrap();
        let short = channel.send(1, 0, 1, Time(110), Duration::ZERO).unwrap();
        assert_eq!(short.start, Time(120), "after the packet in progress");
        assert!(!short.unhindered);
        let next = channel.send(2, 1, 1, Time(110), Duration::ZERO).unwrap();
        assert_eq!(next.start, Time(300), "the long one ends a packet later");
    }

    #[test]
    fn a_full_buffer_holds_messages_back_until_credits_return() {
        let mut channel = channel();
        assert!(channel.send(0, 1, 9, Time(0), Duration::ZERO).is_ok());
        assert_eq!(channel.send(1, 1, 9, Time(0), Duration::ZERO), Err(Queued { next_try: None }));
        assert!(channel.give_credits(1, Time(500), 9));
        assert!(channel.plan_try(1, Time(499)) && channel.is_due(1, Time(499)));
        assert_eq!(channel.take_ready(1, Time(499)), None, "no credits yet");
        assert!(channel.plan_try(1, Time(500)));
        assert_eq!(channel.take_ready(1, Time(500)), Some(1));
        assert_eq!(channel.send_ready(1, 9, Time(500)).start, Time(500));
        assert_eq!(channel.take_ready(1, Time(500)), None);
        assert!(!channel.give_credits(1, Time(900), 9));
    }
}
