//! How long a miss waits for the controller of its own node, by how busy that is: FLASH dissertation, Figure 5.19.

use record::SimulationRow;
use report::{Axis, Mark, Plot, Series as Line};
use workloads::{Settings, Workload};

use super::{Reproduced, Scene, Shape};
use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Measurement, ProgramRun, Subject};

/// A row for each program and load (`uniform, work 64`: instructions of work between two references), and two columns: the
/// average utilisation of controllers, and the wait of a miss on average, in processor cycles.
pub struct WaitTime;

/// The name of a load, its program, and the parameters that differ from that program's defaults.
type Load = (&'static str, &'static str, &'static [(&'static str, u64)]);

/// The programs, by what a controller is asked: by its own processor alone; as often by another's; by all others', too.
const PROGRAMS: [Load; 3] = [
    ("local", "private", &[("lines", 1024), ("writes", 30)]),
    ("neighbour", "private", &[("lines", 1024), ("writes", 30), ("distance", 1)]),
    ("uniform", "uniform", &[("lines", 4096), ("writes", 30), ("references", 1024)]),
];

/// The protocol of section 5.5.
const PROTOCOL: &str = "cv=2/LB";
/// The processors of sections 5.3 to 5.5.
const PROCESSORS: u16 = 63;

impl Shape for WaitTime {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some((program, work)) = row.split_once(", work ") else { return Ok(None) };
        let Ok(work) = work.parse() else { return Ok(None) };
        let system = scene.under(PROTOCOL)?;
        let Some((_, program, changes)) = PROGRAMS.iter().find(|(name, ..)| *name == program) else { return Ok(None) };
        let settings = changes.iter().fold(Settings::default(), |settings, &(key, value)| settings.with(key, value));
        let workload = Workload::new(program, &settings.with("work", work))?;
        let subject = Subject::Program(ProgramRun::new(workload, PROCESSORS));
        let measurement = Measurement { machine: system.name().to_owned(), subject };
        let read = |figure: fn(&SimulationRow) -> Option<f64>| {
            Formula::reading(measurement, move |outcome| match outcome {
                Outcome::Program(row) => figure(row),
                _ => None,
            })
        };
        Ok(match column {
            "utilisation" => Some(read(|row| Some(row.utilisation_pct))),
            "wait of a miss" => Some(system.cycles(read(wait_ns))),
            _ => None,
        })
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let series = PROGRAMS.iter().enumerate().map(|(colour, (program, ..))| Line {
            name: (*program).to_owned(),
            points: points(reproduced, program),
            mark: Mark::Line,
            colour,
        });
        let (x, y) = (Axis::linear("utilisation of the controllers (%)"), Axis::linear("wait of a miss (cycles)"));
        vec![("wait".to_owned(), reproduced.plot(x, y, series.collect()))]
    }
}

/// Nanoseconds that a miss waited for its node's controller, on average over all processors.
fn wait_ns(row: &SimulationRow) -> Option<f64> {
    let processors = row.processors.as_ref()?;
    let waited: f64 = processors.iter().map(|processor| processor.wait_ns).sum::<Option<f64>>()?;
    (row.secondary_misses > 0).then(|| waited / row.secondary_misses as f64)
}

/// Utilisation and wait at each load of a program.
fn points(reproduced: &Reproduced<'_>, program: &str) -> Vec<(f64, f64)> {
    let of_program = |column: &str| -> Vec<Option<f64>> {
        let rows = reproduced.rows.iter().filter(|row| row.column == column);
        rows.filter(|row| row.row.split_once(", ").is_some_and(|(name, _)| name == program))
            .map(|row| row.ours)
            .collect()
    };
    let pairs = of_program("utilisation").into_iter().zip(of_program("wait of a miss"));
    pairs.filter_map(|(x, y)| x.zip(y)).collect()
}
