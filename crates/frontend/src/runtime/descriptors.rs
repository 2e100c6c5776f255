//! Pipes, sockets and their kin between threads of the program: who would wait for another thread in the host's kernel, where no other
//! could run, waits in simulated time.
//!
//! The call is tried without waiting. If nothing is there, the thread parks until another has read or written something by such a
//! call, and looks now and then at what others may have done unseen. What reaches the program from outside by descriptors that it was
//! started with is waited for in the host, as a disk is.

use std::ffi::{c_int, c_short, c_void};
use std::io::Error;
use std::mem::zeroed;

use libc::{epoll_event, fd_set, iovec, msghdr, nfds_t, pollfd, sockaddr, socklen_t, ssize_t, timespec, timeval};
use sim::{Cause, Thread};
use units::{Duration, Time};

use super::callbacks::refer_range;
use super::clock::system_call;
use super::futex_call::failed;
use super::state::{HOT, Reference, Single, current, run};
use super::{cancel, futex};

/// The word for whose change threads wait: they are found by its address.
static CHANGE: Single<u32> = Single::new(0);

/// When something was last read or written by such a call.
static LATEST: Single<Time> = Single::new(Time::ZERO);

/// How long a thread waits before it looks again by itself: at first, and at most.
const SOON: Duration = Duration(10_000_000);
const LATE: Duration = Duration(1_000_000_000);

fn change() -> usize {
    CHANGE.get() as usize
}

/// Whether a descriptor is one that threads may wait for one another with: a pipe, a socket, or what counts events, and not one that
/// the program was started with.
fn is_between_threads(descriptor: c_int) -> bool {
    // SAFETY: the kernel fills in what it is given.
    unsafe {
        let mut found: libc::stat = zeroed();
        descriptor > libc::STDERR_FILENO
            && libc::fstat(descriptor, &raw mut found) == 0
            && matches!(found.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK | 0)
    }
}

/// Whether a call found that it would have to wait.
fn would_wait(result: ssize_t) -> bool {
    result < 0 && matches!(Error::last_os_error().raw_os_error(), Some(libc::EAGAIN))
}

/// Whether the descriptor is ready, now.
fn is_ready(descriptor: c_int, events: c_short) -> bool {
    let mut asked = pollfd { fd: descriptor, events, revents: 0 };
    // SAFETY: one descriptor is asked for.
    unsafe { libc::poll(&raw mut asked, 1, 0) != 0 }
}

/// Waits until `ready`, or until a time; whether it is. A thread that is cancelled waits no longer.
fn wait(thread: &mut Thread<'static>, until: Option<Time>, mut ready: impl FnMut() -> bool) -> bool {
    thread.charged_to(Cause::Lock, |thread| {
        let mut pause = SOON;
        loop {
            thread.drain();
            thread.order();
            if ready() {
                return true;
            }
            let now = thread.now();
            if until.is_some_and(|until| now >= until) || cancel::is_due() {
                return false;
            }
            heed_deadlock(thread, until.is_some());
            let next = until.map_or(now + pause, |until| until.min(now + pause));
            if futex::wait_at_point(thread, change(), Some(next)) {
                pause = SOON;
            } else {
                pause = Duration((pause.0 * 2).min(LATE.0));
            }
        }
    })
}

/// Nothing comes of it that all threads wait, and that nobody has read or written anything for long.
fn heed_deadlock(thread: &mut Thread<'static>, is_timed: bool) {
    // SAFETY: one thread of the host.
    let (latest, patience) = unsafe { (*LATEST.get(), (*HOT.get()).patience) };
    let waiting: usize = run().waiters.values().map(std::collections::VecDeque::len).sum();
    // The running thread is no longer among those who wait.
    if !is_timed && waiting + 1 >= run().alive - run().helpers && thread.now() > latest + patience {
        let all = super::places::all_threads().join(", ");
        super::ending::fail(thread, &format!("deadlock: all threads wait: {all}"));
    }
}

/// Something was read or written: whoever waits may look.
fn note(thread: &mut Thread<'static>) {
    let now = thread.clock();
    // SAFETY: one thread of the host.
    unsafe { *LATEST.get() = now };
    super::state::note_change();
    if futex::is_waited_for(change()) {
        futex::wake(thread, change(), usize::MAX);
    }
}

/// Does a call that may wait until `descriptor` is ready for `events`, by `act`, which is called with the descriptor set not to wait.
fn by_turns(descriptor: c_int, events: c_short, mut act: impl FnMut() -> ssize_t) -> ssize_t {
    let Some(thread) = current() else { return act() };
    if cancel::is_due() {
        return failed(libc::EINTR) as ssize_t;
    }
    system_call(thread);
    thread.drain();
    thread.order();
    // SAFETY: plain questions.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    if flags < 0 || flags & libc::O_NONBLOCK != 0 || !is_between_threads(descriptor) {
        let result = act();
        note(thread);
        return result;
    }
    // SAFETY: one thread of the host, so nobody sees the descriptor meanwhile.
    let mut attempt = || unsafe {
        libc::fcntl(descriptor, libc::F_SETFL, flags | libc::O_NONBLOCK);
        let result = act();
        let code = *libc::__errno_location();
        libc::fcntl(descriptor, libc::F_SETFL, flags);
        *libc::__errno_location() = code;
        result
    };
    // Since this call began, nobody has waited in vain.
    // SAFETY: one thread of the host.
    unsafe { *LATEST.get() = thread.clock().max(*LATEST.get()) };
    loop {
        let result = attempt();
        if !would_wait(result) {
            note(thread);
            return result;
        }
        if !wait(thread, None, || is_ready(descriptor, events)) {
            return failed(libc::EINTR) as ssize_t;
        }
    }
}

