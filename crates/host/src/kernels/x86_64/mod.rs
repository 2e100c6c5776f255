//! Kernels for x86-64: entry, loops and exit. The steps are in `steps`.
//!
//! Registers: `rdi` frame, `rsi` where the kernel is, `rcx` steps left in this stretch, `r15` steps held back, `r8` steps
//! left after this pass, `r9` address of the stop flag, `r10` stride, `rbx` the word to store, `r12` and `r13` the sources,
//! `r14` zero, `rbp` what the operation needs, `rax`, `rdx` and `r11` sums and scratch. `xmm15` is a constant.

mod steps;

use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler, dynasm};
use units::Bytes;

use super::frame::field;
use super::program::{STREAM_SCALAR, Write};
use super::windows::{INCREMENT, MULTIPLIER};
use super::{Features, MARK, Operation, Role};

/// The bit that says that a double-precision number is negative.
const SIGN: u64 = 1 << 63;

/// Writes one routine.
pub(super) struct Backend {
    code: VecAssembler<X64Relocation>,
    operation: Operation,
    stride: u64,
    features: Features,
}

impl Backend {
    pub(super) fn new(operation: Operation, stride: Bytes, features: &Features) -> Self {
        Self { code: VecAssembler::new(0), operation, stride: stride.0, features: *features }
    }

    /// The code.
    pub(super) fn finish(self) -> Result<Vec<u8>, String> {
        self.code.finalize().map_err(|e| e.to_string())
    }

    /// Stores the time stamp counter to the frame, after everything before has completed, stores included if they matter,
    /// and before anything after begins. `rax` and `rdx` are lost.
    fn stamp(&mut self, field: i32, stores: bool) {
        if stores {
            dynasm!(self.code; .arch x64; mfence);
        }
        dynasm!(self.code
            ; .arch x64
            ; lfence
            ; rdtsc
            ; lfence
            ; shl rdx, 32
            ; or rax, rdx
            ; mov [rdi + field], rax
        );
    }

    /// Constants that the operation keeps in registers.
    fn constants(&mut self) {
        let word = match self.operation {
            Operation::SignChange { .. } => SIGN,
            _ => MARK,
        };
        dynasm!(self.code; .arch x64; mov rbx, QWORD word as i64; mov r10, QWORD self.stride as i64);
        match self.operation {
            Operation::SumPrefetched { ahead } | Operation::SumNonTemporal { ahead } => {
                let distance = u64::from(ahead).wrapping_mul(self.stride);
                dynasm!(self.code; .arch x64; mov rbp, QWORD distance as i64);
            }
            Operation::SignChange { .. } => dynasm!(self.code
                ; .arch x64
                ; mov rbp, [rdi + field::SEED]
                ; mov r11, QWORD MULTIPLIER as i64
                ; mov r13, QWORD INCREMENT as i64
            ),
            Operation::PingPong { role } => {
                let first = i32::from(role == Role::Follower);
                dynasm!(self.code; .arch x64; mov r11d, first);
            }
            Operation::Scale { .. } | Operation::Triad { .. } => self.vector_constant(STREAM_SCALAR),
            Operation::FillNonTemporal => self.vector_constant(MARK),
            // Not a whole vector: with its upper half in use, the scalar instructions would depend on one another.
            Operation::ReadModifyWrite => dynasm!(self.code; .arch x64; movq xmm15, rbx),
            _ => {}
        }
    }

    /// How many bytes a vector register holds.
    fn width(&self) -> i32 {
        if self.features.avx2 { 32 } else { 16 }
    }

    fn vector_constant(&mut self, word: u64) {
        dynasm!(self.code; .arch x64; mov rax, QWORD word as i64; movq xmm15, rax; punpcklqdq xmm15, xmm15);
        if self.features.avx2 {
            dynasm!(self.code; .arch x64; vbroadcastsd ymm15, xmm15);
        }
    }
}

impl Write for Backend {
    type Label = DynamicLabel;

    fn label(&mut self) -> DynamicLabel {
        self.code.new_dynamic_label()
    }

    fn bind(&mut self, label: DynamicLabel) {
        dynasm!(self.code; .arch x64; =>label);
    }

    fn align(&mut self) {
        // Short loops then fit into one block of the cache of decoded instructions, and their branch does not cross a
        // 32-byte boundary, which costs extra on some processors (Intel's erratum SKX102).
        dynasm!(self.code; .arch x64; .align 32);
    }

    fn enter(&mut self) {
        dynasm!(self.code
            ; .arch x64
            ; push rbx
            ; push rbp
            ; push r12
            ; push r13
            ; push r14
            ; push r15
            ; mov r8, [rdi + field::COUNT]
            ; mov r9, [rdi + field::STOP]
        );
        self.constants();
        self.stamp(field::STARTED, true);
        dynasm!(self.code
            ; .arch x64
            ; xor eax, eax
            ; xor edx, edx
            ; xor ecx, ecx
            ; xor r14d, r14d
            ; xor r15d, r15d
            ; mov rsi, [rdi + field::START]
        );
        if !matches!(self.operation, Operation::SignChange { .. } | Operation::PingPong { .. }) {
            dynasm!(self.code; .arch x64; xor r11d, r11d);
        }
    }

