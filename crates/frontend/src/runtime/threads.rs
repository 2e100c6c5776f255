//! The program's threads: coroutines on stacks in simulated memory.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use corosensei::stack::{Stack, StackPointer};
use sim::{Cause, Thread, ThreadId};
use units::CpuId;

use super::cancel::Cancel;
use super::loops::Looks;
use super::numa::Wish;
use super::state::{HOT, Mode, current, mode, run};
use super::unwinding::{Body, Unwinding, bounded, unwind};
use super::wishes::Wishes;
use super::{address, cancel, clock, futex, keys, pipeline, tls};

/// What a thread starts with.
type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// A thread of the program.
pub struct UserThread {
    /// Its number, in the order in which they were made.
    pub number: usize,
    /// Its number in the simulator.
    pub id: ThreadId,
    /// Its processor, while it has not ended.
    pub thread: *mut Thread<'static>,
    /// Its thread register.
    base: usize,
    /// Where its stack begins and how long it is.
    pub stack: (usize, usize),
    /// Whether nobody will join it.
    detached: bool,
    /// What it ended with.
    pub result: *mut c_void,
    /// One when it has ended, in simulated memory: who joins it waits for this word.
    ended: *mut u32,
    /// Whether somebody joins it.
    joined: bool,
    /// Its values of keys.
    pub values: Vec<*mut c_void>,
    /// Whether it was woken by another thread and not by the time.
    pub woken: bool,
    /// Where the program called what may wait, and what that was.
    pub call: usize,
    /// Its name, as C has it; null if there was none.
    pub called: *const c_char,
    /// The code of its latest reference, while another thread runs.
    pub site: usize,
    /// What is late behind its latest instruction, while another thread runs: the number of a state ([`super::pipeline`]).
    pub late: u32,
    /// The loop that it may be in; the first fields while another thread runs.
    pub looks: Looks,
    /// Where it wants the pages that it maps.
    pub wish: Wish,
    /// The processors it may run on, if it or its maker has said so.
    pub affinity: Option<Vec<CpuId>>,
    /// Its cancellation.
    pub cancel: Cancel,
    /// How it ends in the midst of what it does.
    pub unwinding: Unwinding,
    /// Whether it waits for parallel regions, and is part of no other section.
    pub helper: bool,
    /// Whether it is in a parallel section, so that what it does is measured.
    pub in_section: bool,
}

/// A stack of the arena.
struct ArenaStack {
    limit: usize,
    base: usize,
}

// SAFETY: the bounds are those of memory that is the thread's alone, and below its limit lies a page that nobody may touch.
unsafe impl Stack for ArenaStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.base).unwrap_or(StackPointer::MIN)
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.limit).unwrap_or(StackPointer::MIN)
    }
}

/// Bytes below a stack that nobody may touch.
pub const GUARD: usize = 4096;

impl UserThread {
    /// What it called last that may wait.
    pub fn call_name(&self) -> String {
        match self.called.is_null() {
            true => "its own code".to_owned(),
            // SAFETY: the names are constants.
            false => unsafe { CStr::from_ptr(self.called) }.to_string_lossy().into_owned(),
        }
    }

    /// Thread number `number`, with a stack of at least `stack` bytes and thread register `base`.
    pub fn new(number: usize, stack: usize, base: usize) -> Option<*mut Self> {
        // Stacks begin in different sets of caches, as they do where each is made when it is wanted.
        let length = stack.next_multiple_of(GUARD) + GUARD;
        let limit = address::take(length, GUARD)?;
        // SAFETY: the page is the new stack's own.
        unsafe { libc::mprotect(limit as *mut _, GUARD, libc::PROT_NONE) };
        let ended = address::take(LINE, LINE)? as *mut u32;
        Some(Box::into_raw(Box::new(Self {
            number,
            id: ThreadId(number),
            thread: null_mut(),
            base,
            stack: (limit, length),
            detached: false,
            result: null_mut(),
            ended,
            joined: false,
            values: Vec::new(),
            woken: false,
            call: 0,
            site: 0,
            late: pipeline::NOTHING_LATE,
            looks: Looks::default(),
            called: std::ptr::null(),
            wish: Wish::None,
            affinity: None,
            cancel: Cancel::default(),
            unwinding: Unwinding::default(),
            helper: false,
            in_section: false,
        })))
    }

