//! Pauses that no counter of the kernel's tells of: system management interrupts, a hypervisor that runs somebody else.

use units::Duration;

use crate::clock::Clock;

/// The shortest pause that is told apart from an ordinary reading of the clock.
const SHORTEST: Duration = Duration(1_000_000);

/// Pauses of a thread that did nothing but read the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// How long was looked.
    pub watched: Duration,
    /// How many pauses of a microsecond or longer there were, timer interrupts among them.
    pub count: u64,
    /// How long they were together.
    pub lost: Duration,
    /// How long the longest was.
    pub longest: Duration,
}

/// Reads `clock` in a loop for `time`, and looks for pauses between two readings.
pub fn gaps(clock: &Clock, time: Duration) -> Gaps {
    let (shortest, time) = (clock.ticks(SHORTEST), clock.ticks(time));
    let (mut count, mut lost, mut longest) = (0, 0, 0);
    let started = clock.now();
    let mut last = started;
    while last.saturating_sub(started) < time {
        let now = clock.now();
        let gap = now.saturating_sub(last);
        if gap >= shortest {
            count += 1;
            lost += gap;
            longest = longest.max(gap);
        }
        last = now;
    }
    Gaps {
        watched: clock.duration(last.saturating_sub(started)),
        count,
        lost: clock.duration(lost),
        longest: clock.duration(longest),
    }
}
