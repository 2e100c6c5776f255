//! What ideal protocols would gain: by the accounting of the FLASH dissertation (section 5.5, Equations 5.1 to 5.4), and by
//! simulating the ideal machines themselves.

use std::sync::Arc;

use report::{Axis, Mark, Plot, Series as Line};
use workloads::Workload;

use super::sharing::{PROCESSORS, workload};
use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::ideal::{Account, Equation, speedup};
use crate::measurement::{Measurement, ProgramRun, Subject};
use crate::{Outcome, variant};

/// A row for each program; columns such as `zero-overhead at 63, accounted` and `zero-overhead at 63, simulated`: how many
/// times as fast the program would be. Then the speedups of the greater number of processors over the smaller, `base
/// speedup` and such as `zero-overhead speedup, simulated`.
///
/// Equation 5.4 as printed is about stall time alone: its column is `all-local speedup, as printed`; for the accounted ones the
/// text before it is followed. The processors have one request outstanding, for which alone the accounting is meant (sections
/// 5.5.1 and 5.5.5).
pub struct Ideal;

/// The protocol of section 5.5.
const PROTOCOL: &str = "cv=2/LB";
/// The keys of the description that make the machine ideal, and that let misses not overlap.
const IDEAL: &str = "directory.ideal";
const ONE_REQUEST: (&str, u32) = ("processor.outstanding_misses", 1);

/// An ideal machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    /// No waiting for controllers, and no coherence actions in a miss's way.
    ZeroOverhead,
    /// All misses are local misses, too.
    AllLocal,
}

impl Limit {
    const ALL: [Self; 2] = [Self::ZeroOverhead, Self::AllLocal];

    /// Its name here, and in a machine's description.
    const fn name(self) -> &'static str {
        match self {
            Self::ZeroOverhead => "zero-overhead",
            Self::AllLocal => "all-local",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }

    /// The equation that accounts for it.
    const fn equation(self) -> Equation {
        match self {
            Self::ZeroOverhead => Equation::ZeroOverhead,
            Self::AllLocal => Equation::AllLocal,
        }
    }
}

/// What a column shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    /// `zero-overhead at 63, accounted`, or simulated.
    Gain(Limit, u16, How),
    /// `base speedup`.
    BaseSpeedup,
    /// `zero-overhead speedup, accounted`, or simulated.
    Speedup(Limit, How),
    /// `all-local speedup, as printed`.
    StallSpeedup,
}

/// How the time on an ideal machine is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Accounted,
    Simulated,
}

impl Column {
    fn parse(column: &str) -> Option<Self> {
        match column {
            "base speedup" => return Some(Self::BaseSpeedup),
            "all-local speedup, as printed" => return Some(Self::StallSpeedup),
            _ => {}
        }
        let (what, how) = column.split_once(", ")?;
        let how = match how {
            "accounted" => How::Accounted,
            "simulated" => How::Simulated,
            _ => return None,
        };
        match what.strip_suffix(" speedup") {
            Some(limit) => Some(Self::Speedup(Limit::named(limit)?, how)),
            None => {
                let (limit, processors) = what.split_once(" at ")?;
                Some(Self::Gain(Limit::named(limit)?, processors.parse().ok()?, how))
            }
        }
    }
}

/// The runs of one program.
struct Runs<'a> {
    scene: &'a Scene<'a>,
    workload: Workload,
    /// The machine as it is.
    base: String,
}

