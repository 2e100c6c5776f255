//! Cores by their microarchitecture: what their makers have published and no measurement of memory shows.

use super::values::Values;

/// The values of a core.
struct Core {
    name: &'static str,
    window: u32,
    width: u32,
    /// Misses that references of the primary cache wait for at once: line fill buffers, AMD's miss address buffers; 0 if unpublished.
    fill_buffers: u32,
    /// Entries of the two levels of the data TLB for small pages.
    translations: [u32; 2],
    walkers: u32,
    /// The machine whose latencies of operations it has.
    operations: &'static str,
    source: &'static str,
}

const fn core(
    name: &'static str,
    (window, width, fill_buffers): (u32, u32, u32),
    translations: [u32; 2],
    walkers: u32,
    operations: &'static str,
    source: &'static str,
) -> Core {
    Core { name, window, width, fill_buffers, translations, walkers, operations, source }
}

/// Names as discovery gives them.
const KNOWN: &[Core] = &[
    core("Haswell", (192, 4, 10), [64, 1024], 1, "xeon-e5-2699v3-2s", "WikiChip"),
    core("Broadwell", (192, 4, 10), [64, 1536], 2, "xeon-e5-2699v3-2s", "WikiChip"),
    core("Skylake", (224, 4, 12), [64, 1536], 2, "xeon-8180-2s", "WikiChip"),
    core("Sunny Cove", (352, 5, 12), [64, 2048], 2, "xeon-8360y-2s", "WikiChip"),
    core("Golden Cove", (512, 6, 16), [96, 2048], 4, "xeon-8480-2s", "Intel, Hot Chips 2021"),
    core("Raptor Cove", (512, 6, 16), [96, 2048], 4, "xeon-8480-2s", "as Golden Cove"),
    core("Zen", (192, 5, 22), [64, 1536], 2, "epyc-7702-2s", "WikiChip"),
    core("Zen 2", (224, 5, 22), [64, 2048], 2, "epyc-7702-2s", "WikiChip"),
    core("Zen 3", (256, 6, 24), [64, 2048], 6, "epyc-7702-2s", "AMD, Hot Chips 2021"),
    core("Zen 4", (320, 6, 24), [72, 3072], 6, "epyc-9654-2s", "AMD, Hot Chips 2023"),
    core("Zen 5", (448, 8, 0), [96, 4096], 6, "epyc-9654-2s", "AMD, Hot Chips 2024"),
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
        values.set(table, key, value, format!("published: {} ({})", core.name, core.source));
    }
    values.set("tlb", "walkers", core.walkers, format!("assumed for {}", core.name));
    if core.fill_buffers > 0 {
        values.set("processor", "fill_buffers", core.fill_buffers, format!("assumed for {}", core.name));
    }
    for (key, value) in operations(core.operations) {
        values.set("latency", &key, value, format!("assumed for {}: {}", core.name, core.operations));
    }
}

/// The latencies of operations of a machine, by key.
fn operations(machine: &str) -> Vec<(String, String)> {
    let text = machine::load(machine).map(|description| description.to_toml()).unwrap_or_default();
    let table = text.lines().skip_while(|line| *line != "[latency]").skip(1).take_while(|line| !line.starts_with('['));
    table.filter_map(|line| line.split_once(" = ")).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}
