//! The runs behind a cell, and how it follows from them. Equal runs of all tables are one run.

use std::sync::Arc;

use workloads::{Settings, Workload};

use super::figure::{COMMON, FEW};
use super::point::PINNED;
use super::{Cell, Figure, Ideal, Point, geometric_mean};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::ideal::{Account, speedup};
use crate::measurement::{Measurement, ProgramRun, Scheduled, Subject};
use crate::tables::Scene;
use crate::{Outcome, variant};

/// The key of the description that makes a machine ideal.
const IDEAL: &str = "directory.ideal";
/// The parameter that repairs a program.
const TUNED: &str = "tuned";
/// The numbers of processors of a quick run: what is compared in tables, without what is between.
const QUICK_CPUS: [u16; 4] = [1, FEW, 63, 64];
/// Data of the programs as large as Table 3.2 names, over 32, as `flash-scaled` is of FLASH: nodes fill up as they did there. Not
/// those of mgrid: a bar with the 256 planes of the published cube, whose slices are as thick, and a 16th of its points. Art's
/// and equake's grow with the threads. The first of a program's rounds is not measured: published ones have hundreds.
const SCALED: &[(&str, Parameters)] = &[
    ("swim", &[("side", 682), FIRST]),
    ("wupwise", &[("time", 428), FIRST]),
    ("mgrid", &[("intervals", 256), ("narrower", 4), FIRST]),
    ("apsi", &[("width", 560), FIRST]),
    ("art", &[("patterns", 23)]),
    ("equake", &[FIRST]),
    ("fma3d", &[("width", 12), ("length", 567), FIRST]),
    ("gafort", &[("families", 2520), FIRST]),
    ("applu", &[("planes", 195), ("rounds", 2), FIRST]),
];
/// Smaller data of a quick run, or fewer steps, where a run takes longest. Gafort stays larger than eight nodes, and swim than
/// caches. One round is measured.
const QUICK: &[(&str, Parameters)] = &[
    ("swim", &[("side", 384), ("rounds", 2), FIRST]),
    ("wupwise", &[FIRST]),
    ("mgrid", &[("intervals", 256), ("narrower", 8), FIRST]),
    ("apsi", &[FIRST]),
    ("equake", &[("steps", 2), FIRST]),
    ("fma3d", &[("steps", 2), FIRST]),
    ("gafort", &[("families", 2520), ("generations", 2), FIRST]),
    ("applu", &[("rounds", 2), FIRST]),
];
/// Lines that exceed the secondary cache of 16384 in every set of it, so that a sweep over them misses each time.
const EXCEEDING: u64 = 24_576;
/// Data of the synthetic programs, as far as they differ from their defaults; those of a quick run are the same.
///
/// The first two hand round lines that fit the cache. The others sweep over more than it holds, as the benchmarks do (Table
/// 3.2). Half of a processor's own references store, and of the last program 4 in a hundred go to a master's node (section
/// 2.3.3), half of them to lines that all read: no source gives these three numbers, they were chosen before any run and
/// stayed. Work was searched for, by the utilisation of controllers alone: with 8 processors and `cv=2/LB`, 15 % in the last
/// three, the benchmarks' average (section 5.5.2; with 300 cycles it was 10, 17 and 17 %), and less than half in the first two.
const SYNTHETIC_SIZES: &[(&str, Parameters)] = &[
    ("migratory", &[("work", 4000)]),
    ("producer-consumer", &[("readers", 4), ("work", 2000)]),
    ("wide-read-sharing", &[("lines", EXCEEDING), ("rounds", 2), ("updates", 256), ("work", 90)]),
    ("private", &[("lines", EXCEEDING), ("rounds", 2), ("writes", 50), ("work", 350)]),
    (
        "hot-spot",
        &[("references", 40_960), ("lines", EXCEEDING), ("hot", 4), ("shared", 50), ("writes", 50), ("work", 350)],
    ),
];
/// The first round finds empty caches, and lines that nobody has read yet.
const FIRST: (&str, u64) = ("unmeasured", 1);
/// Parameters of a program, with their values.
type Parameters = &'static [(&'static str, u64)];

/// The machine and the programs of a table.
pub struct Runs<'a> {
    /// The table.
    pub scene: &'a Scene<'a>,
    /// The programs that are averaged.
    pub programs: &'static [&'static str],
}

