//! Remote read latency against the hit rate of the remote access cache: FLASH dissertation, Figure 5.15.

use std::sync::Arc;

use report::{Axis, Plot};
use units::NodeId;

use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Measurement, Subject};
use crate::remote_reads::{READER, RemoteReads};
use crate::system::System;

/// A row for each hit rate in percent, and a column for each protocol and home, as in `hybrid/RAC, nearest home`. Beside
/// them what the text states: the latency of a hit, that of remote reads without the cache, and the hit rate from which on
/// it pays (`break-even`).
pub struct RemoteCacheHitRates;

/// The protocol that is compared, and what its name ends in with a remote access cache.
const WITHOUT: &str = "hybrid";
const WITH: &str = "hybrid/RAC";
/// The hit rates at which the crossing is looked for, in percent.
const HIT_RATES: [u8; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

impl Shape for RemoteCacheHitRates {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let (with, without) = (scene.under(WITH)?, scene.under(WITHOUT)?);
        let Some((what, place)) = column.split_once(", ") else { return Ok(None) };
        let Some(home) = home(&without, place) else { return Ok(None) };
        Ok(match (row, what, row.parse()) {
            (_, WITH, Ok(hits)) => Some(latency(&with, home, hits)),
            (_, WITHOUT, Ok(hits)) => Some(latency(&without, home, hits)),
            ("RAC hit", "latency", _) => Some(latency(&with, home, 100)),
            ("without RAC", "latency", _) => Some(latency(&without, home, 0)),
            ("break-even", "hit rate", _) => Some(break_even(&with, &without, home)),
            _ => None,
        })
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let columns = reproduced.scene.table.columns.iter().map(|column| column.name.as_str());
        let curves: Vec<&str> = columns.filter(|name| name.starts_with(WITHOUT)).collect();
        let (x, y) =
            (Axis::linear("hit rate of the remote access cache (%)"), Axis::linear("remote read latency (ns)"));
        vec![("latency".to_owned(), reproduced.plot(x, y, reproduced.columns_by_row(&curves)))]
    }
}

/// The home that a column is about, from the reader's place.
fn home(system: &System, place: &str) -> Option<NodeId> {
    let by_distance = system.layout.nodes_by_distance(READER);
    match place {
        "nearest home" => by_distance.first().copied(),
        "farthest home" => by_distance.last().copied(),
        _ => None,
    }
}

/// Nanoseconds a read, so many in a hundred of lines that were read before.
fn latency(system: &System, home: NodeId, reused_pct: u8) -> Formula {
    let subject = Subject::RemoteReads(RemoteReads { home, reused_pct });
    Formula::headline(Measurement { machine: system.name().to_owned(), subject })
}

/// The hit rate in percent from which on reads are faster with the cache than without.
fn break_even(with: &System, without: &System, home: NodeId) -> Formula {
    let mut latencies = Vec::new();
    for hits in HIT_RATES {
        latencies.extend([latency(with, home, hits), latency(without, home, hits)]);
    }
    Formula::ComputedBy(latencies, Arc::new(crossing))
}

/// Where the first of two curves, whose values at each hit rate follow each other, falls below the second.
fn crossing(values: &[f64]) -> Option<f64> {
    let excess: Vec<f64> = values.chunks_exact(2).map(|pair| pair[0] - pair[1]).collect();
    let below = excess.iter().position(|&excess| excess <= 0.0)?;
    let Some(before) = below.checked_sub(1) else { return Some(f64::from(HIT_RATES[0])) };
    let (from, to) = (f64::from(HIT_RATES[before]), f64::from(HIT_RATES[below]));
    Some(from + (to - from) * excess[before] / (excess[before] - excess[below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_is_that_of_the_lines() {
        // A miss costs 200 ns more than the 1400 without the cache, a hit 800: by the arithmetic of section 5.4.1, a quarter.
        let with = |hits: u8| 1600.0 - 8.0 * f64::from(hits);
        let values: Vec<f64> = HIT_RATES.iter().flat_map(|&hits| [with(hits), 1400.0]).collect();
        assert_eq!(crossing(&values), Some(25.0));
        let never: Vec<f64> = HIT_RATES.iter().flat_map(|_| [2.0, 1.0]).collect();
        assert_eq!(crossing(&never), None);
        let always: Vec<f64> = HIT_RATES.iter().flat_map(|_| [1.0, 2.0]).collect();
        assert_eq!(crossing(&always), Some(0.0));
    }
}
