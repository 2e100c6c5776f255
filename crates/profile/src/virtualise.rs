//! From registers of any width to totals of 64 bits.

use trace::{Register, Value};

use crate::Reading;

/// Kind of a counter's register, and its limits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Virtualiser {
    register: Register,
    most_per_second: Option<f64>,
    multiplexed: bool,
}

/// The 64-bit counter that stands for a register.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Virtual {
    total: u64,
    seen: bool,
    raw: u64,
    enabled_ns: u64,
    running_ns: u64,
    time_ns: u64,
    /// The count and its time in nanoseconds, from when it last had the register to itself.
    rate: (u64, u64),
}

/// Outcome of a reading of a register.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Update {
    pub(crate) value: Value,
    /// Whether the reading came so late that a wrap may have been missed.
    pub(crate) late: bool,
}

const LOST: Update = Update { value: Value::MISSING, late: false };

impl Virtualiser {
    /// For a counter.
    pub fn new(counter: &trace::Counter) -> Self {
        let (register, most_per_second) = (counter.register, counter.most_per_second);
        Self { register, most_per_second, multiplexed: counter.multiplexed }
    }

    /// How long the register may be left alone without losing anything, in nanoseconds; none if for ever.
    pub fn longest_ns(&self) -> Option<f64> {
        let (width, rate) = match self.register {
            Register::Wrapping { width } if width < 64 => (width, self.most_per_second?),
            Register::Halving { width, clock, .. } => {
                (width, clock.map(|hertz| hertz as f64).or(self.most_per_second)?)
            }
            _ => return None,
        };
        (rate > 0.0).then(|| 2_f64.powi(i32::from(width)) / rate * 1e9)
    }

    /// Takes in a reading at `time_ns`. `clock` is that of the register of its group that counts time, and its rate in hertz.
    /// `newborn` says that a first reading counts from zero.
    pub(crate) fn update(
        &self,
        state: &mut Virtual,
        reading: Reading,
        time_ns: u64,
        clock: Option<(Reading, u64)>,
        newborn: bool,
    ) -> Update {
        if !reading.present {
            return LOST;
        }
        let elapsed = time_ns.saturating_sub(state.time_ns);
        let first = !state.seen;
        let before = std::mem::replace(
            state,
            Virtual {
                seen: true,
                raw: reading.raw,
                enabled_ns: reading.enabled_ns,
                running_ns: reading.running_ns,
                time_ns,
                ..*state
            },
        );
        match self.register {
            Register::Level => Update { value: Value::exact(reading.raw), late: false },
            Register::Wrapping { .. } if first => {
                state.total = if newborn { reading.raw } else { 0 };
                Update { value: Value::exact(state.total), late: false }
            }
            // Its first content was counted at some time before.
            Register::Halving { .. } if first => Update { value: Value::exact(0), late: false },
            Register::Wrapping { width } => {
                let counted = count(before.raw, reading.raw, width);
                let late = self.longest_ns().is_some_and(|longest| elapsed as f64 >= longest);
                let value = if self.multiplexed { state.scale(&before, counted) } else { state.add(counted, 1.0) };
                Update { value, late }
            }
            Register::Halving { width, .. } => {
                let value = self.unhalve(state, reading.raw, width, elapsed, clock);
                Update { value, late: false }
            }
        }
    }

    /// Adds what a register that was cleared when it was last read holds. As long as nothing in its group overflowed, that is
    /// what was counted; else the register of time tells by how much all were reduced.
    fn unhalve(
        &self,
        state: &mut Virtual,
        raw: u64,
        width: u8,
        elapsed_ns: u64,
        clock: Option<(Reading, u64)>,
    ) -> Value {
        let whole = 2_f64.powi(i32::from(width));
        let Some((clock, hertz)) = clock.filter(|(clock, _)| clock.present && clock.raw > 0) else {
            let whole_time = self.most_per_second.is_some_and(|rate| elapsed_ns as f64 * 1e-9 * rate < whole);
            return state.add(raw, if whole_time { 1.0 } else { 0.0 });
        };
        let due = (u128::from(elapsed_ns) * u128::from(hertz) + 500_000_000) / 1_000_000_000;
        if (due as f64) < whole {
            return state.add(raw, 1.0);
        }
        let scaled = (u128::from(raw) * due + u128::from(clock.raw) / 2) / u128::from(clock.raw);
        state.add(saturated(scaled), (clock.raw as f64 / due as f64) as f32)
    }
}

impl Virtual {
    fn add(&mut self, counted: u64, part: f32) -> Value {
        self.total = self.total.saturating_add(counted);
        Value { total: Some(self.total), counted: part }
    }

    /// Adds what was counted in a part of the time as if it had been counted all the time. Where it was not counted at all, as
    /// much as when it last was.
    fn scale(&mut self, before: &Self, counted: u64) -> Value {
        let enabled = self.enabled_ns.saturating_sub(before.enabled_ns);
        let running = self.running_ns.saturating_sub(before.running_ns);
        if running > 0 {
            self.rate = (counted, running);
        }
        let (count, time) = self.rate;
        if enabled == 0 {
            return self.add(counted, 1.0);
        }
        if time == 0 {
            return Value::MISSING;
        }
        if running >= enabled {
            return self.add(counted, 1.0);
        }
        let scaled = (u128::from(count) * u128::from(enabled) + u128::from(time) / 2) / u128::from(time);
        self.add(saturated(scaled), (running as f64 / enabled as f64) as f32)
    }
}

/// The count of a register of `width` bits from one reading to the next, if it wrapped at most once. One of 64 bits never wraps:
/// less than before means that it began anew.
fn count(before: u64, now: u64, width: u8) -> u64 {
    match width {
        64.. => now.checked_sub(before).unwrap_or(now),
        _ => now.wrapping_sub(before) & ((1 << width) - 1),
    }
}

fn saturated(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
