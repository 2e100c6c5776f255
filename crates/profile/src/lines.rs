//! Metrics as columns of text, a line an object and sample (Prestor 2001, Figure 5.3).

use std::fmt::Write;

use record::SampleRow;
use trace::Object;
use trace::metric::{Metric, Resolved};

/// The columns: time, object, and a metric each.
#[derive(Clone, Debug)]
pub struct Lines {
    columns: Vec<Heading>,
    /// The column of each metric: those of several kinds of objects that have the same name share one.
    column_of: Vec<usize>,
    digits: Vec<usize>,
    location: usize,
}

/// What stands above a column.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Heading {
    name: String,
    unit: String,
    width: usize,
}

/// Width of the time, in seconds with three digits.
const TIME: usize = 9;
/// The least width of a metric.
const LEAST: usize = 8;
/// Values from here on are written with an exponent, or they would move the columns.
const LARGE: f64 = 1e12;

impl Lines {
    /// Columns of these metrics; `location` is the longest name of an object.
    pub fn new<'m>(metrics: impl IntoIterator<Item = &'m Resolved>, location: usize) -> Self {
        let mut lines =
            Self { columns: Vec::new(), column_of: Vec::new(), digits: Vec::new(), location: location.max(3) };
        for Resolved { metric, .. } in metrics {
            let (name, unit) = (metric.name.clone(), metric.unit.clone());
            let width = name.chars().count().max(unit.chars().count() + 2).max(LEAST);
            let heading = Heading { name, unit, width };
            let known = lines.columns.iter().position(|known| *known == heading);
            lines.column_of.push(known.unwrap_or(lines.columns.len()));
            lines.digits.push(usize::from(metric.digits));
            if known.is_none() {
                lines.columns.push(heading);
            }
        }
        lines
    }

    /// Two lines: names, and units where there are any.
    pub fn heading(&self) -> String {
        let mut text = format!("{:>TIME$}  {:<width$}", "time", "loc", width = self.location);
        for Heading { name, width, .. } in &self.columns {
            let _infallible = write!(text, "  {name:>width$}");
        }
        if self.columns.iter().any(|heading| !heading.unit.is_empty()) {
            let _infallible = write!(text, "\n{:>TIME$}  {:<width$}", "(s)", "", width = self.location);
            for Heading { unit, width, .. } in &self.columns {
                let unit = if unit.is_empty() { String::new() } else { format!("({unit})") };
                let _infallible = write!(text, "  {unit:>width$}");
            }
        }
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// A line of an object: a value for each metric, of which other objects' have none. `-` stands for what has no value, `~`
    /// before an estimate. None if nothing has a value.
    pub fn line(
        &self,
        time_ns: u64,
        location: &str,
        values: impl Iterator<Item = Option<(f64, bool)>>,
    ) -> Option<String> {
        let mut cells = vec![None; self.columns.len()];
        for ((&column, &digits), value) in self.column_of.iter().zip(&self.digits).zip(values) {
            if let Some((value, estimate)) = value {
                cells[column] = Some(number(value, estimate, digits));
            }
        }
        if cells.iter().all(Option::is_none) {
            return None;
        }
        let mut text = format!("{:>TIME$.3}  {location:<width$}", time_ns as f64 * 1e-9, width = self.location);
        for (Heading { width, .. }, cell) in self.columns.iter().zip(&cells) {
            let _infallible = write!(text, "  {:>width$}", cell.as_deref().unwrap_or("-"));
        }
        Some(text.trim_end().to_owned() + "\n")
    }
}

/// A value as it stands in a cell.
pub fn number(value: f64, estimate: bool, digits: usize) -> String {
    let sign = if estimate { "~" } else { "" };
    if value.abs() < LARGE { format!("{sign}{value:.digits$}") } else { format!("{sign}{value:.3e}") }
}

