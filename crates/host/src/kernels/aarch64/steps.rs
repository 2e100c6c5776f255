//! Instructions of AArch64 at each element.

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::{Backend, PLDL1KEEP, PLDL1STRM, PSTL1KEEP};
use crate::kernels::program::{ADDED_IN_LOOP, MOST_ADDED, SPINS, Write, is_write};
use crate::kernels::{LINE, Link, Operation, Stores};

/// Bytes that a pair of vector registers holds.
const PAIR: u32 = 32;

impl Backend {
    /// The instructions of step number `index` of a group.
    pub(super) fn write_step(&mut self, index: u32, prefetch: bool, stopped: DynamicLabel) {
        match self.operation {
            Operation::Walk { work } => {
                dynasm!(self.code; .arch aarch64; ldr x1, [x1]);
                self.work(work);
            }
            Operation::Modify { work } => {
                dynasm!(self.code; .arch aarch64; prfum PSTL1KEEP, [x1]; str x6, [x1, 8]; ldr x1, [x1]);
                self.work(work);
            }
            Operation::CompareExchange => self.compare_exchange_word_1(),
            Operation::SignChange { window } => self.sign_change(window.0),
            Operation::Traffic { reads, writes, pause } => self.round(reads, writes, pause),
            Operation::PingPong { .. } => self.ping_pong(stopped),
            Operation::Chain { link } => self.chain(link),
            _ if self.operation.is_wide() => self.wide(index * LINE.0 as u32),
            _ => {
                self.strided(index, prefetch);
                dynasm!(self.code; .arch aarch64; add x1, x1, x5);
            }
        }
    }

    /// The prefetch operation of a reduction.
    pub(super) fn prefetch_for_reading(&self) -> u32 {
        if matches!(self.operation, Operation::SumNonTemporal { .. }) { PLDL1STRM } else { PLDL1KEEP }
    }

    fn work(&mut self, work: u32) {
        for _ in 0..work {
            dynasm!(self.code; .arch aarch64; add x1, x1, x7);
        }
    }

    /// Acquire and release make the load of the pointer wait.
    fn compare_exchange_word_1(&mut self) {
        dynasm!(self.code; .arch aarch64; add x12, x1, 8);
        if self.features.lse {
            dynasm!(self.code; .arch aarch64; mov x9, x6; casal x9, x6, [x12]);
        } else {
            let (again, out) = (self.label(), self.label());
            dynasm!(self.code
                ; .arch aarch64
                ; =>again
                ; ldaxr x9, [x12]
                ; cmp x9, x6
                ; b.ne =>out
                ; stlxr w10, x6, [x12]
                ; cbnz w10, =>again
                ; =>out
            );
        }
        dynasm!(self.code; .arch aarch64; ldr x1, [x1]);
    }

    /// Independent steps over single words of an array.
    fn strided(&mut self, index: u32, prefetch: bool) {
        match self.operation {
            Operation::Sum | Operation::SumPrefetched { .. } | Operation::SumNonTemporal { .. } => {
                if prefetch {
                    dynasm!(self.code; .arch aarch64; prfm self.prefetch_for_reading(), [x1, x15]);
                }
                let sum = 9 + (index % 3) as u8;
                dynasm!(self.code; .arch aarch64; ldr x12, [x1]; add X(sum), X(sum), x12);
            }
            Operation::ReadUse => dynasm!(self.code; .arch aarch64; ldr x12, [x1]; add x9, x9, x12),
            Operation::ReadModifyWrite => dynasm!(self.code
                ; .arch aarch64
                ; ldr d0, [x1]
                ; fmul d0, d0, d0
                ; fsub d0, d0, d31
                ; str d0, [x1]
            ),
            Operation::Fill | Operation::TouchStore => dynasm!(self.code; .arch aarch64; str x6, [x1, 8]),
            Operation::TouchLoad => dynasm!(self.code; .arch aarch64; ldr x9, [x1]),
            Operation::TouchShared => dynasm!(self.code; .arch aarch64; prfum PLDL1KEEP, [x1]; ldr x9, [x1]),
            Operation::Flush => dynasm!(self.code; .arch aarch64; dc civac, x1),
            Operation::FillNonTemporal => self.store_line(0, Stores::NonTemporal),
            other => unreachable!("{other:?} is no strided operation"),
        }
    }

    /// Stores the constant to the line at offset `at`.
    fn store_line(&mut self, at: u32, stores: Stores) {
        for part in (at..at + LINE.0 as u32).step_by(PAIR as usize) {
            self.store_pair(part, 31, 31, stores);
        }
    }

    fn store_pair(&mut self, at: u32, first: u8, second: u8, stores: Stores) {
        let at = at as i32;
        match stores {
            Stores::Plain => dynasm!(self.code; .arch aarch64; stp Q(first), Q(second), [x1, at]),
            Stores::NonTemporal => dynasm!(self.code; .arch aarch64; stnp Q(first), Q(second), [x1, at]),
        }
    }