    /// Runs `body` as this thread, on its stack, on the processor of `thread`.
    pub fn live(this: *mut Self, thread: &mut Thread<'_>, body: Body) {
        // SAFETY: the thread's own state; `thread` outlives all that is done here.
        let user = unsafe { &mut *this };
        user.thread = std::ptr::from_mut(thread).cast();
        thread.on_resume(entered, this as usize);
        entered(this as usize);
        super::recording::saw(user.ended as usize);
        say_if_elsewhere(user.affinity.as_deref().unwrap_or_default(), thread.cpu());
        let stack = ArenaStack { limit: user.stack.0, base: user.stack.0 + user.stack.1 - stagger(user.number) };
        let result = corosensei::on_stack(stack, || {
            tls::settle();
            let result = bounded(this, body);
            cancel::begin_end();
            keys::destroy(this);
            result
        });
        end(this, result);
    }
}

/// Bytes of a line of any simulated machine, and more: words that are apart by so much share none.
const LINE: usize = 256;

/// Stacks of equal threads begin at different places of a page, as the C library's do.
const fn stagger(number: usize) -> usize {
    (number % 16) * 1024
}

/// The thread goes on: it is the one that runs now, and has its own storage.
fn entered(this: usize) {
    let this = this as *mut UserThread;
    // SAFETY: threads are never freed, and one runs at a time.
    unsafe {
        let hot = &mut *HOT.get();
        if let Some(before) = hot.user.as_mut() {
            (before.site, before.late) = (hot.site, hot.budget.late);
            (before.looks.address, before.looks.count) = (hot.looked, hot.looks);
            before.looks.inspects = hot.inspects;
        }
        (hot.site, hot.budget.late) = ((*this).site, (*this).late);
        let looks = &(*this).looks;
        (hot.looked, hot.looks, hot.inspects, hot.told) = (looks.address, looks.count, looks.inspects, false);
        hot.thread = (*this).thread;
        hot.ends = (*this).cancel.at_once();
        hot.timed = if hot.counting || hot.ends || hot.inspects { null_mut() } else { hot.thread };
        hot.user = this;
        (hot.budget.pending, hot.budget.stalls) = (0, 0);
        tls::enter((*this).base);
        let now = (*hot.thread).clock();
        super::interrupted::heed(now);
        if hot.seen.0 != hot.stores || hot.asleep > 0 {
            hot.seen = (hot.stores, now);
        } else if now > hot.seen.1 + hot.patience {
            lose_patience();
        }
    }
}

/// The running thread does nothing for ever from here on: others go on without it.
#[cold]
pub fn never_goes_on(at: usize) {
    // SAFETY: threads are never freed.
    unsafe { ((*this()).call, (*this()).called) = (at, c"an endless loop".as_ptr()) };
    while let Some(thread) = current() {
        super::callbacks::settle(thread);
        super::state::note_change();
        thread.park(None);
    }
}

/// All threads that run look at words that do not change.
#[cold]
fn lose_patience() {
    let Some(thread) = current() else { return };
    let others = super::places::all_threads().join(", ");
    let limit = run().request.spin_limit_ms;
    super::start::fail(
        thread,
        &format!("nothing has been stored for {limit} ms of simulated time (--spin-limit, {limit}): {others}"),
    );
}

/// The thread has come to its end.
fn end(this: *mut UserThread, result: *mut c_void) {
    // SAFETY: as above; `ended` is a word of the arena.
    let user = unsafe { &mut *this };
    user.result = result;
    if let Some(thread) = current() {
        super::state::release(thread, user.ended as usize, || {
            // SAFETY: as above.
            unsafe { *user.ended = 1 };
        });
        futex::wake(thread, user.ended as usize, usize::MAX);
        thread.drain();
        thread.order();
    }
    run().alive -= 1;
    run().helpers -= usize::from(user.helper);
    user.thread = null_mut();
    // SAFETY: as above.
    unsafe { ((*HOT.get()).thread, (*HOT.get()).timed) = (null_mut(), null_mut()) };
    tls::leave();
}

