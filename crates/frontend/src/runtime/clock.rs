//! Time: the simulated machine's, unless the request wants the host's.

use std::ffi::{c_int, c_long, c_uint, c_void};

use libc::{clockid_t, time_t, timespec, timeval};
use sim::{Cause, Thread};
use units::{Duration, Time};

use super::state::{HOT, current, note_change, run};
use super::{callbacks, cancel};

/// Instructions of a system call that does little: into the kernel, a queue looked up, and out again. A round figure for systems
/// of the machines' time.
const SYSTEM_CALL: u32 = 600;

/// The simulated day: when a simulation starts, it is the first of January 2000, midnight, universal time.
const EPOCH: i64 = 946_684_800;

/// Ticks of `clock` in a second (`CLOCKS_PER_SEC`).
const TICKS: u64 = 1_000_000;

/// Picoseconds in a second, and in a nanosecond.
const SECOND: u64 = 1_000_000_000_000;
const NANOSECOND: u64 = 1000;

/// The thread enters the kernel and leaves it again.
pub fn system_call(thread: &mut Thread<'static>) {
    thread.instructions(SYSTEM_CALL);
}

/// The thread and its simulated time, unless the host's is wanted.
fn simulated() -> Option<&'static mut Thread<'static>> {
    current().filter(|_| !run().request.host_time)
}

/// Since the start of the simulation.
fn now(thread: &mut Thread<'static>) -> u64 {
    // Instructions that the compiler has counted since the last reference are issued before this.
    callbacks::issue_pending(thread);
    thread.now().0
}

fn is_wall_clock(clock: clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI)
}

/// A simulated time as the C library tells it.
fn told(picoseconds: u64, clock: clockid_t) -> timespec {
    let epoch = if is_wall_clock(clock) { EPOCH } else { 0 };
    timespec {
        tv_sec: (picoseconds / SECOND) as time_t + epoch,
        tv_nsec: (picoseconds % SECOND / NANOSECOND) as c_long,
    }
}

/// How long a time span is, in picoseconds, as far as it can be told.
fn span(time: &timespec) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec.max(0) as u64 * NANOSECOND)
}

/// The simulated time of a deadline on `clock`.
///
/// # Safety
/// The pointer is that of a time.
pub unsafe fn deadline(time: *const timespec, clock: clockid_t) -> Time {
    // SAFETY: the caller's promise.
    let mut time = unsafe { *time };
    if is_wall_clock(clock) {
        time.tv_sec -= EPOCH;
        if time.tv_sec < 0 {
            return Time::ZERO;
        }
    }
    Time(span(&time))
}

/// Tells the time of a clock.
///
/// # Safety
/// As of `clock_gettime`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    match simulated() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::clock_gettime(clock, time) },
        Some(thread) => {
            // SAFETY: the caller's promise.
            unsafe { *time = told(now(thread), clock) };
            0
        }
    }
}

/// Tells the time of day.
///
/// # Safety
/// As of `gettimeofday`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    match simulated() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::gettimeofday(time, zone.cast()) },
        Some(thread) => {
            let now = told(now(thread), libc::CLOCK_REALTIME);
            // SAFETY: the caller's promise.
            unsafe { *time = timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 } };
            0
        }
    }
}

/// Tells the time in seconds.
///
/// # Safety
/// As of `time`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_time(time: *mut time_t) -> time_t {
    let Some(thread) = simulated() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::time(time) };
    };
    let now = told(now(thread), libc::CLOCK_REALTIME).tv_sec;
    if !time.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *time = now };
    }
    now
}

/// Processor time that the program has used: of all its threads, as if none had waited.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_clock() -> c_long {
    match simulated() {
        // SAFETY: it only looks.
        None => unsafe { libc_clock() },
        Some(thread) => (now(thread) / (SECOND / TICKS)) as c_long * run().alive as c_long,
    }
}

unsafe extern "C" {
    #[link_name = "clock"]
    fn libc_clock() -> c_long;
}

/// Resources that the process has used: its time is the simulated machine's, all else this computer's.
///
/// # Safety
/// As of `getrusage`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_getrusage(who: c_int, used: *mut libc::rusage) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { libc::getrusage(who, used) };
    if result == 0
        && let Some(thread) = simulated()
    {
        let threads = match who {
            libc::RUSAGE_SELF => run().alive as u64,
            libc::RUSAGE_THREAD => 1,
            _ => 0,
        };
        let all = told(now(thread) * threads, libc::CLOCK_MONOTONIC);
        // SAFETY: the caller's promise.
        unsafe {
            (*used).ru_utime = timeval { tv_sec: all.tv_sec, tv_usec: all.tv_nsec / 1000 };
            (*used).ru_stime = timeval { tv_sec: 0, tv_usec: 0 };
        }
    }
    result
}

