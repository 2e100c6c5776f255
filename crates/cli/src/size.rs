//! Sizes on the command line, in the unit that the flag's name for its value says.

use std::str::FromStr;

use units::Bytes;

/// A size in units of so many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size<const UNIT: u64>(pub Bytes);

/// A size in KiB.
pub type Kib = Size<{ 1 << 10 }>;
/// A size in MiB.
pub type Mib = Size<{ 1 << 20 }>;

/// The largest size that anything here can have: addresses of simulated and of real machines have 48 bits.
const MOST: Bytes = Bytes(1 << 48);

impl<const UNIT: u64> FromStr for Size<UNIT> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let most = MOST.0 / UNIT;
        let units = text.parse::<u64>().ok().filter(|units| (1..=most).contains(units));
        units.map(|units| Self(Bytes(units * UNIT))).ok_or_else(|| {
            let unit = Bytes(UNIT).to_string();
            format!("accepted: a whole number of {} from 1 to {most}", unit.trim_start_matches("1 "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_and_have_a_limit() {
        assert_eq!("64".parse(), Ok::<Kib, _>(Size(Bytes::from_kib(64))));
        assert_eq!("268435456".parse(), Ok::<Mib, _>(Size(MOST)));
        for wrong in ["0", "-1", "1e3", "64K", "99999999999999", "99999999999999999999999"] {
            let refused = wrong.parse::<Mib>().expect_err(wrong);
            assert_eq!(refused, "accepted: a whole number of MiB from 1 to 268435456", "{wrong}");
        }
    }
}
