//! Kernels for AArch64: entry, loops and exit. The steps are in `steps`.
//!
//! Registers: `x0` frame, `x1` where the kernel is, `x2` steps left in this stretch, `x8` steps held back, `x3` steps left
//! after this pass, `x4` address of the stop flag, `x5` stride, `x6` the word to store, `x7` zero (a register, as some
//! processors recognise the zero register), `x13` and `x14` the sources, `x15` what the operation needs, `x9` to `x12`,
//! `x16` and `x17` sums and scratch. `v31` is a constant. All of them belong to the callee (AAPCS64, section 6.1.1).

#![expect(clippy::useless_conversion, reason = "the assembler converts register numbers of every type")]

mod steps;

use dynasmrt::aarch64::Aarch64Relocation;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler, dynasm};
use units::Bytes;

use super::frame::field;
use super::program::{STREAM_SCALAR, Write, finds_its_way};
use super::windows::{INCREMENT, MULTIPLIER};
use super::{Features, LINE, MARK, Operation, Role};

/// The bit that says that a double-precision number is negative.
const SIGN: u64 = 1 << 63;
/// CNTVCT_EL0 as MRS names it: op0 3 (one bit), op1 3, CRn 14, CRm 0, op2 2.
const CNTVCT_EL0: u32 = 1 << 14 | 3 << 11 | 14 << 7 | 2;
/// Prefetch operations of PRFM: for loading and keeping in the first level, for loading once, for storing.
const PLDL1KEEP: u32 = 0b00000;
const PLDL1STRM: u32 = 0b00001;
const PSTL1KEEP: u32 = 0b10000;

/// Writes one routine.
pub(super) struct Backend {
    code: VecAssembler<Aarch64Relocation>,
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

    /// Register `to` becomes `value`.
    fn constant(&mut self, to: u8, value: u64) {
        let part = |shift: u32| (value >> shift & 0xffff) as u32;
        dynasm!(self.code; .arch aarch64; movz X(to), part(0));
        if part(16) != 0 {
            dynasm!(self.code; .arch aarch64; movk X(to), part(16), lsl 16);
        }
        if part(32) != 0 {
            dynasm!(self.code; .arch aarch64; movk X(to), part(32), lsl 32);
        }
        if part(48) != 0 {
            dynasm!(self.code; .arch aarch64; movk X(to), part(48), lsl 48);
        }
    }

    /// Stores the virtual counter to the frame, after everything before has completed and before anything after begins.
    /// `x12` is lost.
    fn stamp(&mut self, field: i32) {
        dynasm!(self.code
            ; .arch aarch64
            ; dsb ish
            ; isb
            ; mrs x12, CNTVCT_EL0
            ; isb
            ; str x12, [x0, field as u32]
        );
    }

    /// Constants that the operation keeps in registers.
    fn constants(&mut self) {
        let word = match self.operation {
            Operation::SignChange { .. } => SIGN,
            _ => MARK,
        };
        self.constant(6, word);
        self.constant(5, self.stride);
        match self.operation {
            Operation::SumPrefetched { ahead } | Operation::SumNonTemporal { ahead } => {
                self.constant(15, u64::from(ahead).wrapping_mul(self.stride));
            }
            Operation::SignChange { .. } => {
                self.constant(10, MULTIPLIER);
                self.constant(11, INCREMENT);
                dynasm!(self.code
                    ; .arch aarch64
                    ; ldr x15, [x0, field::SEED as u32]
                    ; ldr x14, [x0, field::ELEMENTS as u32]
                );
            }
            Operation::PingPong { role } => self.constant(15, u64::from(role == Role::Follower)),
            Operation::Traffic { .. } => self.constant(15, 0),
            Operation::Scale { .. } | Operation::Triad { .. } => self.vector_constant(STREAM_SCALAR),
            Operation::FillNonTemporal | Operation::ReadModifyWrite => self.vector_constant(MARK),
            _ => {}
        }
    }

    fn vector_constant(&mut self, word: u64) {
        self.constant(12, word);
        dynasm!(self.code; .arch aarch64; dup v31.d2, x12);
    }
}

impl Write for Backend {
    type Label = DynamicLabel;

    fn label(&mut self) -> DynamicLabel {
        self.code.new_dynamic_label()
    }

    fn bind(&mut self, label: DynamicLabel) {
        dynasm!(self.code; .arch aarch64; =>label);
    }

    fn align(&mut self) {
        // The assembler would fill with zeros, which are no instructions.
        while !self.code.offset().0.is_multiple_of(32) {
            dynasm!(self.code; .arch aarch64; nop);
        }
    }

