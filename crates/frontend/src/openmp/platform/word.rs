//! Words and numbers that threads share, and how threads wait for them.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sim::Thread;

use crate::runtime::state::{current, run};
use crate::runtime::words::{acquire, indivisible, release};
use crate::runtime::{address, futex};

/// Instructions between two looks at a word: compare, branch, pause, load.
const LOOK: u32 = 4;

/// How often a thread of this computer looks before it lets others run, and then before it sleeps.
const LOOKS: u32 = 2000;
const YIELDS: u32 = 200;

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

    pub(in crate::openmp) fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Its value, as the runtime knows it without looking.
    pub fn peek(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// The value itself, for whoever accounts for what it costs to change it.
    pub(in crate::openmp) fn value(&self) -> &AtomicU32 {
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

    pub(in crate::openmp) fn wake(&self) {
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
