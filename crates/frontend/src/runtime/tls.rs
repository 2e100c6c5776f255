//! Thread-local storage of simulated threads: each has a block of its own, and the processor's thread register points to it while the
//! thread runs.
//!
//! The C library finds `errno`, and code finds `__thread` variables, relative to that register. A new thread's block is made by the
//! dynamic linker (`_dl_allocate_tls`), in simulated memory; the header of the block is copied from that of the first thread, so
//! that stack protection and encrypted pointers agree.

use std::arch::asm;

use super::address;
use super::state::Single;

/// Bytes kept behind the header for what the C library keeps of a thread (2304 in glibc 2.36).
const DESCRIPTOR: usize = 8192;

/// Places in the header, in bytes (glibc's `tcbhead_t`, part of the ABI of x86-64).
mod header {
    pub const TCB: usize = 0;
    pub const SELF: usize = 16;
    pub const STACK_GUARD: usize = 40;
    pub const POINTER_GUARD: usize = 48;
    /// The C library's number of the thread, where it has been found to be.
    pub const TID: usize = 720;
}

unsafe extern "C" {
    fn _dl_allocate_tls(block: *mut libc::c_void) -> *mut libc::c_void;
    fn _dl_get_tls_static_info(size: *mut usize, align: *mut usize);
    fn __ctype_init();
}

/// Value of the thread register now, and how it is set.
struct Register {
    now: usize,
    instruction: bool,
}

static REGISTER: Single<Register> = Single::new(Register { now: 0, instruction: false });

/// Whether user code may set the register by an instruction (`HWCAP2_FSGSBASE`).
const FSGSBASE: u64 = 2;

/// The thread register of the thread of the host.
pub fn host() -> usize {
    let base: usize;
    // SAFETY: the first word of the block is its own address.
    unsafe { asm!("mov {}, fs:[0]", out(reg) base, options(nostack, readonly)) };
    // SAFETY: one thread of the host.
    let register = unsafe { &mut *REGISTER.get() };
    register.now = base;
    // SAFETY: it only looks.
    register.instruction = unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE != 0;
    base
}

/// Makes a block the running thread's.
#[inline]
pub fn enter(base: usize) {
    // SAFETY: one thread of the host.
    let register = unsafe { &mut *REGISTER.get() };
    if register.now == base {
        return;
    }
    register.now = base;
    if register.instruction {
        // SAFETY: the block is whole, and the kernel allows the instruction.
        unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack)) };
    } else {
        const ARCH_SET_FS: i32 = 0x1002;
        // SAFETY: the block is whole.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_FS, base) };
    }
}

/// A block for a new thread: what its thread register is to be.
pub fn make() -> Option<usize> {
    let (mut size, mut align) = (0, 0);
    // SAFETY: the dynamic linker tells.
    unsafe { _dl_get_tls_static_info(&raw mut size, &raw mut align) };
    let align = align.max(64);
    let variables = size.next_multiple_of(align);
    let block = address::take(variables + DESCRIPTOR, align)? + variables;
    // SAFETY: the block is zero, aligned, and long enough; the header's places are words of it.
    unsafe {
        if _dl_allocate_tls(block as *mut _).is_null() {
            return None;
        }
        let host = host_header();
        let copy = |at: usize| *((block + at) as *mut usize) = *((host + at) as *const usize);
        copy(header::STACK_GUARD);
        copy(header::POINTER_GUARD);
        *((block + header::TCB) as *mut usize) = block;
        *((block + header::SELF) as *mut usize) = block;
        let tid = *((host + header::TID) as *const i32);
        if tid == kernel_id() {
            *((block + header::TID) as *mut i32) = tid;
        }
    }
    Some(block)
}

/// The first thread's own variables: where they begin, and how many bytes. How far they are from the thread register is the same in
/// every run, wherever the host has put the block.
pub fn variables_of_first() -> (usize, usize) {
    let (mut size, mut align) = (0, 0);
    // SAFETY: the dynamic linker tells.
    unsafe { _dl_get_tls_static_info(&raw mut size, &raw mut align) };
    (host_header() - size, size)
}

/// The header of the first thread's block.
fn host_header() -> usize {
    // SAFETY: one thread of the host.
    unsafe { *HOST.get() }
}

/// The thread register that the thread of the host began with.
static HOST: Single<usize> = Single::new(0);

/// Notes the thread register of the host, before any other.
pub fn begin() {
    let base = host();
    // SAFETY: one thread of the host.
    unsafe { *HOST.get() = base };
}

/// The thread of the host has its own block again.
pub fn leave() {
    enter(host_header());
}

/// Pointers to the C library's tables of characters are per thread: a new thread sets them, once.
pub fn settle() {
    // SAFETY: it fills in pointers of the running thread's block.
    unsafe { __ctype_init() };
}

/// The kernel's number of the host's thread. A function for it has been in the C library since 2.30 only.
pub fn kernel_id() -> i32 {
    // SAFETY: it only looks.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}