    /// A line of a streaming kernel.
    fn wide(&mut self, at: u32) {
        for part in (at..at + LINE.0 as u32).step_by(PAIR as usize) {
            let from = part as i32;
            match self.operation {
                Operation::Copy { stores } => {
                    dynasm!(self.code; .arch aarch64; ldp q0, q1, [x13, from]);
                    self.store_pair(part, 0, 1, stores);
                }
                Operation::Scale { stores } => {
                    dynasm!(self.code
                        ; .arch aarch64
                        ; ldp q0, q1, [x13, from]
                        ; fmul v0.d2, v0.d2, v31.d2
                        ; fmul v1.d2, v1.d2, v31.d2
                    );
                    self.store_pair(part, 0, 1, stores);
                }
                Operation::Add { stores } => {
                    dynasm!(self.code
                        ; .arch aarch64
                        ; ldp q0, q1, [x13, from]
                        ; ldp q2, q3, [x14, from]
                        ; fadd v0.d2, v0.d2, v2.d2
                        ; fadd v1.d2, v1.d2, v3.d2
                    );
                    self.store_pair(part, 0, 1, stores);
                }
                Operation::Triad { stores } => {
                    // Multiplied and added apart, so that the results are those of x86-64 to the last bit.
                    dynasm!(self.code
                        ; .arch aarch64
                        ; ldp q0, q1, [x13, from]
                        ; ldp q2, q3, [x14, from]
                        ; fmul v2.d2, v2.d2, v31.d2
                        ; fmul v3.d2, v3.d2, v31.d2
                        ; fadd v0.d2, v0.d2, v2.d2
                        ; fadd v1.d2, v1.d2, v3.d2
                    );
                    self.store_pair(part, 0, 1, stores);
                }
                other => unreachable!("{other:?} is no streaming operation"),
            }
        }
    }

    /// `x13`, `x16`, `x17` and `x12` are scratch.
    fn sign_change(&mut self, window: u64) {
        let top = self.label();
        dynasm!(self.code
            ; .arch aarch64
            ; madd x15, x15, x10, x11
            ; umulh x9, x15, x14
            ; madd x9, x9, x5, x1
        );
        self.constant(17, window / LINE.0);
        dynasm!(self.code; .arch aarch64; =>top);
        for pair in (0..LINE.0 as i32).step_by(16) {
            dynasm!(self.code
                ; .arch aarch64
                ; ldp x12, x16, [x9, pair]
                ; eor x12, x12, x6
                ; eor x16, x16, x6
                ; stp x12, x16, [x9, pair]
            );
        }
        dynasm!(self.code; .arch aarch64; add x9, x9, LINE.0 as u32; subs x17, x17, 1; b.ne =>top);
    }

    /// Reads and writes, evenly mixed, each of an element of its own.
    fn round(&mut self, reads: u32, writes: u32, pause: u32) {
        for access in 0..reads + writes {
            if is_write(access, reads, writes) {
                dynasm!(self.code; .arch aarch64; str x6, [x1, 8]);
            } else {
                dynasm!(self.code; .arch aarch64; ldr x9, [x1]);
            }
            dynasm!(self.code; .arch aarch64; add x1, x1, x5);
            self.pause(pause);
        }
    }

    fn pause(&mut self, pause: u32) {
        let mut single = pause;
        if pause > MOST_ADDED {
            single = pause % ADDED_IN_LOOP;
            let top = self.label();
            self.constant(17, u64::from(pause / ADDED_IN_LOOP));
            dynasm!(self.code; .arch aarch64; =>top);
            for _ in 0..ADDED_IN_LOOP {
                dynasm!(self.code; .arch aarch64; add x15, x15, x7);
            }
            dynasm!(self.code; .arch aarch64; subs x17, x17, 1; b.ne =>top);
        }
        for _ in 0..single {
            dynasm!(self.code; .arch aarch64; add x15, x15, x7);
        }
    }

    /// Spins until the word could be changed from `x15`, which counts the moves of both sides, to the number after it.
    fn ping_pong(&mut self, stopped: DynamicLabel) {
        let (again, spin, there) = (self.label(), self.label(), self.label());
        dynasm!(self.code; .arch aarch64; add x16, x15, 1; =>again);
        self.constant(17, u64::from(SPINS));
        dynasm!(self.code; .arch aarch64; =>spin);
        if self.features.lse {
            dynasm!(self.code; .arch aarch64; mov x9, x15; casal x9, x16, [x1]; cmp x9, x15; b.eq =>there);
        } else {
            let failed = self.label();
            dynasm!(self.code
                ; .arch aarch64
                ; ldaxr x9, [x1]
                ; cmp x9, x15
                ; b.ne =>failed
                ; stlxr w10, x16, [x1]
                ; cbz w10, =>there
                ; =>failed
            );
        }
        dynasm!(self.code
            ; .arch aarch64
            ; subs x17, x17, 1
            ; b.ne =>spin
            ; ldrb w12, [x4]
            ; cbnz w12, =>stopped
            ; b =>again
            ; =>there
            ; add x15, x15, 2
        );
    }

    fn chain(&mut self, link: Link) {
        for _ in 0..Operation::CHAIN {
            match link {
                Link::Add => dynasm!(self.code; .arch aarch64; add x1, x1, x7),
                Link::Check => dynasm!(self.code; .arch aarch64; eor x1, x1, x7),
            }
        }
    }
}