impl Runs<'_> {
    /// The formula of a cell.
    ///
    /// # Errors
    /// When a machine or a program cannot be had.
    pub fn cell(&self, cell: &Cell) -> Result<Formula, ExperimentError> {
        let own = self.value(&cell.point)?;
        let Some(over) = &cell.over else { return Ok(own) };
        let other = self.value(over)?;
        Ok(if cell.faster { other.percent_above(own) } else { own.over(other) })
    }

    /// The figure of a point; for the average, of all programs.
    ///
    /// # Errors
    /// When a machine or a program cannot be had.
    pub fn value(&self, point: &Point) -> Result<Formula, ExperimentError> {
        if let Some(program) = &point.program {
            return self.one(program, point);
        }
        let all = self.programs.iter().map(|program| self.one(program, point)).collect::<Result<Vec<_>, _>>()?;
        Ok(if point.figure.is_share() { Formula::mean(all) } else { Formula::Computed(all, geometric_mean) })
    }

    fn one(&self, program: &str, point: &Point) -> Result<Formula, ExperimentError> {
        let few = if point.figure == Figure::TotalSpeedup { 1 } else { FEW };
        match point.figure {
            Figure::Speedup | Figure::TotalSpeedup | Figure::Efficiency | Figure::CommonEfficiency => {
                let common = point.figure == Figure::CommonEfficiency;
                let protocol = if common { COMMON.to_owned() } else { point.protocol.clone() };
                // One thread has the same time under every scheduler (section 4.2.1): it stays with its memory.
                let alone = point.figure == Figure::TotalSpeedup;
                let scheduling = point.scheduling.map(|own| if alone { PINNED } else { own });
                let base = Point { cpus: few, protocol, scheduling, ..point.clone() };
                let times = vec![self.reading(program, &base)?, self.reading(program, point)?];
                let rule = move |times: &[f64]| Some(speedup(few, times[0], times[1]));
                let speedup = Formula::ComputedBy(times, Arc::new(rule));
                let over_all = common || point.figure == Figure::Efficiency;
                Ok(if over_all { speedup.times(1.0 / f64::from(point.cpus)) } else { speedup })
            }
            _ => self.reading(program, point),
        }
    }

    /// The figure of a point in one run.
    fn reading(&self, program: &str, point: &Point) -> Result<Formula, ExperimentError> {
        let Some(measurement) = self.measurement(program, point)? else {
            return Ok(Formula::Computed(Vec::new(), |_| None));
        };
        let clock = self.scene.systems.get(&measurement.machine)?.description.processor.clock;
        let (figure, cycle_ns) = (point.figure, 1000.0 / clock.as_mhz());
        let equation = match point.ideal {
            Some(Ideal::Accounted(equation)) => Some(equation),
            _ => None,
        };
        Ok(Formula::reading(measurement, move |outcome| match (outcome, equation) {
            (Outcome::Program(row), None) => figure.read(row, cycle_ns),
            (Outcome::Program(row), Some(equation)) => Account::of(row)?.time_ns(equation),
            _ => None,
        }))
    }

    /// The run of a program at a point; none if a quick run leaves that out.
    ///
    /// # Errors
    /// When the machine or the program cannot be had.
    pub fn measurement(&self, program: &str, point: &Point) -> Result<Option<Measurement>, ExperimentError> {
        let quick = self.scene.systems.scope().quick;
        if quick && !QUICK_CPUS.contains(&point.cpus) {
            return Ok(None);
        }
        let run = ProgramRun::new(workload(program, point, quick)?, point.cpus);
        let processes = point.processes;
        let subject = match point.scheduling {
            Some(scheduling) => Subject::Scheduled(Scheduled { run, processes, scheduling }),
            None => Subject::Program(run),
        };
        Ok(Some(Measurement { machine: self.scene.systems.get(&self.machine(point)?)?.name().to_owned(), subject }))
    }

    /// The name of the machine on which a point is measured.
    fn machine(&self, point: &Point) -> Result<String, ExperimentError> {
        let mut name = variant::with_protocol(self.scene.system()?.name(), &point.protocol);
        for (key, value) in &point.machine {
            name = variant::with(&name, key, value);
        }
        if let Some(Ideal::Simulated(limit)) = point.ideal {
            name = variant::with(&name, IDEAL, limit.name());
        }
        Ok(name)
    }
}

/// The program with its parameters, `tuned` as far as it can be.
fn workload(program: &str, point: &Point, quick: bool) -> Result<Workload, ExperimentError> {
    let sizes = if quick { QUICK } else { SCALED };
    let own = sizes.iter().chain(SYNTHETIC_SIZES).find(|(name, _)| *name == program).map_or(&[][..], |(_, own)| own);
    let mut settings = own.iter().fold(Settings::default(), |settings, &(key, value)| settings.with(key, value));
    let plain = Workload::new(program, &settings)?;
    let tuned = plain.parameters().into_iter().find(|(parameter, _)| parameter.name == TUNED);
    if let Some((parameter, _)) = tuned.filter(|_| point.tuned) {
        settings = settings.with(TUNED, parameter.most);
    }
    let settings = point.parameters.iter().fold(settings, |settings, (key, value)| settings.with(key, *value));
    Ok(Workload::new(program, &settings)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_exists_and_takes_its_parameters() {
        for (name, _) in [SCALED, QUICK, SYNTHETIC_SIZES].concat() {
            for quick in [false, true] {
                assert_eq!(workload(name, &Point::default(), quick).expect("a program").name(), name);
            }
        }
    }
}
