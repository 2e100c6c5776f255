//! Instructions of x86-64 at each element.

#![expect(clippy::useless_conversion, reason = "the assembler converts register numbers of every type")]

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::Backend;
use crate::kernels::frame::field;
use crate::kernels::program::{ADDED_IN_LOOP, MOST_ADDED, SPINS, Write, is_write};
use crate::kernels::{LINE, Link, Operation, Stores};

impl Backend {
    /// The instructions of step number `index` of a group.
    pub(super) fn write_step(&mut self, index: u32, prefetch: bool, stopped: DynamicLabel) {
        match self.operation {
            Operation::Walk { work } => {
                dynasm!(self.code; .arch x64; mov rsi, [rsi]);
                self.work(work);
            }
            Operation::Modify { work } => {
                if self.features.prefetchw {
                    dynasm!(self.code; .arch x64; prefetchw [rsi]);
                }
                dynasm!(self.code; .arch x64; mov [rsi + 8], rbx; mov rsi, [rsi]);
                self.work(work);
            }
            Operation::CompareExchange => dynasm!(self.code
                ; .arch x64
                ; mov rax, rbx
                ; lock cmpxchg [rsi + 8], rbx
                ; mov rsi, [rsi]
            ),
            Operation::ReadModifyWrite => dynasm!(self.code
                ; .arch x64
                ; movsd xmm0, [rsi]
                ; mulsd xmm0, xmm0
                ; subsd xmm0, xmm15
                ; movsd [rsi], xmm0
            ),
            Operation::SignChange { window } => self.sign_change(window.0),
            Operation::Traffic { reads, writes, pause } => self.round(reads, writes, pause),
            Operation::PingPong { .. } => self.ping_pong(stopped),
            Operation::Chain { link } => self.chain(link),
            _ if self.operation.is_wide() => self.wide(index as i32 * LINE.0 as i32),
            _ => self.strided(index, prefetch),
        }
    }

    fn work(&mut self, work: u32) {
        for _ in 0..work {
            // Both operands are registers: some processors execute an addition of a constant while renaming, in no time.
            dynasm!(self.code; .arch x64; add rsi, r14);
        }
    }

    /// Independent steps over single words of an array.
    fn strided(&mut self, index: u32, prefetch: bool) {
        let at = (u64::from(index) * self.stride) as i32;
        match self.operation {
            Operation::Sum | Operation::SumPrefetched { .. } | Operation::SumNonTemporal { .. } => {
                if prefetch && matches!(self.operation, Operation::SumNonTemporal { .. }) {
                    dynasm!(self.code; .arch x64; prefetchnta [rsi + rbp + at]);
                } else if prefetch {
                    dynasm!(self.code; .arch x64; prefetcht0 [rsi + rbp + at]);
                }
                match index % 3 {
                    0 => dynasm!(self.code; .arch x64; add rax, [rsi + at]),
                    1 => dynasm!(self.code; .arch x64; add rdx, [rsi + at]),
                    _ => dynasm!(self.code; .arch x64; add r11, [rsi + at]),
                }
            }
            Operation::ReadUse => dynasm!(self.code; .arch x64; add rax, [rsi + at]),
            Operation::Fill | Operation::TouchStore => dynasm!(self.code; .arch x64; mov [rsi + at + 8], rbx),
            Operation::TouchLoad => dynasm!(self.code; .arch x64; mov rax, [rsi + at]),
            Operation::TouchShared => dynasm!(self.code; .arch x64; prefetcht0 [rsi + at]; mov rax, [rsi + at]),
            Operation::Flush => {
                if self.features.clflushopt {
                    // CLFLUSHOPT is CLFLUSH with this prefix (Intel SDM volume 2A); the assembler does not know its name.
                    dynasm!(self.code; .arch x64; .u8 0x66);
                }
                dynasm!(self.code; .arch x64; clflush [rsi + at]);
            }
            Operation::FillNonTemporal => self.store_line(at, Stores::NonTemporal),
            other => unreachable!("{other:?} is no strided operation"),
        }
    }

    /// Stores the constant to the line at displacement `at`.
    fn store_line(&mut self, at: i32, stores: Stores) {
        for part in (at..at + LINE.0 as i32).step_by(self.width() as usize) {
            self.store_vector(part, 15, stores);
        }
    }

    /// Stores vector register `register` at displacement `at`.
    fn store_vector(&mut self, at: i32, register: u8, stores: Stores) {
        match (self.features.avx2, stores) {
            (true, Stores::Plain) => dynasm!(self.code; .arch x64; vmovapd [rsi + at], Ry(register)),
            (true, Stores::NonTemporal) => dynasm!(self.code; .arch x64; vmovntdq [rsi + at], Ry(register)),
            (false, Stores::Plain) => dynasm!(self.code; .arch x64; movapd [rsi + at], Rx(register)),
            (false, Stores::NonTemporal) => dynasm!(self.code; .arch x64; movntdq [rsi + at], Rx(register)),
        }
    }