impl Runs<'_> {
    /// On the machine as it is, or on an ideal one.
    fn run(&self, ideal: Option<Limit>, cpus: u16) -> Result<Measurement, ExperimentError> {
        let machine = ideal.map_or_else(|| self.base.clone(), |limit| variant::with(&self.base, IDEAL, limit.name()));
        let machine = self.scene.systems.get(&machine)?.name().to_owned();
        Ok(Measurement { machine, subject: Subject::Program(ProgramRun { workload: self.workload, cpus }) })
    }

    fn time(&self, ideal: Option<Limit>, cpus: u16) -> Result<Formula, ExperimentError> {
        Ok(Formula::headline(self.run(ideal, cpus)?))
    }

    /// What an equation takes for the time, by the account of the machine as it is.
    fn accounted(&self, equation: Equation, cpus: u16) -> Result<Formula, ExperimentError> {
        Ok(Formula::reading(self.run(None, cpus)?, move |outcome| match outcome {
            Outcome::Program(row) => Account::of(row)?.time_ns(equation),
            _ => None,
        }))
    }

    fn time_by(&self, limit: Limit, how: How, cpus: u16) -> Result<Formula, ExperimentError> {
        match how {
            How::Accounted => self.accounted(limit.equation(), cpus),
            How::Simulated => self.time(Some(limit), cpus),
        }
    }

    fn formula(&self, column: Column) -> Result<Formula, ExperimentError> {
        let [few, many] = PROCESSORS;
        let of = |time: &dyn Fn(u16) -> Result<Formula, ExperimentError>| {
            let rule = move |times: &[f64]| Some(speedup(few, times[0], times[1]));
            Ok(Formula::ComputedBy(vec![time(few)?, time(many)?], Arc::new(rule)))
        };
        match column {
            Column::Gain(limit, cpus, how) => Ok(self.time(None, cpus)?.over(self.time_by(limit, how, cpus)?)),
            Column::BaseSpeedup => of(&|cpus| self.accounted(Equation::Base, cpus)),
            Column::Speedup(limit, how) => of(&|cpus| self.time_by(limit, how, cpus)),
            Column::StallSpeedup => of(&|cpus| self.accounted(Equation::AllLocalStall, cpus)),
        }
    }
}

impl Shape for Ideal {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let (Some(column), Some(workload)) = (Column::parse(column), workload(row)?) else { return Ok(None) };
        let (key, value) = ONE_REQUEST;
        let base = variant::with(scene.under(PROTOCOL)?.name(), key, value);
        Runs { scene, workload, base }.formula(column).map(Some)
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let lines = Limit::ALL.iter().flat_map(|limit| PROCESSORS.map(|cpus| format!("{} at {cpus}", limit.name())));
        let line = |(colour, name): (usize, String)| {
            let of = |how: &str| -> Vec<Option<f64>> {
                let column = format!("{name}, {how}");
                reproduced.rows.iter().filter(|row| row.column == column).map(|row| row.ours).collect()
            };
            let pairs = of("simulated").into_iter().zip(of("accounted"));
            let points = pairs.filter_map(|(x, y)| x.zip(y)).collect();
            Line { name, points, mark: Mark::Points, colour }
        };
        let series = lines.enumerate().map(line).collect();
        let (x, y) = (Axis::linear("gain by simulation (times)"), Axis::linear("gain by the equations (times)"));
        vec![("gain".to_owned(), reproduced.plot(x, y, series))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_as_they_are_called() {
        let gain = |limit, cpus, how| Some(Column::Gain(limit, cpus, how));
        assert_eq!(Column::parse("zero-overhead at 8, accounted"), gain(Limit::ZeroOverhead, 8, How::Accounted));
        assert_eq!(Column::parse("all-local at 63, simulated"), gain(Limit::AllLocal, 63, How::Simulated));
        assert_eq!(Column::parse("base speedup"), Some(Column::BaseSpeedup));
        let speedup = Column::Speedup(Limit::AllLocal, How::Accounted);
        assert_eq!(Column::parse("all-local speedup, accounted"), Some(speedup));
        assert_eq!(Column::parse("all-local speedup, as printed"), Some(Column::StallSpeedup));
        for unknown in ["zero-overhead at 8", "some-local at 8, accounted", "all-local at 8, guessed", "speedup"] {
            assert_eq!(Column::parse(unknown), None, "{unknown}");
        }
    }
}
