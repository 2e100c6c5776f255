//! The P3 diagram: access time of strided loops over arrays of many sizes (Prestor 2001 section 2.1, Figure 2.1).

use std::sync::Arc;

use bench::{Experiment, Plan, Settings, p3};
use report::{Axis, Mark, Plot, Series as Line};
use units::{Bytes, NodeId};

use super::{Reproduced, Scene, Shape};
use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::Measurement;
use crate::system::System;

/// Figures that the text reads off the diagram of the read-modify-write kernel.
pub struct StrideDiagram;

/// The arrays of the diagram: 16 KiB doubling to 32 MiB.
fn arrays() -> impl Iterator<Item = Bytes> {
    (4..=15).map(|power| Bytes::from_kib(1 << power))
}

/// The largest array, which misses in every cache.
const LARGEST: Bytes = Bytes::from_mib(32);

/// The points of the diagram: all lines on the first node.
fn points(system: &System) -> Vec<Plan> {
    let home = NodeId(0);
    let Some(&cpu) = system.layout.cpus_of(home).first() else { return Vec::new() };
    p3::diagram(Experiment::P3Rmw, home, cpu, arrays(), &Settings { iterations: 1, ..Settings::simulated() })
}

impl Shape for StrideDiagram {
    fn formula(&self, scene: &Scene<'_>, row: &str, _column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let plans = points(&system);
        let grid: Vec<(Bytes, Bytes)> = plans.iter().map(place).collect();
        let needed: Vec<Formula> = plans.iter().map(|plan| system.headline(plan)).collect();
        // Every fact is about the whole diagram, so that each needs all of its points.
        let read = move |find: fn(&Diagram<'_>) -> Option<f64>| {
            let grid = grid.clone();
            Formula::ComputedBy(needed, Arc::new(move |times: &[f64]| find(&Diagram { grid: &grid, times })))
        };
        Ok(Some(match row {
            "largest array held by the primary cache" => read(|diagram| diagram.primary_cache()),
            "largest array held by the secondary cache" => read(|diagram| diagram.secondary_cache()),
            "secondary cache line" => read(|diagram| diagram.line()),
            "memory covered by a TLB entry" => read(|diagram| diagram.tlb_reach()),
            "miss with a writeback" => read(|diagram| diagram.miss()),
            "TLB miss penalty" => read(|diagram| diagram.tlb_miss()),
            _ => return Ok(None),
        }))
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let Ok(system) = reproduced.scene.system() else { return Vec::new() };
        let plans = points(&system);
        let curve = |(colour, array): (usize, Bytes)| {
            let of_array = plans.iter().filter(|plan| plan.settings.array == array);
            let point = |plan: &Plan| {
                let measurement = Measurement::of_plan(system.name(), plan);
                let outcome = reproduced.outcomes.get(&measurement).and_then(Outcome::bench)?;
                Some((plan.settings.stride.0 as f64, outcome.record.headline()))
            };
            Line { name: array.to_string(), points: of_array.filter_map(point).collect(), mark: Mark::Line, colour }
        };
        let series = arrays().enumerate().map(curve).collect();
        let (x, y) = (Axis::sizes("stride"), Axis::log2("time per element (ns)"));
        vec![("diagram".to_owned(), reproduced.plot(x, y, series))]
    }
}

fn place(plan: &Plan) -> (Bytes, Bytes) {
    (plan.settings.array, plan.settings.stride)
}

/// The times of the diagram's points, in nanoseconds.
struct Diagram<'a> {
    grid: &'a [(Bytes, Bytes)],
    times: &'a [f64],
}

impl Diagram<'_> {
    fn at(&self, array: Bytes, stride: u64) -> Option<f64> {
        let position = self.grid.iter().position(|&point| point == (array, Bytes(stride)))?;
        self.times.get(position).copied()
    }

    fn strides(&self, array: Bytes) -> impl Iterator<Item = u64> {
        self.grid.iter().filter(move |point| point.0 == array).map(|point| point.1.0)
    }

    /// The largest array whose whole curve stays within a quarter of the smallest array's.
    fn primary_cache(&self) -> Option<f64> {
        let smallest = arrays().next()?;
        let floor = self.at(smallest, 8)?;
        let flat = |array: &Bytes| {
            self.strides(*array).all(|stride| self.at(*array, stride).is_some_and(|time| time <= 1.25 * floor))
        };
        arrays().take_while(flat).last().map(|array| array.0 as f64)
    }

    /// The largest array that, line by line, takes no more than a tenth longer than one of 128 KiB, which is far larger
    /// than the primary and far smaller than the secondary cache.
    fn secondary_cache(&self) -> Option<f64> {
        let floor = self.at(Bytes::from_kib(128), 128)?;
        let held = |array: &Bytes| self.at(*array, 128).is_some_and(|time| time <= 1.1 * floor);
        arrays().filter(held).last().map(|array| array.0 as f64)
    }

    /// The stride from which on every access misses: the time has come within a tenth of that at 512 bytes.
    fn line(&self) -> Option<f64> {
        let plateau = self.at(LARGEST, 512)?;
        self.knee(plateau)
    }

    /// The stride from which on every access also misses in the TLB: within a tenth of the time at 128 KiB.
    fn tlb_reach(&self) -> Option<f64> {
        let plateau = self.at(LARGEST, 128 << 10)?;
        self.knee(plateau)
    }

    fn knee(&self, plateau: f64) -> Option<f64> {
        let reached = |stride: &u64| self.at(LARGEST, *stride).is_some_and(|time| time >= 0.9 * plateau);
        self.strides(LARGEST).find(reached).map(|stride| stride as f64)
    }

    fn miss(&self) -> Option<f64> {
        self.at(LARGEST, 128)
    }

    fn tlb_miss(&self) -> Option<f64> {
        Some(self.at(LARGEST, 64 << 10)? - self.miss()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine that section 2.1 deduces, in closed form.
    fn ideal(array: Bytes, stride: Bytes) -> f64 {
        if array <= Bytes::from_kib(16) {
            return 10.0;
        }
        if array <= Bytes::from_mib(1) {
            return 10.0 + 20.0 * (stride.0 as f64 / 32.0).min(1.0);
        }
        let tlb = if array > Bytes::from_mib(2) { 300.0 * (stride.0 as f64 / 32768.0).min(1.0) } else { 0.0 };
        10.0 + 440.0 * (stride.0 as f64 / 128.0).min(1.0) + tlb
    }

    #[test]
    fn the_facts_of_an_ideal_diagram_are_found() {
        let mut grid = Vec::new();
        for array in arrays() {
            let strides = std::iter::successors(Some(8), |stride| Some(stride * 2));
            grid.extend(strides.take_while(|stride| *stride <= array.0 / 2).map(|stride| (array, Bytes(stride))));
        }
        let times: Vec<f64> = grid.iter().map(|&(array, stride)| ideal(array, stride)).collect();
        let diagram = Diagram { grid: &grid, times: &times };
        assert_eq!(diagram.primary_cache(), Some(16.0 * 1024.0));
        assert_eq!(diagram.secondary_cache(), Some(1024.0 * 1024.0));
        assert_eq!(diagram.line(), Some(128.0));
        assert_eq!(diagram.tlb_reach(), Some(32.0 * 1024.0));
        assert_eq!(diagram.miss().map(f64::round), Some(451.0));
        assert_eq!(diagram.tlb_miss().map(f64::round), Some(299.0));
    }
}
