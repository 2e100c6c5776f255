//! How many instructions a basic block has: read off the program's machine code, the first time that the block runs.
//!
//! With `-fsanitize-coverage=trace-pc` the compiler puts a call at the beginning of every basic block. From there to the end of the
//! block the code is decoded once. What instrumentation has added is not counted (a call, and its argument), nor are references,
//! which are instructions by themselves. What is left of the compiler's extra moves around such calls is counted: the number is
//! an estimate, a little too high.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

use super::state::{HOT, Single};

/// What is known of the blocks of the executable's code.
struct Blocks {
    /// Where its code begins.
    start: usize,
    /// By byte of code, one more than the instructions of the block whose call returns there; zero where nothing is known.
    costs: Vec<u8>,
    /// The code of this library: calls that lead there are the instrumentation's.
    runtime: (usize, usize),
}

static BLOCKS: Single<Blocks> = Single::new(Blocks { start: 0, costs: Vec::new(), runtime: (0, 0) });

/// Instructions of a block of which nothing can be read: about one in five instructions of integer programs is a branch.
const UNKNOWN: u32 = 4;

/// Instructions that the compiler adds for a callback: the call and its argument. The reference itself is counted elsewhere.
const ADDED: usize = 2;

/// The most instructions of a block that are counted.
const MOST: usize = 250;

/// Called at the beginning of every basic block, where the compiler counts them.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn __sanitizer_cov_trace_pc() {
    naked_asm!("mov rdi, [rsp]", "jmp {}", sym enter)
}

extern "C" fn enter(at: usize) {
    // SAFETY: one thread of the host; natively nothing is written.
    let (hot, blocks) = unsafe { (&mut *HOT.get(), &*BLOCKS.get()) };
    if hot.thread.is_null() {
        return;
    }
    match blocks.costs.get(at.wrapping_sub(blocks.start)) {
        Some(&cost) if cost > 0 => hot.pending += u32::from(cost - 1),
        _ => read(at),
    }
}

/// A block is met for the first time.
#[cold]
fn read(at: usize) {
    // SAFETY: one thread of the host.
    let (hot, blocks) = unsafe { (&mut *HOT.get(), &mut *BLOCKS.get()) };
    // Blocks are counted, so that references need not stand for the instructions around them.
    hot.instructions = 0;
    if blocks.costs.is_empty() {
        *blocks = Blocks::of_executable();
    }
    let Some(length) = blocks.costs.len().checked_sub(at.wrapping_sub(blocks.start)) else {
        hot.pending += UNKNOWN;
        return;
    };
    // SAFETY: the bytes are code of the executable.
    let code = unsafe { std::slice::from_raw_parts(at as *const u8, length) };
    let count = instructions(code, at, |target| blocks.callee(target));
    blocks.costs[at - blocks.start] = count as u8 + 1;
    hot.pending += count as u32;
}

