//! Lines of others in a third-level cache: cores of the package that are not simulated, such as those of other virtual machines. Their
//! lines take places in all sets alike, at random times at a mean rate, and are replaced as any others are; nothing else is simulated of
//! them. A set is brought up to date when it is next looked at.

use machine::description::SliceSpec;
use protocol::{CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::{Duration, LineAddr, Time};

use crate::part::{Cache, Slot};

/// Numbers of lines that no memory has. A tag has room for them.
const FIRST: u64 = 1 << 50;

/// The lines of others in one slice.
pub(super) struct Others {
    /// The mean time between two of them in a set.
    interval: Duration,
    /// By set, when it was last brought up to date; zero before that: it was full of others' lines from the beginning.
    seen: Vec<Time>,
}

impl Others {
    /// Those of one of `slices` slices; none if nothing is brought in.
    pub(super) fn new(spec: &SliceSpec, slices: u16, line: u64) -> Option<Self> {
        let lines_a_second = f64::from(spec.others_mb_per_s) * 1e6 / line as f64;
        let sets = spec.size.0 / line / u64::from(spec.ways);
        let of_set = lines_a_second / (sets as f64 * f64::from(slices));
        (of_set > 0.0)
            .then(|| Self { interval: Duration::from_ns(1e9 / of_set), seen: vec![Time::ZERO; sets as usize] })
    }

    /// The lines that have come into the set of `line` since it was last looked at, at `now`: at most
    /// four for each way.
    pub(super) fn came(&mut self, tags: &Cache, line: LineAddr, now: Time, random: &mut Xoshiro256PlusPlus) -> usize {
        let (set, ways) = tags.set_and_ways(line.0);
        let before = std::mem::replace(&mut self.seen[set], now.max(Time(1)));
        if before == Time::ZERO {
            return ways;
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
    pub(super) fn take_place(
        tags: &mut Cache,
        line: LineAddr,
        reserved: impl Fn(Slot) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<LineAddr> {
        let (slot, victim) = tags.make_room(line.0, reserved, random)?;
        tags.place(slot, FIRST, CopyState::SHARED, Version::default());
        victim.map(|victim| LineAddr(victim.line)).filter(|&victim| !is_other(victim))
    }
}

/// Whether a line is one of others.
pub(super) const fn is_other(line: LineAddr) -> bool {
    line.0 >= FIRST
}

/// A number above zero, and not above one.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}