/// The thread that runs now.
///
/// # Panics
/// Outside of the simulation.
pub fn this() -> *mut UserThread {
    // SAFETY: one thread of the host.
    unsafe { (*HOT.get()).user }
}

/// The number of the thread that runs now.
///
/// # Panics
/// Outside of the simulation.
pub fn number() -> usize {
    // SAFETY: threads are never freed.
    unsafe { (*this()).number }
}

/// The thread of a `pthread_t`.
pub fn of(handle: libc::pthread_t) -> Option<*mut UserThread> {
    run().threads.get((handle as usize).checked_sub(1)?).copied()
}

/// A thread that is not where it may run goes there, if it is the running one and a processor of its set is free.
pub fn go_where_allowed(user: *mut UserThread) {
    // SAFETY: threads are never freed.
    let wanted = unsafe { (*user).affinity.clone() }.unwrap_or_default();
    let Some(thread) = current().filter(|_| user == this()) else { return };
    if !wanted.is_empty() && !wanted.contains(&thread.cpu()) {
        clock::system_call(thread);
        thread.migrate(wanted.clone());
        say_if_elsewhere(&wanted, thread.cpu());
    }
}

/// A thread that may run on some processors has come to run on one.
fn say_if_elsewhere(wanted: &[CpuId], cpu: CpuId) {
    if !wanted.is_empty() && !wanted.contains(&cpu) {
        let what = "threads that are bound to processors on which others run stay on others: a simulated processor has one thread as long \
                    as there are enough, and who takes turns is not bound";
        super::start::note(what.to_owned());
    }
}

/// Makes a thread.
///
/// # Safety
/// As of `pthread_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_create(
    handle: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some(thread) = current() else {
        if mode() == Mode::Simulated {
            let file = super::libraries::file_of(start as *const () as usize);
            let problem = format!("a thread was made before main, by a constructor of {file}: it cannot be simulated");
            super::start::refuse_to_begin(problem);
        }
        // SAFETY: the caller's promise; the two types of functions are called alike.
        return unsafe {
            let start = std::mem::transmute::<Start, extern "C" fn(*mut c_void) -> *mut c_void>(start);
            libc::pthread_create(handle, attributes, start, argument)
        };
    };
    // SAFETY: the caller's promise.
    let mut wishes = unsafe { Wishes::of(attributes) };
    if wishes.affinity.is_none() {
        // As on the host, a thread may run where its maker may.
        // SAFETY: threads are never freed.
        wishes.affinity = unsafe { (*this()).affinity.clone() };
    }
    // The new thread may look at its handle before its maker goes on.
    // SAFETY: the caller's promise.
    unsafe { *handle = (run().threads.len() + 1) as libc::pthread_t };
    make(thread, &wishes, Box::new(move || start(argument))).err().unwrap_or(0)
}

/// Makes a thread that does `body`. Returns its number, or an error number of the C library.
pub fn make(thread: &mut Thread<'static>, wishes: &Wishes, body: Body) -> Result<usize, c_int> {
    let number = run().threads.len();
    let made = tls::make().and_then(|base| UserThread::new(number, wishes.stack.max(MIN_STACK), base));
    let Some(user) = made else {
        super::start::note(format!("thread {number} could not be made: the simulated address space is used up"));
        return Err(libc::EAGAIN);
    };
    // SAFETY: nobody else has it yet.
    unsafe {
        (*user).detached = wishes.detached;
        (*user).affinity.clone_from(&wishes.affinity);
    }
    run().threads.push(user);
    run().alive += 1;
    super::measured::thread_begins();
    clock::system_call(thread);
    let program = Box::new(move |thread: &mut Thread<'_>| {
        super::measured::from_birth(thread, user);
        UserThread::live(user, thread, body);
    });
    // SAFETY: threads are never freed.
    let word = unsafe { (*user).ended as usize };
    super::recording::changed(word);
    match thread.spawn(program, wishes.affinity.clone().unwrap_or_default()) {
        // The simulator counts threads as this does.
        Ok(_) => Ok(number),
        Err(error) => super::start::fail(thread, &format!("thread {number} of the program cannot begin: {error}")),
    }
}

