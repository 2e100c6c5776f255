//! Busy times of a Hub's memory and directory by kind of work. The unit is a pipeline; overlapping work counts once
//! (Prestor 2001, 6.1).

use std::collections::VecDeque;

use units::{Duration, Time};

use crate::part::Refresh;

/// The resource that a message needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The directory alone.
    Directory,
    /// Memory, which is read or written along with the directory.
    Memory,
}

/// A contiguous time with work of one kind.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: Time,
    end: Time,
    work: Work,
}

/// The breakdown of the unit's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Breakdown {
    /// Refresh.
    pub refresh: Duration,
    /// Messages that need the directory alone.
    pub directory: Duration,
    /// Messages that need memory.
    pub memory: Duration,
}

impl Breakdown {
    /// All time in which memory was not idle.
    pub fn busy(&self) -> Duration {
        self.refresh + self.directory + self.memory
    }
}

/// The known work of memory and directory.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// The end of the latest work.
    until: Time,
    /// Completed time by kind of work, without refresh.
    done: [Duration; 2],
    /// Stretches that may not be complete, in order.
    stretches: VecDeque<Stretch>,
}

impl Activity {
    /// A message arrives at `now`, and its response leaves at `end`.
    #[inline]
    pub fn work(&mut self, refresh: &Refresh, now: Time, end: Time, work: Work) {
        while let Some(&stretch) = self.stretches.front()
            && stretch.end <= now
        {
            self.done[stretch.work as usize] += without(refresh, stretch, stretch.end);
            self.stretches.pop_front();
        }
        let start = now.max(self.until);
        if end <= start {
            return;
        }
        match self.stretches.back_mut() {
            Some(last) if last.work == work && last.end == start => last.end = end,
            _ => self.stretches.push_back(Stretch { start, end, work }),
        }
        self.until = end;
    }

    /// The breakdown of the time before `time`.
    pub fn before(&self, refresh: &Refresh, time: Time) -> Breakdown {
        let mut done = self.done;
        for &stretch in &self.stretches {
            done[stretch.work as usize] += without(refresh, stretch, stretch.end.min(time));
        }
        let [directory, memory] = done;
        Breakdown { refresh: refresh.between(Time::ZERO, time), directory, memory }
    }
}

/// The length of a stretch up to `end`, without refresh.
fn without(refresh: &Refresh, stretch: Stretch, end: Time) -> Duration {
    end.since(stretch.start) - refresh.between(stretch.start, end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REFRESH: Refresh = Refresh::new(Duration(100), Duration(7));

    proptest! {
        /// Every moment counts once, no count decreases, and an early reading is part of a later one, for any messages
        /// and reading times.
        #[test]
        fn every_moment_counts_once(
            messages in proptest::collection::vec((0u64..60, 1u64..50, any::<bool>()), 1..60),
            look in 1u64..40,
        ) {
            let mut activity = Activity::default();
            let (mut now, mut busy, mut before) = (0u64, vec![false; 8000], Breakdown::default());
            for (gap, length, memory) in messages {
                for time in (now..now + gap).filter(|time| time % look == 0) {
                    let next = activity.before(&REFRESH, Time(time));
                    prop_assert!(next.refresh >= before.refresh);
                    prop_assert!(next.directory >= before.directory && next.memory >= before.memory);
                    prop_assert!(next.busy() <= Duration(time));
                    before = next;
                }
                now += gap;
                let end = now + length;
                busy[now as usize..end as usize].fill(true);
                activity.work(&REFRESH, Time(now), Time(end), if memory { Work::Memory } else { Work::Directory });
            }
            let end = now + 60;
            let refreshed = |time: u64| time % 100 < 7;
            let expected = (0..end).filter(|&time| busy[time as usize] || refreshed(time)).count() as u64;
            prop_assert_eq!(activity.before(&REFRESH, Time(end)).busy(), Duration(expected));
        }
    }
}
