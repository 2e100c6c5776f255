//! A program that crashes: which of its threads, where, and at what simulated time.

use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::mem::zeroed;
use std::ptr::null_mut;

use super::places::place;
use super::state::{UserThread, current, number, run, this};
use super::threads;

/// The stack that the handler runs on: the thread's own may be what has run out.
const STACK: usize = 64 << 10;

/// Signals that the hardware raises, with what they mean.
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "accessed unmapped memory"),
    (libc::SIGBUS, "accessed memory that cannot be provided"),
    (libc::SIGFPE, "divided by zero"),
    (libc::SIGILL, "executed an illegal instruction"),
];

/// Has crashes told from here on.
pub fn watch() {
    // SAFETY: the stack is new and stays; the handler is one of those that get the circumstances.
    unsafe {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let stack = libc::mmap(null_mut(), STACK, rights, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        if stack == libc::MAP_FAILED {
            return;
        }
        libc::sigaltstack(&libc::stack_t { ss_sp: stack, ss_flags: 0, ss_size: STACK }, null_mut());
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        // A crash of the handler ends the process: the signal is blocked meanwhile.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        for (signal, _) in SIGNALS {
            libc::sigaction(signal, &raw const action, null_mut());
        }
    }
}

/// Crashes are the host's again.
pub fn unwatch() {
    for (signal, _) in SIGNALS {
        // SAFETY: the system's own handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over a whole context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    // SAFETY: as above.
    if signal == libc::SIGSEGV && unsafe { super::time_stamp::answer(registers) } {
        return;
    }
    if signal == libc::SIGILL && super::endless::answer(registers) {
        return;
    }
    let Some(thread) = current() else {
        // A crash of the runtime, or outside of the simulation: the instruction is tried again, and crashes.
        // SAFETY: the system's own handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    };
    // SAFETY: the kernel hands over a whole context.
    let (at, pc) = unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        ((*info).si_addr() as usize, registers[libc::REG_RIP as usize] as usize)
    };
    let user = this();
    let what = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("crashed", |(_, what)| what);
    let mut text = format!("thread {} of the program {what}", number());
    // Writing to a string cannot fail.
    let _ = match signal {
        libc::SIGSEGV | libc::SIGBUS if is_overflow(user, at) => {
            write!(text, ": stack of {} KiB exhausted", stack_kib(user))
        }
        libc::SIGSEGV | libc::SIGBUS => write!(text, ": address {at:#x}"),
        _ => Ok(()),
    };
    let _ = write!(text, ", at {}, simulated time {}", place(pc), thread.clock());
    run().error.get_or_insert(text);
    super::ending::give_up();
}

/// Whether an address is just below a thread's stack.
fn is_overflow(user: *mut UserThread, at: usize) -> bool {
    // SAFETY: threads are never freed.
    let (limit, _) = unsafe { (*user).stack };
    (limit..limit + threads::GUARD).contains(&at)
}

fn stack_kib(user: *mut UserThread) -> usize {
    // SAFETY: threads are never freed.
    (unsafe { (*user).stack }).1 >> 10
}