/// The last line: from when to when, how many samples how far apart, and what one took (Prestor 2001, Figure 5.3).
pub fn times(first_ns: u64, last_ns: u64, ticks: u64, sample_ns: Option<u64>) -> String {
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let apart = (last_ns - first_ns.min(last_ns)) as f64 * 1e-6 / ticks.saturating_sub(1).max(1) as f64;
    let spent = sample_ns.filter(|&ns| ns > 0).map(|ns| format!(", {:.2} us/sample", ns as f64 * 1e-3));
    let plural = if ticks == 1 { "" } else { "s" };
    let (first, last) = (seconds(first_ns), seconds(last_ns));
    format!("[{first:.3},{last:.3}]: {ticks} tick{plural}, {apart:.2} ms/tick{}", spent.unwrap_or_default())
}

/// A metric of an object as a record.
pub fn row(time_ns: u64, object: &Object, metric: &Metric, value: f64, estimate: bool) -> SampleRow {
    SampleRow {
        time: time_ns as f64 * 1e-9,
        kind: object.kind.to_string(),
        object: object.name.clone(),
        title: object.title.clone(),
        metric: metric.name.clone(),
        value,
        unit: metric.unit.clone(),
        estimate,
    }
}

/// Nanoseconds since 1970 UTC, now.
pub fn unix_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// A moment as `2001-01-04 20:53:58 UTC`.
pub fn utc(unix_ns: u64) -> String {
    let (date, time) = date_and_time(unix_ns);
    format!("{date} {time} UTC")
}

/// A moment as `2001-01-04T20:53:58Z`.
pub fn rfc3339(unix_ns: u64) -> String {
    let (date, time) = date_and_time(unix_ns);
    format!("{date}T{time}Z")
}

/// A moment as date and time in UTC.
fn date_and_time(unix_ns: u64) -> (String, String) {
    let seconds = unix_ns / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years from March, in eras of 400 of them (Hinnant, "chrono-compatible low-level date algorithms").
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    (format!("{year:04}-{month:02}-{day:02}"), format!("{hour:02}:{minute:02}:{second:02}"))
}

#[cfg(test)]
mod tests {
    use trace::{Counter, ObjectKind};

    use super::*;

    #[test]
    fn moments_are_dates() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (978_641_638, "2001-01-04 20:53:58 UTC"),
            (1_709_164_800, "2024-02-29 00:00:00 UTC"),
            (4_102_444_799, "2099-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000 + 5), date);
        }
    }

    #[test]
    fn columns_stand_under_their_names() {
        let counters =
            [Counter::count(ObjectKind::Node, "busy", "cycles", "w"), Counter::count(ObjectKind::Node, "x", "", "")];
        let metrics = crate::selection::counter_metrics(&counters);
        let (resolved, _) = Resolved::derive(&metrics, &counters, &Default::default());
        let lines = Lines::new(&resolved, 2);
        let heading = lines.heading();
        assert_eq!(heading, "     time  loc  node.busy    node.x\n      (s)        (cycles)\n");
        let line = lines.line(1_500_000_000, "n1", [Some((12.0, true)), None].into_iter()).unwrap();
        assert_eq!(line, "    1.500  n1         ~12         -\n");
        assert_eq!(lines.line(0, "n1", [None, None].into_iter()), None);
        // What nodes and threads call the same stands in one column.
        let same = [Counter::count(ObjectKind::Node, "x", "", ""), Counter::count(ObjectKind::Thread, "x", "", "")];
        let mut metrics = crate::selection::counter_metrics(&same);
        metrics.iter_mut().for_each(|metric| metric.name = "x".to_owned());
        let (resolved, _) = Resolved::derive(&metrics, &same, &Default::default());
        let lines = Lines::new(&resolved, 2);
        assert_eq!(lines.heading(), "     time  loc         x\n");
        assert_eq!(lines.line(0, "t0", [None, Some((3.0, false))].into_iter()).unwrap(), "    0.000  t0          3\n");
        assert_eq!(
            times(14_000_000, 2_045_000_000, 200, Some(13_600)),
            "[0.014,2.045]: 200 ticks, 10.21 ms/tick, 13.60 us/sample"
        );
        assert_eq!(times(0, 0, 1, None), "[0.000,0.000]: 1 tick, 0.00 ms/tick");
    }
}
