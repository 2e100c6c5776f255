//! How a thread ends from wherever it is: its frames are unwound, and what they have registered for that is done.
//!
//! As in the C library, unwinding is forced: C++ runs destructors and may not keep the thread; C code that was compiled without
//! exceptions has registered places to jump to (`pthread_cleanup_push`), which are jumped to when their frames come up. Unwinding
//! ends at a frame of this library below the program's.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::state::{Place, Thrown, Unwinding, UserThread, current, this};

/// The type of cancellation does not change with a place.
const AS_IT_IS: c_int = -1;

type Stop = unsafe extern "C-unwind" fn(c_int, c_int, u64, *mut Thrown, *mut c_void, *mut c_void) -> c_int;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(thrown: *mut Thrown, stop: Stop, argument: *mut c_void) -> c_int;
}

unsafe extern "C" {
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn longjmp(place: *mut Place, value: c_int) -> !;
    fn __pthread_register_cancel(place: *mut Place);
    fn __pthread_unregister_cancel(place: *mut Place);
    fn __pthread_unwind_next(place: *mut Place) -> !;
}

/// The body of a thread of the program.
pub type Body = Box<dyn FnOnce() -> *mut c_void>;

/// Does `body` as the running thread, `user`, until it returns or the thread ends in its midst. Returns what it ended with.
pub fn bounded(user: *mut UserThread, body: Body) -> *mut c_void {
    extern "C-unwind" fn act(body: *mut Option<Body>) -> *mut c_void {
        // SAFETY: it is on the stack below, and nobody else takes it.
        unsafe { &mut *body }.take().map_or(null_mut(), |body| body())
    }
    let mut body = Some(body);
    // SAFETY: the thread's own state.
    unsafe { enter(act, &raw mut body, &raw mut (*user).unwinding.bottom) }
}

/// Calls `act(body)`, and stores at `bottom` where [`leave`] finds what it needs to return from here instead.
#[unsafe(naked)]
unsafe extern "C-unwind" fn enter(
    act: extern "C-unwind" fn(*mut Option<Body>) -> *mut c_void,
    body: *mut Option<Body>,
    bottom: *mut usize,
) -> *mut c_void {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "mov [rdx], rsp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "jmp {restore}",
        restore = sym restore,
    )
}

/// Returns `result` from [`enter`], which has stored `bottom`.
#[unsafe(naked)]
unsafe extern "C" fn leave(bottom: usize, result: *mut c_void) -> ! {
    naked_asm!("mov rsp, rdi", "mov rax, rsi", "jmp {restore}", restore = sym restore)
}

/// The end of [`enter`].
#[unsafe(naked)]
unsafe extern "C" fn restore() {
    naked_asm!("add rsp, 8", "pop r15", "pop r14", "pop r13", "pop r12", "pop rbx", "pop rbp", "ret")
}

/// Ends the running thread with what it has set as its result, from the frame of the caller on.
pub fn unwind() -> ! {
    let user = this();
    // SAFETY: the thread's own state; frames of this library that are left here keep nothing.
    unsafe {
        (*user).unwinding.thrown = Thrown { caught: Some(caught), ..Thrown::default() };
        _Unwind_ForcedUnwind(&raw mut (*user).unwinding.thrown, stop, user.cast());
        // Frames that nobody can unwind: what is registered is done all the same.
        go_on(user, usize::MAX)
    }
}

/// Called at each frame, of which `context` knows.
unsafe extern "C-unwind" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _thrown: *mut Thrown,
    context: *mut c_void,
    user: *mut c_void,
) -> c_int {
    const END_OF_STACK: c_int = 16;
    let user: *mut UserThread = user.cast();
    // SAFETY: the unwinder's context; the thread's own state.
    unsafe {
        let stack = if actions & END_OF_STACK != 0 { usize::MAX } else { _Unwind_GetCFA(context) };
        let Unwinding { places, bottom, .. } = &(*user).unwinding;
        if stack >= *bottom || (!places.is_null() && stack >= (**places).stack) {
            go_on(user, stack);
        }
    }
    0
}

/// Frames below `stack` are gone: jumps to the latest registered place of those, or to the bottom.
unsafe fn go_on(user: *mut UserThread, stack: usize) -> ! {
    // SAFETY: the thread's own state: a place is registered as long as its frame is there, and so is the bottom.
    unsafe {
        let Unwinding { places, bottom, .. } = &(*user).unwinding;
        match places.as_mut().filter(|place| stack >= place.stack) {
            Some(place) => longjmp(place, 1),
            None => leave(*bottom, (*user).result),
        }
    }
}

/// C++ code has caught what a thread ends by, and kept it.
extern "C" fn caught(_reason: c_int, _thrown: *mut Thrown) {
    super::ending::cannot_go_on("the program caught a thread's end (catch (...)) and did not throw it on");
}

/// Registers a place; with the type of cancellation that is restored when it goes.
fn register(place: *mut Place, stack: usize, kind: c_int) {
    let user = this();
    // SAFETY: the caller's frame holds the place; the thread's own state.
    unsafe {
        let places = &mut (*user).unwinding.places;
        ((*place).outer, (*place).stack, (*place).kind) = (*places, stack, kind);
        *places = place;
    }
}

/// The latest registered place is left: what was kept with it.
fn forget(place: *mut Place) -> c_int {
    // SAFETY: as above.
    unsafe {
        (*this()).unwinding.places = (*place).outer;
        (*place).kind
    }
}

macro_rules! registers {
    ($($name:ident $act:ident)*) => {$(
        /// Called where C code without exceptions pushes a cleanup handler.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            naked_asm!("lea rsi, [rsp + 8]", "jmp {}", sym $act)
        }
    )*};
}

registers! {
    __wrap___pthread_register_cancel register_cancel
    __wrap___pthread_register_cancel_defer register_cancel_defer
}

unsafe extern "C" fn register_cancel(place: *mut Place, stack: usize) {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { __pthread_register_cancel(place) },
        Some(_) => register(place, stack, AS_IT_IS),
    }
}

unsafe extern "C" fn register_cancel_defer(place: *mut Place, stack: usize) {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { __pthread_register_cancel(place) },
        Some(_) => register(place, stack, super::cancel::set_asynchronous(false).into()),
    }
}

/// Called where such a handler is popped.
///
/// # Safety
/// As of the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap___pthread_unregister_cancel(place: *mut Place) {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { __pthread_unregister_cancel(place) },
        Some(_) => match forget(place) {
            AS_IT_IS => {}
            kind => {
                super::cancel::set_asynchronous(kind != 0);
            }
        },
    }
}

/// The same of one that has set the type of cancellation.
///
/// # Safety
/// As of the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap___pthread_unregister_cancel_restore(place: *mut Place) {
    // SAFETY: the caller's promise.
    unsafe { __wrap___pthread_unregister_cancel(place) }
}

/// A handler has been called that the thread had jumped to: unwinding goes on.
///
/// # Safety
/// As of the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap___pthread_unwind_next(place: *mut Place) -> ! {
    if current().is_none() {
        // SAFETY: the caller's promise.
        unsafe { __pthread_unwind_next(place) }
    }
    let _kind = forget(place);
    unwind()
}
