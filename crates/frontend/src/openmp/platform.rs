//! What the parallel runtime stands on: words in memory that threads share, memory for them, threads, processors and time.
//!
//! In a simulation every look at a word is a load of the running thread, every change a store or an indivisible change that others
//! see at its simulated time. On this computer they are the processor's own atomic operations. Everything above this file is the
//! same for both.

use std::cell::{Cell, RefCell, RefMut};
use std::ffi::{c_int, c_long, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use experiments::policies::OwnLocks;
use sim::{Cause, Thread};

use super::meeting;
use crate::runtime::callbacks::refer_range;
use crate::runtime::state::{Reference, current, run};
use crate::runtime::words::{acquire, indivisible, release};
use crate::runtime::{address, clock, futex, heap, keys, locking, processors, thread_calls, threads};

/// Instructions between two looks at a word: compare, branch, pause, load.
const LOOK: u32 = 4;

/// How often a thread of this computer looks before it lets others run, and then before it sleeps.
const LOOKS: u32 = 2000;
const YIELDS: u32 = 200;

/// Bytes that words of different threads are kept apart: a line of all machines, and of those that fetch two at once.
pub const LINE: usize = 128;

/// On a line of its own.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Line<T>(pub T);

impl<T> std::ops::Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A word that threads share.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Word(AtomicU32);

impl Word {
    /// With a value.
    pub const fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    /// A word of the program's.
    ///
    /// # Safety
    /// At `address` there are four bytes, aligned, that are used as a word alone.
    pub unsafe fn at<'a>(address: *mut c_void) -> &'a Self {
        // SAFETY: the caller's promise; the layout is that of the integer.
        unsafe { &*address.cast() }
    }

    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Its value, as the runtime knows it without looking.
    pub fn peek(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// The value itself, for whoever accounts for what it costs to change it.
    pub(super) fn value(&self) -> &AtomicU32 {
        &self.0
    }

    /// Its value, and with it all that was stored before it.
    pub fn look(&self) -> u32 {
        match current() {
            None => self.0.load(Ordering::Acquire),
            Some(thread) => acquire(thread, self.address(), || self.0.load(Ordering::Relaxed)),
        }
    }

    /// A new value, after all that was stored before.
    pub fn set(&self, value: u32) {
        match current() {
            None => self.0.store(value, Ordering::Release),
            Some(thread) => release(thread, self.address(), || self.0.store(value, Ordering::Relaxed)),
        }
        self.wake();
    }

    /// Changes the value as `change` says, indivisibly, unless that says nothing. Returns what it was.
    ///
    /// # Errors
    /// `change` said nothing: what the value is.
    pub fn change(&self, change: impl Fn(u32) -> Option<u32>) -> Result<u32, u32> {
        let act = || self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, &change);
        let changed = match current() {
            None => act(),
            Some(thread) => indivisible(thread, self.address(), act),
        };
        if changed.is_ok() {
            self.wake();
        }
        changed
    }

    /// Adds, and returns what it was before.
    pub fn add(&self, number: u32) -> u32 {
        self.change(|value| Some(value.wrapping_add(number))).unwrap_or_else(|value| value)
    }

    /// Waits until the value is no longer `value`, and returns what it is then.
    pub fn wait_while(&self, value: u32) -> u32 {
        self.wait(value, Waiting::Looks)
    }

    /// The same; a simulated thread waits as it is told.
    pub fn wait(&self, value: u32, waiting: Waiting) -> u32 {
        let mut looks = 0;
        loop {
            let now = self.look();
            if now != value {
                return now;
            }
            pause(self.address(), looks, waiting, || self.sleep(value));
            looks += 1;
        }
    }

    /// Sleeps on this computer until somebody changes the word, or for a millisecond: whoever changes it looks for sleepers, but
    /// does not wait for those who are about to be.
    fn sleep(&self, value: u32) {
        let time = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        SLEEPERS.fetch_add(1, Ordering::SeqCst);
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word lives as long as the call; the kernel only looks at it.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, value, &raw const time) };
        SLEEPERS.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn wake(&self) {
        match current() {
            Some(thread) => wake_simulated(thread, self.address()),
            None if SLEEPERS.load(Ordering::SeqCst) > 0 => {
                let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
                // SAFETY: the kernel only takes the address for a name.
                unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, c_int::MAX) };
            }
            None => {}
        }
    }
}

