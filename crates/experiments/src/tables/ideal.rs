//! Gains of ideal protocols: by the accounting of the FLASH dissertation (section 5.5, Equations 5.1 to 5.4), and by simulating
//! the ideal machines themselves.

use report::{Axis, Mark, Plot, Series as Line};

use super::programs::{self, Limit};
use super::sharing::PROCESSORS;
use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;

/// A row for each program; columns such as `zero-overhead at 63, accounted` and `zero-overhead at 63, simulated`: how many
/// times as fast the program would be. Then the speedups of the greater number of processors over the smaller, `base
/// speedup` and such as `zero-overhead speedup, simulated`.
///
/// Equation 5.4 as printed is about stall time alone: its column is `all-local speedup, as printed`; for the accounted ones the
/// text before it is followed. The processors have one request outstanding, for which alone the accounting is meant (sections
/// 5.5.1 and 5.5.5).
pub struct Ideal;

/// Words of [`programs`] that hold for all cells.
const WORDS: &str = "cv=2/LB 1-OTT";

/// The words of [`programs`] for a column; `None` if its name has another form.
fn words(column: &str) -> Option<String> {
    match column {
        "base speedup" => return Some("speedup base".to_owned()),
        "all-local speedup, as printed" => return Some("speedup all-local-stall".to_owned()),
        _ => {}
    }
    let (what, how) = column.split_once(", ")?;
    match what.strip_suffix(" speedup") {
        Some(limit) => Some(format!("speedup {limit} {how}")),
        None => {
            let (limit, processors) = what.split_once(" at ")?;
            Some(format!("time real at {processors} over {limit} {how}"))
        }
    }
}

impl Shape for Ideal {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        match words(column) {
            Some(words) => programs::cell(scene, [WORDS, row, &words]),
            None => Ok(None),
        }
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let lines = Limit::ALL.iter().flat_map(|limit| PROCESSORS.map(|cpus| format!("{} at {cpus}", limit.name())));
        let line = |(colour, name): (usize, String)| {
            let of = |how: &str| -> Vec<Option<f64>> {
                let column = format!("{name}, {how}");
                reproduced.rows.iter().filter(|row| row.column == column).map(|row| row.ours).collect()
            };
            let pairs = of("simulated").into_iter().zip(of("accounted"));
            let points = pairs.filter_map(|(x, y)| x.zip(y)).collect();
            Line { name, points, mark: Mark::Points, colour }
        };
        let series = lines.enumerate().map(line).collect();
        let (x, y) = (Axis::linear("gain by simulation (times)"), Axis::linear("gain by the equations (times)"));
        vec![("gain".to_owned(), reproduced.plot(x, y, series))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_told_in_the_words_of_programs() {
        let of = |column| words(column).unwrap_or_default();
        assert_eq!(of("zero-overhead at 8, accounted"), "time real at 8 over zero-overhead accounted");
        assert_eq!(of("all-local speedup, simulated"), "speedup all-local simulated");
        assert_eq!(of("base speedup"), "speedup base");
        assert_eq!([words("zero-overhead at 8"), words("speedup")], [None, None]);
    }
}
