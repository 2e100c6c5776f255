//! The study of Seidl 1997: random windows of areas up to all of memory, and the constants of the hierarchy that follow.

use std::sync::Arc;

use bench::seidl::{Point, points};
use fit::hierarchy::{Sample, Seidl, SeidlFit, SeidlParameter as Constant, levels, mflops};
use report::{Axis, Mark, Plot, Series as Line};
use units::Bytes;

use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Measurement, Subject};
use crate::system::System;

/// Table 1: the fitted constants.
pub struct Constants;

/// Table 2: the sign changes that each level allows, by the constants.
pub struct Limits;

/// The largest area of the paper.
const LARGEST: Bytes = Bytes(8 << 30);

/// The points of the study, as far as the machine has the memory.
fn study(system: &System) -> Vec<Point> {
    let capacity = system.description.topology.node_memory.0 * system.layout.nodes().len() as u64;
    points(Bytes(LARGEST.0.min(capacity)))
}

/// Eq. 2 and 3 for this machine, as its first processor sees it: sizes and distances as the description has them.
pub fn model(system: &System) -> Seidl {
    let description = &system.description;
    let node_memory = description.topology.node_memory;
    let home = system.layout.nodes().next().unwrap_or_default();
    let routers = system.layout.nodes_by_distance(home).into_iter().map(|node| system.layout.hops(home, node));
    let routers: Vec<u32> = routers.collect();
    let remote = routers.chunk_by(|a, b| a == b).map(|same| (same[0], Bytes(node_memory.0 * same.len() as u64)));
    let remote: Vec<(u32, Bytes)> = remote.collect();
    let tlb = &description.tlb;
    Seidl {
        levels: levels([description.l1.size, description.coherent_cache().size], node_memory, &remote),
        primary_line: description.l1.line,
        line: description.coherent_cache().line,
        translation_reach: Some(Bytes(u64::from(tlb.entries) * u64::from(tlb.pages_per_entry) * tlb.page.0)),
    }
}

/// The figure that `read` takes from the model as fitted to all points.
fn fitted(system: &System, read: impl Fn(&SeidlFit) -> Option<f64> + Send + Sync + 'static) -> Formula {
    let (points, model) = (study(system), model(system));
    let measured = |&point: &Point| {
        Formula::headline(Measurement { machine: system.name().to_owned(), subject: Subject::Windows(point) })
    };
    let needed = points.iter().map(measured).collect();
    let rule = move |times: &[f64]| read(&model.fit(&samples(&points, times)).ok()?);
    Formula::ComputedBy(needed, Arc::new(rule))
}

fn samples(points: &[Point], times: &[f64]) -> Vec<Sample> {
    let sample = |(point, &ns): (&Point, &f64)| Sample { area: point.area, window: point.window, ns };
    points.iter().zip(times).map(sample).collect()
}

impl Shape for Constants {
    fn formula(&self, scene: &Scene<'_>, row: &str, _column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let constant = |which: Constant| fitted(&system, move |fit| Some(fit.constant(which)?.value));
        // Constants that the model leaves undetermined are split as the paper's solver did.
        let split = |which: Constant| fitted(&system, move |fit| Some(fit.least_norm(which)));
        Ok(Some(match row.split(',').next().unwrap_or(row) {
            "on-chip cache - SL cache" => constant(Constant::Secondary),
            "local hub for home" => split(Constant::HubHome),
            "local hub for remote + remote hub" => split(Constant::HubRemote),
            "standard router" => constant(Constant::Router),
            "memory + memory controller" => split(Constant::Memory),
            "TLB miss handling" => constant(Constant::Translation),
            "2nd type correction" => constant(Constant::PageTable),
            _ => match row {
                "hub and memory, home" => {
                    fitted(&system, |fit| Some(fit.sum(Constant::HubHome, Constant::Memory)?.value))
                }
                "hubs and memory, remote" => {
                    fitted(&system, |fit| Some(fit.sum(Constant::HubRemote, Constant::Memory)?.value))
                }
                "hubs, remote less home" => {
                    fitted(&system, |fit| Some(fit.difference(Constant::HubRemote, Constant::HubHome)?.value))
                }
                _ => return Ok(None),
            },
        }))
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let Ok(system) = reproduced.scene.system() else { return Vec::new() };
        let points = study(&system);
        let measured = |&point: &Point| {
            let subject = Subject::Windows(point);
            let measurement = Measurement { machine: system.name().to_owned(), subject };
            Formula::headline(measurement).evaluate(reproduced.outcomes)
        };
        let times: Vec<f64> = points.iter().filter_map(measured).collect();
        if times.len() != points.len() {
            return Vec::new();
        }
        let samples = samples(&points, &times);
        let Ok(fit) = model(&system).fit(&samples) else { return Vec::new() };
        let title = reproduced.title();
        vec![
            ("windows".to_owned(), sweep_plot(&title, &samples, fit.fitted())),
            ("residuals".to_owned(), residual_plot(&title, &samples, fit.residuals())),
        ]
    }
}

