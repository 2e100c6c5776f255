//! Simulated figures beside published ones: a grid in the published table's own shape, and a summary of the errors.

use record::{PublicationRow, ReproductionRow, Unit};

use crate::{Cell, Column, Table, Tone};

/// A table in the shape of the published one. Each row takes up to three lines: simulated, published, and the error in percent
/// of the published figure; a row without any published figure has only the first.
///
/// `rows` are the figures of one table, in the order in which its rows shall stand; `columns` is the order of its columns,
/// of which those without any figure are left out.
pub fn comparison(title: &str, row_heading: &str, columns: &[&str], rows: &[ReproductionRow]) -> Table {
    let place = |name: &str| columns.iter().position(|column| *column == name).unwrap_or(columns.len());
    let mut columns = distinct(rows.iter().map(|row| (row.column.as_str(), row.unit)));
    columns.sort_by_key(|(name, _)| place(name));
    let mut headings = vec![Column::text(row_heading), Column::text("")];
    headings.extend(columns.iter().map(|(name, unit)| Column::number(wrapped(name), heading_unit(*unit))));
    let mut table = Table::new(title, headings).named_by(2);
    for name in distinct(rows.iter().map(|row| row.row.as_str())) {
        let cells: Vec<_> = columns
            .iter()
            .map(|(column, unit)| rows.iter().find(|r| r.row == name && r.column == *column && r.unit == *unit))
            .collect();
        let line = |first: &str, label: &str, of: &dyn Fn(&ReproductionRow) -> Cell| {
            let figures = cells.iter().map(|cell| cell.map(of).unwrap_or_default());
            [Cell::from(first), label.into()].into_iter().chain(figures).collect::<Vec<_>>()
        };
        table.row(line(name, "simulated", &|cell| figure(cell.ours, cell.unit).into()));
        if cells.iter().flatten().any(|cell| cell.theirs.is_some()) {
            table.row(line("", "published", &|cell| figure(cell.theirs, cell.unit).into()));
            table.row(line("", "error", &|cell| error(cell)));
        }
    }
    if rows.iter().any(|row| row.calibrated) {
        table.note("* calibrated: the machine was fitted to this figure; all other figures are predictions");
    }
    table
}

/// A line for each published table, figure or study, with how many of its figures are published.
pub fn publications(rows: &[PublicationRow]) -> Table {
    let headings =
        [Column::text("name"), Column::text("machine"), Column::number("published", ""), Column::prose("content")];
    let mut table = Table::new("", headings.into());
    for row in rows {
        let machine = row.machine.clone().unwrap_or_default();
        table.row([row.name.clone(), machine, row.published.to_string(), row.title.clone()]);
    }
    table.note("published: number of figures compared with published values; all others are predictions without a published value here");
    table
}

/// One line of a summary: how far the figures of one group are from the published ones.
#[derive(Clone, PartialEq, Debug)]
pub struct ErrorSummary {
    /// The group, such as `prestor/4.6 latency`.
    pub group: String,
    /// How many figures have a published counterpart with which they can be compared.
    pub compared: usize,
    /// How many of those the machine was calibrated on.
    pub calibrated: usize,
    /// How many figures are predictions whose published values are not in this repository.
    pub withheld: usize,
    /// How many figures could not be produced.
    pub missing: usize,
    /// Median of the absolute errors, in percent.
    pub median_pct: Option<f64>,
    /// Largest of the absolute errors, in percent.
    pub max_pct: Option<f64>,
}

impl ErrorSummary {
    /// Summarises `rows`, which may be of any table.
    pub fn of<'a>(group: impl Into<String>, rows: impl IntoIterator<Item = &'a ReproductionRow>) -> Self {
        let mut summary = Self {
            group: group.into(),
            compared: 0,
            calibrated: 0,
            withheld: 0,
            missing: 0,
            median_pct: None,
            max_pct: None,
        };
        let mut errors = Vec::new();
        for row in rows {
            match (row.ours, row.theirs) {
                (None, _) => summary.missing += 1,
                (Some(_), None) => summary.withheld += 1,
                (Some(_), Some(_)) => {
                    summary.compared += 1;
                    summary.calibrated += usize::from(row.calibrated);
                    errors.extend(row.error_pct.map(f64::abs));
                }
            }
        }
        errors.sort_by(f64::total_cmp);
        if let Some(last) = errors.len().checked_sub(1) {
            summary.median_pct = Some((errors[last / 2] + errors[errors.len() / 2]) / 2.0);
            summary.max_pct = Some(errors[last]);
        }
        summary
    }
}

/// The summaries of several groups as one table.
pub fn summaries(title: &str, summaries: &[ErrorSummary]) -> Table {
    let mut table = Table::new(
        title,
        vec![
            Column::text("figures"),
            Column::number("compared", ""),
            Column::number("calibrated", ""),
            Column::number("not in this repository", ""),
            Column::number("not produced", ""),
            Column::number("median |error|", "%"),
            Column::number("max |error|", "%"),
        ],
    );
    for summary in summaries {
        let percent = |value: Option<f64>| match value {
            Some(value) => Cell::new(format!("{value:.1}"), tone(value)),
            None => "-".into(),
        };
        let counts = [summary.compared, summary.calibrated, summary.withheld, summary.missing];
        let counts = counts.iter().map(|count| Cell::from(count.to_string()));
        let errors = [percent(summary.median_pct), percent(summary.max_pct)];
        table.row([Cell::from(summary.group.clone())].into_iter().chain(counts).chain(errors));
    }
    table
}

