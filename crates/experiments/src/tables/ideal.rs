//! What ideal protocols would gain: by the accounting of the FLASH dissertation (section 5.5, Equations 5.1 to 5.4), and by
//! simulating the ideal machines themselves.

use record::{ProcessorStatistics, SimulationRow};
use report::{Axis, Mark, Plot, Series as Line};

use super::sharing::{PROCESSORS, workload};
use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::{Formula, Measurement, ProgramRun, Subject};
use crate::reproduction::Reproduced;
use crate::{Outcome, variant};

/// A row for each program; columns such as `zero-overhead at 63, accounted` and `zero-overhead at 63, simulated`: how many
/// times as fast the program would be.
///
/// The accounting takes what misses pay beyond their minimum off the execution time, whatever of it they paid at the same
/// time: Tc for no overhead, Tc and Tp2p for all lines local, each of the processor that pays most (section 5.5.2). Equation
/// 5.4 as printed multiplies times by numbers of misses; here the text before it is followed. The processors have one request
/// outstanding, for which alone the accounting is meant (sections 5.5.1 and 5.5.5).
pub struct Ideal;

/// The protocol of section 5.5.
const PROTOCOL: &str = "cv=2/LB";
/// The keys of the description that make the machine ideal, and that let misses not overlap.
const IDEAL: &str = "controller.ideal";
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
    const ALL: [(Self, &'static str); 2] = [(Self::ZeroOverhead, "zero-overhead"), (Self::AllLocal, "all-local")];

    /// What the accounting takes off a processor's time, in nanoseconds; `None` if it was not measured.
    fn removed_ns(self, processor: &ProcessorStatistics) -> Option<f64> {
        match self {
            Self::ZeroOverhead => processor.coherence_ns,
            Self::AllLocal => Some(processor.coherence_ns? + processor.communication_ns?),
        }
    }

    /// How many times as fast the program is by the accounting; `None` if misses overlapped so much that there is no sense in
    /// it.
    fn accounted(self, row: &SimulationRow) -> Option<f64> {
        let removed = row.processors.as_ref()?.iter().map(|processor| self.removed_ns(processor));
        let most = removed.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)?;
        (most < row.time_ns).then(|| row.time_ns / (row.time_ns - most))
    }
}

impl Shape for Ideal {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let parsed = column.split_once(", ").and_then(|(what, how)| Some((what.split_once(" at ")?, how)));
        let Some(((limit, processors), how)) = parsed else { return Ok(None) };
        let limit = Limit::ALL.into_iter().find(|(_, name)| *name == limit);
        let (Some((limit, name)), Ok(cpus), Some(workload)) = (limit, processors.parse(), workload(row)?) else {
            return Ok(None);
        };
        let (key, value) = ONE_REQUEST;
        let base = variant::with(scene.under(PROTOCOL)?.name(), key, value);
        let run = |machine: &str| -> Result<Measurement, ExperimentError> {
            let machine = scene.systems.get(machine)?.name().to_owned();
            Ok(Measurement { machine, subject: Subject::Program(ProgramRun { workload, cpus }) })
        };
        Ok(match how {
            "accounted" => Some(Formula::reading(run(&base)?, move |outcome| match outcome {
                Outcome::Program(row) => limit.accounted(row),
                _ => None,
            })),
            "simulated" => {
                let ideal = run(&variant::with(&base, IDEAL, name))?;
                Some(Formula::headline(run(&base)?).over(Formula::headline(ideal)))
            }
            _ => None,
        })
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let mut series = Vec::new();
        for (colour, (limit, cpus)) in
            Limit::ALL.iter().flat_map(|limit| PROCESSORS.map(|cpus| (limit.1, cpus))).enumerate()
        {
            let of = |how: &str| -> Vec<Option<f64>> {
                let column = format!("{limit} at {cpus}, {how}");
                reproduced.rows.iter().filter(|row| row.column == column).map(|row| row.ours).collect()
            };
            let pairs = of("simulated").into_iter().zip(of("accounted"));
            let points = pairs.filter_map(|(x, y)| x.zip(y)).collect();
            series.push(Line { name: format!("{limit} at {cpus}"), points, mark: Mark::Points, colour });
        }
        let (x, y) = (Axis::linear("gain by simulation (times)"), Axis::linear("gain by the equations (times)"));
        vec![("gain".to_owned(), reproduced.plot(x, y, series))]
    }
}
