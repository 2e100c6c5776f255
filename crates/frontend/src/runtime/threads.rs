//! The program's threads: coroutines on stacks in simulated memory.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

use corosensei::stack::{Stack, StackPointer};
use sim::{Thread, ThreadId};
use units::CpuId;

use super::origins::Tracked;
use super::state::{Cancel, HOT, Looks, NOTHING_LATE, Unwinding, UserThread, Wish, current, note, of, run, this};
use super::unwinding::{Body, bounded};
use super::wishes::Wishes;
use super::{address, cancel, clock, futex, keys, tls};

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
    /// The function it called last that may wait, by name.
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
            late: NOTHING_LATE,
            tracked: Tracked::NEW,
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
        hot.tracked = if hot.waits { &raw mut (*this).tracked } else { null_mut() };
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
    super::ending::fail(
        thread,
        &format!("no progress: no store for {limit} ms of simulated time (--spin-limit {limit}): {others}"),
    );
}

/// The thread has come to its end.
fn end(this: *mut UserThread, result: *mut c_void) {
    // SAFETY: as above; `ended` is a word of the arena.
    let user = unsafe { &mut *this };
    user.result = result;
    if let Some(thread) = current() {
        super::words::release(thread, user.ended as usize, || {
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
        note(what.to_owned());
    }
}

/// Makes a thread that does `body`. Returns its number, or an error number of the C library.
pub fn make(thread: &mut Thread<'static>, wishes: &Wishes, body: Body) -> Result<usize, c_int> {
    let number = run().threads.len();
    let made = tls::make().and_then(|base| UserThread::new(number, wishes.stack.max(MIN_STACK), base));
    let Some(user) = made else {
        note(format!("thread {number} could not be made: the simulated address space is used up"));
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
        Err(error) => super::ending::fail(thread, &format!("thread {number} of the program cannot begin: {error}")),
    }
}

/// The least stack that code of this library fits on beside the program's.
const MIN_STACK: usize = 64 << 10;

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
