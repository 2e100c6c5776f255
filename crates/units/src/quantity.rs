//! How long, how fast, how much.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A point on the simulated clock, in picoseconds since the start of the run.
///
/// Integer picoseconds hold every clock of the machines exactly enough (a 195 MHz cycle is 5128 ps, off by
/// 0.004 %) and 213 days of simulated time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything.
    pub const MAX: Self = Self(u64::MAX);

    /// The time since `earlier`, or zero if `earlier` is in fact later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The first edge of a clock with this `period` at or after this time (edges at multiples of the period).
    #[inline]
    pub const fn align_up(self, period: Duration) -> Self {
        Self(self.0.next_multiple_of(period.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// From nanoseconds, rounded to the nearest picosecond.
    pub fn from_ns(ns: f64) -> Self {
        Self((ns * 1e3).round() as u64)
    }

    /// In nanoseconds.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Four digits in the unit that suits it, for people: `532.4 ms`.
    pub fn rounded(self) -> String {
        const UNITS: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
        let ns = self.as_ns();
        let (scale, unit) = UNITS.into_iter().find(|(scale, _)| ns >= *scale).unwrap_or((1.0, "ns"));
        let value = ns / scale;
        let decimals = if value < 10.0 {
            3
        } else if value < 100.0 {
            2
        } else {
            1
        };
        format!("{value:.decimals$} {unit}")
    }

    /// The shortest whole number of `period`s that is no shorter.
    #[inline]
    pub const fn align_up(self, period: Self) -> Self {
        Self(self.0.next_multiple_of(period.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Duration) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, rhs: Duration) {
        self.0 += rhs.0;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    #[inline]
    fn sub(self, rhs: Time) -> Duration {
        Duration(self.0 - rhs.0)
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, rhs: Self) {
        self.0 -= rhs.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: u64) -> Self {
        Self(self.0 * rhs)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    #[inline]
    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0 as f64 / 1e3)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.as_ns())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A clock frequency in hertz.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hertz(pub f64);

impl Hertz {
    /// From megahertz.
    pub fn from_mhz(mhz: f64) -> Self {
        Self(mhz * 1e6)
    }

    /// In megahertz.
    pub fn as_mhz(self) -> f64 {
        self.0 / 1e6
    }

    /// One cycle, rounded to the nearest picosecond.
    pub fn period(self) -> Duration {
        Duration((1e12 / self.0).round() as u64)
    }
}

/// The length of a cable or trace, in micrometres: an inch is exactly 25 400 of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Length(pub u64);

impl Length {
    /// From metres, rounded to the nearest micrometre.
    pub fn from_metres(metres: f64) -> Self {
        Self((metres * 1e6).round() as u64)
    }

    /// From inches, rounded to the nearest micrometre.
    pub fn from_inches(inches: f64) -> Self {
        Self((inches * 25_400.0).round() as u64)
    }

    /// In metres.
    pub fn as_metres(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// In inches.
    pub fn as_inches(self) -> f64 {
        self.0 as f64 / 25_400.0
    }

    /// The time a signal needs that takes `per_metre` for a metre, rounded to the nearest picosecond.
    pub const fn delay(self, per_metre: Duration) -> Duration {
        Duration((self.0 * per_metre.0 + 500_000) / 1_000_000)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} m", self.as_metres())
    }
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// From kibibytes.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// From mebibytes.
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib << 20)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut value = self.0;
        let mut unit = 0;
        while value >= 1024 && value.is_multiple_of(1024) && unit + 1 < UNITS.len() {
            value /= 1024;
            unit += 1;
        }
        write!(f, "{value} {}", UNITS[unit])
    }
}

/// A transfer rate in bytes a second. Printed in the papers' MB/s (10^6 bytes).
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bandwidth(pub f64);

impl Bandwidth {
    /// `bytes` moved in `time`; zero if no time passed.
    pub fn over(bytes: Bytes, time: Duration) -> Self {
        if time == Duration::ZERO { Self(0.0) } else { Self(bytes.0 as f64 / time.as_seconds()) }
    }

    /// In megabytes (10^6 bytes) a second.
    pub fn as_mb_per_s(self) -> f64 {
        self.0 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_edges_are_multiples_of_the_period() {
        let period = Hertz::from_mhz(100.0).period();
        assert_eq!(period, Duration(10_000));
        assert_eq!(Time(10_001).align_up(period), Time(20_000));
        assert_eq!(Time(20_000).align_up(period), Time(20_000));
    }

    #[test]
    fn times_for_people_have_four_digits() {
        let shown =
            [0, 12_340, 999_999, 532_449_686_373, 98_765_432_100, 7_000_000_000_000].map(|ps| Duration(ps).rounded());
        assert_eq!(shown, ["0.000 ns", "12.34 ns", "1000.0 ns", "532.4 ms", "98.77 ms", "7.000 s"]);
    }

    #[test]
    fn bandwidth_of_one_line_a_microsecond() {
        let rate = Bandwidth::over(Bytes(128), Duration::from_ns(1000.0));
        assert!((rate.as_mb_per_s() - 128.0).abs() < 1e-9);
        assert_eq!(Bandwidth::over(Bytes(128), Duration::ZERO).as_mb_per_s(), 0.0);
    }

    #[test]
    fn the_longest_origin_cable_takes_twenty_three_nanoseconds() {
        let cable = Length::from_inches(180.0);
        assert_eq!(cable, Length::from_metres(4.572));
        assert_eq!(cable.delay(Duration::from_ns(5.0)), Duration(22_860));
    }

    #[test]
    fn sizes_print_in_the_largest_whole_unit() {
        assert_eq!(Bytes::from_mib(8).to_string(), "8 MiB");
        assert_eq!(Bytes(1536).to_string(), "1536 B");
    }
}
