//! A write buffer: stores that have left the instruction window and may not be done. They leave in order.

use std::collections::VecDeque;

use units::Time;

/// The completion of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// At this time.
    At(Time),
    /// With the outstanding miss of this number.
    With(u8),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: u64,
    done: Completion,
}

/// The stores in the buffer, oldest first.
#[derive(Clone, Debug)]
pub struct WriteBuffer {
    depth: usize,
    entries: VecDeque<Entry>,
}

impl WriteBuffer {
    /// An empty buffer for `depth` stores; 0 stands for no buffer.
    pub fn new(depth: usize) -> Self {
        Self { depth, entries: VecDeque::with_capacity(depth) }
    }

    /// Changes its depth to `depth` stores; those beyond it that it has stay until they are done.
    pub fn resize(&mut self, depth: usize) {
        self.depth = depth;
    }

    /// Whether there is a buffer.
    #[inline]
    pub fn is_present(&self) -> bool {
        self.depth > 0
    }

    /// The completion that a store at `now` must wait for; `None` if the buffer has room.
    pub fn obstacle(&mut self, now: Time) -> Option<Completion> {
        self.retire(now);
        self.entries.front().filter(|_| self.entries.len() >= self.depth).map(|oldest| oldest.done)
    }

    /// Enters a store to `block`. There must be room.
    pub fn enter(&mut self, block: u64, done: Completion) {
        debug_assert!(self.entries.len() < self.depth);
        self.entries.push_back(Entry { block, done });
    }

    /// Stores that complete with miss `number` are done at `at`.
    pub fn resolve(&mut self, number: u8, at: Time) {
        for entry in self.entries.iter_mut().filter(|entry| entry.done == Completion::With(number)) {
            entry.done = Completion::At(at);
        }
    }

    /// Whether a store to `block` is in the buffer at `now`, from which a load of the block takes its value.
    pub fn holds(&mut self, block: u64, now: Time) -> bool {
        self.retire(now);
        self.entries.iter().any(|entry| entry.block == block)
    }

    /// The time at which the buffer is empty: [`Time::ZERO`] if it is.
    ///
    /// # Errors
    /// The miss of a store that has no time yet.
    pub fn empty_at(&self) -> Result<Time, u8> {
        self.entries.iter().try_fold(Time::ZERO, |latest, entry| match entry.done {
            Completion::At(at) => Ok(latest.max(at)),
            Completion::With(number) => Err(number),
        })
    }

    /// Stores that are done at `now` leave, as far as no older one is not done.
    fn retire(&mut self, now: Time) {
        while self.entries.front().is_some_and(|oldest| matches!(oldest.done, Completion::At(at) if at <= now)) {
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn at(time: u64) -> Completion {
        Completion::At(Time(time))
    }

    #[test]
    fn a_full_buffer_has_room_when_its_oldest_store_is_done() {
        let mut buffer = WriteBuffer::new(2);
        assert_eq!(buffer.obstacle(Time(0)), None);
        buffer.enter(1, at(100));
        buffer.enter(2, at(50));
        assert_eq!(buffer.obstacle(Time(99)), Some(at(100)), "the younger store is done, and waits behind the older");
        assert!(buffer.holds(2, Time(99)));
        assert_eq!(buffer.obstacle(Time(100)), None);
        assert!(!buffer.holds(1, Time(100)) && !buffer.holds(2, Time(100)), "both have left");
    }

    #[test]
    fn a_missing_store_is_done_with_its_miss() {
        let mut buffer = WriteBuffer::new(1);
        buffer.enter(7, Completion::With(3));
        assert_eq!((buffer.obstacle(Time(1000)), buffer.empty_at()), (Some(Completion::With(3)), Err(3)));
        buffer.resolve(2, Time(10));
        assert_eq!(buffer.empty_at(), Err(3));
        buffer.resolve(3, Time(2000));
        assert_eq!((buffer.obstacle(Time(1999)), buffer.empty_at()), (Some(at(2000)), Ok(Time(2000))));
        assert_eq!(buffer.obstacle(Time(2000)), None);
    }

    proptest! {
        /// The times at which stores find room equal those of a list of completions, each the latest so far.
        #[test]
        fn stores_leave_in_order(
            depth in 1usize..6,
            stores in prop::collection::vec((0u64..40, 0u64..200), 1..60),
        ) {
            let mut buffer = WriteBuffer::new(depth);
            let (mut now, mut left) = (0, Vec::<u64>::new());
            for (number, (pause, length)) in stores.into_iter().enumerate() {
                now += pause;
                // The store `depth` before must have left, which all older ones precede.
                let free = number.checked_sub(depth).map_or(0, |older| left[older]);
                while let Some(Completion::At(until)) = buffer.obstacle(Time(now)) {
                    prop_assert!(until.0 > now);
                    now = until.0;
                }
                prop_assert!(now >= free, "{now} is before {free}");
                buffer.enter(number as u64, at(now + length));
                left.push((now + length).max(left.last().copied().unwrap_or(0)));
            }
        }
    }
}
