//! Loops of clang: bounds that the thread is told beforehand, or asks for. Upper bounds are those of the last iteration.

use super::Location;
use crate::openmp::schedule::{Kind, Schedule, static_share, trips, unsigned_trips};
use crate::openmp::sharing::Loop;
use crate::openmp::team::{member, runtime_schedule};

/// The number of a schedule, without what the compiler says about the order of chunks.
const MODIFIERS: i32 = (1 << 29) | (1 << 30);
/// Numbers from here on are those of loops with ordered parts.
const ORDERED: i32 = 64;
/// Numbers from here on are those of leagues.
const DISTRIBUTE: i32 = 91;

/// The schedule that a number stands for, and whether the loop has ordered parts.
fn schedule_of(number: i32, chunk: i64) -> (Schedule, bool) {
    let number = number & !MODIFIERS;
    let ordered = (ORDERED..DISTRIBUTE).contains(&number);
    let plain = if ordered { number - (ORDERED - 32) } else { number };
    let chunk = u64::try_from(chunk).unwrap_or(0);
    let schedule = match plain {
        33 | 45 | 91 => Schedule { kind: Kind::Static, chunk: chunk.max(1) },
        35 | 39 => Schedule { kind: Kind::Dynamic, chunk: chunk.max(1) },
        36 | 42 | 43 | 46 => Schedule { kind: Kind::Guided, chunk: chunk.max(1) },
        37 | 47 => runtime_schedule(),
        // 34 and 92 are static without a chunk; 38 is what the runtime likes.
        _ => Schedule { kind: Kind::Static, chunk: 0 },
    };
    (schedule, ordered)
}

/// A loop from `lower` to `upper`, both included.
fn loop_of(signed: bool, lower: i64, upper: i64, step: i64, schedule: Schedule, ordered: bool) -> Loop {
    let total = if signed {
        // One more than the number of steps from the first to the last, if there is a first.
        let empty = if step > 0 { lower > upper } else { lower < upper };
        if empty { 0 } else { trips(lower, upper, step) + u64::from(is_on_step(lower, upper, step)) }
    } else {
        let (lower, upper) = (lower as u64, upper as u64);
        let up = step > 0;
        let empty = if up { lower > upper } else { lower < upper };
        let on = if up {
            (upper.wrapping_sub(lower)).is_multiple_of(step as u64)
        } else {
            lower.wrapping_sub(upper).is_multiple_of(step.unsigned_abs())
        };
        if empty { 0 } else { unsigned_trips(up, lower, upper, step as u64) + u64::from(on) }
    };
    Loop { total, schedule, ordered, first: lower, step, end: lower.wrapping_add((total as i64).wrapping_mul(step)) }
}

/// Whether steps from `lower` meet `upper`.
fn is_on_step(lower: i64, upper: i64, step: i64) -> bool {
    step != 0 && (i128::from(upper) - i128::from(lower)) % i128::from(step) == 0
}

/// Bounds of a loop that a thread is told beforehand.
struct Told {
    lower: i64,
    upper: i64,
    stride: i64,
    last: bool,
}

/// The first iterations of thread `number` of `threads`, and how far it is to the next; lower beyond upper if there are none.
fn first_share(what: &Loop, threads: u32, number: u32) -> Told {
    let (threads, number) = (u64::from(threads), u64::from(number));
    let chunk = what.schedule.chunk;
    let share = static_share(what.total, chunk, threads, number, 0);
    let value = |at: u64| what.first.wrapping_add((at as i64).wrapping_mul(what.step));
    let span = if chunk == 0 { what.total } else { chunk.saturating_mul(threads) };
    let stride = (span as i64).wrapping_mul(what.step);
    let Some(share) = share else {
        return Told { lower: what.end, upper: what.end.wrapping_sub(what.step), stride, last: false };
    };
    // With chunks, the last iteration may be in a later one.
    let last = match chunk {
        0 => share.end == what.total,
        _ => ((what.total - 1) / chunk) % threads == number,
    };
    // The compiler cuts the last chunk off at the end of the loop.
    let end = if chunk == 0 { share.end } else { share.start.saturating_add(chunk) };
    Told { lower: value(share.start), upper: value(end).wrapping_sub(what.step), stride, last }
}

