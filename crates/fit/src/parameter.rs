//! A fitted parameter as it is reported: by name and symbol, with its error, or with why it has no value.

use record::{FitRow, Unit};

use crate::least_squares::Uncertain;

/// Result of a fit for a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Finding {
    /// An estimate.
    Determined(Uncertain),
    /// The data say nothing about it, for this reason. There is no number to print.
    Undetermined(String),
}

/// A parameter of a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its name, in words.
    pub name: String,
    /// Its symbol in the source, such as `t_r,1`.
    pub symbol: String,
    /// The unit of value and error.
    pub unit: Unit,
    /// The result of the fit.
    pub finding: Finding,
    /// Its value in the machine's description, if the measured machine has one.
    pub held: Option<f64>,
}

impl Parameter {
    /// A parameter with an estimate, or without one because of `reason`.
    pub fn new(
        name: impl Into<String>,
        symbol: impl Into<String>,
        unit: Unit,
        estimate: Option<Uncertain>,
        reason: &str,
    ) -> Self {
        let finding = estimate.map_or_else(|| Finding::Undetermined(reason.to_owned()), Finding::Determined);
        Self { name: name.into(), symbol: symbol.into(), unit, finding, held: None }
    }

    /// The same beside what a description holds.
    pub fn beside(self, held: Option<f64>) -> Self {
        Self { held, ..self }
    }

    /// The estimate, if there is one.
    pub fn estimate(&self) -> Option<Uncertain> {
        match self.finding {
            Finding::Determined(estimate) => Some(estimate),
            Finding::Undetermined(_) => None,
        }
    }

    /// By how much the estimate exceeds what the description holds, in percent of the latter.
    pub fn deviation_pct(&self) -> Option<f64> {
        let (estimate, held) = (self.estimate()?, self.held?);
        (held != 0.0).then(|| (estimate.value - held) / held * 100.0)
    }

    /// The record of this parameter of `model`, fitted to `machine`.
    pub fn row(&self, machine: &str, model: &str) -> FitRow {
        let estimate = self.estimate();
        FitRow {
            machine: machine.to_owned(),
            model: model.to_owned(),
            parameter: self.name.clone(),
            symbol: self.symbol.clone(),
            unit: self.unit,
            value: estimate.map(|estimate| estimate.value),
            error: estimate.map(|estimate| estimate.error),
            held: self.held,
            deviation_pct: self.deviation_pct(),
            note: match &self.finding {
                Finding::Determined(_) => String::new(),
                Finding::Undetermined(reason) => reason.clone(),
            },
        }
    }
}