/// The kernel has loaded or stored so many bytes of the program's.
fn copied(place: *const c_void, bytes: ssize_t, reference: Reference) -> ssize_t {
    if bytes > 0 && current().is_some() {
        refer_range(place as usize, bytes as usize, reference, 0);
    }
    bytes
}

/// Writes all of a block, as a descriptor does that waits: `act` writes a part.
fn whole(
    descriptor: c_int,
    from: *const c_void,
    bytes: usize,
    act: impl Fn(*const c_void, usize) -> ssize_t,
) -> ssize_t {
    let mut done = 0;
    loop {
        let rest = from.wrapping_byte_add(done);
        let result = copied(rest, by_turns(descriptor, libc::POLLOUT, || act(rest, bytes - done)), Reference::Load);
        done += result.max(0) as usize;
        // SAFETY: a plain question.
        let waits = || unsafe { libc::fcntl(descriptor, libc::F_GETFL) } & libc::O_NONBLOCK == 0;
        if result <= 0 || done >= bytes || current().is_none() || !waits() || !is_between_threads(descriptor) {
            return if done > 0 { done as ssize_t } else { result };
        }
    }
}

pub unsafe extern "C" fn read(descriptor: c_int, to: *mut c_void, bytes: usize) -> ssize_t {
    // SAFETY: the caller's promise.
    copied(to, by_turns(descriptor, libc::POLLIN, || unsafe { libc::read(descriptor, to, bytes) }), Reference::Store)
}

pub unsafe extern "C" fn write(descriptor: c_int, from: *const c_void, bytes: usize) -> ssize_t {
    // SAFETY: the caller's promise.
    whole(descriptor, from, bytes, |from, bytes| unsafe { libc::write(descriptor, from, bytes) })
}

pub unsafe extern "C" fn readv(descriptor: c_int, list: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    by_turns(descriptor, libc::POLLIN, || unsafe { libc::readv(descriptor, list, count) })
}

pub unsafe extern "C" fn writev(descriptor: c_int, list: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    by_turns(descriptor, libc::POLLOUT, || unsafe { libc::writev(descriptor, list, count) })
}

pub unsafe extern "C" fn recv(socket: c_int, to: *mut c_void, bytes: usize, flags: c_int) -> ssize_t {
    if flags & libc::MSG_DONTWAIT != 0 {
        // SAFETY: the caller's promise.
        return unsafe { libc::recv(socket, to, bytes, flags) };
    }
    let mut done = 0;
    loop {
        let rest = to.wrapping_byte_add(done);
        // SAFETY: the caller's promise.
        let act = || unsafe { libc::recv(socket, rest, bytes - done, flags & !libc::MSG_WAITALL) };
        let result = copied(rest, by_turns(socket, libc::POLLIN, act), Reference::Store);
        done += result.max(0) as usize;
        if result <= 0 || done >= bytes || flags & libc::MSG_WAITALL == 0 {
            return if done > 0 { done as ssize_t } else { result };
        }
    }
}

pub unsafe extern "C" fn recvfrom(
    socket: c_int,
    to: *mut c_void,
    bytes: usize,
    flags: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller's promise.
    let act = || unsafe { libc::recvfrom(socket, to, bytes, flags, from, length) };
    copied(
        to,
        if flags & libc::MSG_DONTWAIT != 0 { act() } else { by_turns(socket, libc::POLLIN, act) },
        Reference::Store,
    )
}

pub unsafe extern "C" fn recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let act = || unsafe { libc::recvmsg(socket, message, flags) };
    if flags & libc::MSG_DONTWAIT != 0 { act() } else { by_turns(socket, libc::POLLIN, act) }
}

pub unsafe extern "C" fn send(socket: c_int, from: *const c_void, bytes: usize, flags: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let act = |from, bytes| unsafe { libc::send(socket, from, bytes, flags) };
    if flags & libc::MSG_DONTWAIT != 0 { act(from, bytes) } else { whole(socket, from, bytes, act) }
}

pub unsafe extern "C" fn sendto(
    socket: c_int,
    from: *const c_void,
    bytes: usize,
    flags: c_int,
    to: *const sockaddr,
    length: socklen_t,
) -> ssize_t {
    // SAFETY: the caller's promise.
    let act = || unsafe { libc::sendto(socket, from, bytes, flags, to, length) };
    copied(
        from,
        if flags & libc::MSG_DONTWAIT != 0 { act() } else { by_turns(socket, libc::POLLOUT, act) },
        Reference::Load,
    )
}

