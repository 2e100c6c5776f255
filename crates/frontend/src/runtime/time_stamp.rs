//! The time stamp counter of x86-64, which programs read by an instruction: the simulated processor's cycles.
//!
//! The kernel is asked to have the instruction fail (`PR_SET_TSC`); where the program fails so, it is given what it asked for. The C
//! library and the runtime read the host's by the same instruction, and get that.

use std::arch::x86_64::{__rdtscp, _rdtsc};
use std::ffi::c_int;

use super::images::images;
use super::state::{Single, current, note, run};

/// State for answering the instruction when it fails.
struct Counter {
    /// Millions of cycles of a simulated processor in a second.
    mhz: f64,
    /// Code of the program: where each file's begins and ends.
    program: Vec<(usize, usize)>,
    watched: bool,
}

static COUNTER: Single<Counter> = Single::new(Counter { mhz: 0.0, program: Vec::new(), watched: false });

const READ: [u8; 2] = [0x0f, 0x31];
const READ_WITH_PROCESSOR: [u8; 3] = [0x0f, 0x01, 0xf9];

fn set(mode: c_int) -> bool {
    // SAFETY: what it changes is this thread's own, and heeded by the handler of faults.
    unsafe { libc::prctl(libc::PR_SET_TSC, mode) == 0 }
}

/// From here on the program reads the cycles of processors of so many megahertz.
pub fn watch(mhz: f64) {
    let code = |image: &super::images::Image| image.code;
    let program: Vec<(usize, usize)> = images().iter().filter(|image| !image.is_system()).map(code).collect();
    let wanted = !run().request.host_time;
    let watched = wanted && set(libc::PR_TSC_SIGSEGV);
    if wanted && !watched && program.iter().any(may_read) {
        let what = "the time stamp counter, if the program reads it, is this computer's, whose kernel does not let it be simulated";
        note(what.to_owned());
    }
    // SAFETY: one thread of the host.
    unsafe { *COUNTER.get() = Counter { mhz, program, watched } };
}

/// Whether code may read the counter: it has the instruction's bytes.
fn may_read(&(start, end): &(usize, usize)) -> bool {
    // SAFETY: code of a file that is loaded.
    let code = unsafe { std::slice::from_raw_parts(start as *const u8, end - start) };
    code.windows(READ.len()).any(|bytes| bytes == READ)
        || code.windows(READ_WITH_PROCESSOR.len()).any(|bytes| bytes == READ_WITH_PROCESSOR)
}

/// The counter is the host's again.
pub fn unwatch() {
    // SAFETY: one thread of the host.
    if std::mem::take(unsafe { &mut (*COUNTER.get()).watched }) {
        set(libc::PR_TSC_ENABLE);
    }
}

/// An instruction has failed: if it reads the counter, it is done.
///
/// # Safety
/// The registers are those of the thread at the instruction.
pub unsafe fn answer(registers: &mut [i64]) -> bool {
    // SAFETY: one thread of the host.
    let counter = unsafe { &*COUNTER.get() };
    if !counter.watched {
        return false;
    }
    let pc = registers[libc::REG_RIP as usize] as usize;
    // SAFETY: the instruction was fetched, so that its bytes are there; a page has room for the third, or it was not wanted.
    let (two, third) = unsafe { (*(pc as *const [u8; 2]), || *((pc + 2) as *const u8)) };
    let length = match two {
        READ => 2,
        [first, second] if [first, second] == READ_WITH_PROCESSOR[..2] && third() == READ_WITH_PROCESSOR[2] => 3,
        _ => return false,
    };
    let is_program = counter.program.iter().any(|&(start, end)| (start..end).contains(&pc));
    let (cycles, processor) = match current().filter(|_| is_program) {
        Some(thread) => ((thread.clock().0 as f64 * counter.mhz / 1e6) as u64, thread.cpu().index() as u32),
        None => host(),
    };
    registers[libc::REG_RAX as usize] = i64::from(cycles as u32);
    registers[libc::REG_RDX as usize] = (cycles >> 32) as i64;
    if length == 3 {
        registers[libc::REG_RCX as usize] = i64::from(processor);
    }
    registers[libc::REG_RIP as usize] += length;
    true
}

/// Value of the host's counter, and the processor's number.
fn host() -> (u64, u32) {
    set(libc::PR_TSC_ENABLE);
    // SAFETY: every processor of this kind has the instructions.
    let told = unsafe {
        let mut processor = 0;
        let _with = __rdtscp(&raw mut processor);
        (_rdtsc(), processor)
    };
    set(libc::PR_TSC_SIGSEGV);
    told
}
