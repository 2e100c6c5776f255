//! Callbacks of instrumented code, one at every reference.
//!
//! A callback learns where it was called from by its return address: the site of the reference. Each is a few instructions that
//! put that beside the arguments and go on to the real one.

use std::arch::naked_asm;
use std::mem::offset_of;

use units::VirtualAddr;

use super::address::locate;
use super::loops::tell_registers;
use super::state::{Budget, HOT, Hot, Reference};
use super::{loops, recording};

/// A reference of the program to what is at `address`, from the code at `site`.
#[inline(always)]
fn refer(address: usize, access: Reference, site: usize) {
    // SAFETY: one thread of the host; the pointer is null or that of the coroutine that runs now.
    let hot = unsafe { &mut *HOT.get() };
    // SAFETY: as above.
    let Some(thread) = (unsafe { hot.timed.as_mut() }) else {
        if hot.counting {
            count(hot);
        } else if hot.inspects {
            go_on(hot);
            refer(address, access, site);
        }
        return;
    };
    let instructions = hot.instructions + hot.budget.pending;
    hot.budget.pending = 0;
    if instructions | hot.budget.stalls > 0 {
        issue(hot, thread, instructions);
    }
    at_site(thread, site);
    if hot.site == site && hot.looked == address {
        look_again(hot, thread, address, access, site);
    } else {
        hot.looks = 0;
    }
    (hot.site, hot.looked) = (site, address);
    if hot.recording {
        recording::refer(address, access, instructions, site);
    }
    match locate(address) {
        Some(at) if access == Reference::Load => load(hot, thread, at, site),
        Some(at) => {
            hot.stores += 1;
            thread.store(at);
        }
        None => foreign(access),
    }
}

/// A load, whose address may be computed from what was loaded before.
#[inline(always)]
fn load(hot: &mut Hot, thread: &mut sim::Thread<'static>, at: VirtualAddr, site: usize) {
    // SAFETY: the thread that runs is not freed, and nobody else uses what it tracks.
    match unsafe { hot.tracked.as_mut() } {
        Some(tracked) => {
            let back = tracked.back(site);
            tracked.loaded();
            thread.load_after(at, back);
        }
        None => thread.load(at),
    }
}

/// References are timed again whose thread was to tell its registers.
#[cold]
fn go_on(hot: &mut Hot) {
    (hot.inspects, hot.timed) = (false, hot.thread);
}

/// The reference is to where the one before was, from the same code.
#[cold]
#[inline(never)]
fn look_again(hot: &mut Hot, thread: &mut sim::Thread<'static>, address: usize, access: Reference, site: usize) {
    match locate(address).filter(|_| access == Reference::Load) {
        Some(at) => loops::again(hot, thread, at, site, 0),
        None => hot.looks = 0,
    }
}

/// The thread issues what was counted, as late as results were.
#[inline(always)]
fn issue(hot: &mut Hot, thread: &mut sim::Thread<'static>, instructions: u32) {
    thread.stall(std::mem::take(&mut hot.budget.stalls));
    thread.instructions(instructions);
    // A thread that computes for long does not wait for a change.
    hot.stores += u64::from(instructions >= LONG);
}

/// Instructions that no loop has that waits for another thread.
const LONG: u32 = 1 << 20;

/// References after which others get their turn, where there are no caches.
pub(super) const TURN: i32 = 20_000;

/// A reference where there are no caches: it is an instruction, and time passes now and then.
#[inline(always)]
fn count(hot: &mut Hot) {
    hot.budget.left -= 1;
    if hot.budget.left < 0 {
        take_turn();
    }
}

/// References that were counted since others had their turn: a block may count a few more than there were to be.
fn since(hot: &Hot) -> u32 {
    TURN.abs_diff(hot.budget.left)
}

/// How many references were counted where there are no caches.
pub(super) fn counted() -> u64 {
    // SAFETY: one thread of the host.
    let hot = unsafe { &*HOT.get() };
    hot.counted + u64::from(since(hot))
}

/// The instructions of what was counted since others had their turn; the next turn begins.
fn take_counted(hot: &mut Hot) -> u32 {
    let references = since(hot);
    hot.budget.left = TURN;
    hot.counted += u64::from(references);
    // Which of them were stores nobody knows.
    hot.stores += u64::from(references > 0);
    references * (1 + hot.instructions) + std::mem::take(&mut hot.budget.pending)
}

/// Counted instructions are issued before the thread does anything that others may wait for, or ends.
pub(super) fn settle(thread: &mut sim::Thread<'static>) {
    // SAFETY: one thread of the host.
    let hot = unsafe { &mut *HOT.get() };
    let instructions = if hot.counting { take_counted(hot) } else { std::mem::take(&mut hot.budget.pending) };
    if instructions | hot.budget.stalls > 0 {
        issue(hot, thread, instructions);
    }
}

