//! One fitted parameter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Row, Unit};

/// A parameter of a model that was fitted to measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitRow {
    /// The machine that was measured.
    pub machine: String,
    /// The model: `seidl`, `remote` or `caches`; `confirmation` of what a simulation of the described machine (`held`) is compared in.
    pub model: String,
    /// The parameter, in words.
    pub parameter: String,
    /// Its symbol in the source of the model.
    pub symbol: String,
    /// The unit of the figures that follow.
    pub unit: Unit,
    /// The estimate; `None` where the data do not determine it.
    pub value: Option<f64>,
    /// The standard error of the estimate.
    pub error: Option<f64>,
    /// The value in the machine's description, where it has one.
    pub held: Option<f64>,
    /// By how much the estimate exceeds what is held, in percent of the latter.
    pub deviation_pct: Option<f64>,
    /// Why there is no estimate; empty where there is one.
    pub note: String,
}

impl Row for FitRow {
    const KIND: &'static str = "fit";
    const COLUMNS: &'static [&'static str] =
        &["machine", "model", "parameter", "symbol", "unit", "value", "error", "held", "deviation_pct", "note"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_fields_in_order() {
        let row = FitRow {
            machine: "m".into(),
            model: "remote".into(),
            parameter: "router delay".into(),
            symbol: "delay".into(),
            unit: Unit::Nanoseconds,
            value: Some(1.0),
            error: Some(0.5),
            held: None,
            deviation_pct: None,
            note: String::new(),
        };
        let text = serde_json::to_string(&row).expect("a record");
        let places: Vec<_> = FitRow::COLUMNS.iter().map(|column| text.find(&format!("\"{column}\":"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
        assert_eq!(serde_json::from_str::<FitRow>(&text).expect("read back"), row);
    }
}
