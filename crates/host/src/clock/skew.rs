//! How far the counters of two processors are apart.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Clock;

/// By how many ticks the follower's counter is ahead of the leader's: the truth lies between the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// At least so many.
    pub least: i64,
    /// At most so many.
    pub most: i64,
}

impl Skew {
    /// Whether the counters may be the same: if not, times taken on different processors must not be compared.
    pub fn may_be_none(self) -> bool {
        self.least <= 0 && self.most >= 0
    }
}

/// A word on a line of its own.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Lonely(AtomicU64);

/// Where two pinned threads meet to compare their clocks: one calls [`lead`](Self::lead), the other
/// [`follow`](Self::follow), each on its processor and at about the same time. Good for one comparison.
#[derive(Debug)]
pub struct SkewProbe {
    asked: Lonely,
    answered: Lonely,
    stamp: Lonely,
    rounds: u64,
}

impl SkewProbe {
    /// A comparison by `rounds` questions; a few hundred bring the bounds down to about one round trip between the two
    /// processors.
    pub fn new(rounds: u64) -> Self {
        Self { asked: Lonely::default(), answered: Lonely::default(), stamp: Lonely::default(), rounds }
    }

    /// Asks the other thread for its time and bounds how far it is ahead: it read its clock between question and answer.
    pub fn lead(&self, clock: &Clock) -> Skew {
        let mut skew = Skew { least: i64::MIN, most: i64::MAX };
        for round in 1..=self.rounds {
            let asked = clock.now();
            self.asked.0.store(round, Ordering::Release);
            while self.answered.0.load(Ordering::Acquire) != round {
                std::hint::spin_loop();
            }
            let answered = clock.now();
            let theirs = self.stamp.0.load(Ordering::Relaxed);
            skew.least = skew.least.max(theirs.wrapping_sub(answered) as i64);
            skew.most = skew.most.min(theirs.wrapping_sub(asked) as i64);
        }
        skew
    }

    /// Answers all questions.
    pub fn follow(&self, clock: &Clock) {
        for round in 1..=self.rounds {
            while self.asked.0.load(Ordering::Acquire) != round {
                std::hint::spin_loop();
            }
            self.stamp.0.store(clock.now(), Ordering::Relaxed);
            self.answered.0.store(round, Ordering::Release);
        }
    }
}