/// Instructions that the compiler has counted since the last reference are issued, where references are timed.
pub(super) fn issue_pending(thread: &mut sim::Thread<'static>) {
    // SAFETY: one thread of the host.
    let hot = unsafe { &mut *HOT.get() };
    let instructions = std::mem::take(&mut hot.budget.pending);
    issue(hot, thread, instructions);
}

/// Time passes for the references that were counted, and others get their turn.
#[cold]
pub(super) fn take_turn() {
    // SAFETY: one thread of the host.
    let hot = unsafe { &mut *HOT.get() };
    let instructions = take_counted(hot);
    // SAFETY: as in `refer`.
    if let Some(thread) = unsafe { hot.thread.as_mut() } {
        issue(hot, thread, instructions);
        thread.order();
    }
}

/// The same where the program itself is what is returned to: a thread that was cancelled meanwhile ends.
pub(super) extern "C-unwind" fn take_turn_or_end() {
    take_turn();
    // SAFETY: one thread of the host.
    if unsafe { (*HOT.get()).ends } {
        super::cancel::end_here();
    }
}

/// The next reference is made by the code at `site`.
#[inline(always)]
fn at_site(thread: &mut sim::Thread<'static>, site: usize) {
    thread.at_site(site as u64);
}

/// A reference to memory that is not simulated, such as the C library's: an instruction. Others get their turn now and then, for
/// the program may look at such a word until it changes.
#[cold]
fn foreign(access: Reference) {
    // SAFETY: as in `refer`.
    let hot = unsafe { &mut *HOT.get() };
    // SAFETY: as in `refer`.
    if let Some(thread) = unsafe { hot.thread.as_mut() } {
        thread.instructions(1);
        hot.foreign += 1;
        hot.stores += u64::from(access == Reference::Store);
        if hot.foreign.is_multiple_of(FOREIGN_TURN) {
            thread.order();
        }
    }
}

/// References to memory that is not simulated after which others get their turn.
const FOREIGN_TURN: u32 = 64;

/// A reference to `bytes` bytes that may lie in two lines, or be many.
pub fn refer_range(address: usize, bytes: usize, access: Reference, site: usize) {
    let mut at = address;
    let end = address + bytes;
    while at < end {
        refer(at, access, site);
        at = (at & !(WORD - 1)) + WORD;
    }
}

/// A reference to `BYTES` bytes of which the compiler does not tell whether they lie in one word. Where references are only counted
/// it is one in any case.
#[inline(always)]
fn traced<const BYTES: usize>(address: usize, access: Reference, site: usize) {
    if address % WORD + BYTES <= WORD {
        refer(address, access, site);
    } else {
        refer_range(address, BYTES, access, site);
    }
}

/// Bytes that one instruction of the simulated processor loads or stores at most.
const WORD: usize = 8;

/// Callbacks for one reference each, of at most eight bytes: the sanitizer's, and those of clang's coverage.
macro_rules! single {
    ($($access:ident $how:path: $($name:ident)*;)*) => {$($(
        #[doc = "Called by instrumented code."]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C-unwind" fn $name() {
            extern "C" fn act(address: usize, site: usize) {
                $how(address, Reference::$access, site);
            }
            // References that are not timed are done right here: nothing natively, counting where there are no caches.
            naked_asm!(
                "cmp qword ptr [rip + {hot} + {timed}], 0",
                "je 2f",
                "mov rsi, [rsp]",
                "jmp {act}",
                "2:",
                "cmp byte ptr [rip + {hot} + {counting}], 0",
                "je 3f",
                "dec dword ptr [rip + {hot} + {left}]",
                "js 4f",
                "ret",
                "3:",
                "cmp byte ptr [rip + {hot} + {ends}], 0",
                "jne 5f",
                "cmp byte ptr [rip + {hot} + {inspects}], 0",
                "jne 6f",
                "ret",
                "6:",
                tell_registers!(),
                "mov byte ptr [rip + {hot} + {inspects}], 0",
                "mov rax, [rip + {hot} + {thread}]",
                "mov [rip + {hot} + {timed}], rax",
                "mov rsi, [rsp]",
                "jmp {act}",
                "4:",
                "jmp {turn}",
                "5:",
                "jmp {end}",
                hot = sym HOT,
                timed = const offset_of!(Hot, timed),
                counting = const offset_of!(Hot, counting),
                left = const offset_of!(Hot, budget) + offset_of!(Budget, left),
                act = sym act,
                ends = const offset_of!(Hot, ends),
                inspects = const offset_of!(Hot, inspects),
                told = const offset_of!(Hot, told),
                frame = const offset_of!(Hot, frame),
                thread = const offset_of!(Hot, thread),
                turn = sym take_turn_or_end,
                end = sym super::cancel::end_here,
            )
        }
    )*)*

    /// The callbacks for one reference each.
    pub(super) const SINGLE: &[extern "C-unwind" fn()] = &[$($($name,)*)*];
    };
}

