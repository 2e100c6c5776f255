//! The tables of a suite on any machine, one for each of its series, from the records alone.

mod bandwidth;
mod hierarchy;
mod loaded;
mod matrices;
mod places;
mod regions;

use std::collections::BTreeSet;

use record::Record;

use crate::{Table, View, measurements};

pub use hierarchy::area_curves;
pub use loaded::load_curves;
pub use matrices::matrices;

/// The tables of `records`: those of each series in the form that suits it, then all others a line each. `levels` are the
/// notes of the table of the hierarchy.
pub fn series_tables(title: &str, records: &[Record], levels: &[String], view: &View) -> Vec<Table> {
    let of = |series: &str| -> Vec<&Record> {
        records.iter().filter(|record| record.conditions.series.as_deref() == Some(series)).collect()
    };
    let mut tables = Vec::new();
    tables.extend(hierarchy::table(&of("hierarchy"), levels));
    tables.extend(places::table(&of("places")));
    tables.extend(places::spacing(&of("spacing")));
    tables.extend(matrices::cores(&of("cores"), view));
    tables.extend(matrices::nodes(&of("nodes")).iter().map(|matrix| matrix.table(view)));
    tables.extend(bandwidth::table(&of("bandwidth")));
    tables.extend(loaded::table(&of("loaded")));
    tables.extend(regions::tables(&of("regions")));
    const KNOWN: [&str; 8] = ["hierarchy", "places", "spacing", "cores", "nodes", "bandwidth", "loaded", "regions"];
    let known = |record: &&Record| record.conditions.series.as_deref().is_some_and(|series| KNOWN.contains(&series));
    let others: Vec<Record> = records.iter().filter(|record| !known(record)).cloned().collect();
    if !others.is_empty() {
        let mut table = measurements(title, &others);
        let all: Vec<&Record> = others.iter().collect();
        table.note(conditions(&all));
        let distinct: BTreeSet<String> = all.iter().map(|record| of_one(record)).collect();
        distinct.into_iter().for_each(|note| table.note(note));
        tables.push(table);
    }
    tables
}

/// The values of `key` that occur, in the order in which they first do.
fn distinct<'a, T: PartialEq>(records: &[&'a Record], key: impl Fn(&'a Record) -> T) -> Vec<T> {
    let mut values = Vec::new();
    for record in records {
        let value = key(record);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// The conditions of all of `records`, in one line.
fn conditions(records: &[&Record]) -> String {
    let list = |values: Vec<Option<String>>| values.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let pages = distinct(records, |record| record.conditions.pages_obtained.clone());
    let order = distinct(records, |record| record.conditions.order.clone());
    let stride = distinct(records, |record| record.conditions.stride.map(|stride| stride.to_string()));
    let samples = records.iter().map(|record| record.n).min().unwrap_or(0);
    let kept: u64 = records.iter().map(|record| record.conditions.kept).sum();
    let repeated: u64 = records.iter().map(|record| record.conditions.repeated).sum();
    let windows: Vec<_> = distinct(records, |record| record.conditions.window).into_iter().flatten().collect();
    let window = match (windows.iter().min(), windows.iter().max()) {
        (Some(least), Some(most)) if least == most => format!(" over {least}"),
        (Some(least), Some(most)) => format!(" over {least} to {most}"),
        _ => String::new(),
    };
    let median =
        if samples == 1 { "single sample".to_owned() } else { format!("median of at least {samples} samples") };
    let mut line = format!("{} pages, stride {}{window}, {} order; {median}", list(pages), list(stride), list(order));
    if repeated > 0 {
        line.push_str(&format!("; {repeated} disturbed samples retaken"));
    }
    if kept > 0 {
        line.push_str(&format!("; {kept} disturbed samples kept"));
    }
    line
}

/// The conditions of one record beside those: how far the lines extend, how they were prepared, what a check found.
fn of_one(record: &Record) -> String {
    let conditions = &record.conditions;
    let mut line = format!("{} {}:", record.title(), record.state);
    if let Some(window) = conditions.window {
        line.push_str(&format!(" over {window},"));
    }
    line.push_str(&format!(" {}", conditions.preparation.as_deref().unwrap_or("preparation unknown")));
    if let Some(check) = &conditions.check {
        line.push_str(&format!("; {check}"));
    }
    if let Some((low, high)) = record.statistics().interval() {
        line.push_str(&format!("; 95 % interval of the median {low:.1} to {high:.1}"));
    }
    line
}

/// Nanoseconds in cycles of the core that measured them.
fn cycles(record: &Record) -> Option<f64> {
    record.conditions.clock_mhz.map(|mhz| record.median * mhz / 1000.0)
}

/// The clock of the cores whose cycles a table shows, in words.
fn core_clock(records: &[&Record]) -> Option<String> {
    let clocks = || records.iter().filter_map(|record| record.conditions.clock_mhz);
    let (least, most) = (clocks().reduce(f64::min)?, clocks().reduce(f64::max)?);
    let range = if most - least < 1.0 { format!("{least:.0}") } else { format!("{least:.0} to {most:.0}") };
    Some(format!("cycles of the core, which was measured at {range} MHz"))
}

/// How far the median may be off, in percent of it: half of its 95 % interval; `-` with too few samples for one.
fn uncertainty_pct(record: &Record) -> String {
    let pct = |(low, high): (f64, f64)| (high - low) / 2.0 / record.median.max(f64::MIN_POSITIVE) * 100.0;
    record.statistics().interval().map_or_else(|| "-".to_owned(), |interval| format!("{:.1}", pct(interval)))
}

#[cfg(test)]
pub(crate) mod tests {
    use record::{Conditions, Parameters, Unit};
    use units::{Bytes, CpuId, NodeId};

    use super::*;

    /// A record of a series with this median.
    pub(crate) fn sample(series: &str, experiment: &str, state: &str, median: f64) -> Record {
        Record {
            machine: "host".into(),
            experiment: experiment.into(),
            state: state.into(),
            home: NodeId(0),
            local: CpuId(0),
            remotes: vec![],
            xhops: 0,
            yhops: None,
            zhops: None,
            unit: Unit::Nanoseconds,
            min: median - 1.0,
            max: median + 1.0,
            median,
            mean: median,
            stdev: Some(0.5),
            n: 11,
            ci_low: Some(median - 0.5),
            ci_high: Some(median + 0.5),
            locals: vec![CpuId(0)],
            parameters: Parameters::default(),
            conditions: Conditions {
                series: Some(series.into()),
                pages_asked: Some("base".into()),
                pages_obtained: Some("4 KiB".into()),
                stride: Some(Bytes(256)),
                order: Some("random".into()),
                clock_mhz: Some(2000.0),
                ..Conditions::default()
            },
        }
    }

    #[test]
    fn what_belongs_to_no_series_is_listed_line_by_line() {
        let records = [sample("hierarchy", "area-read", "UOWN", 2.0), {
            let mut alone = sample("x", "lmbench-read", "UOWN", 100.0);
            alone.conditions.series = None;
            alone
        }];
        let tables = series_tables("this computer", &records, &[], &View::wide());
        assert_eq!(tables.len(), 2);
        assert!(tables[1].to_string().starts_with("this computer\n"), "{}", tables[1]);
    }

    #[test]
    fn cycles_and_uncertainties_follow_from_a_record() {
        let record = sample("hierarchy", "area-read", "UOWN", 2.0);
        assert_eq!(cycles(&record), Some(4.0));
        assert_eq!(uncertainty_pct(&record), "25.0");
    }
}
