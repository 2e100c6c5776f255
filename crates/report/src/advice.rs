//! Advice: the settings of a machine that were tried, the fastest first.

use record::AdviceRow;

use crate::quantity::Scale;
use crate::{Cell, Column, Table, Tone};

/// A line per setting, and in notes below which command or firmware setting gets those that gain at least `worth_pct` percent, or that
/// none does. `runs` are all runs that were made.
pub fn advice(rows: &[AdviceRow], runs: usize, worth_pct: f64) -> Table {
    // A processor that executes out of order has no time of a single miss.
    let latency = rows.iter().any(|row| row.miss_latency_ns.is_some());
    // Units and digits as in the tables of simulations, which show the same runs.
    let time = Scale::of_times(rows.iter().map(|row| row.time_ns));
    let mut columns = vec![
        Column::number("#", ""),
        Column::prose("setting"),
        Column::number("time", time.unit),
        Column::number("gain", "% of time"),
        Column::number("local", "% of misses").detail(1),
        Column::number("L2 misses", "").detail(2),
    ];
    columns.extend(latency.then(|| Column::number("miss latency", "ns").detail(3)));
    let title = rows.first().map(|row| format!("{} on {} processors of {}", row.program, row.cpus, row.machine));
    let mut table = Table::new(title.unwrap_or_default(), columns).named_by(2);
    for row in rows {
        let tone = if row.gain_pct >= worth_pct { Tone::Good } else { Tone::Plain };
        let mut cells: Vec<Cell> = vec![
            row.rank.to_string().into(),
            row.setting.clone().into(),
            time.number(row.time_ns).into(),
            Cell::new(format!("{:.1}", row.gain_pct), tone),
            format!("{:.1}", row.local_pct).into(),
            row.secondary_misses.to_string().into(),
        ];
        let of_miss = |latency: f64| format!("{latency:.1}").into();
        cells.extend(latency.then(|| row.miss_latency_ns.map_or_else(Cell::default, of_miss)));
        table.row(cells);
    }
    let gaining = rows.iter().filter(|row| row.gain_pct >= worth_pct);
    for row in gaining.clone() {
        if let Some(means) = &row.means {
            table.note(format!("{}. {means}", row.rank));
        }
    }
    match (gaining.count(), rows.len(), runs) {
        (0, ..=1, ..=1) => table.note("nothing to try: the machine offers no other setting of these kinds"),
        (0, ..=1, _) => table.note("nothing to compare: no other setting gave a result"),
        (0, ..) => {
            table.note(format!("nothing gains: no setting is at least {worth_pct:.0} % faster than the present one"))
        }
        _ => {}
    }
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    table.note(format!(
        "{runs}; gain: reduction of the time that the program takes as it is; local: home, or what answers in its place, such as an L3, on \
         the requester's node"
    ));
    table
}
