//! When a Hub's memory and directory had something to do, and what: the unit is a pipeline, and what is in it at once counts once
//! (Prestor 2001, 6.1).

use std::collections::VecDeque;

use units::{Duration, Time};

/// What memory and directory do with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The directory alone is looked at.
    Directory,
    /// Memory is read or written, too.
    Memory,
}

/// Refresh, which holds the memory at fixed intervals.
#[derive(Clone, Copy, Debug)]
pub struct Refresh {
    /// From the beginning of one to that of the next.
    pub interval: Duration,
    /// How long each takes.
    pub length: Duration,
}

impl Refresh {
    /// For how long memory is refreshed from `start` to `end`; not at all if that is no time.
    pub fn between(&self, start: Time, end: Time) -> Duration {
        let before = |time: Time| {
            let (whole, part) = (time.0 / self.interval.0, time.0 % self.interval.0);
            self.length * whole + self.length.min(Duration(part))
        };
        if end > start { before(end) - before(start) } else { Duration::ZERO }
    }
}

/// A time in which there is work of one kind.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: Time,
    end: Time,
    work: Work,
}

/// How the time of memory and directory divides.
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

/// What memory and directory have to do, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// Until when there is work.
    until: Time,
    /// By kind of work, what is over; without refresh.
    done: [Duration; 2],
    /// What is not known to be over, in order.
    stretches: VecDeque<Stretch>,
}

impl Activity {
    /// A message comes at `now`, and its response has left at `end`.
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

    /// How the time before `time` divides.
    pub fn before(&self, refresh: &Refresh, time: Time) -> Breakdown {
        let mut done = self.done;
        for &stretch in &self.stretches {
            done[stretch.work as usize] += without(refresh, stretch, stretch.end.min(time));
        }
        let [directory, memory] = done;
        Breakdown { refresh: refresh.between(Time::ZERO, time), directory, memory }
    }
}

/// A stretch up to `end` without refresh.
fn without(refresh: &Refresh, stretch: Stretch, end: Time) -> Duration {
    end.since(stretch.start) - refresh.between(stretch.start, end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REFRESH: Refresh = Refresh { interval: Duration(100), length: Duration(7) };

    proptest! {
        /// However messages follow each other and whenever one looks: every moment counts once, nothing runs backwards, and what is
        /// looked at early is part of what is looked at late.
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
            let refreshed = |time: u64| time % REFRESH.interval.0 < REFRESH.length.0;
            let expected = (0..end).filter(|&time| busy[time as usize] || refreshed(time)).count() as u64;
            prop_assert_eq!(activity.before(&REFRESH, Time(end)).busy(), Duration(expected));
        }
    }
}