    /// A line of a streaming kernel.
    fn wide(&mut self, at: i32) {
        let (stores, compute): (Stores, fn(&mut Self, i32)) = match self.operation {
            Operation::Copy { stores } => (stores, Self::copy_vector),
            Operation::Scale { stores } => (stores, Self::scale_vector),
            Operation::Add { stores } => (stores, Self::add_vector),
            Operation::Triad { stores } => (stores, Self::triad_vector),
            other => unreachable!("{other:?} is no streaming operation"),
        };
        for part in (at..at + LINE.0 as i32).step_by(self.width() as usize) {
            compute(self, part);
            self.store_vector(part, 0, stores);
        }
    }

    fn copy_vector(&mut self, at: i32) {
        if self.features.avx2 {
            dynasm!(self.code; .arch x64; vmovapd ymm0, [r12 + at]);
        } else {
            dynasm!(self.code; .arch x64; movapd xmm0, [r12 + at]);
        }
    }

    fn scale_vector(&mut self, at: i32) {
        if self.features.avx2 {
            dynasm!(self.code; .arch x64; vmulpd ymm0, ymm15, [r12 + at]);
        } else {
            dynasm!(self.code; .arch x64; movapd xmm0, [r12 + at]; mulpd xmm0, xmm15);
        }
    }

    fn add_vector(&mut self, at: i32) {
        if self.features.avx2 {
            dynasm!(self.code; .arch x64; vmovapd ymm0, [r12 + at]; vaddpd ymm0, ymm0, [r13 + at]);
        } else {
            dynasm!(self.code; .arch x64; movapd xmm0, [r12 + at]; addpd xmm0, [r13 + at]);
        }
    }

    fn triad_vector(&mut self, at: i32) {
        if self.features.avx2 {
            dynasm!(self.code; .arch x64; vmulpd ymm0, ymm15, [r13 + at]; vaddpd ymm0, ymm0, [r12 + at]);
        } else {
            dynasm!(self.code; .arch x64; movapd xmm0, [r13 + at]; mulpd xmm0, xmm15; addpd xmm0, [r12 + at]);
        }
    }

    fn sign_change(&mut self, window: u64) {
        let top = self.label();
        dynasm!(self.code
            ; .arch x64
            ; imul rbp, r11
            ; add rbp, r13
            ; mov rax, rbp
            ; mul QWORD [rdi + field::ELEMENTS]
            ; imul rdx, r10
            ; add rdx, r12
            ; mov rax, QWORD (window / LINE.0) as i64
            ; =>top
        );
        for word in (0..LINE.0 as i32).step_by(8) {
            dynasm!(self.code; .arch x64; xor [rdx + word], rbx);
        }
        dynasm!(self.code; .arch x64; add rdx, LINE.0 as i32; dec rax; jnz =>top);
    }

    /// Reads and writes, evenly mixed, each of an element of its own.
    fn round(&mut self, reads: u32, writes: u32, pause: u32) {
        for access in 0..reads + writes {
            if is_write(access, reads, writes) {
                dynasm!(self.code; .arch x64; mov [rsi + 8], rbx);
            } else {
                dynasm!(self.code; .arch x64; mov rax, [rsi]);
            }
            dynasm!(self.code; .arch x64; add rsi, r10);
            self.pause(pause);
        }
    }

    fn pause(&mut self, pause: u32) {
        let mut single = pause;
        if pause > MOST_ADDED {
            single = pause % ADDED_IN_LOOP;
            let top = self.label();
            dynasm!(self.code; .arch x64; mov r11d, (pause / ADDED_IN_LOOP) as i32; =>top);
            for _ in 0..ADDED_IN_LOOP {
                dynasm!(self.code; .arch x64; add rbp, r14);
            }
            dynasm!(self.code; .arch x64; dec r11d; jnz =>top);
        }
        for _ in 0..single {
            dynasm!(self.code; .arch x64; add rbp, r14);
        }
    }

    /// Spins until the word could be changed from `r11`, which counts the moves of both sides, to the number after it.
    fn ping_pong(&mut self, stopped: DynamicLabel) {
        let (again, spin, there) = (self.label(), self.label(), self.label());
        dynasm!(self.code
            ; .arch x64
            ; lea rbx, [r11 + 1]
            ; =>again
            ; mov edx, SPINS as i32
            ; =>spin
            ; mov rax, r11
            ; lock cmpxchg [rsi], rbx
            ; je =>there
            ; dec edx
            ; jnz =>spin
            ; cmp BYTE [r9], 0
            ; jne =>stopped
            ; jmp =>again
            ; =>there
            ; add r11, 2
        );
    }

    fn chain(&mut self, link: Link) {
        for _ in 0..Operation::CHAIN {
            match link {
                Link::Add => dynasm!(self.code; .arch x64; add rsi, r14),
                Link::Check => dynasm!(self.code; .arch x64; xor rsi, r14),
            }
        }
    }
}
