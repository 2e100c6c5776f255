//! Cancellation of threads: asked for by others, and heeded by a thread where the standard says (POSIX.1-2008, XSH 2.9.5).
//!
//! At a cancellation point the thread returns from whatever it waits in, and what it returns to is unwound. Who may be cancelled at
//! any time is at its next reference.

use std::arch::naked_asm;
use std::ffi::c_int;
use std::mem::offset_of;

use super::state::{Cancel, HOT, Hot, UserThread, current, of, this};
use super::unwinding::unwind;

/// The running thread's state of cancellation.
fn own() -> &'static mut Cancel {
    // SAFETY: threads are never freed; nobody keeps the reference while another may run.
    unsafe { &mut (*this()).cancel }
}

/// Result of a cancelled thread (`PTHREAD_CANCELED`).
const CANCELLED: usize = usize::MAX;

/// Whether the running thread, which is at a cancellation point, is to end there: when the function returns that is one.
pub fn is_due() -> bool {
    let Some(thread) = current() else { return false };
    // Whoever asks does so at a time of his own.
    thread.order();
    let own = own();
    own.due |= own.heeds();
    own.due
}

/// The running thread waits at a cancellation point, by `wait`: who cancels it wakes it.
pub fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    own().waits = !own().disabled;
    let result = wait();
    own().waits = false;
    result
}

/// The running thread looks at a word at a cancellation point, by `look`: nobody can cancel it there.
pub fn spinning<T>(look: impl FnOnce() -> T) -> T {
    own().spins = !own().disabled;
    let result = look();
    own().spins = false;
    result
}

/// The running thread ends here: unwound are the frames of whoever has called the function that led here.
pub extern "C-unwind" fn end_here() -> ! {
    // SAFETY: threads are never freed.
    unsafe { (*this()).result = CANCELLED as *mut _ };
    own().due = false;
    begin_end();
    unwind()
}

/// From here on the running thread cannot be cancelled: it ends.
pub fn begin_end() {
    own().ending = true;
    // Handlers and destructors are timed as all else.
    // SAFETY: one thread of the host.
    let hot = unsafe { &mut *HOT.get() };
    if std::mem::take(&mut hot.ends) && !hot.counting {
        hot.timed = hot.thread;
    }
}

/// Code of an action, and then of the thread's end if that is due: for stubs that the program calls, as their last step.
macro_rules! then_end_if_due {
    ($act:literal) => {
        concat!(
            "sub rsp, 8\n",
            $act,
            "\nadd rsp, 8\n",
            "lea r11, [rip + {hot}]\n",
            "mov r11, [r11 + {user}]\n",
            "cmp byte ptr [r11 + {due}], 0\n",
            "jne 4f\n",
            "ret\n",
            "4: jmp {end}"
        )
    };
}

pub(super) use then_end_if_due;

/// Where [`Cancel::due`] of a thread is.
pub(super) const DUE: usize = offset_of!(UserThread, cancel) + offset_of!(Cancel, due);

macro_rules! stubs {
    ($($symbol:ident $act:ident;)*) => {$(
        /// The C library's function of that name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C-unwind" fn $symbol() {
            naked_asm!(
                "lea r11, [rip + {hot}]",
                "mov r11, [r11 + {user}]",
                "test r11, r11",
                "jz 2f",
                then_end_if_due!("call {act}"),
                "2: jmp {act}",
                hot = sym HOT,
                user = const offset_of!(Hot, user),
                due = const DUE,
                act = sym $act,
                end = sym end_here,
            )
        }
    )*};
}

stubs! {
    __wrap_pthread_cancel cancel;
    __wrap_pthread_setcancelstate set_state;
    __wrap_pthread_setcanceltype set_type;
    __wrap_pthread_testcancel test;
}

/// Asks a thread to end.
unsafe extern "C" fn cancel(handle: libc::pthread_t) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_cancel(handle) };
    };
    let Some(user) = of(handle) else { return libc::ESRCH };
    super::clock::system_call(thread);
    thread.drain();
    thread.order();
    super::state::note_change();
    // SAFETY: threads are never freed.
    let (asked, id) = unsafe { (&mut (*user).cancel, (*user).id) };
    if asked.spins {
        super::locking::refuse(
            thread,
            "a thread is cancelled that waits for a condition",
            "it has a place there that it cannot give up",
        );
    }
    asked.asked = true;
    if asked.waits {
        thread.unpark(id);
    }
    asked.due |= user == this() && asked.at_once();
    0
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    fn pthread_setcanceltype(kind: c_int, before: *mut c_int) -> c_int;
    fn pthread_testcancel();
}

/// Sets a flag of the running thread that C knows as zero and one. Returns zero, or an error number.
unsafe fn set(flag: fn(&mut Cancel) -> &mut bool, wanted: c_int, before: *mut c_int) -> c_int {
    if !matches!(wanted, 0 | 1) {
        return libc::EINVAL;
    }
    let was = std::mem::replace(flag(own()), wanted == 1);
    if !before.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *before = was.into() };
    }
    let own = own();
    own.due |= own.at_once();
    0
}

/// Whether the thread heeds cancellation at all.
unsafe extern "C" fn set_state(state: c_int, before: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match current() {
            None => pthread_setcancelstate(state, before),
            Some(_) => set(|own| &mut own.disabled, state, before),
        }
    }
}

/// Whether it does at any time.
unsafe extern "C" fn set_type(kind: c_int, before: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match current() {
            None => pthread_setcanceltype(kind, before),
            Some(_) => set(|own| &mut own.asynchronous, kind, before),
        }
    }
}

/// Sets whether the running thread may be cancelled at any time. Returns what it was.
pub fn set_asynchronous(asynchronous: bool) -> bool {
    std::mem::replace(&mut own().asynchronous, asynchronous)
}

/// A cancellation point that does nothing else.
extern "C" fn test() {
    match current() {
        // SAFETY: takes nothing.
        None => unsafe { pthread_testcancel() },
        Some(_) => {
            is_due();
        }
    }
}

/// Functions of the C library that are cancellation points, and not simulated otherwise.
macro_rules! points {
    ($($symbol:ident $name:ident)*) => {$(
        /// The C library's function of that name, a cancellation point.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C-unwind" fn $symbol() {
            unsafe extern "C" {
                fn $name();
            }
            // A thread that nobody has asked to end goes on as if this were the function itself, whatever its arguments are.
            naked_asm!(
                "lea r11, [rip + {hot}]",
                "mov r11, [r11 + {user}]",
                "test r11, r11",
                "jz 2f",
                "cmp byte ptr [r11 + {asked}], 0",
                "jne 3f",
                "2: jmp [rip + {name}@GOTPCREL]",
                "3: push rdi\npush rsi\npush rdx\npush rcx\npush r8\npush r9\npush rax",
                "call {is_due}",
                "mov r11d, eax",
                "pop rax\npop r9\npop r8\npop rcx\npop rdx\npop rsi\npop rdi",
                "test r11b, r11b",
                "jz 2b",
                "jmp {end}",
                hot = sym HOT,
                user = const offset_of!(Hot, user),
                asked = const offset_of!(UserThread, cancel) + offset_of!(Cancel, asked),
                name = sym $name,
                is_due = sym is_due_at_call,
                end = sym end_here,
            )
        }
    )*};
}

extern "C" fn is_due_at_call() -> bool {
    is_due()
}

points! {
    __wrap_pread pread
    __wrap_pwrite pwrite
    __wrap_creat creat
    __wrap_fsync fsync
    __wrap_msync msync
    __wrap_connect connect
}
