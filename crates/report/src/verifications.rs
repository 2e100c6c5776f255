//! Model-checking runs, a line each as soon as it is over: the longest of many take minutes.

use record::{VerificationResult, VerificationRow};

/// Lines whose columns are as wide as the longest name of a run, which is known before any run is over.
pub struct VerificationLines {
    width: usize,
}

impl VerificationLines {
    /// Lines of the runs that are called so.
    pub fn new(labels: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let lengths = labels.into_iter().map(|label| label.as_ref().chars().count());
        Self { width: lengths.chain(["protocol".len()]).max().unwrap_or_default() }
    }

    /// The names of the columns, and the unit of the last.
    pub fn heading(&self) -> String {
        let names = self.cells(["protocol", "caches", "lines", "states", "depth", "result", "time"]);
        format!("{names}{}", self.cells(["", "", "", "", "", "", "(s)"]))
    }

    /// The line of a run that is over.
    pub fn line(&self, row: &VerificationRow) -> String {
        let result = match row.result {
            VerificationResult::Ok => "ok",
            VerificationResult::Counterexample => "counterexample",
        };
        let [caches, lines, states] = [u64::from(row.caches), u64::from(row.lines), row.states].map(|n| n.to_string());
        let (depth, time) = (row.depth.to_string(), format!("{:.2}", row.seconds));
        self.cells([&row.protocol, &caches, &lines, &states, &depth, result, &time])
    }

    fn cells(&self, [protocol, caches, lines, states, depth, result, time]: [&str; 7]) -> String {
        let width = self.width;
        format!(" {protocol:<width$}  {caches:>6}  {lines:>7}  {states:>12}  {depth:>6}  {result:<14}  {time:>9}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_short_and_long_names_agree() {
        let row = |protocol: &str, states, result| VerificationRow {
            protocol: protocol.into(),
            caches: 3,
            lines: 1,
            states,
            depth: 21,
            result,
            seconds: 1.5,
        };
        let rows =
            [row("sci", 7, VerificationResult::Ok), row("hybrid/IR: x", 4_000_000, VerificationResult::Counterexample)];
        let lines = VerificationLines::new(rows.iter().map(|row| row.protocol.as_str()));
        let text: Vec<String> = rows.iter().map(|row| lines.line(row)).collect();
        let heading = lines.heading();
        let width = heading.lines().next().map(str::len);
        assert!(
            heading.lines().chain(text.iter().map(|line| line.trim_end_matches('\n'))).all(|l| Some(l.len()) == width)
        );
        assert!(text[0].contains(" ok ") && text[1].contains(" counterexample ") && text[1].ends_with("1.50\n"));
    }
}