/// Simulated threads that have given up their processors until a word changes go on.
fn wake_simulated(thread: &mut Thread<'static>, address: usize) {
    if futex::is_waited_for(address) {
        futex::wake(thread, address, usize::MAX);
    }
}

/// Threads of this computer that sleep.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);

/// A number that threads share.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Its value, as the runtime knows it without looking.
    pub fn peek(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// As [`Word::look`].
    pub fn look(&self) -> u64 {
        match current() {
            None => self.0.load(Ordering::Acquire),
            Some(thread) => acquire(thread, self.address(), || self.0.load(Ordering::Relaxed)),
        }
    }

    /// As [`Word::set`].
    pub fn set(&self, value: u64) {
        match current() {
            None => self.0.store(value, Ordering::Release),
            Some(thread) => {
                release(thread, self.address(), || self.0.store(value, Ordering::Relaxed));
                wake_simulated(thread, self.address());
            }
        }
    }

    /// As [`Word::change`].
    ///
    /// # Errors
    /// As [`Word::change`].
    pub fn change(&self, change: impl Fn(u64) -> Option<u64>) -> Result<u64, u64> {
        let act = || self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, &change);
        match current() {
            None => act(),
            Some(thread) => {
                let changed = indivisible(thread, self.address(), act);
                wake_simulated(thread, self.address());
                changed
            }
        }
    }

    /// Waits until `enough` says so of the value.
    pub fn wait_until(&self, enough: impl Fn(u64) -> bool) {
        let mut looks = 0;
        while !enough(self.look()) {
            pause(self.address(), looks, Waiting::Looks, || std::thread::sleep(std::time::Duration::from_micros(50)));
            looks += 1;
        }
    }
}

/// How a simulated thread waits for a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// It looks at it again and again, as long as there is a processor for every thread.
    Looks,
    /// It gives its processor up.
    Sleeps,
}

impl Waiting {
    /// It sleeps if `sleeps` says so.
    pub fn asleep_if(sleeps: bool) -> Self {
        if sleeps { Self::Sleeps } else { Self::Looks }
    }
}

/// Between two looks at a word that told nothing new: the simulated thread looks again and again at its own copy, until that goes.
/// `sleep` is for threads of this computer that have looked long enough.
fn pause(address: usize, looks: u32, waiting: Waiting, sleep: impl FnOnce()) {
    if let Some(thread) = current() {
        // Where there are more threads than processors, others need this one.
        if waiting == Waiting::Sleeps || run().alive > run().processors {
            futex::wait(thread, address, None);
            return;
        }
        match address::locate(address) {
            Some(at) => thread.spin(at, LOOK),
            None => thread.instructions(LOOK),
        }
    } else if looks < LOOKS {
        std::hint::spin_loop();
    } else if looks < LOOKS + YIELDS {
        std::thread::yield_now();
    } else {
        sleep();
    }
}

/// Does `act`, whose time is spent on behalf of `cause`.
pub fn charged<T>(cause: Cause, act: impl FnOnce() -> T) -> T {
    match current() {
        None => act(),
        Some(thread) => thread.charged_to(cause, |_| act()),
    }
}

/// Does `act`, whose time is the program's own, whatever the thread waits for meanwhile.
pub fn uncharged<T>(act: impl FnOnce() -> T) -> T {
    match current() {
        None => act(),
        Some(thread) => thread.on_its_own(|_| act()),
    }
}

/// The thread loads what is at this place.
pub fn loads<T>(place: &T) {
    refer_range(std::ptr::from_ref(place) as usize, size_of::<T>(), Reference::Load, 0);
}

/// The thread stores what is at this place.
pub fn stores<T>(place: &T) {
    refer_range(std::ptr::from_ref(place) as usize, size_of::<T>(), Reference::Store, 0);
}

/// The thread loads `bytes` bytes at an address of the program, and stores as many at another.
pub fn copies(from: *const c_void, to: *mut c_void, bytes: usize) {
    refer_range(from as usize, bytes, Reference::Load, 0);
    refer_range(to as usize, bytes, Reference::Store, 0);
}

