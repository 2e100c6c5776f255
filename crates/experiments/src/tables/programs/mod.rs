//! Studies over many programs: FLASH dissertation, chapters 3 to 6. One shape for all their tables and figures: what a cell is
//! about stands in the words of its table, row and column.

mod figure;
mod point;
mod run;

pub use figure::Figure;
pub use point::{Cell, Ideal, Limit, Point};

use report::{Axis, Mark, Plot, Series as Line};

use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
pub(super) use run::Runs;

/// A table or figure over programs: rows and columns name programs, protocols, numbers of processors, ideal machines, repairs and
/// parameters, in words that [`Point`] lists, in whichever way the source has them. `average` is the mean over all programs of the
/// table, as the dissertation takes it: geometric, but for parts of a hundred.
///
/// Beside those, `best/worst` compares the protocols' greatest and least efficiency, and `R` is the correlation coefficient of
/// total occupancy with lost efficiency over the protocols (Table 5.4).
pub struct Programs {
    /// Words that hold for all cells unless they say otherwise.
    pub words: &'static str,
    /// The programs that are averaged.
    pub programs: &'static [&'static str],
    /// The drawing of the table.
    pub drawing: Drawing,
}

/// Forms in which a table is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drawing {
    /// Not at all.
    None,
    /// A line for each row over the numbers in the names of columns: `at 8`, `shuffle_percent=25`.
    RowsOverColumns(&'static str),
    /// A line for each column over the numbers that rows are called.
    ColumnsOverRows(&'static str),
    /// A point for each row: the first column over the second.
    FirstOverSecond,
}

/// The programs with the behaviour of SpecOMP2001, in the order of Tables 5.3 and 5.4.
pub const SPECOMP: &[&str] = &["swim", "wupwise", "mgrid", "apsi", "art", "equake", "fma3d", "gafort", "applu"];
/// Those in which a remote access cache is hit often enough (section 5.4.2).
pub const CACHED_REMOTELY: &[&str] = &["swim", "wupwise", "mgrid", "apsi", "equake", "fma3d", "applu"];
/// The kernels of SPLASH-2 in Figure 3.1.
pub const SPLASH: &[&str] = &["fft", "lu", "radix", "ocean"];
/// Programs that share lines in one way each, of our own studies.
pub const SYNTHETIC: &[&str] = &["migratory", "producer-consumer", "wide-read-sharing", "private", "hot-spot"];
/// The protocols of Tables 5.3 and 5.4.
const PROTOCOLS: [&str; 6] = ["cv=2", "cv=2/LB", "hybrid", "hybrid/IR", "hybrid/IC", "dynamic-pointer"];

impl Shape for Programs {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let runs = Runs { scene, programs: self.programs };
        let parse = |words: &str| Cell::parse([self.words, row, words], &known());
        match column {
            "best/worst" => {
                let of = |protocol: &&str| runs.value(&point(self, row, &format!("common-efficiency {protocol}"))?);
                let all = PROTOCOLS.iter().map(of).collect::<Result<Vec<_>, _>>()?;
                Ok(Some(Formula::greatest(all.clone()).over(Formula::least(all))))
            }
            "R" => {
                let mut pairs = Vec::new();
                for protocol in PROTOCOLS {
                    pairs.push(runs.value(&point(self, row, &format!("occupancy {protocol}"))?)?);
                    pairs.push(runs.value(&point(self, row, &format!("common-efficiency {protocol}"))?)?);
                }
                Ok(Some(Formula::Computed(pairs, |pairs| pearson(pairs).map(|r| -r))))
            }
            _ => match parse(column) {
                Ok(cell) => runs.cell(&cell).map(Some),
                Err(_) => Ok(None),
            },
        }
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let value = |name: &str| -> Option<f64> { name.rsplit(['=', ' ']).next()?.parse().ok() };
        let names = |of: fn(&record::ReproductionRow) -> &String| {
            let mut names: Vec<String> = Vec::new();
            for row in reproduced.rows {
                if !names.contains(of(row)) {
                    names.push(of(row).clone());
                }
            }
            names
        };
        let ours = |row: &str, column: &str| {
            reproduced.rows.iter().find(|each| each.row == row && each.column == column).and_then(|each| each.ours)
        };
        let (rows, mut columns) = (names(|row| &row.row), names(|row| &row.column));
        // Facts that the text states beside the figure have columns of their own, and are not drawn.
        columns.retain(|name| {
            reproduced.scene.table.columns.iter().any(|column| column.name == *name && !column.is_beside)
        });
        let unit = reproduced.scene.table.columns.first().map_or(String::new(), |column| format!(" ({})", column.unit));
        let figure = self.words.split(' ').next().unwrap_or_default();
        let y = || Axis::linear(format!("{figure}{unit}"));
        let lines = |names: &[String], points: &dyn Fn(&str) -> Vec<(f64, f64)>| {
            let line = |(colour, name): (usize, &String)| Line {
                name: name.clone(),
                points: points(name),
                mark: Mark::Line,
                colour,
            };
            names.iter().enumerate().map(line).filter(|line| line.points.len() > 1).collect::<Vec<_>>()
        };
        let (x, series) = match self.drawing {
            Drawing::None => return Vec::new(),
            Drawing::RowsOverColumns(x) => (
                x,
                lines(&rows, &|row| {
                    columns.iter().filter_map(|column| Some((value(column)?, ours(row, column)?))).collect()
                }),
            ),
            Drawing::ColumnsOverRows(x) => (
                x,
                lines(&columns, &|column| {
                    rows.iter().filter_map(|row| Some((value(row)?, ours(row, column)?))).collect()
                }),
            ),
            Drawing::FirstOverSecond => {
                let [first, second, ..] = columns.as_slice() else { return Vec::new() };
                let series = rows.iter().enumerate().map(|(colour, row)| Line {
                    name: row.clone(),
                    points: ours(row, second).zip(ours(row, first)).into_iter().collect(),
                    mark: Mark::Points,
                    colour,
                });
                let series = series.filter(|line| !line.points.is_empty()).collect();
                let plot = reproduced.plot(Axis::linear(second.as_str()), Axis::linear(first.as_str()), series);
                return vec![("points".to_owned(), plot)];
            }
        };
        vec![("lines".to_owned(), reproduced.plot(Axis::linear(x), y(), series))]
    }
}

