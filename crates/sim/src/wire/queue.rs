//! The occupancy of one virtual channel's receive queue over time, for a router's histogram counters.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Duration, Time};

use crate::counters::{AGE_TICKS, FULL, HALF_FULL, TICK};

/// Classes of a histogram (Prestor 2001, Table 5.4).
pub const CLASSES: usize = 4;

/// The age class of a message that has waited for `waited`; ages saturate at 255.
#[inline]
pub fn age_class(waited: Duration) -> usize {
    let age = (waited.0 / (TICK.0 * AGE_TICKS)).min(255);
    (age / 64) as usize
}

/// The occupancy account of a queue. Entries must arrive in the order of time; departures may be announced in advance.
#[derive(Clone, Debug)]
pub struct Queue {
    lane: usize,
    used: u32,
    /// Departures still to come: time and number of entries.
    leaving: BinaryHeap<Reverse<(Time, u16)>>,
    /// The end of the account.
    until: Time,
    spent: [Duration; CLASSES],
}

impl Queue {
    /// The account of an empty queue of a virtual channel, from `now` on.
    pub fn new(lane: usize, now: Time) -> Self {
        Self { lane, used: 0, leaving: BinaryHeap::new(), until: now, spent: [Duration::ZERO; CLASSES] }
    }

    /// The virtual channel.
    pub fn lane(&self) -> usize {
        self.lane
    }

    /// `packets` enter the queue, at a time not before earlier calls.
    pub fn enter(&mut self, now: Time, packets: u16) {
        self.advance(now);
        self.used += u32::from(packets);
    }

    /// `packets` leave the queue at `when`.
    pub fn leave(&mut self, when: Time, packets: u16) {
        self.leaving.push(Reverse((when, packets)));
    }

    fn advance(&mut self, now: Time) {
        while let Some(&Reverse((when, packets))) = self.leaving.peek()
            && when <= now
        {
            self.leaving.pop();
            self.pass(when);
            self.used = self.used.saturating_sub(packets.into());
        }
        self.pass(now);
    }

    fn pass(&mut self, time: Time) {
        self.spent[class(self.used)] += time.since(self.until);
        self.until = self.until.max(time);
    }

    /// Whole ticks before `time` in each class.
    pub fn ticks_before(&self, time: Time) -> [u64; CLASSES] {
        let mut then = self.clone();
        then.advance(time);
        then.spent.map(|spent| spent.0 / TICK.0)
    }
}

/// The class of `used` entries.
fn class(used: u32) -> usize {
    match used {
        0 => 0,
        used if used < HALF_FULL => 1,
        used if used < FULL => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_by_how_much_of_a_queue_is_used() {
        let at = |tick: u64| Time(TICK.0 * tick);
        let mut queue = Queue::new(0, at(10));
        queue.enter(at(20), 9);
        queue.leave(at(50), 9);
        queue.enter(at(30), 1);
        assert_eq!(queue.ticks_before(at(30)), [10, 0, 10, 0]);
        queue.enter(at(35), 9);
        queue.leave(at(60), 1);
        queue.leave(at(65), 9);
        assert_eq!(queue.ticks_before(at(100)), [10 + 35, 0, 10 + 5 + 10 + 5, 15]);
    }

    #[test]
    fn messages_are_of_age_255_at_most() {
        let class = |ticks: u64| age_class(TICK * (AGE_TICKS * ticks));
        assert_eq!([0, 63, 64, 191, 192, 255, 100_000].map(class), [0, 0, 1, 2, 3, 3, 3]);
    }
}