single! {
    Load refer: __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_vptr_read
        __tsan_volatile_read1 __tsan_volatile_read2 __tsan_volatile_read4 __tsan_volatile_read8;
    Store refer: __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_vptr_update
        __tsan_volatile_write1 __tsan_volatile_write2 __tsan_volatile_write4 __tsan_volatile_write8;
    Load traced::<1>: __sanitizer_cov_load1;
    Load traced::<2>: __sanitizer_cov_load2;
    Load traced::<4>: __sanitizer_cov_load4;
    Load traced::<8>: __sanitizer_cov_load8;
    Store traced::<1>: __sanitizer_cov_store1;
    Store traced::<2>: __sanitizer_cov_store2;
    Store traced::<4>: __sanitizer_cov_store4;
    Store traced::<8>: __sanitizer_cov_store8;
}

/// Callbacks for references of a size that is known, but that may take several instructions.
macro_rules! wide {
    ($($access:ident $bytes:literal: $($name:ident)*;)*) => {$($(
        #[doc = "Called by instrumented code."]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            extern "C" fn act(address: usize, site: usize) {
                refer_range(address, $bytes, Reference::$access, site);
            }
            naked_asm!("mov rsi, [rsp]", "jmp {}", sym act)
        }
    )*)*};
}

wide! {
    Load 2: __tsan_unaligned_read2 __tsan_unaligned_volatile_read2;
    Load 4: __tsan_unaligned_read4 __tsan_unaligned_volatile_read4;
    Load 8: __tsan_unaligned_read8 __tsan_unaligned_volatile_read8;
    Load 16: __tsan_read16 __tsan_unaligned_read16 __tsan_volatile_read16 __tsan_unaligned_volatile_read16
        __sanitizer_cov_load16;
    Store 2: __tsan_unaligned_write2 __tsan_unaligned_volatile_write2;
    Store 4: __tsan_unaligned_write4 __tsan_unaligned_volatile_write4;
    Store 8: __tsan_unaligned_write8 __tsan_unaligned_volatile_write8;
    Store 16: __tsan_write16 __tsan_unaligned_write16 __tsan_volatile_write16 __tsan_unaligned_volatile_write16
        __sanitizer_cov_store16;
}

/// Callbacks for references that both load and store, as clang announces them.
macro_rules! both {
    ($($bytes:literal: $($name:ident)*;)*) => {$($(
        #[doc = "Called by instrumented code."]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            extern "C" fn act(address: usize, site: usize) {
                refer_range(address, $bytes, Reference::Load, site);
                refer_range(address, $bytes, Reference::Store, site);
            }
            naked_asm!("mov rsi, [rsp]", "jmp {}", sym act)
        }
    )*)*};
}

both! {
    1: __tsan_read_write1;
    2: __tsan_read_write2 __tsan_unaligned_read_write2;
    4: __tsan_read_write4 __tsan_unaligned_read_write4;
    8: __tsan_read_write8 __tsan_unaligned_read_write8;
    16: __tsan_read_write16 __tsan_unaligned_read_write16;
}

/// Functions that take the place of the C library's and are told where they were called from, behind their arguments.
macro_rules! sited {
    ($($register:literal: $($name:ident $act:ident)*;)*) => {$($(
        /// The C library's function of that name, whose references to simulated memory are seen.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            std::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym $act)
        }
    )*)*};
}

pub(super) use sited;

/// Callbacks with a length.
macro_rules! ranges {
    ($($access:ident: $name:ident;)*) => {$(
        #[doc = "Called by instrumented code."]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            extern "C" fn act(address: usize, bytes: usize, site: usize) {
                refer_range(address, bytes, Reference::$access, site);
            }
            naked_asm!("mov rdx, [rsp]", "jmp {}", sym act)
        }
    )*};
}

ranges! {
    Load: __tsan_read_range;
    Store: __tsan_write_range;
}

/// Called before anything else of the program: nothing is to be done.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {}

/// Called when a function begins.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_entry(_caller: usize) {}

/// Called when a function ends.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_exit() {}

/// The callbacks that do nothing.
pub(super) fn idle() -> [usize; 4] {
    [
        __tsan_func_entry as *const () as usize,
        __tsan_func_exit as *const () as usize,
        __tsan_ignore_thread_begin as *const () as usize,
        __tsan_ignore_thread_end as *const () as usize,
    ]
}

/// Called by gcc where a thread's own storage is known to be its own.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_ignore_thread_begin() {}

/// The end of that.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_ignore_thread_end() {}
