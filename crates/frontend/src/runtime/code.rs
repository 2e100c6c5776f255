//! The program's own machine code: where it is, and which of the runtime's functions it calls.

use std::ffi::{c_int, c_void};

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

use super::blocks::__sanitizer_cov_trace_pc;
use super::branches::{Callee, Target};
use super::callbacks::{self, SINGLE};
use super::counted;

/// The code of the executable.
pub(super) struct Code {
    /// Where it begins, and how many bytes it has.
    pub(super) start: usize,
    pub(super) bytes: usize,
    /// The code of this library: calls that lead there are the instrumentation's.
    runtime: (usize, usize),
}

impl Code {
    /// No code.
    pub(super) const NONE: Self = Self { start: 0, bytes: 0, runtime: (0, 0) };

    /// The code of the executable, and of this library, where the dynamic linker says they are.
    pub(super) fn of_executable() -> Self {
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
        let here = Self::of_executable as *const () as usize;
        let runtime = found.iter().copied().find(|&(start, end)| (start..end).contains(&here)).unwrap_or_default();
        let (start, end) = found.first().copied().unwrap_or_default();
        Self { start, bytes: end - start, runtime }
    }

    /// Its bytes from `at` on; none outside of it.
    pub(super) fn from(&self, at: usize) -> &'static [u8] {
        match self.bytes.checked_sub(at.wrapping_sub(self.start)) {
            None | Some(0) => super::libraries::code(at),
            // SAFETY: the code of the executable, which is there as long as it runs.
            Some(length) => unsafe { std::slice::from_raw_parts(at as *const u8, length) },
        }
    }

    /// The kind of function that a call of `target` leads to, directly or by the linkage table: this library's are
    /// instrumentation's.
    pub(super) fn callee(&self, target: Target) -> Callee {
        match self.called(target) {
            at if at == __sanitizer_cov_trace_pc as *const () as usize || counted::is_made(at) => Callee::Block,
            at if SINGLE.iter().any(|&single| single as usize == at) => Callee::Reference,
            at if callbacks::idle().contains(&at) => Callee::Nothing,
            at if (self.runtime.0..self.runtime.1).contains(&at) => Callee::Callback,
            _ => Callee::Program,
        }
    }

    /// The function that a call of `target` comes to.
    pub(super) fn called(&self, target: Target) -> usize {
        let target = match target {
            // SAFETY: a slot of the linkage table.
            Target::Slot(slot) => unsafe { *(slot as *const usize) },
            Target::Code(target) => target,
        };
        let code = self.from(target);
        let mut decoder = Decoder::with_ip(64, &code[..code.len().min(32)], target as u64, DecoderOptions::NONE);
        let mut step = Instruction::default();
        for _ in 0..3 {
            decoder.decode_out(&mut step);
            if step.mnemonic() == Mnemonic::Jmp && step.is_ip_rel_memory_operand() {
                // SAFETY: the linkage table's slot.
                return unsafe { *(step.ip_rel_memory_address() as *const usize) };
            }
        }
        target
    }
}
