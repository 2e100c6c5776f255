//! Counter registers of the hardware's width.
//!
//! The simulator's exact counts never wrap. A bank of registers is advanced to them at each reading and converts the
//! difference into the register contents of the hardware, so that no event is counted twice and an unread counter costs
//! nothing.

use std::sync::LazyLock;

/// The way in which the registers of a unit count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Upwards, wrapping to zero after this many bits.
    Wrapping(u32),
    /// Through the states of a linear feedback shift register of this many bits, all but one of them (Prestor 2001,
    /// 5.2.2: the Hub's input and output counter). The source does not give the taps; these are taps of a
    /// maximal-length sequence.
    Shifting(u32),
    /// Upwards; when one register of the bank overflows this many bits, all are halved, so that their ratios remain
    /// (Prestor 2001, 5.2.3).
    Halving(u32),
}

impl Shape {
    /// Bits of a register.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Wrapping(bits) | Self::Shifting(bits) | Self::Halving(bits) => bits,
        }
    }

    /// Number of counts after which the contents repeat; `None` if they never do, or not within 64 bits.
    pub const fn period(self) -> Option<u64> {
        match self {
            Self::Wrapping(64) | Self::Halving(_) => None,
            Self::Wrapping(bits) => Some(1 << bits),
            Self::Shifting(bits) => Some((1 << bits) - 1),
        }
    }

    /// The count that register contents represent, below the period.
    pub fn count_of(self, contents: u64) -> u64 {
        match self {
            Self::Shifting(_) => u64::from(SEQUENCE.place[contents as usize & (SEQUENCE.place.len() - 1)]),
            Self::Wrapping(_) | Self::Halving(_) => contents,
        }
    }

    /// The contents of a register after `count` counts, below the period.
    fn contents(self, count: u64) -> u64 {
        match self {
            Self::Shifting(_) => u64::from(SEQUENCE.states[count as usize]),
            Self::Wrapping(_) | Self::Halving(_) => count,
        }
    }
}

/// Bits of the only shift register, the Hub's.
const SHIFT_BITS: u32 = 20;

/// The states of a 20-bit shift register in order from zero, and the position of each.
struct Sequence {
    states: Vec<u32>,
    place: Vec<u32>,
}

/// Feedback by exclusive-nor of bits 20 and 17: zero is an ordinary state, and only all ones is unreachable.
static SEQUENCE: LazyLock<Sequence> = LazyLock::new(|| {
    let size = 1usize << SHIFT_BITS;
    let next = |state: &u32| {
        let bit = !(state >> (SHIFT_BITS - 1) ^ state >> (SHIFT_BITS - 4)) & 1;
        Some((state << 1 | bit) & (size as u32 - 1))
    };
    let states: Vec<u32> = std::iter::successors(Some(0), next).take(size - 1).collect();
    let mut place = vec![0; size];
    for (count, &state) in (0..).zip(&states) {
        place[state as usize] = count;
    }
    Sequence { states, place }
});

/// The registers of a unit, which count at the same time.
#[derive(Clone, Debug)]
pub struct Bank {
    shape: Shape,
    /// The counts that the contents represent.
    counts: Vec<u64>,
    /// The exact count of each event at the last update.
    told: Vec<u64>,
}

impl Bank {
    /// A bank of zeroed registers, one for each count of `exact`, which count the increments from here on.
    pub fn new(shape: Shape, exact: &[u64]) -> Self {
        Self { shape, counts: vec![0; exact.len()], told: exact.to_vec() }
    }

    /// Clears the registers and selects new events, whose exact counts are `exact` now.
    pub fn select(&mut self, exact: &[u64]) {
        self.counts.clear();
        self.counts.resize(exact.len(), 0);
        self.told.clear();
        self.told.extend_from_slice(exact);
    }

    /// Advances the registers to the exact counts. A count below the last one adds nothing.
    ///
    /// Halving registers must be advanced before one of them overflows ([`Self::room`]): they are halved then.
    pub fn advance(&mut self, exact: &[u64]) {
        for ((count, told), &exact) in self.counts.iter_mut().zip(&mut self.told).zip(exact) {
            let more = exact.saturating_sub(*told);
            *told = exact.max(*told);
            *count = count.wrapping_add(more);
            if let Some(period) = self.shape.period() {
                *count %= period;
            }
        }
        if let Shape::Halving(bits) = self.shape {
            while self.counts.iter().any(|&count| count >> bits > 0) {
                self.counts.iter_mut().for_each(|count| *count /= 2);
            }
        }
    }

    /// Counts until the fullest register overflows and all are halved; `None` for registers that do not halve.
    pub fn room(&self) -> Option<u64> {
        let Shape::Halving(bits) = self.shape else { return None };
        Some((1 << bits) - self.counts.iter().max().copied().unwrap_or(0))
    }

    /// The contents of the registers.
    pub fn contents(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.counts.iter().map(|&count| self.shape.contents(count))
    }

    /// The exact counts at the last update.
    pub fn exact(&self) -> &[u64] {
        &self.told
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_shift_register_passes_through_every_state_but_one() {
        let mut seen = vec![false; 1 << SHIFT_BITS];
        for &state in &SEQUENCE.states {
            assert!(!std::mem::replace(&mut seen[state as usize], true), "state {state:#x} comes twice");
        }
        assert_eq!(seen.iter().position(|seen| !seen), Some((1 << SHIFT_BITS) - 1), "all ones are never reached");
    }

    /// The reference model: halving count by count, as the hardware does.
    fn halved(bits: u32, order: &[usize], registers: usize) -> Vec<u64> {
        let mut counts = vec![0u64; registers];
        for &register in order {
            counts[register] += 1;
            if counts[register] >> bits > 0 {
                counts.iter_mut().for_each(|count| *count /= 2);
            }
        }
        counts
    }

    proptest! {
        /// Differences between readings less than one period apart add up to the exact count, for any register width
        /// and any number of wraps.
        #[test]
        fn differences_add_up_to_the_exact_number(
            bits in 3u32..12,
            shifting in any::<bool>(),
            steps in proptest::collection::vec(0u64..1_000_000, 1..400),
        ) {
            let shape = if shifting { Shape::Shifting(SHIFT_BITS) } else { Shape::Wrapping(bits) };
            let period = shape.period().unwrap();
            let (mut exact, mut sum, mut before) = (17, 0, 0);
            let mut bank = Bank::new(shape, &[exact]);
            for step in steps {
                exact += step % period;
                bank.advance(&[exact]);
                let now = shape.count_of(bank.contents().next().unwrap());
                sum += (now + period - before) % period;
                before = now;
            }
            prop_assert_eq!(sum, exact - 17);
        }

        /// A bank that is advanced on every overflow and at other times holds what counting one by one gives.
        #[test]
        fn halving_is_as_if_counted_one_by_one(
            bits in 2u32..7,
            order in proptest::collection::vec(0usize..4, 1..4000),
            look in 1usize..97,
        ) {
            let mut bank = Bank::new(Shape::Halving(bits), &[0; 4]);
            let mut exact = [0u64; 4];
            let mut due = bank.room().unwrap();
            for (number, &register) in order.iter().enumerate() {
                exact[register] += 1;
                due -= 1;
                if due == 0 || number % look == 0 {
                    bank.advance(&exact);
                    due = bank.room().unwrap();
                }
            }
            bank.advance(&exact);
            prop_assert_eq!(bank.contents().collect::<Vec<_>>(), halved(bits, &order, 4));
        }
    }
}