/// How many threads wanted processors lately: all that have not ended, for a simulated machine runs nothing else.
///
/// # Safety
/// As of `getloadavg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_getloadavg(loads: *mut f64, most: c_int) -> c_int {
    if simulated().is_none() {
        // SAFETY: the caller's promise.
        return unsafe { libc::getloadavg(loads, most) };
    }
    let most = most.clamp(0, 3);
    for number in 0..most as usize {
        // SAFETY: the caller's promise.
        unsafe { *loads.add(number) = run().alive as f64 };
    }
    most
}

/// Tells the times of the process, in ticks.
///
/// # Safety
/// As of `times`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_times(buffer: *mut libc::tms) -> libc::clock_t {
    let Some(thread) = simulated() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::times(buffer) };
    };
    // SAFETY: it only looks.
    let second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    let ticks = (now(thread) / (SECOND / second)) as libc::clock_t;
    if !buffer.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *buffer = libc::tms { tms_utime: ticks, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 } };
    }
    ticks
}

/// Parks the thread; if until a time, others may wait as long for what it does then.
pub fn park(thread: &mut Thread<'static>, until: Option<Time>) {
    let sleeps = u32::from(until.is_some());
    note_change();
    // SAFETY: one thread of the host.
    unsafe { (*HOT.get()).asleep += sleeps };
    thread.park(until);
    // SAFETY: as above.
    unsafe { (*HOT.get()).asleep -= sleeps };
}

/// Does nothing until `until`.
fn sleep_until(thread: &mut Thread<'static>, until: Time) {
    system_call(thread);
    thread.charged_to(Cause::Idle, |thread| {
        while thread.now() < until && !cancel::is_due() {
            cancel::waiting(|| park(thread, Some(until)));
        }
    });
}

fn sleep_for(thread: &mut Thread<'static>, picoseconds: u64) {
    let until = thread.now() + Duration(picoseconds);
    sleep_until(thread, until);
}

/// Sleeps for a time span.
///
/// # Safety
/// As of `nanosleep`.
pub unsafe extern "C" fn nap(time: *const timespec, left: *mut timespec) -> c_int {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::nanosleep(time, left) },
        Some(thread) => {
            // SAFETY: the caller's promise.
            sleep_for(thread, span(unsafe { &*time }));
            0
        }
    }
}

/// Sleeps for a time span, or until a time.
///
/// # Safety
/// As of `clock_nanosleep`.
pub unsafe extern "C" fn clock_nap(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::clock_nanosleep(clock, flags, time, left) },
        Some(thread) => {
            // SAFETY: the caller's promise.
            unsafe {
                match flags & libc::TIMER_ABSTIME {
                    0 => sleep_for(thread, span(&*time)),
                    _ => sleep_until(thread, deadline(time, clock)),
                }
            }
            0
        }
    }
}

/// Sleeps for microseconds.
pub extern "C" fn sleep_microseconds(microseconds: c_uint) -> c_int {
    match current() {
        // SAFETY: nothing is handed over.
        None => unsafe { libc::usleep(microseconds) },
        Some(thread) => {
            sleep_for(thread, u64::from(microseconds) * (SECOND / 1_000_000));
            0
        }
    }
}

/// Sleeps for seconds.
pub extern "C" fn sleep_seconds(seconds: c_uint) -> c_uint {
    match current() {
        // SAFETY: nothing is handed over.
        None => unsafe { libc::sleep(seconds) },
        Some(thread) => {
            sleep_for(thread, u64::from(seconds) * SECOND);
            0
        }
    }
}

/// Lets others have the processor: whatever they did until now is seen.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_sched_yield() -> c_int {
    match current() {
        // SAFETY: nothing is handed over.
        None => unsafe { libc::sched_yield() },
        Some(thread) => {
            thread.charged_to(Cause::Lock, |thread| {
                system_call(thread);
                thread.drain();
                thread.order();
            });
            0
        }
    }
}

/// The same by its older name.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_yield() -> c_int {
    __wrap_sched_yield()
}
