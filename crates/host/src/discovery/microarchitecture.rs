//! Microarchitectures of x86-64 servers, by the numbers of CPUID that the kernel shows.

use std::ops::RangeInclusive;

struct Numbers {
    vendor: &'static str,
    family: u32,
    models: RangeInclusive<u32>,
    name: &'static str,
}

const fn of(vendor: &'static str, family: u32, models: RangeInclusive<u32>, name: &'static str) -> Numbers {
    Numbers { vendor, family, models, name }
}

const INTEL: &str = "GenuineIntel";
const AMD: &str = "AuthenticAMD";
const HYGON: &str = "HygonGenuine";

/// Families and models (Linux, `arch/x86/include/asm/intel-family.h` and `arch/x86/kernel/cpu/amd.c`).
const KNOWN: &[Numbers] = &[
    of(INTEL, 6, 0x3f..=0x3f, "Haswell"),
    of(INTEL, 6, 0x4f..=0x4f, "Broadwell"),
    of(INTEL, 6, 0x56..=0x56, "Broadwell"),
    of(INTEL, 6, 0x55..=0x55, "Skylake"),
    of(INTEL, 6, 0x6a..=0x6a, "Sunny Cove"),
    of(INTEL, 6, 0x6c..=0x6c, "Sunny Cove"),
    of(INTEL, 6, 0x8f..=0x8f, "Golden Cove"),
    of(INTEL, 6, 0xcf..=0xcf, "Raptor Cove"),
    of(AMD, 23, 0x00..=0x2f, "Zen"),
    of(HYGON, 24, 0x00..=0xff, "Zen"),
    of(AMD, 23, 0x30..=0xff, "Zen 2"),
    of(AMD, 25, 0x00..=0x0f, "Zen 3"),
    of(AMD, 25, 0x20..=0x5f, "Zen 3"),
    of(AMD, 25, 0x10..=0x1f, "Zen 4"),
    of(AMD, 25, 0x60..=0xaf, "Zen 4"),
    of(AMD, 26, 0x00..=0xff, "Zen 5"),
];

/// The name of the microarchitecture with these numbers, if it is a known one.
pub(super) fn name(vendor: &str, family: &str, model: &str) -> Option<&'static str> {
    let (family, model): (u32, u32) = (family.parse().ok()?, model.parse().ok()?);
    let is = |known: &&Numbers| (known.vendor, known.family) == (vendor, family) && known.models.contains(&model);
    KNOWN.iter().find(is).map(|known| known.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_one_microarchitecture() {
        assert_eq!(name(INTEL, "6", "85"), Some("Skylake"));
        assert_eq!(name(AMD, "25", "17"), Some("Zen 4"));
        assert_eq!(name(AMD, "25", "33"), Some("Zen 3"));
        assert_eq!(name(AMD, "6", "85"), None);
        assert_eq!(name(INTEL, "six", "85"), None);
        for (number, known) in KNOWN.iter().enumerate() {
            let meets = |other: &Numbers| {
                (other.vendor, other.family) == (known.vendor, known.family)
                    && other.models.start() <= known.models.end()
                    && known.models.start() <= other.models.end()
            };
            assert!(!KNOWN[number + 1..].iter().any(meets), "{}", known.name);
        }
    }
}
