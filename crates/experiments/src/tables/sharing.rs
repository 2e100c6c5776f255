//! Protocols on programs that share lines in one way each, on a small and on a large part of the machine: how time and
//! controllers' occupancy compare. No paper prints this; the FLASH dissertation's sections 5.3.2 to 5.3.4 do the same with
//! SpecOMP2001.

use std::collections::BTreeMap;

use record::SimulationRow;
use report::{Axis, Mark, Plot, Series as Line};
use workloads::{Settings, Workload};

use super::programs::{geometric_mean, pearson};
use super::{Reproduced, Scene, Shape};
use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Measurement, ProgramRun, Subject};

/// A row for each program and protocol (`migratory, hybrid`), and one for their geometric mean over the programs; a column
/// for each figure and number of processors (`time at 63`). Times, latencies and total occupancies are relative to those of the
/// first protocol. A row with a program's name alone has the correlation of time and occupancy over its protocols, `mean` that of
/// the means, and `all` that over all programs and protocols.
pub struct Sharing;

/// The protocols of Table 5.1, the one that others are compared with first.
const PROTOCOLS: [&str; 7] = ["cv=2", "cv=2/LB", "dynamic-pointer", "hybrid", "hybrid/IC", "hybrid/IR", "hybrid/RAC"];
/// The numbers of processors of sections 5.3.2 and 5.3.3.
pub(super) const PROCESSORS: [u16; 2] = [8, 63];
/// Lines that exceed the secondary cache of 16384 in every set of it, so that a sweep over them misses each time.
const EXCEEDING: u64 = 24_576;
/// The programs, with what differs from their defaults.
///
/// The first two hand round lines that fit the cache. The others sweep over more than it holds, as the benchmarks do (Table
/// 3.2). Half of a processor's own references store, and of the last program 4 in a hundred go to a master's node (section
/// 2.3.3), half of them to lines that all read: no source gives these three numbers, they were chosen before any run and
/// stayed. Work was searched for, by the utilisation of controllers alone: with 8 processors and `cv=2/LB`, 15 % in the last
/// three, the benchmarks' average (section 5.5.2; with 300 cycles it was 10, 17 and 17 %), and less than half in the first two.
const PROGRAMS: [(&str, &[(&str, u64)]); 5] = [
    ("migratory", &[("work", 4000)]),
    ("producer-consumer", &[("readers", 4), ("work", 2000)]),
    ("wide-read-sharing", &[("lines", EXCEEDING), ("rounds", 2), ("updates", 256), ("work", 90)]),
    ("private", &[("lines", EXCEEDING), ("rounds", 2), ("writes", 50), ("work", 350)]),
    (
        "hot-spot",
        &[("references", 40_960), ("lines", EXCEEDING), ("hot", 4), ("shared", 50), ("writes", 50), ("work", 350)],
    ),
];
/// The row of the mean over the programs, and that of what all together show.
const MEAN: &str = "mean";
const ALL: &str = "all";

/// What a run of a program says.
#[derive(Clone, Copy)]
enum Figure {
    /// Until the last processor has finished, in nanoseconds.
    Time,
    /// From a miss to its end on average, in nanoseconds.
    MissLatency,
    /// How long controllers were held in all, in nanoseconds.
    Occupancy,
    /// The part of that which went into misses of the instruction cache, in percent.
    InstructionMisses,
    /// How much of the time the busiest controller was held, in percent.
    Busiest,
}

impl Figure {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "time" => Self::Time,
            "miss latency" => Self::MissLatency,
            "occupancy" => Self::Occupancy,
            "instruction misses" => Self::InstructionMisses,
            "busiest controller" => Self::Busiest,
            _ => return None,
        })
    }

    fn of(self, row: &SimulationRow) -> Option<f64> {
        match self {
            Self::Time => Some(row.time_ns),
            Self::MissLatency => row.miss_latency_ns,
            Self::Occupancy => Some(row.occupancy_ns),
            Self::Busiest => Some(row.max_utilisation_pct),
            Self::InstructionMisses => {
                let caches = row.controllers.as_ref()?.iter().map(|controller| controller.instruction_cache);
                let stalled: f64 = caches.map(|cache| cache.map(|cache| cache.stalled_ns)).sum::<Option<f64>>()?;
                (row.occupancy_ns > 0.0).then(|| stalled / row.occupancy_ns * 100.0)
            }
        }
    }

    /// Whether it is given relative to the first protocol.
    fn is_relative(self) -> bool {
        matches!(self, Self::Time | Self::MissLatency | Self::Occupancy)
    }
}

