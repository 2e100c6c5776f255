//! The event queue: a timing wheel that pops events in an order independent of the order in which they were pushed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Time;

/// Slot width of the wheel, as log2 of picoseconds: 0.256 ns, in which even a server of 56 busy cores has few events.
const SLOT_BITS: u32 = 8;
/// Slots in the wheel, a power of two: they cover a microsecond and are few enough to stay in a host cache; later
/// events wait in a heap.
const SLOTS: usize = 4096;
const WORDS: usize = SLOTS / 64;
// A word has a bit for each of these words.
const _: () = assert!(WORDS == u64::BITS as usize);

/// Order of events at the same time: by source, then by the order in which that source scheduled them.
///
/// Both keys are independent of how far the simulator looked ahead, so the look-ahead and the lock-step mode pop equal
/// sequences. A global sequence number is not: it depends on the order in which the host pushes events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rank(u64);

/// A source of events: a processor, a hub, a router. It assigns the ranks of its events.
#[derive(Clone, Debug)]
pub struct Source {
    next: u64,
}

impl Source {
    /// Low bits of a rank, which count one source's events; the remaining bits are the number of the source.
    const SEQUENCE_BITS: u32 = 44;

    /// Creates the source with number `id` (below 2^20), unique in its queue.
    pub const fn new(id: u32) -> Self {
        Self { next: (id as u64) << Self::SEQUENCE_BITS }
    }

    /// Rank of this source's next event.
    #[inline]
    pub fn rank(&mut self) -> Rank {
        let rank = Rank(self.next);
        self.next += 1;
        rank
    }
}

/// End marker of a slot's list.
const END: u32 = u32::MAX;

/// Storage for one event from its push to its pop: an element of a slot's list or of the free list.
#[derive(Clone, Debug)]
struct Place<E> {
    time: Time,
    rank: Rank,
    event: E,
    next: u32,
}

/// The order of an event, and the place that holds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    time: Time,
    rank: Rank,
    place: u32,
}

impl Entry {
    #[inline]
    fn precedes(&self, other: &Self) -> bool {
        self.key() < other.key()
    }

    /// Time and rank as one number, which is compared without branches.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.0) << u64::BITS | u128::from(self.rank.0)
    }
}

