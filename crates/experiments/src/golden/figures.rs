//! The published figures of the golden record.

use bench::{Settings, SuiteScope};
use record::ReproductionRow;

use super::GoldenError;
use crate::Reproduction;

/// Tables of the record, by the words of `ccnuma reproduce`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// A paper, or one of its tables or figures.
    pub words: &'static str,
    /// Whether programs take less data (`--quick`).
    pub quick: bool,
}

/// The tables of the record that are measured again in minutes.
pub fn selections() -> Vec<Selection> {
    let whole =
        ["prestor", "flash/5.2", "flash/figure-5.7", "flash/figure-5.8", "flash/figure-5.15", "hexsel/2", "servers"];
    whole.map(|words| Selection { words, quick: false }).to_vec()
}

/// Measures the figures of a selection, in the order of their tables. `progress` is told how many measurements are done, and of
/// how many.
///
/// # Errors
/// When there is no such table, or a measurement fails.
pub fn published_figures(
    selection: Selection,
    mut progress: impl FnMut(usize, usize),
) -> Result<Vec<ReproductionRow>, GoldenError> {
    let scope = SuiteScope { quick: selection.quick, ..SuiteScope::whole(Settings::simulated()) };
    let reproduction = Reproduction::prepare(selection.words, scope)?;
    let all = reproduction.measurements().len();
    let mut rows = Vec::new();
    let keep = |row| {
        rows.push(row);
        Ok::<_, GoldenError>(())
    };
    let (_, failures) = reproduction.run(sim::Options::default(), &(), |done| progress(done, all), keep)?;
    match failures.into_iter().next() {
        Some(failure) => Err(failure.error.into()),
        None => Ok(rows),
    }
}
