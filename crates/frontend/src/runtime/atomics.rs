//! Atomic operations of the program: indivisible in simulated time, and seen by others when they are done.
//!
//! gcc and clang call these in place of the operation itself. While simulated, all threads are one of the host's, so plain reads and
//! writes at the thread's own simulated time are atomic; a program that was started by itself has real threads, and real atomics.

use std::arch::{asm, naked_asm};
use std::mem::offset_of;
use std::ptr::{read_volatile, write_volatile};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

use sim::Cause;

use super::address::locate;
use super::callbacks;
use super::loops::{self, tell_registers};
use super::state::{HOT, Hot, current, note_change};
use super::words::{acquire, indivisible, release};

/// A word that this computer changes indivisibly, for programs whose threads are its own.
trait Word: Copy + PartialEq {
    /// The word's value.
    unsafe fn look(address: *const Self) -> Self;
    /// Stores a value.
    unsafe fn put(address: *mut Self, value: Self);
    /// Stores `after` if `before` is there; else tells what is.
    unsafe fn replace(address: *mut Self, before: Self, after: Self) -> Result<(), Self>;
}

macro_rules! words {
    ($($type:ty: $atomic:ty;)*) => {$(
        impl Word for $type {
            unsafe fn look(address: *const Self) -> Self {
                // SAFETY: the program does the same there.
                unsafe { <$atomic>::from_ptr(address.cast_mut()) }.load(SeqCst)
            }

            unsafe fn put(address: *mut Self, value: Self) {
                // SAFETY: the program does the same there.
                unsafe { <$atomic>::from_ptr(address) }.store(value, SeqCst);
            }

            unsafe fn replace(address: *mut Self, before: Self, after: Self) -> Result<(), Self> {
                // SAFETY: the program does the same there.
                unsafe { <$atomic>::from_ptr(address) }.compare_exchange(before, after, SeqCst, SeqCst).map(|_| ())
            }
        }
    )*};
}

words! {
    u8: AtomicU8;
    u16: AtomicU16;
    u32: AtomicU32;
    u64: AtomicU64;
}

impl Word for u128 {
    unsafe fn look(address: *const Self) -> Self {
        // Replaces zero by zero, or nothing: there is no load of 16 bytes.
        // SAFETY: the caller's promise.
        unsafe { Self::replace(address.cast_mut(), 0, 0) }.err().unwrap_or(0)
    }

    unsafe fn put(address: *mut Self, value: Self) {
        let mut there = 0;
        // SAFETY: the caller's promise.
        while let Err(found) = unsafe { Self::replace(address, there, value) } {
            there = found;
        }
    }

