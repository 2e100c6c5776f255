//! Tables with our figures, for drawing.

use record::ReproductionRow;
use report::{Axis, Mark, Plot, Series as Line};

use super::Scene;
use crate::outcome::Outcomes;

/// A table with our figures, for drawing.
pub struct Reproduced<'a> {
    /// The table and its machines.
    pub scene: Scene<'a>,
    /// Its rows.
    pub rows: &'a [ReproductionRow],
    /// The outcomes they follow from.
    pub outcomes: &'a Outcomes,
}

impl Reproduced<'_> {
    /// The title of a diagram of the table.
    pub fn title(&self) -> String {
        self.scene.table.title.clone()
    }

    /// A diagram of the table.
    pub fn plot(&self, x: Axis, y: Axis, series: Vec<Line>) -> Plot {
        Plot { title: self.title(), x, y, series }
    }

    /// Diagrams of latencies and of bandwidths, by name, each of some of the columns as `series` draws them.
    pub fn latencies_and_bandwidths(
        &self,
        x: &str,
        series: impl Fn(&Self, &[&str]) -> Vec<Line>,
        [latencies, bandwidths]: [&[&str]; 2],
    ) -> Vec<(String, Plot)> {
        let plot = |columns, y| self.plot(Axis::linear(x), Axis::linear(y), series(self, columns));
        vec![
            ("latency".to_owned(), plot(latencies, "latency (ns)")),
            ("bandwidth".to_owned(), plot(bandwidths, "bandwidth (MB/s)")),
        ]
    }

    /// Lines of ours and circles of theirs for each of `columns`, over the numbers that the rows are called.
    pub fn columns_by_row(&self, columns: &[&str]) -> Vec<Line> {
        self.lines(columns, |_, row| row.row.parse().ok())
    }

    /// The same over the position of the row.
    pub fn columns_by_position(&self, columns: &[&str]) -> Vec<Line> {
        self.lines(columns, |position, _| Some(position as f64))
    }

    /// For each column a line of ours and, if any are published, circles of theirs.
    fn lines(&self, columns: &[&str], x: impl Fn(usize, &ReproductionRow) -> Option<f64>) -> Vec<Line> {
        let mut lines = Vec::new();
        for (colour, column) in columns.iter().enumerate() {
            let of = |figure: fn(&ReproductionRow) -> Option<f64>| -> Vec<(f64, f64)> {
                let rows = self.rows.iter().filter(|row| row.column == *column).enumerate();
                rows.filter_map(|(position, row)| Some((x(position, row)?, figure(row)?))).collect()
            };
            let (ours, theirs) = (of(|row| row.ours), of(|row| row.theirs));
            lines.push(Line { name: (*column).to_owned(), points: ours, mark: Mark::Line, colour });
            lines.push(Line { name: format!("{column}, published"), points: theirs, mark: Mark::Points, colour });
        }
        lines.retain(|line| !line.points.is_empty());
        lines
    }
}