    fn enter(&mut self) {
        dynasm!(self.code
            ; .arch aarch64
            ; ldr x3, [x0, field::COUNT as u32]
            ; ldr x4, [x0, field::STOP as u32]
        );
        self.constants();
        self.stamp(field::STARTED);
        if !matches!(self.operation, Operation::SignChange { .. }) {
            dynasm!(self.code; .arch aarch64; mov x9, xzr; mov x10, xzr; mov x11, xzr);
        }
        dynasm!(self.code
            ; .arch aarch64
            ; mov x2, xzr
            ; mov x7, xzr
            ; mov x8, xzr
            ; ldr x1, [x0, field::START as u32]
        );
    }

    fn whole(&mut self) {
        dynasm!(self.code; .arch aarch64; mov x2, x3; mov x3, xzr; ldr x13, [x0, field::SOURCES as u32]);
    }

    fn pass(&mut self) {
        dynasm!(self.code
            ; .arch aarch64
            ; ldr x1, [x0, field::START as u32]
            ; ldr x13, [x0, field::SOURCES as u32]
            ; ldr x14, [x0, field::SOURCES as u32 + 8]
            ; ldr x2, [x0, field::ELEMENTS as u32]
            ; cmp x2, x3
            ; csel x2, x2, x3, ls
            ; sub x3, x3, x2
        );
    }

    fn hold_back(&mut self, ahead: u32) {
        let (top, out) = (self.label(), self.label());
        self.constant(8, u64::from(ahead));
        dynasm!(self.code
            ; .arch aarch64
            ; cmp x8, x2
            ; csel x8, x8, x2, ls
            ; sub x2, x2, x8
            ; mov x16, x1
            ; mov x17, x8
            ; cbz x17, =>out
            ; =>top
            ; prfum self.prefetch_for_reading(), [x16]
            ; add x16, x16, x5
            ; sub x17, x17, 1
            ; cbnz x17, =>top
            ; =>out
        );
    }

    fn release(&mut self) {
        dynasm!(self.code; .arch aarch64; mov x2, x8; mov x8, xzr);
    }

    fn if_stopped(&mut self, label: DynamicLabel) {
        dynasm!(self.code; .arch aarch64; ldrb w12, [x4]; cbnz w12, =>label);
    }

    fn if_below(&mut self, steps: u32, label: DynamicLabel) {
        dynasm!(self.code; .arch aarch64; cmp x2, steps; b.lo =>label);
    }

    fn took(&mut self, steps: u32, label: DynamicLabel) {
        if steps == 1 {
            dynasm!(self.code; .arch aarch64; subs x2, x2, 1; b.ne =>label);
        } else {
            dynasm!(self.code; .arch aarch64; sub x2, x2, steps; cmp x2, steps; b.hs =>label);
        }
    }

    fn if_more(&mut self, label: DynamicLabel) {
        dynasm!(self.code; .arch aarch64; cbnz x3, =>label);
    }

    fn step(&mut self, index: u32, prefetch: bool, stopped: DynamicLabel) {
        self.write_step(index, prefetch, stopped);
    }

    fn advance(&mut self, steps: u32) {
        if finds_its_way(self.operation) {
            return;
        }
        if !self.operation.is_wide() {
            // Steps over single words have moved on themselves: offsets of loads and stores are short.
            return;
        }
        let distance = steps * LINE.0 as u32;
        dynasm!(self.code; .arch aarch64; add x1, x1, distance);
        if self.operation.sources() > 0 {
            dynasm!(self.code; .arch aarch64; add x13, x13, distance);
        }
        if self.operation.sources() > 1 {
            dynasm!(self.code; .arch aarch64; add x14, x14, distance);
        }
    }

    fn leave(&mut self) {
        self.stamp(field::ENDED);
        match self.operation {
            Operation::Sum
            | Operation::SumPrefetched { .. }
            | Operation::SumNonTemporal { .. }
            | Operation::ReadUse => dynasm!(self.code
                ; .arch aarch64
                ; add x9, x9, x10
                ; add x9, x9, x11
                ; str x9, [x0, field::VALUE as u32]
            ),
            _ => dynasm!(self.code; .arch aarch64; str x1, [x0, field::VALUE as u32]),
        }
        dynasm!(self.code
            ; .arch aarch64
            ; ldr x12, [x0, field::COUNT as u32]
            ; sub x12, x12, x2
            ; sub x12, x12, x8
            ; sub x12, x12, x3
            ; str x12, [x0, field::STEPS as u32]
            ; ret
        );
    }

    fn most_in_group(&self) -> u32 {
        u32::MAX
    }
}
