//! One published figure beside ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Row, Unit};

/// One figure of a published table or diagram, and what this system gives for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionRow {
    /// The source document, such as `prestor`.
    pub paper: String,
    /// The table or figure, such as `4.6`.
    pub table: String,
    /// The row, such as `CEXM`.
    pub row: String,
    /// The column, such as `back-to-back READ`.
    pub column: String,
    /// The unit of both figures.
    pub unit: Unit,
    /// The published figure; `None` where the source prints none.
    pub theirs: Option<f64>,
    /// Our figure; `None` where this system could not produce it.
    pub ours: Option<f64>,
    /// How far ours is from theirs, in percent of theirs; `None` if either is missing, or theirs is zero or negative, as a small
    /// difference may be.
    pub error_pct: Option<f64>,
    /// Whether the machine description was calibrated on this figure: if so, the error is that of a fit, not of a
    /// prediction.
    pub calibrated: bool,
}

impl ReproductionRow {
    /// `ours` against `theirs` in percent of `theirs`; `None` if either is missing, or `theirs` is zero or negative: a share of it
    /// says nothing.
    pub fn error_of(theirs: Option<f64>, ours: Option<f64>) -> Option<f64> {
        match (theirs, ours) {
            (Some(theirs), Some(ours)) if theirs > 0.0 => Some((ours - theirs) / theirs * 100.0),
            _ => None,
        }
    }
}

impl Row for ReproductionRow {
    const KIND: &'static str = "reproduction";
    const COLUMNS: &'static [&'static str] =
        &["paper", "table", "row", "column", "unit", "theirs", "ours", "error_pct", "calibrated"];
}

/// A published table, figure or study in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublicationRow {
    /// Its name for `ccnuma reproduce`: the paper and the table, as in `prestor/4.6`.
    pub name: String,
    /// Its subject, in words.
    pub title: String,
    /// The section of the paper that discusses it.
    pub section: String,
    /// The machine that it is about, where that is one for all of it.
    pub machine: Option<String>,
    /// How many of its figures are published; the others are withheld.
    pub published: u64,
}

impl Row for PublicationRow {
    const KIND: &'static str = "publication";
    const COLUMNS: &'static [&'static str] = &["name", "title", "section", "machine", "published"];
}