impl Shape for Sharing {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some((figure, processors)) = column.rsplit_once(" at ") else { return Ok(None) };
        let Ok(processors) = processors.parse::<u16>() else { return Ok(None) };
        if figure == "correlation of time and occupancy" {
            return correlation(scene, row, processors);
        }
        let (Some(figure), Some((program, protocol))) = (Figure::named(figure), row.split_once(", ")) else {
            return Ok(None);
        };
        if program == MEAN {
            mean(scene, protocol, processors, figure)
        } else {
            one(scene, program, protocol, processors, figure)
        }
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let drawn = |processors: u16| {
            let (x, y) = (Axis::linear("total occupancy over cv=2"), Axis::linear("time over cv=2"));
            (format!("{processors}p"), reproduced.plot(x, y, by_protocol(reproduced, processors)))
        };
        PROCESSORS.into_iter().map(drawn).collect()
    }
}

/// One of the programs, as it is run here.
pub(super) fn workload(program: &str) -> Result<Option<Workload>, ExperimentError> {
    let Some((name, changes)) = PROGRAMS.iter().find(|(name, _)| *name == program) else { return Ok(None) };
    let settings = changes.iter().fold(Settings::default(), |settings, &(key, value)| settings.with(key, value));
    Ok(Some(Workload::new(name, &settings)?))
}

/// A figure of a program under a protocol.
fn one(
    scene: &Scene<'_>,
    program: &str,
    protocol: &str,
    processors: u16,
    figure: Figure,
) -> Result<Option<Formula>, ExperimentError> {
    let Some(workload) = workload(program)? else { return Ok(None) };
    let of = |protocol: &str| -> Result<Formula, ExperimentError> {
        let run = ProgramRun { workload, cpus: processors };
        let measurement =
            Measurement { machine: scene.under(protocol)?.name().to_owned(), subject: Subject::Program(run) };
        Ok(reading(measurement, figure))
    };
    let ours = of(protocol)?;
    Ok(Some(if figure.is_relative() { ours.over(of(PROTOCOLS[0])?) } else { ours }))
}

fn reading(measurement: Measurement, figure: Figure) -> Formula {
    Formula::reading(measurement, move |outcome| match outcome {
        Outcome::Program(row) => figure.of(row),
        _ => None,
    })
}

/// The geometric mean of a figure over the programs.
fn mean(
    scene: &Scene<'_>,
    protocol: &str,
    processors: u16,
    figure: Figure,
) -> Result<Option<Formula>, ExperimentError> {
    let of_programs = PROGRAMS.iter().map(|(program, _)| one(scene, program, protocol, processors, figure));
    let of_programs: Option<Vec<Formula>> = of_programs.collect::<Result<_, _>>()?;
    Ok(of_programs.map(|figures| Formula::Computed(figures, geometric_mean)))
}

/// Pearson's coefficient of time and occupancy, both relative, over all protocols of a program, of the mean of programs, or
/// of all of them; none for other rows. As in Table 5.4, the first protocol is a point like the others.
fn correlation(scene: &Scene<'_>, row: &str, processors: u16) -> Result<Option<Formula>, ExperimentError> {
    let mut pairs = Vec::new();
    for protocol in PROTOCOLS {
        for (program, _) in PROGRAMS.iter().filter(|(program, _)| row == ALL || row == *program) {
            for figure in [Figure::Time, Figure::Occupancy] {
                pairs.extend(one(scene, program, protocol, processors, figure)?);
            }
        }
        if row == MEAN {
            for figure in [Figure::Time, Figure::Occupancy] {
                pairs.extend(mean(scene, protocol, processors, figure)?);
            }
        }
    }
    Ok((!pairs.is_empty()).then_some(Formula::Computed(pairs, pearson)))
}

/// A point for each program, its occupancy and its time, in a colour for each protocol.
fn by_protocol(reproduced: &Reproduced<'_>, processors: u16) -> Vec<Line> {
    let columns = ["occupancy", "time"].map(|figure| format!("{figure} at {processors}"));
    let figures: BTreeMap<(&str, &str), f64> =
        reproduced.rows.iter().filter_map(|row| Some(((row.row.as_str(), row.column.as_str()), row.ours?))).collect();
    let line = |(colour, protocol): (usize, &str)| {
        let point = |(program, _): &(&str, _)| {
            let row = format!("{program}, {protocol}");
            let of = |column: &String| figures.get(&(row.as_str(), column.as_str())).copied();
            Some((of(&columns[0])?, of(&columns[1])?))
        };
        let points = PROGRAMS.iter().filter_map(point).collect();
        Line { name: protocol.to_owned(), points, mark: Mark::Points, colour }
    };
    PROTOCOLS.into_iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_exists_and_takes_its_parameters() {
        for (name, changes) in PROGRAMS {
            let settings =
                changes.iter().fold(Settings::default(), |settings, &(key, value)| settings.with(key, value));
            assert_eq!(Workload::new(name, &settings).expect("a program").name(), name);
        }
    }
}