    fn whole(&mut self) {
        dynasm!(self.code; .arch x64; mov rcx, r8; xor r8d, r8d; mov r12, [rdi + field::SOURCES]);
        if matches!(self.operation, Operation::SignChange { .. }) {
            dynasm!(self.code; .arch x64; mov r12, rsi);
        }
    }

    fn pass(&mut self) {
        dynasm!(self.code
            ; .arch x64
            ; mov rsi, [rdi + field::START]
            ; mov r12, [rdi + field::SOURCES]
            ; mov r13, [rdi + field::SOURCES + 8]
            ; mov rcx, [rdi + field::ELEMENTS]
            ; cmp rcx, r8
            ; cmova rcx, r8
            ; sub r8, rcx
        );
    }

    fn hold_back(&mut self, ahead: u32) {
        let (top, out) = (self.label(), self.label());
        dynasm!(self.code
            ; .arch x64
            ; mov r15d, ahead as i32
            ; cmp r15, rcx
            ; cmova r15, rcx
            ; sub rcx, r15
            ; mov r12, rsi
            ; mov r13, r15
            ; test r13, r13
            ; jz =>out
            ; =>top
        );
        if matches!(self.operation, Operation::SumNonTemporal { .. }) {
            dynasm!(self.code; .arch x64; prefetchnta [r12]);
        } else {
            dynasm!(self.code; .arch x64; prefetcht0 [r12]);
        }
        dynasm!(self.code
            ; .arch x64
            ; add r12, r10
            ; dec r13
            ; jnz =>top
            ; =>out
        );
    }

    fn release(&mut self) {
        dynasm!(self.code; .arch x64; mov rcx, r15; xor r15d, r15d);
    }

    fn if_stopped(&mut self, label: DynamicLabel) {
        dynasm!(self.code; .arch x64; cmp BYTE [r9], 0; jne =>label);
    }

    fn if_below(&mut self, steps: u32, label: DynamicLabel) {
        dynasm!(self.code; .arch x64; cmp rcx, steps as i32; jb =>label);
    }

    fn took(&mut self, steps: u32, label: DynamicLabel) {
        if steps == 1 {
            dynasm!(self.code; .arch x64; dec rcx; jnz =>label);
        } else {
            dynasm!(self.code; .arch x64; sub rcx, steps as i32; cmp rcx, steps as i32; jae =>label);
        }
    }

    fn if_more(&mut self, label: DynamicLabel) {
        dynasm!(self.code; .arch x64; test r8, r8; jnz =>label);
    }

    fn step(&mut self, index: u32, prefetch: bool, stopped: DynamicLabel) {
        self.write_step(index, prefetch, stopped);
    }

    fn advance(&mut self, steps: u32) {
        if super::program::finds_its_way(self.operation) {
            return;
        }
        match i32::try_from(u64::from(steps) * self.stride) {
            Ok(distance) => dynasm!(self.code; .arch x64; add rsi, distance),
            Err(_) => dynasm!(self.code; .arch x64; add rsi, r10),
        }
        if self.operation.sources() > 0 {
            dynasm!(self.code; .arch x64; add r12, (steps * self.stride as u32) as i32);
        }
        if self.operation.sources() > 1 {
            dynasm!(self.code; .arch x64; add r13, (steps * self.stride as u32) as i32);
        }
    }

    fn leave(&mut self) {
        dynasm!(self.code; .arch x64; mov r12, rax; mov r13, rdx);
        self.stamp(field::ENDED, self.operation.stores() || self.operation == Operation::Flush);
        match self.operation {
            Operation::Sum
            | Operation::SumPrefetched { .. }
            | Operation::SumNonTemporal { .. }
            | Operation::ReadUse => dynasm!(self.code
                ; .arch x64
                ; add r11, r12
                ; add r11, r13
                ; mov [rdi + field::VALUE], r11
            ),
            _ => dynasm!(self.code; .arch x64; mov [rdi + field::VALUE], rsi),
        }
        if self.features.avx2 {
            dynasm!(self.code; .arch x64; vzeroupper);
        }
        dynasm!(self.code
            ; .arch x64
            ; mov rax, [rdi + field::COUNT]
            ; sub rax, rcx
            ; sub rax, r15
            ; sub rax, r8
            ; mov [rdi + field::STEPS], rax
            ; pop r15
            ; pop r14
            ; pop r13
            ; pop r12
            ; pop rbp
            ; pop rbx
            ; ret
        );
    }

    fn most_in_group(&self) -> u32 {
        // The displacements of a group must fit into 32 bits with a sign; larger strides advance after each step.
        u32::try_from(i64::from(i32::MAX) as u64 / self.stride.max(1)).unwrap_or(u32::MAX) / 2
    }
}
