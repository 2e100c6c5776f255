//! Losses of a run, by its data.

use record::SimulationRow;

use crate::simulations::processors;
use crate::{Column, Table};

/// Regions that lost less than this share of the processors' time, in percent, are left out.
const LEAST_PCT: f64 = 0.05;

/// A line per region of the program's memory, what lost most first, if that was asked for.
pub fn regions(row: &SimulationRow) -> Option<Table> {
    let regions = row.regions.as_ref()?;
    let all: f64 = row.spent_ns.values().sum();
    let share = |ns: f64| if all > 0.0 { 100.0 * ns / all } else { 0.0 };
    let causes = ["cold", "capacity", "conflict", "true-sharing", "false-sharing"];
    let mut columns = vec![
        Column::prose("data"),
        Column::number("size", "KiB").detail(3),
        Column::number("L2 misses", ""),
        Column::number("remote", "%"),
    ];
    columns.extend(causes.map(|name| {
        let rank = if name.ends_with("sharing") { 1 } else { 2 };
        Column::number(name.replace('-', " "), "%").detail(rank)
    }));
    let times = ["miss stall", "TLB misses", "locks"];
    columns.extend(times.map(|name| Column::number(name, "% of time")));
    let title = format!("time lost by data structure: {} on {} of {}", row.program, processors(row), row.machine);
    let mut table = Table::new(title, columns);
    for region in regions {
        let times = [region.stalled_ns, region.translation_ns, region.lock_ns].map(share);
        if times.iter().sum::<f64>() < LEAST_PCT {
            continue;
        }
        let of = |count: u64| format!("{:.1}", 100.0 * count as f64 / (region.misses.max(1)) as f64);
        let mut cells = vec![
            region.name.clone(),
            format!("{}", region.bytes / 1024),
            region.misses.to_string(),
            of(region.remote_misses),
        ];
        cells.extend(causes.map(|name| of(region.causes.get(name).copied().unwrap_or_default())));
        cells.extend(times.map(|time| format!("{time:.1}")));
        table.row(cells);
    }
    table.note("causes in % of the misses on the data, the rest are upgrades; time in % of all processors' time");
    Some(table)
}
