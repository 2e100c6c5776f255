//! Tables of measurements.

use record::{Record, Unit};

use crate::comparison::figure;
use crate::quantity::Scale;
use crate::{Column, Table};

/// A line per record: what was measured, where, and the statistics.
pub fn measurements(title: &str, records: &[Record]) -> Table {
    let mut table = Table::new(
        title,
        vec![
            Column::text("experiment"),
            Column::text("state"),
            Column::number("home", "node"),
            Column::number("requester", "CPU"),
            Column::number("owner or sharers", "CPU"),
            Column::number("hops", "x y z").detail(3),
            Column::number("min", "").detail(2),
            Column::number("median", ""),
            Column::text("unit"),
            Column::number("mean", "").detail(4),
            Column::number("max", "").detail(1),
            Column::number("stdev", "").detail(5),
            Column::number("samples", "").detail(6),
        ],
    )
    .named_by(2);
    for record in records {
        let bandwidth = (record.unit == Unit::MegabytesPerSecond).then(|| Scale::of_bandwidths([record.median]));
        let unit = bandwidth.map_or_else(|| record.unit.to_string(), |scale| scale.unit.to_owned());
        let digits =
            |value: f64| bandwidth.map_or_else(|| one_digit_more(value, record.unit), |scale| scale.number(value));
        table.row([
            record.title(),
            record.state.clone(),
            record.home.to_string(),
            processors(&record.locals),
            processors(&record.remotes),
            hops(record),
            digits(record.min),
            digits(record.median),
            unit,
            digits(record.mean),
            digits(record.max),
            record.stdev.map_or_else(|| "-".to_owned(), digits),
            record.n.to_string(),
        ]);
    }
    table
}

fn one_digit_more(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds | Unit::MegabytesPerSecond => format!("{value:.1}"),
        Unit::Cycles | Unit::Percent | Unit::Ratio | Unit::Count | Unit::Bytes | Unit::Megaflops => {
            figure(Some(value), unit)
        }
    }
}

/// Processor numbers, at most the first four of a long list.
fn processors(cpus: &[units::CpuId]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = cpus.iter().take(SHOWN).map(ToString::to_string).collect();
    match cpus.len() {
        0 => "-".to_owned(),
        n if n > SHOWN => format!("{} +{}", shown.join(" "), n - SHOWN),
        _ => shown.join(" "),
    }
}

fn hops(record: &Record) -> String {
    let leg = |hops: Option<u32>| hops.map_or_else(|| "-".to_owned(), |hops| hops.to_string());
    format!("{} {} {}", record.xhops, leg(record.yhops), leg(record.zhops))
}

#[cfg(test)]
mod tests {
    use record::{Conditions, Parameters};
    use units::{CpuId, NodeId};

    use super::*;

    #[test]
    fn a_measurement_is_a_line_with_every_role() {
        let record = Record {
            machine: "arctic".into(),
            experiment: "lmbench-read".into(),
            state: "SHRD".into(),
            home: NodeId(1),
            local: CpuId(2),
            remotes: (4..10).map(CpuId).collect(),
            xhops: 0,
            yhops: Some(2),
            zhops: None,
            unit: Unit::Nanoseconds,
            min: 384.04,
            max: 390.0,
            median: 385.0,
            mean: 386.0,
            stdev: Some(2.5),
            n: 3,
            ci_low: None,
            ci_high: None,
            locals: vec![CpuId(2)],
            parameters: Parameters::default(),
            conditions: Conditions::default(),
        };
        let text = measurements("Measurements", &[record]).to_string();
        let words: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        let expected = "lmbench-read SHRD 1 2 4 5 6 7 +2 0 2 - 384.0 385.0 ns 386.0 390.0 2.5 3";
        assert_eq!(words, expected.split(' ').collect::<Vec<_>>());
    }
}
