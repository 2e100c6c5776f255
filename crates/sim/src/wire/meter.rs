//! Counts of a channel in its port's registers: packets, the occupancy of its far end's queue, and packets by age.

use units::{Duration, Time};

use super::queue::{CLASSES, Queue, age_class};
use crate::counters::TICK;

/// The counts of one direction of a link.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Packets of all messages accepted.
    packets: u64,
    /// Packets that came out of this channel and bypassed the queue behind it.
    pub bypassed_packets: u64,
    histograms: Option<Box<Histograms>>,
}

/// The histograms of a port that is watched.
#[derive(Clone, Debug, Default)]
struct Histograms {
    /// The occupancy account of the far end's queue, if watched.
    queue: Option<Queue>,
    /// The age histogram of packets sent, if watched.
    ages: Option<[u64; CLASSES]>,
}

impl Meter {
    /// Counts the packets of an accepted message.
    #[inline]
    pub fn accept(&mut self, packets: u16) {
        self.packets += u64::from(packets);
    }

    /// Packets sent before `time` by a channel that sends one in each `packet` and has sent all accepted ones at `last`.
    pub fn packets_before(&self, time: Time, last: Time, packet: Duration) -> u64 {
        self.packets.saturating_sub(last.since(time).0.div_ceil(packet.0))
    }

    /// Keeps an occupancy account of the far end's queue of `lane` from `now` on.
    pub fn watch_queue(&mut self, lane: usize, now: Time) {
        self.histograms.get_or_insert_default().queue.get_or_insert_with(|| Queue::new(lane, now));
    }

    /// The occupancy account of the far end's queue, if `lane` is watched.
    #[inline]
    pub fn queue_mut(&mut self, lane: usize) -> Option<&mut Queue> {
        self.histograms.as_mut()?.queue.as_mut().filter(|queue| queue.lane() == lane)
    }

    /// Counts packets sent by age from now on.
    pub fn watch_ages(&mut self) {
        self.histograms.get_or_insert_default().ages.get_or_insert_default();
    }

    /// Counts `packets` sent after waiting for `waited`.
    #[inline]
    pub fn count_ages(&mut self, packets: u16, waited: Duration) {
        if let Some(ages) = self.histograms.as_mut().and_then(|histograms| histograms.ages.as_mut()) {
            ages[age_class(waited)] += u64::from(packets);
        }
    }
}

/// One direction of a link, with its counts.
pub trait Metered {
    /// The counts.
    fn meter(&self) -> &Meter;

    /// Packets sent before `time`.
    fn packets_before(&self, time: Time) -> u64;
}

/// A channel whose packets count when they are sent.
#[derive(Clone, Default)]
pub struct Instant(pub Meter);

impl Metered for Instant {
    fn meter(&self) -> &Meter {
        &self.0
    }

    fn packets_before(&self, time: Time) -> u64 {
        self.0.packets_before(time, Time::ZERO, Duration(1))
    }
}

/// The counts of a port before `time`, in a mode of its registers: what it receives and what it sends. Histograms that are
/// not watched are left unchanged.
pub fn registers(receiving: &dyn Metered, sending: &dyn Metered, mode: usize, time: Time, exact: &mut [u64]) {
    match mode {
        0 => {
            exact[..2].copy_from_slice(&[receiving.meter().bypassed_packets, receiving.packets_before(time)]);
            exact[2] = sending.packets_before(time);
            exact[3] = time.since(Time::ZERO).0 / TICK.0;
        }
        1 => {
            if let Some(queue) = receiving.meter().histograms.as_ref().and_then(|histograms| histograms.queue.as_ref())
            {
                exact.copy_from_slice(&queue.ticks_before(time));
            }
        }
        _ => {
            let ages = sending.meter().histograms.as_ref().and_then(|histograms| histograms.ages.as_ref());
            exact.copy_from_slice(ages.unwrap_or(&[0; CLASSES]));
        }
    }
}
