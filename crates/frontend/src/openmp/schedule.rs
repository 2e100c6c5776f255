//! How the iterations of a loop are shared out, by number: every loop here has iterations `0..total`.

use std::ops::Range;

/// A kind of schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// By number of the thread.
    Static,
    /// To whoever asks, in chunks.
    Dynamic,
    /// To whoever asks, in chunks that get smaller.
    Guided,
    /// As the runtime likes: as [`Kind::Static`].
    Auto,
}

/// A schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// Its kind.
    pub kind: Kind,
    /// Iterations in a chunk, the fewest if they get smaller; zero if it was not told.
    pub chunk: u64,
}

impl Schedule {
    /// The chunk of those who hand out chunks.
    pub fn least(self) -> u64 {
        self.chunk.max(1)
    }
}

/// The share number `turn` of thread `thread` of `threads`: of chunks in turn, or without a chunk of one block each, those of the
/// first threads an iteration longer. `None` after the last.
pub fn static_share(total: u64, chunk: u64, threads: u64, thread: u64, turn: u64) -> Option<Range<u64>> {
    if chunk == 0 {
        let (whole, more) = (total / threads, total % threads);
        let start = thread * whole + thread.min(more);
        let end = start + whole + u64::from(thread < more);
        return (turn == 0 && start < end).then_some(start..end);
    }
    let start =
        turn.checked_mul(threads).and_then(|first| first.checked_add(thread)).and_then(|at| at.checked_mul(chunk))?;
    (start < total).then(|| start..start.saturating_add(chunk).min(total))
}

/// The iterations that the next one who asks gets, if `next` is the first left.
pub fn next_share(schedule: Schedule, total: u64, threads: u64, next: u64) -> Option<Range<u64>> {
    let left = total.checked_sub(next).filter(|&left| left > 0)?;
    let size = match schedule.kind {
        Kind::Guided => left.div_ceil(threads).max(schedule.least()),
        _ => schedule.least(),
    };
    Some(next..next + size.min(left))
}

/// Iterations of a loop over signed numbers, `start` to before `end`.
pub fn trips(start: i64, end: i64, step: i64) -> u64 {
    let (start, end, step) = (i128::from(start), i128::from(end), i128::from(step));
    let distance = if step > 0 { end - start } else { start - end };
    // A distance between two such numbers, in steps, fits.
    if distance <= 0 || step == 0 { 0 } else { ((distance + step.abs() - 1) / step.abs()) as u64 }
}

/// Iterations of a loop over unsigned numbers, upward or downward; a downward step is told as what it adds, modulo 2^64.
pub fn unsigned_trips(up: bool, start: u64, end: u64, step: u64) -> u64 {
    let (distance, step) =
        if up { (end.saturating_sub(start), step) } else { (start.saturating_sub(end), step.wrapping_neg()) };
    if step == 0 { 0 } else { distance.div_ceil(step) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn trips_are_counted_at_the_ends_of_the_numbers() {
        assert_eq!(trips(0, 10, 3), 4);
        assert_eq!(trips(10, 0, -3), 4);
        assert_eq!(trips(5, 5, 1), 0);
        assert_eq!(trips(0, -1, 1), 0);
        assert_eq!(trips(i64::MIN, i64::MAX, 1), u64::MAX);
        assert_eq!(trips(i64::MAX, i64::MIN, i64::MIN), 2);
        assert_eq!(unsigned_trips(true, 0, u64::MAX, 2), 1 << 63);
        assert_eq!(unsigned_trips(false, 10, 0, 3u64.wrapping_neg()), 4);
        assert_eq!(unsigned_trips(true, 3, 2, 1), 0);
    }

    #[test]
    fn guided_chunks_get_smaller_down_to_the_least() {
        let schedule = Schedule { kind: Kind::Guided, chunk: 3 };
        let mut next = 0;
        let mut sizes = Vec::new();
        while let Some(share) = next_share(schedule, 40, 4, next) {
            sizes.push(share.end - share.start);
            next = share.end;
        }
        assert_eq!(sizes, [10, 8, 6, 4, 3, 3, 3, 3]);
    }

    proptest! {
        #[test]
        fn static_shares_are_all_and_none_twice(total in 0u64..500, chunk in 0u64..20, threads in 1u64..17) {
            let mut seen = vec![0; total as usize];
            for thread in 0..threads {
                for share in (0..).map_while(|turn| static_share(total, chunk, threads, thread, turn)) {
                    share.for_each(|at| seen[at as usize] += 1);
                }
            }
            prop_assert!(seen.iter().all(|&times| times == 1));
        }

        #[test]
        fn shares_that_are_asked_for_are_all_in_order(total in 0u64..5000, chunk in 0u64..20, threads in 1u64..17, guided: bool) {
            let schedule = Schedule { kind: if guided { Kind::Guided } else { Kind::Dynamic }, chunk };
            let mut next = 0;
            while let Some(share) = next_share(schedule, total, threads, next) {
                prop_assert_eq!(share.start, next);
                prop_assert!(share.end > next);
                next = share.end;
            }
            prop_assert_eq!(next, total);
        }

        #[test]
        fn no_loop_of_any_bounds_goes_wrong(start: i64, end: i64, step: i64, chunk: u64, threads in 1u64..600) {
            let total = trips(start, end, step);
            let _ = static_share(total, chunk, threads, threads - 1, 0).map(|share| assert!(share.end <= total));
            let schedule = Schedule { kind: Kind::Guided, chunk };
            let _ = next_share(schedule, total, threads, total / 2).map(|share| assert!(share.end <= total));
        }
    }
}
