//! Units that suit what stands in a column, and digits that suit the unit.

/// The unit of a column, and how its numbers are written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scale {
    pub(crate) unit: &'static str,
    /// One of the unit, in the unit of the values.
    one: f64,
    digits: usize,
}

impl Scale {
    /// For times in nanoseconds: the largest unit of which the longest time is ten or more.
    pub(crate) fn of_times(times_ns: impl IntoIterator<Item = f64>) -> Self {
        const UNITS: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];
        Self::largest(times_ns, &UNITS)
    }

    /// For bandwidths in MB/s: GB/s unless all are below one.
    pub(crate) fn of_bandwidths(mb_per_s: impl IntoIterator<Item = f64>) -> Self {
        let most = mb_per_s.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        if most >= 1000.0 {
            Self { unit: "GB/s", one: 1000.0, digits: 2 }
        } else {
            Self { unit: "MB/s", one: 1.0, digits: 0 }
        }
    }

    fn largest(values: impl IntoIterator<Item = f64>, units: &[(&'static str, f64)]) -> Self {
        let most = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let fits = units.iter().find(|(_, one)| most >= 10.0 * one).or(units.last());
        let (unit, one) = fits.copied().unwrap_or(("", 1.0));
        // Four digits of the largest.
        let digits = match most / one {
            value if value >= 1000.0 => 0,
            value if value >= 100.0 => 1,
            _ => 2,
        };
        Self { unit, one, digits }
    }

    /// A value in the unit.
    pub(crate) fn number(&self, value: f64) -> String {
        format!("{:.digits$}", value / self.one, digits = self.digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_suits_the_largest() {
        let of = |times: &[f64]| Scale::of_times(times.iter().copied());
        assert_eq!((of(&[1.0, 84_255_200.0]).unit, of(&[12_345.0]).unit, of(&[9_000.0]).unit), ("ms", "us", "ns"));
        assert_eq!(of(&[84_255_200.0]).number(84_255_200.0), "84.26");
        assert_eq!(of(&[12_345.0]).number(346.0), "0.35");
        assert_eq!(of(&[]).number(0.0), "0.00");
        assert_eq!(Scale::of_bandwidths([12_340.0]).number(950.0), "0.95");
        assert_eq!(Scale::of_bandwidths([576.0]).number(576.4), "576");
    }
}
