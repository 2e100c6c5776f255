//! The kinds of pages that memory can be asked to have.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::HostError;

/// A kind of pages, as asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub enum PageKind {
    /// Base pages (4 KiB on x86-64), and no others.
    #[default]
    Base,
    /// Transparent huge pages as far as the kernel can make them; how far is reported.
    Transparent,
    /// Pages of one size, and no others: huge pages from the kernel's pool, or base pages if they have that size.
    Huge(Bytes),
}

impl fmt::Display for PageKind {
    /// `base`, `thp`, or a size such as `2M`: what [`PageKind::from_str`] accepts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("base"),
            Self::Transparent => f.write_str("thp"),
            Self::Huge(Bytes(size)) => {
                let (value, unit) = match size.trailing_zeros() {
                    30.. => (size >> 30, "G"),
                    20.. => (size >> 20, "M"),
                    _ => (size >> 10, "K"),
                };
                write!(f, "{value}{unit}")
            }
        }
    }
}

impl FromStr for PageKind {
    type Err = HostError;

    /// `base`, `thp`, or a size: of base pages, as `4K` on x86-64, or of a pool's pages, as `2M` and `1G`.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let refused = || {
            HostError::Request(format!(
                "{text}: unknown kind of pages; accepted: base, thp, and sizes such as 4K, 2M or 1G"
            ))
        };
        match text {
            "base" => return Ok(Self::Base),
            "thp" => return Ok(Self::Transparent),
            _ => {}
        }
        let shift = match text.bytes().last() {
            Some(b'K') => 10,
            Some(b'M') => 20,
            Some(b'G') => 30,
            _ => return Err(refused()),
        };
        let value: u64 = text[..text.len() - 1].parse().map_err(|_| refused())?;
        let size = value.checked_mul(1 << shift).filter(|size| size.is_power_of_two()).ok_or_else(refused)?;
        Ok(Self::Huge(Bytes(size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_as_they_are_printed() {
        for text in ["base", "thp", "4K", "64K", "2M", "32M", "512M", "1G", "16G"] {
            assert_eq!(text.parse::<PageKind>().expect(text).to_string(), text);
        }
        for wrong in ["", "2", "3M", "0K", "2m", "huge", "-2M", "2MB", "99999999999G", "é"] {
            assert!(wrong.parse::<PageKind>().is_err(), "{wrong}");
        }
    }
}
