//! Daemons: operating system work that comes up at random and disturbs programs even on a machine without other users.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::{Duration, Time};

/// The time of the next daemon on each processor.
#[derive(Clone, Debug)]
pub struct Daemons {
    random: Xoshiro256PlusPlus,
    /// Mean time between daemons on a processor; zero for none.
    interval: Duration,
    next: Vec<Time>,
}

impl Daemons {
    /// Daemons for `processors` processors, from `now` on.
    pub fn new(processors: usize, interval: Duration, seed: u64, now: Time) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xdae0_0000);
        let mut daemons = Self { random, interval, next: vec![Time::MAX; processors] };
        for cpu in 0..processors {
            daemons.arm(cpu, now);
        }
        daemons
    }

    /// Draws the time of the next daemon on `cpu`: between a hundredth of the mean and twice the mean from now.
    fn arm(&mut self, cpu: usize, now: Time) {
        if self.interval == Duration::ZERO {
            return;
        }
        let drawn = self.random.next_u64() % (2 * self.interval.0);
        self.next[cpu] = now + Duration(drawn.max(self.interval.0 / 100));
    }

    /// The times of the next daemons.
    pub fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        self.next.iter_mut()
    }

    /// The time of the next daemon on `cpu`.
    pub fn next(&self, cpu: usize) -> Time {
        self.next[cpu]
    }

    /// Whether a daemon comes up on `cpu` at `now`; if so, the next one is drawn.
    pub fn wakes(&mut self, cpu: usize, now: Time) -> bool {
        let wakes = self.next[cpu] <= now;
        if wakes {
            self.arm(cpu, now);
        }
        wakes
    }
}