pub unsafe extern "C" fn sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let act = || unsafe { libc::sendmsg(socket, message, flags) };
    if flags & libc::MSG_DONTWAIT != 0 { act() } else { by_turns(socket, libc::POLLOUT, act) }
}

pub unsafe extern "C" fn accept(socket: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's promise.
    by_turns(socket, libc::POLLIN, || unsafe { libc::accept(socket, from, length) } as ssize_t) as c_int
}

pub unsafe extern "C" fn accept4(socket: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    by_turns(socket, libc::POLLIN, || unsafe { libc::accept4(socket, from, length, flags) } as ssize_t) as c_int
}

pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    if cancel::is_due() {
        return -1;
    }
    // SAFETY: the caller's promise.
    let result = unsafe { libc::close(descriptor) };
    if let Some(thread) = current() {
        note(thread);
    }
    result
}

/// Asks again and again which of several descriptors are ready, by `ask`, until some are or `limit` is over; none for ever. What is
/// asked of descriptors that the program was started with alone is waited for in the host by `real`.
fn ask_by_turns(
    limit: Option<Duration>,
    between_threads: bool,
    mut ask: impl FnMut() -> c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = current() else { return real() };
    if cancel::is_due() {
        return failed(libc::EINTR) as c_int;
    }
    system_call(thread);
    if !between_threads && limit.is_none() {
        return real();
    }
    let until = limit.map(|limit| thread.now() + limit);
    // SAFETY: one thread of the host.
    unsafe { *LATEST.get() = thread.clock().max(*LATEST.get()) };
    let mut found = 0;
    wait(thread, until, || {
        found = ask();
        found != 0
    });
    found
}

const MILLISECOND: u64 = 1_000_000_000;
const MICROSECOND: u64 = 1_000_000;

fn milliseconds(limit: c_int) -> Option<Duration> {
    u64::try_from(limit).ok().map(|limit| Duration(limit * MILLISECOND))
}

/// # Safety
/// The list is that long.
unsafe fn any_between_threads(list: *const pollfd, count: nfds_t) -> bool {
    // SAFETY: the caller's promise.
    (0..count as usize).any(|number| is_between_threads(unsafe { (*list.add(number)).fd }))
}

pub unsafe extern "C" fn poll(list: *mut pollfd, count: nfds_t, limit: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let (between, ask) = (any_between_threads(list, count), || libc::poll(list, count, 0));
        ask_by_turns(milliseconds(limit), between, ask, || libc::poll(list, count, limit))
    }
}

pub unsafe extern "C" fn ppoll(
    list: *mut pollfd,
    count: nfds_t,
    limit: *const timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let span =
            limit.as_ref().map(|time| Duration(time.tv_sec as u64 * 1000 * MILLISECOND + time.tv_nsec as u64 * 1000));
        let (between, ask) = (any_between_threads(list, count), || libc::poll(list, count, 0));
        ask_by_turns(span, between, ask, || libc::ppoll(list, count, limit, mask))
    }
}

pub unsafe extern "C" fn select(
    count: c_int,
    readable: *mut fd_set,
    writable: *mut fd_set,
    exceptional: *mut fd_set,
    limit: *mut timeval,
) -> c_int {
    // SAFETY: the caller's promise; sets are copied whole.
    unsafe {
        let sets = [readable, writable, exceptional];
        let wanted = sets.map(|set| set.as_ref().copied());
        let within = |descriptor: c_int| wanted.iter().flatten().any(|set| libc::FD_ISSET(descriptor, set));
        let between = (0..count).any(|descriptor| within(descriptor) && is_between_threads(descriptor));
        let span = limit
            .as_ref()
            .map(|time| Duration(time.tv_sec as u64 * 1000 * MILLISECOND + time.tv_usec as u64 * MICROSECOND));
        let ask = || {
            for (set, wanted) in sets.into_iter().zip(&wanted) {
                if let Some(wanted) = wanted {
                    *set = *wanted;
                }
            }
            let mut none: timeval = zeroed();
            libc::select(count, readable, writable, exceptional, &raw mut none)
        };
        ask_by_turns(span, between, ask, || libc::select(count, readable, writable, exceptional, limit))
    }
}

pub unsafe extern "C" fn epoll_wait(set: c_int, events: *mut epoll_event, most: c_int, limit: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let ask = || libc::epoll_wait(set, events, most, 0);
        ask_by_turns(milliseconds(limit), true, ask, || libc::epoll_wait(set, events, most, limit))
    }
}

/// A stream over a descriptor: the C library would wait within itself.
///
/// # Safety
/// As of `fdopen`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_fdopen(descriptor: c_int, mode: *const libc::c_char) -> *mut libc::FILE {
    if let Some(thread) = current()
        && is_between_threads(descriptor)
    {
        super::ending::fail(
            thread,
            "the program called fdopen for a pipe or a socket: the C library would wait where no other thread can run; read and \
             write can be simulated",
        );
    }
    // SAFETY: the caller's promise.
    unsafe { libc::fdopen(descriptor, mode) }
}
