//! Effect of each operation on memory, in plain Rust.

use host::kernels::{LINE, MARK, Operation, window_sequence};

/// Words of a line.
pub const LINE_WORDS: usize = LINE.0 as usize / 8;

/// Memory as a course sees it.
pub struct World {
    pub words: Vec<u64>,
    pub sources: [Vec<u64>; 2],
    pub stride_words: usize,
    pub elements: u64,
    pub seed: u64,
}

impl World {
    /// Takes `count` steps; the sum, if it is a reduction.
    pub fn run(&mut self, operation: Operation, count: u64) -> Option<u64> {
        let mut sum = 0_u64;
        let mut windows = window_sequence(self.seed, self.elements);
        for step in 0..count {
            let element = (step % self.elements) as usize;
            match operation {
                Operation::Sum
                | Operation::SumPrefetched { .. }
                | Operation::SumNonTemporal { .. }
                | Operation::ReadUse => sum = sum.wrapping_add(self.words[element * self.stride_words]),
                Operation::SignChange { .. } => {
                    let window = windows.next().expect("the sequence has no end") as usize;
                    for word in 0..self.stride_words {
                        self.words[window * self.stride_words + word] ^= 1 << 63;
                    }
                }
                Operation::Traffic { reads, writes, .. } => self.round(reads, writes, step),
                _ => self.store(operation, element),
            }
        }
        let reduction = matches!(
            operation,
            Operation::Sum | Operation::SumPrefetched { .. } | Operation::SumNonTemporal { .. } | Operation::ReadUse
        );
        reduction.then_some(sum)
    }

    fn line(&self, element: usize) -> std::ops::Range<usize> {
        element * self.stride_words..element * self.stride_words + LINE_WORDS
    }

    /// The writes of a round: number `i` of `writes` is the first access at which `i + 1` shares of the round are over.
    fn round(&mut self, reads: u32, writes: u32, step: u64) {
        let round = u64::from(reads + writes);
        let first = step % (self.elements / round) * round;
        for write in 1..=u64::from(writes) {
            let access = (write * round).div_ceil(u64::from(writes)) - 1;
            self.words[(first + access) as usize * self.stride_words + 1] = MARK;
        }
    }

    fn store(&mut self, operation: Operation, element: usize) {
        let first = element * self.stride_words;
        let number = |word: u64| f64::from_bits(word);
        match operation {
            Operation::Fill | Operation::TouchStore => self.words[first + 1] = MARK,
            Operation::ReadModifyWrite => {
                let value = number(self.words[first]);
                self.words[first] = (value * value - 1.0).to_bits();
            }
            Operation::FillNonTemporal => {
                for i in self.line(element) {
                    self.words[i] = MARK;
                }
            }
            Operation::Copy { .. } | Operation::Scale { .. } | Operation::Add { .. } | Operation::Triad { .. } => {
                for i in self.line(element) {
                    let (a, b) = (number(self.sources[0][i]), number(self.sources[1][i]));
                    self.words[i] = match operation {
                        Operation::Copy { .. } => a,
                        Operation::Scale { .. } => 3.0 * a,
                        Operation::Add { .. } => a + b,
                        _ => a + 3.0 * b,
                    }
                    .to_bits();
                }
            }
            Operation::TouchLoad | Operation::TouchShared | Operation::Flush => {}
            other => panic!("{other:?} has no model over arrays"),
        }
    }
}
