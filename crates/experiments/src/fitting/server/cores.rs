//! Cores by their microarchitecture: what their makers have published and no measurement of memory shows.

use super::values::Values;

/// The values of a core.
struct Core {
    name: &'static str,
    window: u32,
    width: u32,
    /// Entries of the two levels of the data TLB for small pages.
    translations: [u32; 2],
    walkers: u32,
    source: &'static str,
}

const fn core(
    name: &'static str,
    (window, width): (u32, u32),
    translations: [u32; 2],
    walkers: u32,
    source: &'static str,
) -> Core {
    Core { name, window, width, translations, walkers, source }
}

/// Names as discovery gives them.
const KNOWN: &[Core] = &[
    core("Haswell", (192, 4), [64, 1024], 1, "WikiChip"),
    core("Broadwell", (192, 4), [64, 1536], 2, "WikiChip"),
    core("Skylake", (224, 4), [64, 1536], 2, "WikiChip"),
    core("Sunny Cove", (352, 5), [64, 2048], 2, "WikiChip"),
    core("Golden Cove", (512, 6), [96, 2048], 4, "Intel, Hot Chips 2021"),
    core("Raptor Cove", (512, 6), [96, 2048], 4, "as Golden Cove"),
    core("Zen", (192, 5), [64, 1536], 2, "WikiChip"),
    core("Zen 2", (224, 5), [64, 2048], 2, "WikiChip"),
    core("Zen 3", (256, 6), [64, 2048], 6, "AMD, Hot Chips 2021"),
    core("Zen 4", (320, 6), [72, 3072], 6, "AMD, Hot Chips 2023"),
    core("Zen 5", (448, 8), [96, 4096], 6, "AMD, Hot Chips 2024"),
];

/// Sets what is published of cores of this `microarchitecture`; nothing if it is not known.
pub(super) fn set(values: &mut Values, microarchitecture: Option<&str>) {
    let Some(core) = KNOWN.iter().find(|core| Some(core.name) == microarchitecture) else { return };
    let [first, second] = core.translations;
    for (table, key, value) in [
        ("processor", "instruction_window", core.window),
        ("processor", "issue_width", core.width),
        ("tlb", "entries", first),
        ("tlb", "second_entries", second),
    ] {
        values.set(table, key, value, format!("announced: {} ({})", core.name, core.source));
    }
    values.set("tlb", "walkers", core.walkers, format!("assumed for {}", core.name));
}