    unsafe fn replace(address: *mut Self, before: Self, after: Self) -> Result<(), Self> {
        let (mut low, mut high) = (before as u64, (before >> 64) as u64);
        // SAFETY: the program does the same there; every processor of this kind but the very first has the instruction. The compiler
        // keeps `rbx` for itself, so it is put aside and back; no operand may be in it meanwhile.
        unsafe {
            asm!(
                "xchg rsi, rbx",
                "lock cmpxchg16b [rdi]",
                "mov rbx, rsi",
                in("rdi") address,
                inout("rsi") after as u64 => _,
                in("rcx") (after >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                options(nostack),
            );
        }
        let found = (Self::from(high) << 64) | Self::from(low);
        if found == before { Ok(()) } else { Err(found) }
    }
}

fn load<T: Word>(address: *const T, site: usize) -> T {
    // SAFETY: the program loads from there.
    let Some(thread) = current() else { return unsafe { T::look(address) } };
    note_look(thread, address as usize, site);
    // SAFETY: as above.
    thread.charged_to(Cause::Lock, |thread| acquire(thread, address as usize, || unsafe { read_volatile(address) }))
}

/// The thread is about to look at a word from the code at `site`, perhaps again.
fn note_look(thread: &mut sim::Thread<'static>, address: usize, site: usize) {
    callbacks::settle(thread);
    // SAFETY: one thread of the host.
    let hot = unsafe { &mut *HOT.get() };
    let again = hot.site == site && hot.looked == address;
    (hot.site, hot.looked) = (site, address);
    match locate(address).filter(|_| again && !hot.timed.is_null()) {
        // The look itself is a call of the runtime's.
        Some(at) => loops::again(hot, thread, at, site, 1),
        None => hot.looks = 0,
    }
}

fn store<T: Word>(address: *mut T, value: T) {
    note_change();
    match current() {
        // SAFETY: the program stores there.
        None => unsafe { T::put(address, value) },
        Some(thread) => {
            // SAFETY: as above.
            let change = || unsafe { write_volatile(address, value) };
            thread.charged_to(Cause::Lock, |thread| release(thread, address as usize, change));
        }
    }
}

fn modify<T: Word>(address: *mut T, change: impl Fn(T) -> T) -> T {
    let Some(thread) = current() else { return modify_here(address, change) };
    let act = || {
        // SAFETY: the program changes what is there.
        unsafe {
            let before = read_volatile(address);
            let after = change(before);
            if after != before {
                note_change();
            }
            write_volatile(address, after);
            before
        }
    };
    thread.charged_to(Cause::Lock, |thread| indivisible(thread, address as usize, act))
}

/// The same where the program's threads are this computer's.
fn modify_here<T: Word>(address: *mut T, change: impl Fn(T) -> T) -> T {
    // SAFETY: the program changes what is there.
    let mut there = unsafe { T::look(address) };
    // SAFETY: as above.
    while let Err(found) = unsafe { T::replace(address, there, change(there)) } {
        there = found;
    }
    there
}

/// Stores `new` if `expected` is there. What was there, and whether that was so.
fn compare<T: Word>(address: *mut T, expected: T, new: T) -> (T, bool) {
    let before = modify(address, |before| if before == expected { new } else { before });
    (before, before == expected)
}

macro_rules! atomics {
    ($($type:ty: $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident
        $strong:ident $weak:ident $val:ident;)*) => {$(
        /// An atomic load.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $load(address: *const $type, order: i32) -> $type {
            extern "C" fn act(address: *const $type, _order: i32, site: usize) -> $type {
                load(address, site)
            }
            naked_asm!(
                tell_registers!(),
                "mov rdx, [rsp]",
                "jmp {act}",
                hot = sym HOT,
                told = const offset_of!(Hot, told),
                frame = const offset_of!(Hot, frame),
                act = sym act,
            )
        }

        /// An atomic store.
        #[unsafe(no_mangle)]
        pub extern "C" fn $store(address: *mut $type, value: $type, _order: i32) {
            store(address, value);
        }

        /// Stores a value and returns what was there.
        #[unsafe(no_mangle)]
        pub extern "C" fn $exchange(address: *mut $type, value: $type, _order: i32) -> $type {
            modify(address, |_| value)
        }

        /// Adds, and returns what was there.
        #[unsafe(no_mangle)]
        pub extern "C" fn $add(address: *mut $type, value: $type, _order: i32) -> $type {
            modify(address, |before| before.wrapping_add(value))
        }

        /// Subtracts, and returns what was there.
        #[unsafe(no_mangle)]
        pub extern "C" fn $sub(address: *mut $type, value: $type, _order: i32) -> $type {
            modify(address, |before| before.wrapping_sub(value))
        }

        /// Keeps the bits of a mask, and returns what was there.
        #[unsafe(no_mangle)]
        pub extern "C" fn $and(address: *mut $type, value: $type, _order: i32) -> $type {
            modify(address, |before| before & value)
        }

        /// Sets the bits of a mask, and returns what was there.
        #[unsafe(no_mangle)]
        pub extern "C" fn $or(address: *mut $type, value: $type, _order: i32) -> $type {
            modify(address, |before| before | value)
        }

        /// Flips the bits of a mask, and returns what was there.
        #[unsafe(no_mangle)]
        pub extern "C" fn $xor(address: *mut $type, value: $type, _order: i32) -> $type {
            modify(address, |before| before ^ value)
        }

        /// Keeps the bits of a mask and flips all, and returns what was there.
        #[unsafe(no_mangle)]
        pub extern "C" fn $nand(address: *mut $type, value: $type, _order: i32) -> $type {
            modify(address, |before| !(before & value))
        }

        /// Stores a value if the expected one is there; else tells what is.
        ///
        /// # Safety
        /// `expected` points to the program's expected value.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $strong(address: *mut $type, expected: *mut $type, new: $type, _: i32, _: i32) -> i32 {
            // SAFETY: the caller's promise.
            let (before, equal) = compare(address, unsafe { *expected }, new);
            if !equal {
                // SAFETY: the caller's promise.
                unsafe { *expected = before };
            }
            equal.into()
        }

        /// The same: it never fails without a reason.
        ///
        /// # Safety
        /// As of the strong one.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $weak(
            address: *mut $type, expected: *mut $type, new: $type, success: i32, failure: i32,
        ) -> i32 {
            // SAFETY: the caller's promise.
            unsafe { $strong(address, expected, new, success, failure) }
        }

