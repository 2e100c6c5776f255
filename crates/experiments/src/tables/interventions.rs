//! Lines that another processor holds, two of the three roles on one node: Prestor 2001 Tables 4.15 to 4.18 and 4.20.

use bench::{Experiment, Series, State};
use report::{Axis, Plot};

use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::system::System;

/// A row for each distance and their average. Columns: unowned lines, and for each series the latency and what it adds
/// to that of unowned lines equally far away.
pub struct ThreeSeries {
    /// The state of the lines.
    pub state: State,
    /// The experiment, which also measures the unowned lines.
    pub experiment: Experiment,
}

const SERIES: [(&str, Series); 3] =
    [("xhops=0", Series::XhopsZero), ("yhops=0", Series::YhopsZero), ("zhops=0", Series::ZhopsZero)];

impl ThreeSeries {
    fn unowned(&self, system: &System, hops: u32) -> Option<Formula> {
        system.mean_at(Series::Unowned, self.experiment, State::Uown, hops)
    }

    fn latency(&self, system: &System, series: Series, hops: u32) -> Option<Formula> {
        system.mean_at(series, self.experiment, self.state, hops)
    }

    fn over_unowned(&self, system: &System, series: Series, hops: u32) -> Option<Formula> {
        Some(self.latency(system, series, hops)?.less(self.unowned(system, hops)?))
    }
}

impl Shape for ThreeSeries {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let over = column.strip_suffix(" over UOWN");
        let series = SERIES.iter().find(|(name, _)| *name == over.unwrap_or(column)).map(|(_, series)| *series);
        Ok(match (row.parse::<u32>(), series, over) {
            (Ok(hops), None, None) if column == "UOWN" => self.unowned(&system, hops),
            (Ok(hops), Some(series), None) => self.latency(&system, series, hops),
            (Ok(hops), Some(series), Some(_)) => self.over_unowned(&system, series, hops),
            // The averages leave out the local case, as those of Tables 4.15 and 4.16 do.
            (Err(_), Some(series), Some(_)) if row == "avg" => {
                let all = (1..=system.farthest()).map(|hops| self.over_unowned(&system, series, hops));
                all.collect::<Option<Vec<_>>>().map(Formula::mean)
            }
            _ => None,
        })
    }

    fn rows(&self, scene: &Scene<'_>) -> Result<Vec<String>, ExperimentError> {
        let hops = (0..=scene.system()?.farthest()).map(|hops| hops.to_string());
        Ok(hops.chain(["avg".to_owned()]).collect())
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let series = reproduced.columns_by_row(&["UOWN", "xhops=0", "yhops=0", "zhops=0"]);
        let (x, y) = (Axis::linear("hops"), Axis::linear("latency (ns)"));
        vec![("latency".to_owned(), reproduced.plot(x, y, series))]
    }
}