/// The thread executes instructions that refer to nothing.
pub fn instructions(count: u32) {
    if let Some(thread) = current() {
        thread.instructions(count);
    }
}

/// Everything before this is done.
pub fn fence() {
    match current() {
        None => std::sync::atomic::fence(Ordering::SeqCst),
        Some(thread) => {
            thread.drain();
            thread.order();
        }
    }
}

/// On this computer, what was stored before this can be seen by others before what is loaded after it. Simulated threads see each
/// other's words in the order of simulated time.
pub fn fence_host() {
    if current().is_none() {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// Whether the thread may look for something to do again and again: in a simulation, there is a processor for every thread, and
/// threads that wait for each other are not asked to give theirs up.
pub fn has_processor() -> bool {
    current().is_none() || (run().alive <= run().processors && meeting::waiting() == Waiting::Looks)
}

/// The pause between two looks for something to do, of so many instructions.
pub fn pause_for(instructions: u32) {
    match current() {
        None => std::hint::spin_loop(),
        Some(thread) => thread.instructions(instructions),
    }
}

/// The time of the running thread, from a counter of its processor.
pub fn moment() -> Duration {
    match current() {
        None => {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: the time is this function's own.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        }
        Some(thread) => {
            thread.instructions(1);
            Duration::from_nanos(thread.now().0 / 1000)
        }
    }
}

/// Whole pages of memory for the running thread, which is to be the first to touch them.
///
/// # Panics
/// When there is no memory left: tasks cannot be done without.
pub fn pages(bytes: usize) -> *mut c_void {
    let page = if current().is_some() { address::page() } else { LINE };
    let block = heap::memalign(page, bytes.next_multiple_of(page), 0);
    assert!(!block.is_null(), "no memory for OpenMP tasks");
    block
}

/// Memory of the program's own, for what its threads share; null if there is none left.
pub fn allocate(bytes: usize) -> *mut c_void {
    heap::memalign(LINE, bytes.next_multiple_of(LINE), 0)
}

/// Gives memory back.
///
/// # Safety
/// It came from [`allocate`], and nobody uses it any more.
pub unsafe fn free(block: *mut c_void) {
    heap::__wrap_free(block);
}

/// Keeps a value for ever, in memory of the program's own.
///
/// # Panics
/// When there is no memory left: what is kept is small and is needed to go on at all.
pub fn keep<T>(value: T) -> &'static T {
    let place: *mut T = allocate(size_of::<T>()).cast();
    assert!(!place.is_null() && align_of::<T>() <= LINE, "no memory for the parallel runtime");
    // SAFETY: the block is long enough, aligned, and nobody else's.
    unsafe {
        place.write(value);
        &*place
    }
}

/// A lock that threads spin on.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Lock(Word);

impl Lock {
    /// A lock in a word of the program's; zero is free.
    ///
    /// # Safety
    /// As of [`Word::at`].
    pub unsafe fn at<'a>(address: *mut c_void) -> &'a Self {
        // SAFETY: the caller's promise; the layouts are the same.
        unsafe { &*address.cast() }
    }

    /// The running thread, if locks are asked for of a kind that the C library's functions have, too ([`locking`]).
    fn caller() -> Option<&'static mut Thread<'static>> {
        current().filter(|_| locking::is_asked_for())
    }

    /// How simulated threads wait for locks that are made here.
    pub fn waiting() -> Waiting {
        Waiting::asleep_if(current().is_some() && run().locks == OwnLocks::Futex)
    }

    /// The lock behind a word that tells who has it, where locks are asked for of a kind that takes its word for itself.
    pub fn behind(word: &Word) -> Option<&'static Self> {
        Self::caller()?;
        // SAFETY: lines that are used for nothing else, and stay.
        Some(unsafe { Self::at(locking::behind(word.address()).cast()) })
    }

    fn word(&self) -> *mut u32 {
        self.0.0.as_ptr()
    }

    /// Takes it, if it is free.
    pub fn try_acquire(&self) -> bool {
        match Self::caller() {
            Some(thread) => locking::try_acquire(thread, self.word()),
            None => self.0.change(|value| (value == 0).then_some(1)).is_ok(),
        }
    }

    /// Waits until it is free, and takes it.
    pub fn acquire(&self) {
        if let Some(thread) = Self::caller() {
            locking::acquire(thread, self.word(), None);
            return;
        }
        while !self.try_acquire() {
            self.0.wait(1, Self::waiting());
        }
    }

    /// Lets it go.
    pub fn release(&self) {
        match Self::caller() {
            Some(thread) => locking::release(thread, self.word()),
            None => self.0.set(0),
        }
    }

    /// It is no more.
    pub fn forget(&self) {
        if Self::caller().is_some() {
            locking::forget(self.word());
        }
    }
}

/// A value that only the holder of a lock sees.
#[derive(Debug, Default)]
pub struct Guarded<T> {
    lock: Line<Lock>,
    value: RefCell<T>,
}

// SAFETY: the value is looked at by whoever holds the lock, one thread at a time.
unsafe impl<T> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Does `act` with the value, alone.
    pub fn with<R>(&self, act: impl FnOnce(&mut RefMut<'_, T>) -> R) -> R {
        self.lock.acquire();
        let result = act(&mut self.value.borrow_mut());
        self.lock.release();
        result
    }
}

/// A thread that does `body(argument)` and is joined by nobody, with a stack of so many bytes and on one of these processors, if
/// that is wished; whether there is one.
pub fn spawn(
    body: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    stack: Option<usize>,
    cpus: Option<&[usize]>,
) -> bool {
    let mut handle: libc::pthread_t = 0;
    // SAFETY: the attributes are made before they are used and destroyed after; what starts is given what it takes.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        if let Some(stack) = stack {
            libc::pthread_attr_setstacksize(&raw mut attributes, stack.next_multiple_of(1 << 16));
        }
        if let Some(cpus) = cpus {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            for &cpu in cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as usize) {
                libc::CPU_SET(cpu, &mut set);
            }
            libc::pthread_attr_setaffinity_np(&raw mut attributes, size_of::<libc::cpu_set_t>(), &raw const set);
        }
        // Without a wish, the attributes would still name the size that this computer's threads have.
        let wished = stack.is_some() || cpus.is_some() || current().is_none();
        let wished = if wished { &raw const attributes } else { std::ptr::null() };
        let made = thread_calls::__wrap_pthread_create(&raw mut handle, wished, body, argument) == 0;
        libc::pthread_attr_destroy(&raw mut attributes);
        if made {
            threads::is_helper(handle);
        }
        made
    }
}