/// The least stack that code of this library fits on beside the program's.
const MIN_STACK: usize = 64 << 10;

/// Waits for the end of a thread.
///
/// # Safety
/// As of `pthread_join`.
pub unsafe extern "C" fn join(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_join(handle, result) };
    };
    let Some(user) = of(handle) else { return libc::ESRCH };
    if user == this() {
        return libc::EDEADLK;
    }
    // SAFETY: threads are never freed.
    let user = unsafe { &mut *user };
    if user.detached || user.joined {
        return libc::EINVAL;
    }
    if cancel::is_due() {
        return 0;
    }
    user.joined = true;
    thread.charged_to(Cause::Idle, |thread| {
        loop {
            let ended = super::state::acquire(thread, user.ended as usize, || {
                // SAFETY: a word of the arena.
                unsafe { *user.ended }
            });
            if ended != 0 {
                break;
            }
            if !futex::wait_at_point(thread, user.ended as usize, None) {
                user.joined = false;
                break;
            }
        }
    });
    if !user.joined {
        return 0;
    }
    if !result.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *result = user.result };
    }
    super::measured::section_ends();
    0
}

/// A thread that was just made waits for parallel regions, and for nothing else.
pub fn is_helper(handle: libc::pthread_t) {
    if current().is_some()
        && let Some(user) = of(handle)
    {
        // SAFETY: threads are never freed.
        unsafe { (*user).helper = true };
        run().helpers += 1;
    }
}

/// Joins a thread if it has ended.
///
/// # Safety
/// As of `pthread_tryjoin_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_tryjoin_np(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    let (Some(_), Some(user)) = (current(), of(handle)) else { return libc::ESRCH };
    // SAFETY: threads are never freed, and `ended` is a word of the arena.
    if unsafe { *(*user).ended } == 0 {
        return libc::EBUSY;
    }
    // SAFETY: the caller's promise.
    unsafe { join(handle, result) }
}

/// Nobody will join a thread.
///
/// # Safety
/// As of `pthread_detach`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_detach(handle: libc::pthread_t) -> c_int {
    if current().is_none() {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_detach(handle) };
    }
    match of(handle) {
        None => libc::ESRCH,
        Some(user) => {
            // SAFETY: threads are never freed.
            unsafe { (*user).detached = true };
            0
        }
    }
}

/// Ends the thread that calls it, from wherever it is.
///
/// # Safety
/// As of `pthread_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_pthread_exit(result: *mut c_void) -> ! {
    if current().is_none() {
        // SAFETY: the caller's promise.
        unsafe { libc::pthread_exit(result) }
    }
    // SAFETY: threads are never freed.
    unsafe { (*this()).result = result };
    cancel::begin_end();
    unwind()
}

/// The thread that calls it.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_self() -> libc::pthread_t {
    if current().is_none() {
        // Of the time before and after the simulation, in which there is only the first thread.
        return match mode() {
            // SAFETY: it only looks.
            Mode::Native => unsafe { libc::pthread_self() },
            _ => 1,
        };
    }
    // SAFETY: threads are never freed.
    unsafe { (*this()).number as libc::pthread_t + 1 }
}

/// Whether two are the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_equal(one: libc::pthread_t, other: libc::pthread_t) -> c_int {
    (one == other).into()
}

/// Names are for debuggers, and nobody debugs a simulated thread.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_setname_np(_: libc::pthread_t, _: *const libc::c_char) -> c_int {
    0
}

/// Where the stack of a thread is.
///
/// # Safety
/// As of `pthread_getattr_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_getattr_np(
    handle: libc::pthread_t,
    attributes: *mut libc::pthread_attr_t,
) -> c_int {
    if current().is_none() {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes) };
    }
    let Some(user) = of(handle) else { return libc::ESRCH };
    // SAFETY: the caller's promise; threads are never freed.
    unsafe {
        libc::pthread_attr_init(attributes);
        let (start, length) = (*user).stack;
        libc::pthread_attr_setstack(attributes, start as *mut _, length)
    }
}
