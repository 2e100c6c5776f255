//! What disturbs programs on a machine that nobody else uses: work of the operating system that comes up at random.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::{Duration, Time};

/// When daemons come up next on each processor.
#[derive(Clone, Debug)]
pub struct Daemons {
    random: Xoshiro256PlusPlus,
    /// The mean time from one to the next on a processor; zero for no daemons.
    interval: Duration,
    next: Vec<Time>,
}

impl Daemons {
    /// Daemons for so many processors, from `now` on.
    pub fn new(processors: usize, interval: Duration, seed: u64, now: Time) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xdae0_0000);
        let mut daemons = Self { random, interval, next: vec![Time::MAX; processors] };
        for cpu in 0..processors {
            daemons.arm(cpu, now);
        }
        daemons
    }

    /// Draws when the next one comes up on `cpu`: any time between a hundredth of the mean and twice the mean.
    fn arm(&mut self, cpu: usize, now: Time) {
        if self.interval == Duration::ZERO {
            return;
        }
        let drawn = self.random.next_u64() % (2 * self.interval.0);
        self.next[cpu] = now + Duration(drawn.max(self.interval.0 / 100));
    }

    /// When the next ones come up.
    pub fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        self.next.iter_mut()
    }

    /// When the next one comes up on `cpu`.
    pub fn next(&self, cpu: usize) -> Time {
        self.next[cpu]
    }

    /// Whether one comes up on `cpu` at `now`; the one after it is drawn.
    pub fn wakes(&mut self, cpu: usize, now: Time) -> bool {
        let wakes = self.next[cpu] <= now;
        if wakes {
            self.arm(cpu, now);
        }
        wakes
    }
}
