//! Bandwidth and backoff at the home of a region that all threads share: Prestor 2001 Table 6.1.

use report::{Axis, Plot};

use super::{Reproduced, Scene, Shape};
use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Measurement, Subject};
use crate::shared_region::Traffic;

/// A row for each number of threads; the two phases side by side.
pub struct SharedRegion;

impl Shape for SharedRegion {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let Ok(threads) = row.parse::<u16>() else { return Ok(None) };
        if usize::from(threads) >= system.layout.nodes().len() {
            return Ok(None);
        }
        let read: fn(&Traffic) -> f64 = match column {
            "zero RDEX" => |traffic| traffic.zero.exclusive_mb_per_s,
            "zero WB" => |traffic| traffic.zero.writeback_mb_per_s,
            "zero backoff" => |traffic| traffic.zero.backoff_pct,
            "read RDEX" => |traffic| traffic.read.exclusive_mb_per_s,
            "read WB" => |traffic| traffic.read.writeback_mb_per_s,
            "read backoff" => |traffic| traffic.read.backoff_pct,
            _ => return Ok(None),
        };
        let measurement = Measurement { machine: system.name().to_owned(), subject: Subject::SharedRegion { threads } };
        Ok(Some(Formula::reading(measurement, move |outcome| match outcome {
            Outcome::Traffic(traffic) => Some(read(traffic)),
            _ => None,
        })))
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let series = reproduced.columns_by_row(&["zero backoff", "read backoff"]);
        let (x, y) = (Axis::linear("threads"), Axis::linear("backoff invalidates (%)"));
        vec![("backoff".to_owned(), reproduced.plot(x, y, series))]
    }
}
