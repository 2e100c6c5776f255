//! Calibrated figures: those that a machine or a program was fitted to, and those that say the same. Every other figure is a
//! prediction.

use std::collections::HashSet;

use crate::calibrated_on::CalibratedOn;
use crate::formula::Formula;
use crate::measurement::Measurement;
use crate::published::{PublishedCell, PublishedTable};

/// The figures that machines were fitted to, and the measurements that those figures fix: where one measurement yields several
/// figures, each is fixed alone.
#[derive(Default, Debug)]
pub struct Calibration {
    entries: Vec<CalibratedOn>,
    fixed: HashSet<(Measurement, Option<&'static str>)>,
}

impl Calibration {
    /// The calibration on `entries`. [`Calibration::learn`] adds the measurements behind it.
    pub fn new(entries: Vec<CalibratedOn>) -> Self {
        Self { entries, fixed: HashSet::new() }
    }

    /// The entries.
    pub fn entries(&self) -> &[CalibratedOn] {
        &self.entries
    }

    /// Notes the measurements of a figure if the machine was fitted to it.
    pub fn learn(&mut self, table: &PublishedTable, cell: &PublishedCell, formula: &Formula) {
        if self.entries.iter().any(|entry| entry.covers(table, cell)) {
            self.fixed.extend(formula.readings().map(|(measurement, figure)| (measurement.clone(), figure)));
        }
    }

    /// Whether a figure is one that a machine was fitted to, or says nothing that such figures do not already say: the
    /// same measurement printed in another table must not pass for a prediction.
    pub fn covers(&self, table: &PublishedTable, cell: &PublishedCell, formula: &Formula) -> bool {
        let mut readings = formula.readings().peekable();
        let fixed = |(measurement, figure): (&Measurement, _)| self.fixed.contains(&(measurement.clone(), figure));
        self.entries.iter().any(|entry| entry.covers(table, cell)) || (readings.peek().is_some() && readings.all(fixed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_measurement_in_another_table_is_no_prediction() {
        const COLUMN: &str = "columns = [{ name = \"c\", unit = \"ns\", kind = \"latency\" }]";
        let table = |id: &str| {
            let head = format!("paper = \"p\"\ntable = \"{id}\"\ntitle = \"t\"\nsection = \"s\"\nrow_heading = \"r\"");
            let rows = "rows = [{ name = \"a\", values = [1] }, { name = \"b\", values = [2] }]";
            PublishedTable::parse("file", &format!("{head}\n{COLUMN}\n{rows}")).unwrap()
        };
        let of = |threads| Measurement {
            machine: "m".into(),
            subject: crate::measurement::Subject::SharedRegion { threads },
        };
        let measured = |threads| Formula::headline(of(threads));
        let (fitted, other) = (table("1"), table("2"));
        let mut calibration = Calibration::new(vec![CalibratedOn::parse("m", "p/1 rows a").unwrap()]);
        calibration.learn(&fitted, &fitted.cells[0], &measured(1));
        calibration.learn(&fitted, &fitted.cells[1], &measured(2));
        // Listed; not listed; the listed one's measurement elsewhere; elsewhere with one of its own.
        assert!(calibration.covers(&fitted, &fitted.cells[0], &measured(1)));
        assert!(!calibration.covers(&fitted, &fitted.cells[1], &measured(2)));
        assert!(calibration.covers(&other, &other.cells[0], &measured(1)));
        assert!(!calibration.covers(&other, &other.cells[0], &measured(1).less(measured(3))));
        // Another figure of the same measurement.
        assert!(!calibration.covers(&other, &other.cells[0], &Formula::one_of_several(of(1), "time", |_| None)));
        // A figure that follows from no measurement was not fitted.
        assert!(!calibration.covers(&other, &other.cells[0], &Formula::Known(1.0)));
    }
}