/// A figure with the digits that its unit deserves; a dash where there is none.
pub(crate) fn figure(value: Option<f64>, unit: Unit) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let text = match unit {
        Unit::Ratio => format!("{value:.2}"),
        Unit::Cycles | Unit::Megaflops => format!("{value:.1}"),
        // Half a nanosecond is more than a percent of some tens.
        Unit::Nanoseconds if value.abs() < 100.0 => format!("{value:.1}"),
        Unit::Nanoseconds | Unit::MegabytesPerSecond | Unit::Percent | Unit::Count | Unit::Bytes => {
            format!("{value:.0}")
        }
    };
    // A negative value that is rounded to zero has no sign.
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|digit| matches!(digit, '0' | '.')) => digits.to_owned(),
        _ => text,
    }
}

fn error(row: &ReproductionRow) -> Cell {
    let star = if row.calibrated { "*" } else { " " };
    let Some(error) = row.error_pct else { return format!("-{star}").into() };
    Cell::new(format!("{error:+.1}%{star}"), tone(error))
}

/// The tone of an error in percent.
fn tone(error_pct: f64) -> Tone {
    match error_pct.abs() {
        error if error >= 20.0 => Tone::Bad,
        error if error >= 10.0 => Tone::Doubtful,
        _ => Tone::Plain,
    }
}

fn heading_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::MegabytesPerSecond => "MB/s",
        Unit::Cycles => "cycles",
        Unit::Percent => "%",
        Unit::Bytes => "B",
        Unit::Megaflops => "MFLOPS",
        Unit::Ratio | Unit::Count => "",
    }
}

/// The words of a heading, one to a line, so that a column is no wider than its figures need.
fn wrapped(heading: &str) -> String {
    heading.replace(' ', "\n")
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(row: &str, column: &str, theirs: Option<f64>, ours: Option<f64>, calibrated: bool) -> ReproductionRow {
        ReproductionRow {
            paper: "prestor".into(),
            table: "4.6".into(),
            row: row.into(),
            column: column.into(),
            unit: Unit::Nanoseconds,
            theirs,
            ours,
            error_pct: ReproductionRow::error_of(theirs, ours),
            calibrated,
        }
    }

    #[test]
    fn a_row_shows_simulated_published_and_the_error() {
        let rows = [
            row("UOWN", "READ", Some(400.0), Some(390.0), true),
            row("UOWN", "RDEX", Some(500.0), Some(515.0), false),
            row("DEXT", "RDEX", None, Some(900.0), false),
        ];
        let text = comparison("Table", "state", &["READ", "RDEX"], &rows).to_string();
        let lines: Vec<_> = text.lines().collect();
        let of = |start: &str| *lines.iter().find(|line| line.trim_start().starts_with(start)).unwrap();
        assert_eq!(of("UOWN").split_whitespace().collect::<Vec<_>>(), ["UOWN", "simulated", "390", "515"]);
        assert_eq!(of("published").split_whitespace().collect::<Vec<_>>(), ["published", "400", "500"]);
        assert_eq!(of("error").split_whitespace().collect::<Vec<_>>(), ["error", "-2.5%*", "+3.0%"]);
        assert_eq!(of("DEXT").split_whitespace().collect::<Vec<_>>(), ["DEXT", "simulated", "900"]);
        assert_eq!(lines.iter().filter(|line| line.contains("published")).count(), 1, "{text}");
        assert!(lines.last().unwrap().starts_with("* calibrated: the machine was fitted"));
    }

    /// A difference may be published as zero or less, of which no share says anything.
    #[test]
    fn a_published_difference_of_nothing_has_no_error_in_percent() {
        let rows = [row("a", "x", Some(-0.3), Some(0.01), false), row("b", "x", Some(64.0), Some(48.0), false)];
        let text = comparison("Table", "machine", &["x"], &rows).to_string();
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = "a simulated 0.0 published -0.3 error - b simulated 48.0 published 64.0 error -25.0%";
        assert!(words.join(" ").ends_with(expected), "{text}");
        let summary = ErrorSummary::of("differences", &rows);
        assert_eq!((summary.compared, summary.max_pct), (2, Some(25.0)));
    }

    #[test]
    fn a_summary_counts_what_can_and_cannot_be_compared() {
        let rows = [
            row("a", "x", Some(100.0), Some(101.0), true),
            row("b", "x", Some(100.0), Some(90.0), false),
            row("c", "x", Some(100.0), Some(104.0), false),
            row("d", "x", None, Some(5.0), false),
            row("e", "x", Some(1.0), None, false),
            row("f", "x", Some(0.0), Some(1.0), false),
        ];
        let summary = ErrorSummary::of("all", &rows);
        assert_eq!((summary.compared, summary.calibrated, summary.withheld, summary.missing), (4, 1, 1, 1));
        assert_eq!((summary.median_pct, summary.max_pct), (Some(4.0), Some(10.0)));
        let text = summaries("Errors", &[summary, ErrorSummary::of("none", [])]).to_string();
        assert!(text.contains("4.0") && text.contains("10.0"), "{text}");
    }

    proptest! {
        #[test]
        fn the_median_lies_between_the_least_and_the_largest_error(errors in prop::collection::vec(-60.0..60.0f64, 1..30)) {
            let rows: Vec<_> = errors.iter().map(|e| row("r", "c", Some(100.0), Some(100.0 + e), false)).collect();
            let summary = ErrorSummary::of("g", &rows);
            let least = errors.iter().map(|e| e.abs()).fold(f64::INFINITY, f64::min);
            let median = summary.median_pct.unwrap();
            prop_assert!(least - 1e-9 <= median && median <= summary.max_pct.unwrap() + 1e-9);
            let below = errors.iter().filter(|e| e.abs() <= median + 1e-9).count();
            prop_assert!(2 * below >= errors.len());
        }
    }
}
