//! How a figure of a table follows from measurements: formulas as data, so that what they need can be run once each.

use std::fmt;
use std::sync::Arc;

use crate::measurement::Measurement;
use crate::outcome::{Outcome, Outcomes};

/// The figure that a formula reads from an outcome; `None` if the outcome does not hold it.
type Reading = Arc<dyn Fn(&Outcome) -> Option<f64> + Send + Sync>;

/// How a figure is computed from others; `None` if they do not determine it.
type Rule = Arc<dyn Fn(&[f64]) -> Option<f64> + Send + Sync>;

/// How a figure follows from measurements.
#[derive(Clone)]
pub enum Formula {
    /// Known from the machine's description or topology, without any run.
    Known(f64),
    /// Read from one measurement: the figure of this name, or the only one that is read from measurements of the kind.
    Measured(Measurement, Option<&'static str>, Reading),
    /// Computed from other figures; `None` if they do not determine it.
    Computed(Vec<Formula>, fn(&[f64]) -> Option<f64>),
    /// As `Computed`, by a rule that needs to know more than the figures.
    ComputedBy(Vec<Formula>, Rule),
}

impl Formula {
    /// The figure that the thesis prints for a record: the least latency, the greatest bandwidth.
    pub fn headline(measurement: Measurement) -> Self {
        Self::reading(measurement, |outcome| match outcome {
            Outcome::Bench(outcome) => Some(outcome.record.headline()),
            Outcome::Windows(record) => Some(record.mean),
            Outcome::RemoteReads(time) => Some(time.ns),
            Outcome::Program(row) => Some(row.time_ns),
            Outcome::Profile(profile) => Some(profile.row.time_ns),
            Outcome::Traffic(_) | Outcome::Utilisation(_) => None,
        })
    }

    /// A figure that `read` finds in the outcome of a measurement.
    pub fn reading(measurement: Measurement, read: impl Fn(&Outcome) -> Option<f64> + Send + Sync + 'static) -> Self {
        Self::Measured(measurement, None, Arc::new(read))
    }

    /// The same, where one measurement yields several figures that do not follow from each other: `name` tells them apart.
    pub fn one_of_several(
        measurement: Measurement,
        name: &'static str,
        read: impl Fn(&Outcome) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        Self::Measured(measurement, Some(name), Arc::new(read))
    }

    /// The median of a record's samples, one of several figures of the measurement.
    pub fn median(measurement: Measurement, name: &'static str) -> Self {
        Self::one_of_several(measurement, name, |outcome| match outcome {
            Outcome::Bench(outcome) => Some(outcome.record.median),
            _ => None,
        })
    }

    /// The arithmetic mean; no figure if there is nothing to average.
    pub fn mean(of: Vec<Self>) -> Self {
        Self::Computed(of, |values| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64))
    }

    /// The least; no figure if there is none.
    pub fn least(of: Vec<Self>) -> Self {
        Self::Computed(of, |values| values.iter().copied().reduce(f64::min))
    }

    /// The greatest; no figure if there is none.
    pub fn greatest(of: Vec<Self>) -> Self {
        Self::Computed(of, |values| values.iter().copied().reduce(f64::max))
    }

    /// So many times this figure.
    pub fn times(self, factor: f64) -> Self {
        Self::ComputedBy(vec![self], Arc::new(move |values| Some(values[0] * factor)))
    }

    /// This figure less `other`.
    pub fn less(self, other: Self) -> Self {
        Self::Computed(vec![self, other], |values| Some(values[0] - values[1]))
    }

    /// This figure over `other`; no figure if `other` is zero.
    pub fn over(self, other: Self) -> Self {
        Self::Computed(vec![self, other], |values| (values[1] != 0.0).then(|| values[0] / values[1]))
    }

    /// By how much this figure exceeds `other`, in percent of `other`; no figure if `other` is zero.
    pub fn percent_above(self, other: Self) -> Self {
        Self::Computed(vec![self, other], |values| {
            (values[1] != 0.0).then(|| (values[0] - values[1]) / values[1] * 100.0)
        })
    }

    /// By how much this figure falls short of `other`, in percent of `other`; no figure if `other` is zero.
    pub fn percent_below(self, other: Self) -> Self {
        Self::Computed(vec![self, other], |values| {
            (values[1] != 0.0).then(|| (values[1] - values[0]) / values[1] * 100.0)
        })
    }

    /// The measurements that the formula needs, some perhaps more than once.
    pub fn measurements(&self) -> impl Iterator<Item = &Measurement> + '_ {
        self.readings().map(|(measurement, _)| measurement)
    }

    /// The measurements that the formula needs, each with the figure that it reads if there are several.
    pub fn readings(&self) -> Box<dyn Iterator<Item = (&Measurement, Option<&'static str>)> + '_> {
        match self {
            Self::Known(_) => Box::new(std::iter::empty()),
            Self::Measured(measurement, figure, _) => Box::new(std::iter::once((measurement, *figure))),
            Self::Computed(parts, _) | Self::ComputedBy(parts, _) => Box::new(parts.iter().flat_map(Self::readings)),
        }
    }

    /// The figure; `None` if a measurement is missing or does not determine it.
    pub fn evaluate(&self, outcomes: &Outcomes) -> Option<f64> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Measured(measurement, _, read) => read(outcomes.get(measurement)?),
            Self::Computed(parts, compute) => compute(&figures(parts, outcomes)?),
            Self::ComputedBy(parts, compute) => compute(&figures(parts, outcomes)?),
        }
    }
}

fn figures(of: &[Formula], outcomes: &Outcomes) -> Option<Vec<f64>> {
    of.iter().map(|part| part.evaluate(outcomes)).collect()
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => write!(f, "Known({value})"),
            Self::Measured(measurement, None, _) => write!(f, "Measured({measurement:?})"),
            Self::Measured(measurement, Some(figure), _) => write!(f, "Measured({figure} of {measurement:?})"),
            Self::Computed(parts, _) | Self::ComputedBy(parts, _) => f.debug_tuple("Computed").field(parts).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Subject;

    #[test]
    fn figures_compute_from_others() {
        let known = Formula::Known;
        let none = Outcomes::new();
        assert_eq!(known(721.0).percent_above(known(385.0)).evaluate(&none).map(f64::round), Some(87.0));
        assert_eq!(known(446.0).percent_below(known(558.0)).evaluate(&none).map(f64::round), Some(20.0));
        assert_eq!(known(3.0).less(known(5.0)).evaluate(&none), Some(-2.0));
        assert_eq!(known(3.0).over(known(0.0)).evaluate(&none), None);
        assert_eq!(Formula::mean(vec![known(1.0), known(4.0)]).evaluate(&none), Some(2.5));
        assert_eq!(Formula::mean(vec![]).evaluate(&none), None);
    }

    #[test]
    fn a_missing_measurement_leaves_no_figure() {
        let needed = Measurement { machine: "m".into(), subject: Subject::SharedRegion { threads: 4 } };
        let formula = Formula::Known(1.0).less(Formula::headline(needed.clone()));
        assert_eq!(formula.evaluate(&Outcomes::new()), None);
        assert_eq!(formula.measurements().collect::<Vec<_>>(), [&needed]);
    }
}
