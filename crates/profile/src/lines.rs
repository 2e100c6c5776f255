//! Metrics as columns of text, a line an object and sample (Prestor 2001, Figure 5.3).

use std::fmt::Write;

use trace::metric::Resolved;

/// The columns: time, object, and a metric each.
#[derive(Clone, Debug)]
pub struct Lines {
    columns: Vec<(String, String, usize, usize)>,
    location: usize,
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
        let column = |resolved: &Resolved| {
            let (name, unit) = (resolved.metric.name.clone(), resolved.metric.unit.clone());
            let width = name.chars().count().max(unit.chars().count() + 2).max(LEAST);
            (name, unit, width, usize::from(resolved.metric.digits))
        };
        Self { columns: metrics.into_iter().map(column).collect(), location: location.max(3) }
    }

    /// Two lines: names, and units where there are any.
    pub fn heading(&self) -> String {
        let mut text = format!("{:>TIME$}  {:<width$}", "time", "loc", width = self.location);
        for (name, _, width, _) in &self.columns {
            let _infallible = write!(text, "  {name:>width$}");
        }
        if self.columns.iter().any(|(_, unit, _, _)| !unit.is_empty()) {
            let _infallible = write!(text, "\n{:>TIME$}  {:<width$}", "(s)", "", width = self.location);
            for (_, unit, width, _) in &self.columns {
                let unit = if unit.is_empty() { String::new() } else { format!("({unit})") };
                let _infallible = write!(text, "  {unit:>width$}");
            }
        }
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// A line: `-` stands for what has no value, `~` before an estimate. None if nothing has a value.
    pub fn line(
        &self,
        time_ns: u64,
        location: &str,
        values: impl Iterator<Item = Option<(f64, bool)>>,
    ) -> Option<String> {
        let mut text = format!("{:>TIME$.3}  {location:<width$}", time_ns as f64 * 1e-9, width = self.location);
        let mut any = false;
        for ((_, _, width, digits), value) in self.columns.iter().zip(values) {
            any |= value.is_some();
            let cell = match value {
                None => "-".to_owned(),
                Some((value, estimate)) => {
                    let sign = if estimate { "~" } else { "" };
                    if value.abs() < LARGE { format!("{sign}{value:.digits$}") } else { format!("{sign}{value:.3e}") }
                }
            };
            let _infallible = write!(text, "  {cell:>width$}");
        }
        any.then(|| text.trim_end().to_owned() + "\n")
    }
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

#[cfg(test)]
mod tests {
    use trace::{Counter, ObjectKind};

    use super::*;

    #[test]
    fn columns_stand_under_their_names() {
        let counters =
            [Counter::count(ObjectKind::Node, "busy", "cycles", "w"), Counter::count(ObjectKind::Node, "x", "", "")];
        let metrics = crate::selection::counter_metrics(&counters);
        let (resolved, _) = Resolved::derive(&metrics, &counters, &Default::default());
        let lines = Lines::new(&resolved, 2);
        let heading = lines.heading();
        assert_eq!(heading, "     time  loc  node.busy    node.x\n      (s)       (cycles)\n");
        let line = lines.line(1_500_000_000, "n1", [Some((12.0, true)), None].into_iter()).unwrap();
        assert_eq!(line, "    1.500  n1         ~12         -\n");
        assert_eq!(lines.line(0, "n1", [None, None].into_iter()), None);
        assert_eq!(
            times(14_000_000, 2_045_000_000, 200, Some(13_600)),
            "[0.014,2.045]: 200 ticks, 10.21 ms/tick, 13.60 us/sample"
        );
        assert_eq!(times(0, 0, 1, None), "[0.000,0.000]: 1 tick, 0.00 ms/tick");
    }
}
