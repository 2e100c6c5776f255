//! Loops that do nothing for ever, which compilers make of `for (;;);`: a jump to itself, without a call that the runtime could see.
//!
//! Before the program begins, every such jump becomes an instruction that no processor has. A thread that comes to one parks for
//! good, as it would do nothing else: others go on, and if all wait for it the simulation says so.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use super::code::Code;
use super::counted;
use super::state::{Single, current};

/// Where there were such jumps, in order.
static LOOPS: Single<Vec<usize>> = Single::new(Vec::new());

/// `jmp` to itself, short and near, and `ud2`.
const SHORT: [u8; 2] = [0xeb, 0xfe];
const NEAR: [u8; 5] = [0xe9, 0xfb, 0xff, 0xff, 0xff];
const UNDEFINED: [u8; 2] = [0x0f, 0x0b];

/// The jumps to themselves in code that begins at `start`.
fn loops(code: &[u8], start: usize) -> Vec<usize> {
    let mut found = Vec::new();
    // Most programs have none, and need not be read.
    if !code.windows(2).any(|bytes| bytes == SHORT) && !code.windows(5).any(|bytes| bytes == NEAR) {
        return found;
    }
    let mut decoder = Decoder::with_ip(64, code, start as u64, DecoderOptions::NONE);
    let mut step = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut step);
        if step.flow_control() == FlowControl::UnconditionalBranch
            && step.op0_kind() == OpKind::NearBranch64
            && step.near_branch_target() == step.ip()
        {
            found.push(step.ip() as usize);
        }
    }
    found
}

/// From here on threads that come to such a loop are noticed, if the host lets the program's code be changed.
pub fn watch() {
    let code = Code::of_executable();
    let found = loops(code.from(code.start), code.start);
    // SAFETY: each is a jump, which is at least as long; one thread of the host.
    unsafe {
        if !found.is_empty() && counted::put(&code, &found, &UNDEFINED) {
            *LOOPS.get() = found;
        }
    }
}

/// An instruction that no processor has was met: if it was such a loop, the thread goes on where it parks.
pub fn answer(registers: &mut [i64]) -> bool {
    let at = registers[libc::REG_RIP as usize] as usize;
    // SAFETY: one thread of the host.
    let loops: &Vec<usize> = unsafe { &*LOOPS.get() };
    if current().is_none() || loops.binary_search(&at).is_err() {
        return false;
    }
    let below = registers[libc::REG_RSP as usize] as usize - RED_ZONE;
    registers[libc::REG_RIP as usize] = park as *const () as i64;
    // As of a call, which is told by where it returns to.
    registers[libc::REG_RDI as usize] = at as i64 + 1;
    registers[libc::REG_RSP as usize] = ((below & !15) - 8) as i64;
    true
}

/// Bytes below the stack that a function may use that calls none.
const RED_ZONE: usize = 128;

/// The running thread is in such a loop, at `at`, and never leaves it.
extern "C-unwind" fn park(at: usize) -> ! {
    loop {
        super::threads::never_goes_on(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_to_themselves_are_found() {
        // nop; jmp 0; mov eax, 0xfeeb (which holds the same bytes); jmp 0, near; jmp +0; ret
        let code = [0x90, 0xeb, 0xfe, 0xb8, 0xeb, 0xfe, 0, 0, 0xe9, 0xfb, 0xff, 0xff, 0xff, 0xeb, 0, 0xc3];
        assert_eq!(loops(&code, 0x1000), [0x1001, 0x1008]);
        assert_eq!(loops(&[0xc3, 0x90], 0x1000), [0; 0]);
    }
}
