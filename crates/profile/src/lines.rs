//! Metrics as columns of text, a line an object and sample (Prestor 2001, Figure 5.3).

use std::fmt::Write;

use record::SampleRow;
use trace::metric::{Metric, Resolved};
use trace::{Object, ObjectKind};

/// The columns: time, object, and a metric each. Kinds of objects have different metrics, and so headings of their own.
#[derive(Clone, Debug)]
pub struct Lines {
    kinds: Vec<Kind>,
    /// The kind whose heading was the last.
    last: Option<ObjectKind>,
    location: usize,
}

/// The columns of a kind of object.
#[derive(Clone, Debug)]
struct Kind {
    of: ObjectKind,
    columns: Vec<Heading>,
    /// The names of metrics for which there is no room.
    left_out: Vec<String>,
}

/// Heading of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Heading {
    /// The number of the metric.
    metric: usize,
    name: String,
    unit: String,
    width: usize,
    digits: usize,
}

/// Width of the time, in seconds with three digits.
const TIME: usize = 9;
/// The least width of a metric.
const LEAST: usize = 6;
/// Between two columns.
const GAP: usize = 2;
/// Values from here on are written with an exponent, or they would move the columns.
const LARGE: f64 = 1e12;

impl Lines {
    /// Columns of these metrics, on lines of at most `width` characters if there is a limit: the first metrics of each kind of object
    /// are the most important. `location` is the longest name of an object.
    pub fn new<'m>(metrics: impl IntoIterator<Item = &'m Resolved>, location: usize, width: Option<usize>) -> Self {
        let metrics: Vec<&Resolved> = metrics.into_iter().collect();
        let kinds = metrics.iter().map(|resolved| resolved.metric.of.name().len());
        let mut lines = Self { kinds: Vec::new(), last: None, location: kinds.chain([location]).max().unwrap_or(0) };
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(TIME + GAP + lines.location));
        for (number, Resolved { metric, .. }) in metrics.into_iter().enumerate() {
            let (name, unit, digits) = (metric.name.clone(), metric.unit.clone(), usize::from(metric.digits));
            // A level of bytes has many digits, a percentage few.
            let least = if unit == "%" { LEAST } else { LEAST + 3 };
            let width = name.chars().count().max(unit.chars().count() + 2).max(least);
            let heading = Heading { metric: number, name, unit, width, digits };
            let place = lines.kinds.iter().position(|kind| kind.of == metric.of).unwrap_or_else(|| {
                lines.kinds.push(Kind { of: metric.of, columns: Vec::new(), left_out: Vec::new() });
                lines.kinds.len() - 1
            });
            let kind = &mut lines.kinds[place];
            let used: usize = kind.columns.iter().map(|column| column.width + GAP).sum();
            if used + GAP + heading.width <= room {
                kind.columns.push(heading);
            } else {
                kind.left_out.push(heading.name);
            }
        }
        lines
    }

    /// The metrics for which there is no room, as a line; empty if there is room for all.
    pub fn left_out(&self) -> String {
        let names: Vec<&str> = self.kinds.iter().flat_map(|kind| &kind.left_out).map(String::as_str).collect();
        match names.is_empty() {
            true => String::new(),
            false => {
                format!("columns not shown: {} (--wide shows all, --metric A,B,... those named)\n", names.join(", "))
            }
        }
    }

    /// Two lines: names, and units where there are any.
    fn heading(&self, kind: &Kind) -> String {
        let mut text = format!("{:>TIME$}  {:<width$}", "time", kind.of.name(), width = self.location);
        for Heading { name, width, .. } in &kind.columns {
            let _infallible = write!(text, "  {name:>width$}");
        }
        let _infallible = write!(text, "\n{:>TIME$}  {:<width$}", "(s)", "", width = self.location);
        for Heading { unit, width, .. } in &kind.columns {
            let unit = if unit.is_empty() { String::new() } else { format!("({unit})") };
            let _infallible = write!(text, "  {unit:>width$}");
        }
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// A line of an object, behind a heading if that before was of another kind: a value for each metric, of which other objects' have
    /// none. `-` stands for what has no value, `~` before an estimate. None if nothing has a value.
    pub fn line(
        &mut self,
        time_ns: u64,
        object: &Object,
        values: impl Iterator<Item = Option<(f64, bool)>>,
    ) -> Option<String> {
        let values: Vec<Option<(f64, bool)>> = values.collect();
        let kind = self.kinds.iter().find(|kind| kind.of == object.kind)?;
        let value = |heading: &Heading| {
            let (value, estimate) = values.get(heading.metric).copied().flatten()?;
            let text = number(value, estimate, heading.digits);
            let wide = text.chars().count() > heading.width;
            Some(if wide { format!("{}{value:.1e}", if estimate { "~" } else { "" }) } else { text })
        };
        let cells: Vec<Option<String>> = kind.columns.iter().map(value).collect();
        if cells.iter().all(Option::is_none) {
            return None;
        }
        let mut text = match self.last {
            Some(last) if last == object.kind => String::new(),
            _ => format!("\n{}", self.heading(kind)),
        };
        let _infallible =
            write!(text, "{:>TIME$.3}  {:<width$}", time_ns as f64 * 1e-9, object.name, width = self.location);
        for (Heading { width, .. }, cell) in kind.columns.iter().zip(&cells) {
            let _infallible = write!(text, "  {:>width$}", cell.as_deref().unwrap_or("-"));
        }
        self.last = Some(object.kind);
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
    use trace::Counter;

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
        let mut lines = Lines::new(&resolved, 2, None);
        let node = Object::node(1, "first");
        let text = lines.line(1_500_000_000, &node, [Some((12.0, true)), None].into_iter()).unwrap();
        assert_eq!(
            text,
            "\n     time  node  node.busy     node.x\n      (s)         (cycles)\n    1.500  n1          ~12          -\n"
        );
        let next = lines.line(2_500_000_000, &node, [Some((7.0, false)), None].into_iter()).unwrap();
        assert_eq!(next.lines().count(), 1, "the heading stands once: {next}");
        assert_eq!(lines.line(0, &node, [None, None].into_iter()), None);
        // Where there is no room, the last metric is left out and named.
        let mut narrow = Lines::new(&resolved, 2, Some(30));
        assert!(narrow.left_out().contains("columns not shown: node.x ("), "{}", narrow.left_out());
        let text = narrow.line(0, &node, [Some((12.0, true)), Some((1.0, false))].into_iter()).unwrap();
        assert!(text.lines().all(|line| line.len() <= 30), "{text}");
        assert_eq!(
            times(14_000_000, 2_045_000_000, 200, Some(13_600)),
            "[0.014,2.045]: 200 ticks, 10.21 ms/tick, 13.60 us/sample"
        );
        assert_eq!(times(0, 0, 1, None), "[0.000,0.000]: 1 tick, 0.00 ms/tick");
    }
}