/// A priority queue of events, ordered by time and then by [`Rank`].
///
/// Each slot of the wheel is a linked list through one array of places. Free places are reused in last-in first-out
/// order, so the few in use at a time stay in the host's first-level cache.
#[derive(Debug)]
pub struct EventQueue<E> {
    /// Events of the current slot and of earlier ones, sorted so that the next event is last.
    ready: Vec<Entry>,
    /// Absolute number of the slot that `ready` was filled from.
    current: u64,
    /// First place of each slot's list.
    wheel: Box<[u32; SLOTS]>,
    places: Vec<Place<E>>,
    free: u32,
    /// A bit for each slot that is not empty, and one for each word of them that is not zero.
    occupied: [u64; WORDS],
    occupied_words: u64,
    beyond: BinaryHeap<Reverse<Entry>>,
    len: usize,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            ready: Vec::new(),
            current: 0,
            wheel: Box::new([END; SLOTS]),
            places: Vec::new(),
            free: END,
            occupied: [0; WORDS],
            occupied_words: 0,
            beyond: BinaryHeap::new(),
            len: 0,
        }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of events in the queue.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Schedules `event` at `time`, which must not lie before the event popped last.
    #[inline]
    pub fn push(&mut self, time: Time, rank: Rank, event: E) {
        self.len += 1;
        let slot = time.0 >> SLOT_BITS;
        if slot <= self.current {
            let place = self.take_place(Place { time, rank, event, next: END });
            insert_sorted(&mut self.ready, Entry { time, rank, place });
        } else if slot - self.current < SLOTS as u64 {
            let index = slot as usize & (SLOTS - 1);
            self.wheel[index] = self.take_place(Place { time, rank, event, next: self.wheel[index] });
            self.occupied[index / 64] |= 1 << (index % 64);
            self.occupied_words |= 1 << (index / 64);
        } else {
            let place = self.take_place(Place { time, rank, event, next: END });
            self.beyond.push(Reverse(Entry { time, rank, place }));
        }
    }

    /// Time of the next event.
    #[inline]
    pub fn peek_time(&mut self) -> Option<Time> {
        if self.ready.is_empty() {
            self.advance();
        }
        self.ready.last().map(|entry| entry.time)
    }

    /// Removes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        if self.ready.is_empty() {
            self.advance();
        }
        let Entry { time, place: at, .. } = self.ready.pop()?;
        self.len -= 1;
        let place = &mut self.places[at as usize];
        (place.next, self.free) = (self.free, at);
        Some((time, place.event))
    }

    /// Stores an event in a free place.
    #[inline]
    fn take_place(&mut self, event: Place<E>) -> u32 {
        let at = self.free;
        if let Some(place) = self.places.get_mut(at as usize) {
            self.free = place.next;
            *place = event;
            at
        } else {
            self.places.push(event);
            self.places.len() as u32 - 1
        }
    }

    /// Advances to the next occupied slot and sorts its events into `ready`, which is empty.
    fn advance(&mut self) {
        let in_wheel = self.next_occupied();
        let in_heap = self.beyond.peek().map_or(u64::MAX, |Reverse(entry)| entry.time.0 >> SLOT_BITS);
        let slot = in_wheel.min(in_heap);
        if slot == u64::MAX {
            return;
        }
        self.current = slot;
        if in_wheel == slot {
            let index = slot as usize & (SLOTS - 1);
            let first = std::mem::replace(&mut self.wheel[index], END);
            let word = &mut self.occupied[index / 64];
            *word &= !(1 << (index % 64));
            if *word == 0 {
                self.occupied_words &= !(1 << (index / 64));
            }
            // Most slots hold one event.
            let Place { time, rank, next, .. } = self.places[first as usize];
            self.ready.push(Entry { time, rank, place: first });
            let mut at = next;
            while at != END {
                let Place { time, rank, next, .. } = self.places[at as usize];
                insert_sorted(&mut self.ready, Entry { time, rank, place: at });
                at = next;
            }
        }
        if in_heap == slot {
            self.take_from_heap(slot);
        }
    }

    #[cold]
    fn take_from_heap(&mut self, slot: u64) {
        while let Some(Reverse(entry)) = self.beyond.peek() {
            if entry.time.0 >> SLOT_BITS != slot {
                break;
            }
            if let Some(Reverse(entry)) = self.beyond.pop() {
                insert_sorted(&mut self.ready, entry);
            }
        }
    }

    /// Absolute number of the first occupied wheel slot after the current one, [`u64::MAX`] if all are empty.
    #[inline]
    fn next_occupied(&self) -> u64 {
        let start = (self.current as usize + 1) & (SLOTS - 1);
        let (first_word, first_bit) = (start / 64, start % 64);
        let first = self.occupied[first_word] >> first_bit;
        if first != 0 {
            return self.current + 1 + u64::from(first.trailing_zeros());
        }
        // The first word comes last again: its lower bits are the slots farthest ahead.
        let later = self.occupied_words.rotate_right(first_word as u32 + 1);
        if later == 0 {
            return u64::MAX;
        }
        let step = 1 + later.trailing_zeros() as usize;
        let bits = self.occupied[(first_word + step) % WORDS];
        self.current + 1 + (step * 64 - first_bit) as u64 + u64::from(bits.trailing_zeros())
    }
}

/// Inserts an event into a list sorted so that the next event is last. A slot holds only a handful of events, so
/// shifting them is faster than sorting.
#[inline]
fn insert_sorted(ready: &mut Vec<Entry>, entry: Entry) {
    let mut at = ready.len();
    ready.push(entry);
    while at > 0 && ready[at - 1].precedes(&entry) {
        ready[at] = ready[at - 1];
        at -= 1;
    }
    ready[at] = entry;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_times_pop_by_source_whatever_the_push_order() {
        let (mut low, mut high) = (Source::new(1), Source::new(2));
        let mut queue = EventQueue::new();
        queue.push(Time(5), high.rank(), "high");
        queue.push(Time(5), low.rank(), "low, first");
        queue.push(Time(5), low.rank(), "low, second");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, ["low, first", "low, second", "high"]);
    }

    proptest! {
        /// Any interleaving of pushes and pops yields what a sorted list would.
        #[test]
        fn pops_like_a_sorted_list(steps in prop::collection::vec((0u64..40_000_000, 0u32..4, any::<bool>()), 1..300)) {
            let mut queue = EventQueue::new();
            let mut model: Vec<(Time, Rank, usize)> = Vec::new();
            let mut sources: Vec<_> = (0..4).map(Source::new).collect();
            let mut now = Time::ZERO;
            for (number, (ahead, source, pop)) in steps.into_iter().enumerate() {
                let rank = sources[source as usize].rank();
                let time = Time(now.0 + ahead);
                queue.push(time, rank, number);
                model.push((time, rank, number));
                if pop {
                    model.sort();
                    let expected = model.remove(0);
                    prop_assert_eq!(queue.peek_time(), Some(expected.0));
                    prop_assert_eq!(queue.pop(), Some((expected.0, expected.2)));
                    now = expected.0;
                }
            }
            model.sort();
            prop_assert_eq!(queue.len(), model.len());
            for (time, _, number) in model {
                prop_assert_eq!(queue.pop(), Some((time, number)));
            }
            prop_assert!(queue.is_empty());
        }
    }
}
