//! Programs on SCI rings: traffic, throughput, delays and sharing lists (Hexsel and Topham, Table 4, Sections 4 and 5).

use record::{LinkInterfaceStatistics, SimulationRow};
use workloads::{Settings, Workload};

use super::{Scene, Shape};
use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Measurement, ProgramRun, Subject};

/// A row for each program, and a column for each figure `at` a size of the ring; or the `greatest` over all sizes.
pub struct SciTraffic;

/// The sizes of the rings, with those of the programs for each of them (Table 1).
const SIZES: [u16; 5] = [1, 2, 4, 8, 16];
/// The parameter of a program by which its data grow with the ring, its values for [`SIZES`], and its other parameters.
type Growth = (&'static str, &'static str, [u64; 5], &'static [(&'static str, u64)]);
/// The programs of Table 1. The sizes of cholesky's mesh are its own.
const PROGRAMS: [Growth; 6] = [
    ("cholesky", "length", [43; 5], &[("width", 14)]),
    ("mp3d", "particles", [3000, 4500, 6700, 10_100, 15_200], &[("steps", 50)]),
    ("water", "molecules", [54, 78, 113, 163, 237], &[("steps", 4)]),
    ("ge", "side", [136, 171, 216, 272, 343], &[]),
    ("mmult", "side", [100, 126, 159, 200, 252], &[]),
    ("paths", "vertices", [70, 88, 111, 140, 176], &[("degree", 6)]),
];
/// Steps of a quick run of a program that has more.
const QUICK_STEPS: u64 = 2;
/// The family of the machines.
const FAMILY: &str = "sci-ring";

/// What is read off a run.
type Figure = fn(&SimulationRow) -> Option<f64>;

const FIGURES: [(&str, Figure); 6] = [
    ("traffic", |row| Some(links(row)?.traffic_mb_s)),
    ("throughput", |row| Some(links(row)?.throughput_mb_s)),
    ("round trip", |row| Some(links(row)?.round_trip_ns)),
    ("data share", |row| links(row).and_then(|links| percent(links.data_mb_s, links.throughput_mb_s))),
    // An echo answers every packet.
    ("lines of packets", |row| {
        links(row).and_then(|links| percent(links.data_packets as f64, 2.0 * links.packets as f64))
    }),
    ("list length", SimulationRow::mean_invalidations),
];

impl Shape for SciTraffic {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some(program) = PROGRAMS.iter().find(|(name, ..)| *name == row) else { return Ok(None) };
        let (figure, sizes) = match (column.split_once(" at "), column.strip_prefix("greatest ")) {
            (Some((figure, size)), _) => (figure, size.parse().ok().into_iter().collect::<Vec<u16>>()),
            (None, Some(figure)) => (figure, SIZES[1..].to_vec()),
            (None, None) => return Ok(None),
        };
        let Some((_, read)) = FIGURES.into_iter().find(|(name, _)| *name == figure) else { return Ok(None) };
        let mut figures = Vec::new();
        for size in sizes {
            let Some(position) = SIZES.iter().position(|&each| each == size) else { return Ok(None) };
            let measurement = measurement(scene, program, position)?;
            figures.push(Formula::reading(measurement, move |outcome| match outcome {
                Outcome::Program(row) => read(row),
                _ => None,
            }));
        }
        Ok((!figures.is_empty()).then(|| Formula::greatest(figures)))
    }
}

/// The run of a program on the ring of the size at `position`.
fn measurement(scene: &Scene<'_>, program: &Growth, position: usize) -> Result<Measurement, ExperimentError> {
    let (name, grows, values, others) = program;
    let quick = scene.systems.scope().quick;
    let shortened = |key: &str, value: u64| if quick && key == "steps" { value.min(QUICK_STEPS) } else { value };
    let settings = others
        .iter()
        .fold(Settings::default(), |settings, &(key, value)| settings.with(key, shortened(key, value)))
        .with(*grows, values[position]);
    let (workload, cpus) = (Workload::new(name, &settings)?, SIZES[position]);
    let machine = scene.systems.get(&format!("{FAMILY}-{cpus}p"))?.name().to_owned();
    Ok(Measurement { machine, subject: Subject::Program(ProgramRun { workload, cpus }) })
}

/// The mean over all link interfaces.
fn links(row: &SimulationRow) -> Option<LinkInterfaceStatistics> {
    let links: Option<Vec<_>> = row.controllers.as_ref()?.iter().map(|controller| controller.link).collect();
    links.filter(|links| !links.is_empty()).map(|links| LinkInterfaceStatistics::mean(&links))
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_exists_in_every_size() {
        for (name, grows, values, others) in PROGRAMS {
            for value in values {
                let settings =
                    others.iter().fold(Settings::default(), |settings, &(key, value)| settings.with(key, value));
                let program = Workload::new(name, &settings.with(grows, value)).expect("a program");
                assert_eq!(program.name(), name);
            }
        }
    }
}