impl Shape for Limits {
    fn formula(&self, scene: &Scene<'_>, row: &str, _column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let routers = match row {
            "SL cache" => return Ok(Some(fitted(&system, limit_of_secondary_cache))),
            "home memory" => None,
            "same corner" => Some(1.0),
            "neighbour corner" => Some(2.0),
            "next but one corner" => Some(3.0),
            "spatial diagonal" => Some(4.0),
            _ => return Ok(None),
        };
        let doubles = system.description.coherent_cache().line.0 as f64 / 8.0;
        let blocks = (system.description.coherent_cache().line.0 / system.description.l1.line.0) as f64;
        Ok(Some(fitted(&system, move |fit| {
            let hub = if routers.is_some() { Constant::HubRemote } else { Constant::HubHome };
            let network = routers.unwrap_or(0.0) * fit.constant(Constant::Router)?.value;
            let caches = blocks * fit.constant(Constant::Secondary)?.value;
            mflops(doubles, caches + fit.sum(hub, Constant::Memory)?.value + network)
        })))
    }
}

/// The limit of the secondary cache; none if its time cannot be told from zero.
fn limit_of_secondary_cache(fit: &SeidlFit) -> Option<f64> {
    let time = fit.constant(Constant::Secondary)?;
    if time.value > 2.0 * time.error { mflops(4.0, time.value) } else { None }
}

/// Time of a window over the area, measured and fitted: Figure 1 of the paper.
pub fn sweep_plot(title: &str, samples: &[Sample], fitted: &[f64]) -> Plot {
    let mut series = Vec::new();
    for (colour, window) in windows(samples).into_iter().enumerate() {
        let of_window = |values: &dyn Fn(usize) -> f64| {
            let chosen = samples.iter().enumerate().filter(|(_, sample)| sample.window == window);
            chosen.map(|(index, sample)| (sample.area.0 as f64, values(index))).collect::<Vec<_>>()
        };
        let measured = of_window(&|index| samples[index].ns);
        let model = of_window(&|index| fitted[index]);
        series.push(Line { name: format!("{window} windows"), points: measured, mark: Mark::Points, colour });
        series.push(Line { name: format!("{window}, model"), points: model, mark: Mark::Line, colour });
    }
    Plot { title: title.to_owned(), x: Axis::sizes("area"), y: Axis::log2("time of a window (ns)"), series }
}

/// How far the model is from each measurement, in percent of the latter.
pub fn residual_plot(title: &str, samples: &[Sample], residuals: &[f64]) -> Plot {
    let of_window = |(colour, window): (usize, Bytes)| {
        let chosen = samples.iter().zip(residuals).filter(|(sample, _)| sample.window == window);
        let points = chosen.map(|(sample, residual)| (sample.area.0 as f64, residual * 100.0)).collect();
        Line { name: format!("{window} windows"), points, mark: Mark::Points, colour }
    };
    let series = windows(samples).into_iter().enumerate().map(of_window).collect();
    let (x, y) = (Axis::sizes("area"), Axis::linear("model less measurement (% of the latter)"));
    Plot { title: title.to_owned(), x, y, series }
}

/// The window sizes, ascending.
fn windows(samples: &[Sample]) -> Vec<Bytes> {
    let mut windows: Vec<Bytes> = samples.iter().map(|sample| sample.window).collect();
    windows.sort_unstable();
    windows.dedup();
    windows
}