impl Blocks {
    /// The code of the executable, and of this library, where the dynamic linker says they are.
    fn of_executable() -> Self {
        unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
            // SAFETY: the dynamic linker hands over a valid description, and the list below.
            unsafe {
                let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
                let found = &mut *found.cast::<Vec<(usize, usize)>>();
                let code =
                    headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
                let bounds = code.map(|header| {
                    let start = (*info).dlpi_addr as usize + header.p_vaddr as usize;
                    (start, start + header.p_memsz as usize)
                });
                let whole = bounds.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
                found.push(whole.unwrap_or_default());
            }
            0
        }
        let mut found: Vec<(usize, usize)> = Vec::new();
        // SAFETY: `note` takes what it is given.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
        let here = enter as *const () as usize;
        let runtime = found.iter().copied().find(|&(start, end)| (start..end).contains(&here)).unwrap_or_default();
        let (start, end) = found.first().copied().unwrap_or_default();
        Self { start, costs: vec![0; end - start], runtime }
    }

    /// What a call of `target` calls, if that is instrumentation's: whether it leads to this library, directly or by the linkage table.
    fn callee(&self, target: Target) -> Callee {
        let of = |at: usize| match at {
            at if at == __sanitizer_cov_trace_pc as *const () as usize => Callee::Block,
            at if (self.runtime.0..self.runtime.1).contains(&at) => Callee::Callback,
            _ => Callee::Program,
        };
        let target = match target {
            // SAFETY: a slot of the linkage table.
            Target::Slot(slot) => unsafe { *(slot as *const usize) },
            Target::Code(target) => target,
        };
        let offset = target.wrapping_sub(self.start);
        if offset >= self.costs.len() {
            return of(target);
        }
        // SAFETY: code of the executable.
        let code = unsafe { std::slice::from_raw_parts(target as *const u8, (self.costs.len() - offset).min(32)) };
        let mut decoder = Decoder::with_ip(64, code, target as u64, DecoderOptions::NONE);
        let mut step = Instruction::default();
        for _ in 0..3 {
            decoder.decode_out(&mut step);
            if step.mnemonic() == Mnemonic::Jmp && step.is_ip_rel_memory_operand() {
                // SAFETY: the linkage table's slot.
                return of(unsafe { *(step.ip_rel_memory_address() as *const usize) });
            }
        }
        Callee::Program
    }
}

/// Where a call leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// To code.
    Code(usize),
    /// To what stands in a slot of the linkage table.
    Slot(usize),
}

/// What code calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Callee {
    /// The beginning of the next block.
    Block,
    /// What instrumentation has added.
    Callback,
    /// The program's own, or the C library's.
    Program,
}

/// The instructions of a block that begins at `at`, but for references and what belongs to callbacks.
fn instructions(code: &[u8], at: usize, callee: impl Fn(Target) -> Callee) -> usize {
    let mut decoder = Decoder::with_ip(64, code, at as u64, DecoderOptions::NONE);
    let (mut count, mut added) = (0usize, 0usize);
    let mut step = Instruction::default();
    while decoder.can_decode() && count < MOST {
        decoder.decode_out(&mut step);
        if step.is_invalid() {
            break;
        }
        count += 1;
        let through_table = step.flow_control() == FlowControl::IndirectCall && step.is_ip_rel_memory_operand();
        let target = match step.flow_control() {
            FlowControl::Call if step.op0_kind() == OpKind::NearBranch64 => {
                Some(Target::Code(step.near_branch_target() as usize))
            }
            _ => through_table.then(|| Target::Slot(step.ip_rel_memory_address() as usize)),
        };
        if let Some(target) = target {
            match callee(target) {
                Callee::Block => {
                    count -= 1;
                    break;
                }
                // The reference that it announces is an instruction of the processor already.
                Callee::Callback => added += ADDED + 1,
                Callee::Program => {}
            }
        }
        match step.flow_control() {
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall | FlowControl::XbeginXabortXend => {}
            _ => break,
        }
    }
    count.saturating_sub(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_at_its_branch_and_callbacks_do_not_count() {
        // add rax, rbx; lea rdi, [rsi+8]; call +0x100; mov rcx, [rsi+8]; dec rcx; jne -0x10; nop
        let code = [
            0x48, 0x01, 0xd8, 0x48, 0x8d, 0x7e, 0x08, 0xe8, 0x00, 0x01, 0x00, 0x00, 0x48, 0x8b, 0x4e, 0x08, 0x48, 0xff,
            0xc9, 0x75, 0xf0, 0x90,
        ];
        let target = 0x40_0000 + 12 + 0x100;
        let count = |code: &[u8], callee| {
            instructions(code, 0x40_0000, |to| if to == Target::Code(target) { callee } else { Callee::Program })
        };
        assert_eq!(count(&code, Callee::Callback), 3, "an addition, a decrement, a branch");
        assert_eq!(count(&code, Callee::Program), 6);
        assert_eq!(count(&code, Callee::Block), 2, "what is before the next block");
        assert_eq!(count(&[0xc3], Callee::Program), 1);
        assert_eq!(count(&[], Callee::Program), 0);
    }
}
