//! Under which conditions a figure was measured: what a latency means depends on pages, stride, order and preparation.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// The conditions of one measurement. "The latency of memory" spans almost an order of magnitude on one machine with the
/// kind of pages, the extent of memory touched and the order of the accesses, so that a figure without them says little.
///
/// Absent values did not apply, or were not known to the platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// The series of a suite that the measurement belongs to.
    pub series: Option<String>,
    /// How near the remote processor is to the requester, such as `SMT sibling` or `same socket`.
    pub relation: Option<String>,
    /// The kind of pages asked for, such as `base`, `thp` or `2M`.
    pub pages_asked: Option<String>,
    /// The pages that the memory consists of, as verified.
    pub pages_obtained: Option<String>,
    /// From one element to the next, in bytes.
    #[schemars(with = "Option<u64>")]
    pub stride: Option<Bytes>,
    /// The extent of memory over which the accesses range, in bytes: what caches and translation must cover.
    #[schemars(with = "Option<u64>")]
    pub window: Option<Bytes>,
    /// The order in which the elements are visited, such as `ascending` or `random`.
    pub order: Option<String>,
    /// How the lines were brought into their state.
    pub preparation: Option<String>,
    /// The result of a check of the prepared state.
    pub check: Option<String>,
    /// The clock of the requester's core as it was measured meanwhile, in MHz: figures in cycles follow from it.
    pub clock_mhz: Option<f64>,
    /// How many samples were disturbed and taken again.
    pub repeated: u64,
    /// How many of the samples that count were disturbed, however often they were taken again.
    pub kept: u64,
    /// Events that disturbed samples, repeated or kept, all together; absent if there were none.
    pub disturbances: Option<String>,
}

/// Events that disturbed a thread while it was timed. All zero: nothing is known to have disturbed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbance {
    /// How often the kernel ran something else in its place.
    pub switches: u32,
    /// How often it found itself on another processor.
    pub migrations: u32,
    /// Pages that were brought in meanwhile.
    pub faults: u32,
    /// Time for which it waited for its processor.
    pub waited: Duration,
    /// Time that the hypervisor gave to others.
    pub stolen: Duration,
    /// Change of the core's clock, in parts in a thousand; negative if it became slower.
    pub clock_change_permille: i32,
}

impl Disturbance {
    /// A change of clock up to this much, in parts in a thousand, is within what the estimate of the clock itself scatters by.
    pub const CLOCK_TOLERANCE_PERMILLE: u32 = 20;

    /// Whether nothing is known to have disturbed the measurement.
    pub fn is_clean(&self) -> bool {
        let Self { switches, migrations, faults, waited, stolen, clock_change_permille } = *self;
        (switches, migrations, faults) == (0, 0, 0)
            && (waited, stolen) == (Duration::ZERO, Duration::ZERO)
            && clock_change_permille.unsigned_abs() <= Self::CLOCK_TOLERANCE_PERMILLE
    }

    /// This and `other` together, the larger of the two clock changes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let clocks = [self.clock_change_permille, other.clock_change_permille];
        Self {
            switches: self.switches + other.switches,
            migrations: self.migrations + other.migrations,
            faults: self.faults + other.faults,
            waited: self.waited + other.waited,
            stolen: self.stolen + other.stolen,
            clock_change_permille: clocks.into_iter().max_by_key(|change| change.unsigned_abs()).unwrap_or(0),
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut count = |number: u32, one: &str, many: &str| {
            if number > 0 {
                parts.push(format!("{number} {}", if number == 1 { one } else { many }));
            }
        };
        count(self.switches, "context switch", "context switches");
        count(self.migrations, "migration", "migrations");
        count(self.faults, "page fault", "page faults");
        if self.waited > Duration::ZERO {
            parts.push(format!("{} of run-queue wait", told(self.waited)));
        }
        if self.stolen > Duration::ZERO {
            parts.push(format!("{} stolen by the hypervisor", told(self.stolen)));
        }
        if self.clock_change_permille.unsigned_abs() > Self::CLOCK_TOLERANCE_PERMILLE {
            parts.push(format!("clock changed by {:+.1} %", f64::from(self.clock_change_permille) / 10.0));
        }
        f.write_str(&if parts.is_empty() { "undisturbed".to_owned() } else { parts.join(", ") })
    }
}

/// A time in the unit that suits it.
fn told(time: Duration) -> String {
    match time.as_ns() {
        ns if ns < 1e3 => format!("{ns} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbances_are_told_in_words_and_small_clock_changes_forgiven() {
        let slower = Disturbance { clock_change_permille: -20, ..Disturbance::default() };
        assert!(slower.is_clean() && Disturbance::default().is_clean());
        assert_eq!(slower.to_string(), "undisturbed");
        let stolen = Disturbance { stolen: Duration::from_ns(1e7), switches: 1, ..slower };
        let worse = Disturbance { clock_change_permille: 35, switches: 2, ..Disturbance::default() };
        assert!(!stolen.is_clean());
        let both = stolen.and(worse);
        assert_eq!((both.switches, both.clock_change_permille), (3, 35));
        assert!(both.to_string().starts_with("3 context switches, "), "{both}");
        assert!(both.to_string().ends_with("clock changed by +3.5 %"), "{both}");
        assert!(both.to_string().contains(", 10.0 ms stolen by the hypervisor, "), "{both}");
        for (ns, text) in [(700.0, "700 ns of"), (81_632.0, "81.6 us of"), (2.5e6, "2.5 ms of")] {
            let waited = Disturbance { waited: Duration::from_ns(ns), ..Disturbance::default() };
            assert_eq!(waited.to_string(), format!("{text} run-queue wait"));
        }
    }
}