/// All programs that words may name.
fn known() -> Vec<&'static str> {
    [SPECOMP, SPLASH, SYNTHETIC].concat()
}

/// The formula of a cell of another table over programs, by the words of table, row and column; none if they mean nothing.
pub(super) fn cell(scene: &Scene<'_>, words: [&str; 3]) -> Result<Option<Formula>, ExperimentError> {
    match Cell::parse(words, &known()) {
        Ok(cell) => Runs { scene, programs: SYNTHETIC }.cell(&cell).map(Some),
        Err(_) => Ok(None),
    }
}

/// The point that words of our own are about.
fn point(shape: &Programs, row: &str, words: &str) -> Result<Point, ExperimentError> {
    let plain = shape.words.split(" over ").next().unwrap_or_default();
    let cell = Cell::parse([plain, row, words], &known());
    cell.map(|cell| cell.point).map_err(|error| ExperimentError::NoFormula {
        table: error.to_string(),
        row: row.to_owned(),
        column: words.to_owned(),
    })
}

/// Pearson's coefficient of values that follow each other in pairs; none if either does not vary.
pub(super) fn pearson(pairs: &[f64]) -> Option<f64> {
    let count = (pairs.len() / 2) as f64;
    let mean = |which: usize| pairs.iter().skip(which).step_by(2).sum::<f64>() / count;
    let (x, y) = (mean(0), mean(1));
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| pairs.chunks_exact(2).map(|pair| of(pair[0] - x, pair[1] - y)).sum::<f64>();
    let (together, alone) = (sum(&|x, y| x * y), sum(&|x, _| x * x) * sum(&|_, y| y * y));
    (alone > 0.0).then(|| together / alone.sqrt())
}

/// The geometric mean; none of what is not positive.
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive = !values.is_empty() && values.iter().all(|value| *value > 0.0);
    positive.then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_is_one_on_a_line_and_zero_on_a_cross() {
        assert_eq!(pearson(&[1.0, 2.0, 2.0, 4.0, 3.0, 6.0]).map(|r| (r * 1e9).round()), Some(1e9));
        assert_eq!(pearson(&[0.0, 1.0, 0.0, -1.0, 1.0, 0.0, -1.0, 0.0]), Some(0.0));
        assert_eq!(pearson(&[1.0, 2.0, 1.0, 3.0]), None, "what does not vary correlates with nothing");
    }

    #[test]
    fn means_of_ratios_are_geometric() {
        assert_eq!(geometric_mean(&[0.5, 2.0]), Some(1.0));
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[0.0, 2.0]), None);
    }
}