/// The functions for each type that loops count with.
macro_rules! loops {
    ($($value:ident $step:ident $signed:literal: $init:ident $distribute:ident $begin:ident $next:ident $fini:ident;)*) => {$(
        #[doc = "Tells a thread its first iterations of a loop, and how far it is to the next."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be read and written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $init(
            _location: *const Location, _number: i32, schedule: i32, last: *mut i32, lower: *mut $value, upper: *mut $value,
            stride: *mut $step, step: $step, chunk: $step,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                let (schedule, _) = schedule_of(schedule, chunk as i64);
                let what = loop_of($signed, *lower as i64, *upper as i64, step as i64, schedule, false);
                let region = member().region.get();
                let told = first_share(&what, region.team.threads.get(), region.number);
                if !last.is_null() {
                    *last = told.last.into();
                }
                *lower = told.lower as $value;
                *upper = told.upper as $value;
                if !stride.is_null() {
                    *stride = told.stride as $step;
                }
            }
        }

        #[doc = "The same in a league of one team."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be read and written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $distribute(
            location: *const Location, number: i32, schedule: i32, last: *mut i32, lower: *mut $value, upper: *mut $value,
            team_upper: *mut $value, stride: *mut $step, step: $step, chunk: $step,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                *team_upper = *upper;
                $init(location, number, schedule, last, lower, upper, stride, step, chunk);
            }
        }

        #[doc = "A thread comes to a loop whose iterations it will ask for."]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $begin(
            _location: *const Location, _number: i32, schedule: i32, lower: $value, upper: $value, step: $step, chunk: $step,
        ) {
            let (schedule, ordered) = schedule_of(schedule, chunk as i64);
            member().begin_loop(loop_of($signed, lower as i64, upper as i64, step as i64, schedule, ordered));
            member().asks.set(true);
        }

        #[doc = "The next iterations of the loop: whether there are any."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $next(
            _location: *const Location, _number: i32, last: *mut i32, lower: *mut $value, upper: *mut $value, stride: *mut $step,
        ) -> i32 {
            let member = member();
            let share = member.share();
            let what = share.what();
            let Some(range) = member.next_of(share, &what) else {
                member.asks.set(false);
                member.leave();
                return 0;
            };
            let (first, end) = what.values(&range);
            // SAFETY: the caller's promise.
            unsafe {
                if !last.is_null() {
                    *last = (range.end == what.total).into();
                }
                *lower = first as $value;
                *upper = end.wrapping_sub(what.step) as $value;
                if !stride.is_null() {
                    *stride = what.step as $step;
                }
            }
            1
        }

        #[doc = "The end of an iteration with an ordered part: the next begins when those are over that the thread has."]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $fini(_location: *const Location, _number: i32) {}
    )*};
}

loops! {
    i32 i32 true: __kmpc_for_static_init_4 __kmpc_dist_for_static_init_4 __kmpc_dispatch_init_4 __kmpc_dispatch_next_4
        __kmpc_dispatch_fini_4;
    u32 i32 false: __kmpc_for_static_init_4u __kmpc_dist_for_static_init_4u __kmpc_dispatch_init_4u __kmpc_dispatch_next_4u
        __kmpc_dispatch_fini_4u;
    i64 i64 true: __kmpc_for_static_init_8 __kmpc_dist_for_static_init_8 __kmpc_dispatch_init_8 __kmpc_dispatch_next_8
        __kmpc_dispatch_fini_8;
    u64 i64 false: __kmpc_for_static_init_8u __kmpc_dist_for_static_init_8u __kmpc_dispatch_init_8u __kmpc_dispatch_next_8u
        __kmpc_dispatch_fini_8u;
}

/// The end of a loop whose iterations the thread was told.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_for_static_fini(_location: *const Location, _number: i32) {}

/// The end of a loop of a league.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_distribute_static_fini(_location: *const Location, _number: i32) {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The iterations that a thread does of what it is told, as clang's code does them.
    fn done(what: &Loop, threads: u32, number: u32, upper: i64) -> Vec<i64> {
        let mut told = first_share(what, threads, number);
        let mut all = Vec::new();
        let within = |at: i64, end: i64| if what.step > 0 { at <= end } else { at >= end };
        let cut = |end: i64| if what.step > 0 { end.min(upper) } else { end.max(upper) };
        while within(told.lower, cut(told.upper)) {
            let mut at = told.lower;
            while within(at, cut(told.upper)) {
                all.push(at);
                at += what.step;
            }
            if what.schedule.chunk == 0 {
                break;
            }
            told.lower += told.stride;
            told.upper += told.stride;
        }
        all
    }

    #[test]
    fn numbers_of_schedules_are_understood() {
        assert_eq!(schedule_of(34, 0), (Schedule { kind: Kind::Static, chunk: 0 }, false));
        assert_eq!(schedule_of(33, 7), (Schedule { kind: Kind::Static, chunk: 7 }, false));
        assert_eq!(schedule_of(35 | (1 << 30), 1), (Schedule { kind: Kind::Dynamic, chunk: 1 }, false));
        assert_eq!(schedule_of(68, 2), (Schedule { kind: Kind::Guided, chunk: 2 }, true));
        assert_eq!(schedule_of(66, 0), (Schedule { kind: Kind::Static, chunk: 0 }, true));
        assert_eq!(schedule_of(92, 0), (Schedule { kind: Kind::Static, chunk: 0 }, false));
    }

    proptest! {
        #[test]
        fn every_iteration_is_done_once(
            lower in -50i64..50, count in 0i64..60, step in prop_oneof![-5i64..0, 1i64..6], chunk in 0u64..8, threads in 1u32..9,
        ) {
            // An upper bound that the last step may miss.
            let upper = lower + count * step.signum();
            let expected: Vec<i64> = (0..)
                .map(|at| lower + at * step)
                .take_while(|at| if step > 0 { *at <= upper } else { *at >= upper })
                .collect();
            let what = loop_of(true, lower, upper, step, Schedule { kind: Kind::Static, chunk }, false);
            prop_assert_eq!(what.total, expected.len() as u64);
            let mut all: Vec<i64> = (0..threads).flat_map(|number| done(&what, threads, number, upper)).collect();
            let lasts = (0..threads).filter(|&number| first_share(&what, threads, number).last).count();
            prop_assert_eq!(lasts, usize::from(!expected.is_empty()));
            all.sort_unstable_by_key(|at| at * step.signum());
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn unsigned_loops_count_as_signed_ones(lower in 0i64..50, count in 0i64..50, step in prop_oneof![-5i64..0, 1i64..6]) {
            let upper = lower + count * step.signum();
            prop_assume!(upper >= 0);
            let schedule = Schedule { kind: Kind::Static, chunk: 0 };
            prop_assert_eq!(
                loop_of(true, lower, upper, step, schedule, false),
                loop_of(false, lower, upper, step, schedule, false)
            );
        }
    }
}