        /// Stores a value if the expected one is there, and returns what was.
        #[unsafe(no_mangle)]
        pub extern "C" fn $val(address: *mut $type, expected: $type, new: $type, _: i32, _: i32) -> $type {
            compare(address, expected, new).0
        }
    )*};
}

atomics! {
    u8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub
        __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand
        __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val;
    u16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add
        __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor
        __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
        __tsan_atomic16_compare_exchange_val;
    u32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add
        __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor
        __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
        __tsan_atomic32_compare_exchange_val;
    u64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add
        __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor
        __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
        __tsan_atomic64_compare_exchange_val;
    u128: __tsan_atomic128_load __tsan_atomic128_store __tsan_atomic128_exchange __tsan_atomic128_fetch_add
        __tsan_atomic128_fetch_sub __tsan_atomic128_fetch_and __tsan_atomic128_fetch_or __tsan_atomic128_fetch_xor
        __tsan_atomic128_fetch_nand __tsan_atomic128_compare_exchange_strong __tsan_atomic128_compare_exchange_weak
        __tsan_atomic128_compare_exchange_val;
}

/// A fence: everything before it is done.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(_order: i32) {
    match current() {
        None => fence(SeqCst),
        Some(thread) => {
            // It changes nothing that a loop could wait for.
            loops::discount_call();
            thread.drain();
            thread.order();
        }
    }
}

/// A fence for the compiler alone.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_order: i32) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// On this computer's own threads, words of every length are changed indivisibly.
    #[test]
    fn threads_of_this_computer_lose_no_update() {
        fn hammer<T: Word + Send + Sync + Default>(step: impl Fn(T) -> T + Copy + Send + Sync) -> T {
            let mut word = T::default();
            let address = &raw mut word as usize;
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(move || {
                        for _ in 0..20_000 {
                            modify_here(address as *mut T, step);
                        }
                    });
                }
            });
            // SAFETY: it is there, and nobody else is.
            unsafe { T::look(&raw const word) }
        }
        assert_eq!(hammer(|word: u8| word.wrapping_add(1)), (80_000 % 256) as u8);
        assert_eq!(hammer(|word: u32| word + 1), 80_000);
        assert_eq!(hammer(|word: u64| word + 3), 240_000);
        assert_eq!(hammer(|word: u128| word + (1 << 64) + 1), 80_000 * ((1 << 64) + 1));
        let mut word = 5_u128;
        // SAFETY: it is there.
        let refused = unsafe { u128::replace(&raw mut word, 4 << 64, 1) };
        assert_eq!((refused, word), (Err(5), 5));
    }
}
