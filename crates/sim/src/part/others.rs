//! Lines of others in a cache: cores of the package that are not simulated, or threads of the same core, such as those of other virtual
//! machines. Their lines take places in all sets alike, at random times at a mean rate, and are replaced as any others are; nothing else
//! is simulated of them. A set is brought up to date when a request, or in a private cache an access of the processor, next looks for a
//! line in it.

use protocol::{CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::{Bytes, Duration, LineAddr, Time};

use super::{Cache, Slot};

/// Number of any line of others, which no memory has. A tag has room for it.
const LINE: u64 = 1 << 50;

/// The lines of others in one cache.
#[derive(Debug)]
pub struct Others {
    /// The mean time between two of them in a set.
    interval: Duration,
    /// By set, when it was last brought up to date; zero before that: it was full of others' lines from the beginning.
    seen: Vec<Time>,
}

impl Others {
    /// Those that bring `mb_per_s` of `line` bytes each into `sets` sets of one cache, or of several that share the traffic, one of
    /// which has `of_one` of them; none if nothing is brought in.
    pub fn new(mb_per_s: u32, line: Bytes, sets: usize, of_one: usize) -> Option<Self> {
        let lines_a_second = f64::from(mb_per_s) * 1e6 / line.0 as f64;
        let of_set = lines_a_second / sets as f64;
        (of_set > 0.0).then(|| Self { interval: Duration::from_ns(1e9 / of_set), seen: vec![Time::ZERO; of_one] })
    }

    /// The lines that have come into `set`, of so many `ways`, since it was last looked at, at `now`: at most four for each way.
    pub fn came(&mut self, (set, ways): (usize, usize), now: Time, random: &mut Xoshiro256PlusPlus) -> usize {
        let now = now.max(self.seen[set]).max(Time(1));
        let before = std::mem::replace(&mut self.seen[set], now);
        if before == Time::ZERO {
            return ways;
        }
        // Another attempt at the same time draws no number.
        if before == now {
            return 0;
        }
        let mean = now.since(before).0 as f64 / self.interval.0 as f64;
        // Arrivals of a Poisson process: the exponential times between them are products of uniform numbers.
        let (mut left, mut count) = (f64::exp(-mean.min(500.0)), 0);
        while count < 4 * ways {
            left /= uniform(random);
            if left > 1.0 {
                break;
            }
            count += 1;
        }
        count
    }

    /// One of them takes a place in the set of `line`, other than those `reserved`. Returns a line that it replaces and that is none of
    /// them.
    pub fn take_place(
        tags: &mut Cache,
        line: LineAddr,
        reserved: impl Fn(Slot) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<LineAddr> {
        let (slot, victim) = tags.make_room(line.0, reserved, random)?;
        Self::occupy(tags, slot);
        victim.map(|victim| LineAddr(victim.line)).filter(|&victim| !is_of_others(victim))
    }

    /// One of them takes an empty slot.
    pub fn occupy(tags: &mut Cache, slot: Slot) {
        tags.place(slot, LINE, CopyState::SHARED, Version::default());
    }
}

/// Whether a line is one of others.
pub const fn is_of_others(line: LineAddr) -> bool {
    line.0 == LINE
}

/// A number above zero, and not above one.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}