/// Something that is done when threads end which have asked for it.
pub struct AtEnd {
    act: extern "C-unwind" fn(*mut c_void),
    key: OnceLock<libc::pthread_key_t>,
}

impl AtEnd {
    /// `act`.
    pub const fn new(act: extern "C-unwind" fn(*mut c_void)) -> Self {
        Self { act, key: OnceLock::new() }
    }

    /// Has it done with `what` when the running thread ends.
    pub fn ask(&self, what: *const c_void) {
        let key = *self.key.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the key is this one's own, and so are its values.
            unsafe { keys::__wrap_pthread_key_create(&raw mut key, Some(self.act)) };
            key
        });
        // SAFETY: as above.
        unsafe { keys::__wrap_pthread_setspecific(key, what) };
    }
}

/// How many processors the program may use.
pub fn processors() -> u32 {
    u32::try_from(processors::__wrap_sysconf(libc::_SC_NPROCESSORS_ONLN) as c_long).unwrap_or(1).max(1)
}

/// The processor that the thread runs on.
pub fn processor() -> usize {
    usize::try_from(processors::__wrap_sched_getcpu()).unwrap_or(0)
}

/// Seconds since some time that does not change.
pub fn seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is this function's own.
    unsafe { clock::__wrap_clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

thread_local! {
    /// What a thread is in the parallel runtime. Simulated threads have storage of their own, as real ones have.
    static SLOT: Cell<*mut c_void> = const { Cell::new(null_mut()) };
}

/// What the running thread has kept for itself ([`remember`]); null at first.
pub fn remembered() -> *mut c_void {
    SLOT.with(Cell::get)
}

/// Keeps something for the running thread.
pub fn remember(what: *mut c_void) {
    SLOT.with(|slot| slot.set(what));
}
