//! Model-checking runs, a line each as soon as it is over: the longest of many take minutes.

use record::{VerificationResult, VerificationRow};

use crate::View;

/// Lines whose columns are as wide as the longest name of a run, which is known before any run is over; a name for which there is no
/// room has a line of its own.
pub struct VerificationLines {
    width: usize,
    colour: bool,
}

/// The width of all columns but the first, with the gaps before them.
const OTHERS: usize = 61;
/// The least width of the first.
const LEAST: usize = 14;

impl VerificationLines {
    /// Lines of the runs that are called so.
    pub fn new(labels: impl IntoIterator<Item = impl AsRef<str>>, view: &View) -> Self {
        let lengths = labels.into_iter().map(|label| label.as_ref().chars().count());
        let longest = lengths.chain(["protocol".len()]).max().unwrap_or_default();
        let room = view.width().map_or(usize::MAX, |width| width.saturating_sub(OTHERS).max(LEAST));
        Self { width: longest.min(room), colour: view.has_colour() }
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
        let line = match row.protocol.chars().count() > self.width {
            true => format!("{}\n{}", row.protocol, self.cells(["", &caches, &lines, &states, &depth, result, &time])),
            false => self.cells([&row.protocol, &caches, &lines, &states, &depth, result, &time]),
        };
        match (self.colour, row.result) {
            (true, VerificationResult::Counterexample) => line.replace(result, &format!("\x1b[31m{result}\x1b[0m")),
            (true, VerificationResult::Ok) => line.replace(" ok ", " \x1b[32mok\x1b[0m "),
            _ => line,
        }
    }

    fn cells(&self, [protocol, caches, lines, states, depth, result, time]: [&str; 7]) -> String {
        let width = self.width;
        format!("{protocol:<width$}  {caches:>6}  {lines:>5}  {states:>10}  {depth:>5}  {result:<14}  {time:>7}\n")
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
        let lines = VerificationLines::new(rows.iter().map(|row| row.protocol.as_str()), &View::wide());
        let text: Vec<String> = rows.iter().map(|row| lines.line(row)).collect();
        let heading = lines.heading();
        let width = heading.lines().next().map(str::len);
        assert!(
            heading.lines().chain(text.iter().map(|line| line.trim_end_matches('\n'))).all(|l| Some(l.len()) == width)
        );
        let narrow =
            VerificationLines::new(["a protocol with a name that is far too long for a line"], &View::of_width(80));
        let long = VerificationRow {
            protocol: "a protocol with a name that is far too long for a line".into(),
            ..rows[0].clone()
        };
        assert!(narrow.line(&long).lines().all(|line| line.len() <= 80), "{}", narrow.line(&long));
        assert!(text[0].contains(" ok ") && text[1].contains(" counterexample ") && text[1].ends_with("1.50\n"));
    }
}
