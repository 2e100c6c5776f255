//! The runs of programs of the golden record: each built-in program once, on machines of both families, under protocols, policies,
//! schedulers and synchronisation of every kind.

use std::hash::Hasher;
use std::path::Path;

use record::{Row, SimulationRow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sim::Options;
use twox_hash::XxHash64;
use workloads::Settings;

use super::GoldenError;
use crate::error::ExperimentError;
use crate::simulation::{Simulated, Simulation, Synchronisation, policies};
use crate::variant;
use execution::Executable;

/// Columns of a run's record that are no figures: what the run is one of, and a hash of all keys of the machine's description, those
/// without effect included.
const NO_FIGURES: &[&str] = &[
    "program",
    "machine",
    "protocol",
    "cpus",
    "threads",
    "parameters",
    "placement",
    "scheduler",
    "processes",
    "barrier",
    "locks",
    "seed",
    "machine_digest",
];

/// Fields whose entries are amounts by name: one of nothing says as much as none.
const AMOUNTS: [&str; 2] = ["spent_ns", "misses"];

/// One figure of one run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunFigure {
    /// The run: [`Run::name`].
    pub run: String,
    /// The field of its record ([`SimulationRow`]).
    pub figure: String,
    /// A number or word as it is, and of a field with parts a digest.
    pub value: String,
}

/// A run of a program, in the words of `ccnuma sim`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    program: &'static str,
    parameters: &'static [(&'static str, u64)],
    machine: &'static str,
    cpus: u16,
    scheduler: &'static str,
    barrier: &'static str,
    locks: &'static str,
    causes: bool,
    /// The machine on which its references are recorded, to be replayed on the other.
    recorded_on: Option<&'static str>,
}

const fn run(
    program: &'static str,
    parameters: &'static [(&'static str, u64)],
    machine: &'static str,
    cpus: u16,
) -> Run {
    let (scheduler, barrier, locks) = ("none", "ideal", "llsc");
    Run { program, parameters, machine, cpus, scheduler, barrier, locks, causes: false, recorded_on: None }
}

/// Every run of the record.
pub fn runs() -> Vec<Run> {
    vec![
        run("private", &[("lines", 1024), ("rounds", 2), ("writes", 30)], "flash-4p+bit-vector", 4),
        Run { causes: true, ..run("migratory", &[("rounds", 8)], "arctic", 16) },
        run("producer-consumer", &[("readers", 3)], "flash-16p+dynamic-pointer", 16),
        run("wide-read-sharing", &[("rounds", 4)], "flash-64p+hybrid", 63),
        run("hot-spot", &[("references", 256), ("writes", 20)], "flash-16p+cv=2/LB", 16),
        run("uniform", &[("references", 512)], "stinger", 128),
        Run { barrier: "at-memory", ..run("counters", &[("rounds", 16)], "bwana", 8) },
        run("fft", &[("points", 16384)], "arctic", 64),
        run("radix", &[("keys", 16384), ("radix", 256), ("bits", 16)], "origin2000-r10k-250-32p", 32),
        run("lu", &[("side", 96)], "flash-16p+hybrid/IR", 16),
        Run { barrier: "llsc", ..run("ocean", &[("intervals", 32), ("steps", 1)], "bootleg", 16) },
        Run { locks: "at-memory", barrier: "tree", ..run("water", &[("molecules", 64), ("steps", 1)], "arctic", 16) },
        run("barnes", &[("bodies", 256), ("steps", 1)], "flash-16p+hybrid", 16),
        run("mp3d", &[("particles", 2048), ("steps", 2)], "flash-16p+hybrid/IC", 16),
        run("cholesky", &[("length", 13), ("width", 8)], "bitmap", 8),
        run("raytrace", &[("pixels", 24)], "flash-8p", 8),
        run("fmm", &[("bodies", 256), ("terms", 8), ("leaf", 8), ("steps", 2)], "lego-oil", 8),
        run("ge", &[("side", 64)], "flash-16p+hybrid/RAC", 16),
        run("mmult", &[("side", 48), ("block", 16)], "dresden", 9),
        run("paths", &[("vertices", 48)], "flash-scaled-16p+dynamic-pointer", 16),
        run("stream", &[("words", 16384), ("prefetch", 4)], "origin2000-r12k-400-8p", 8),
        run("cg", &[("rows", 700), ("iterations", 3)], "arctic+placement=round-robin", 16),
        run("swim", &[("side", 96), ("rounds", 2)], "flash-scaled-8p+placement=first-touch", 8),
        Run {
            scheduler: "gang/cache-affinity",
            barrier: "llsc",
            ..run("mgrid", &[("intervals", 16)], "flash-scaled-8p", 8)
        },
        run("wupwise", &[("time", 32), ("iterations", 1)], "flash-scaled-16p+directory.ideal=zero-overhead", 16),
        run("applu", &[("side", 12), ("planes", 12)], "flash-scaled-8p+directory.ideal=all-local", 8),
        run("apsi", &[("breadth", 32), ("width", 24), ("tuned", 1)], "flash-scaled-8p+cv=2/LB", 8),
        Run { causes: true, ..run("art", &[("positions", 8), ("patterns", 3)], "flash-scaled-8p", 8) },
        run("equake", &[("edge", 8), ("steps", 1)], "flash-scaled-8p+hybrid/RAC", 8),
        run("fma3d", &[("length", 48), ("steps", 2)], "arctic+processor.outstanding_misses=1", 16),
        Run {
            scheduler: "run-queue/memory-affinity",
            barrier: "llsc",
            ..run("gafort", &[("families", 36), ("generations", 2)], "arctic", 8)
        },
        run("private", &[("lines", 2048), ("rounds", 12), ("distance", 2)], "bwana+placement=planned+migration", 8),
        run(
            "wide-read-sharing",
            &[("lines", 2048), ("rounds", 3), ("updates", 0)],
            "bwana+placement=fixed=1+replication",
            8,
        ),
        run("ocean", &[("intervals", 32), ("steps", 1)], "smp-8p", 8),
        run("lu", &[("side", 64)], "origin2000-r12k-300-16p+topology.kind=mesh", 16),
        run("radix", &[("keys", 8192), ("radix", 256), ("bits", 16)], "flash-ring-8p", 8),
        Run {
            recorded_on: Some("origin2000-r12k-300-8p"),
            ..run("radix", &[("keys", 8192), ("radix", 256), ("bits", 16)], "flash-8p+dynamic-pointer", 8)
        },
    ]
}

impl Run {
    /// Program, parameters, machine and what else tells it from others.
    pub fn name(&self) -> String {
        let mut name = self.program.to_owned();
        for (parameter, value) in self.parameters {
            name.push_str(&format!(" {parameter}={value}"));
        }
        name.push_str(&format!(" on {} of {}", self.cpus, self.machine));
        let Run { scheduler, barrier, locks, .. } = self;
        for (what, plain, word) in
            [("scheduler", "none", scheduler), ("barrier", "ideal", barrier), ("locks", "llsc", locks)]
        {
            if *word != plain {
                name.push_str(&format!(" {what}={word}"));
            }
        }
        if self.causes {
            name.push_str(" causes");
        }
        if let Some(machine) = self.recorded_on {
            name.push_str(&format!(" recorded on {machine}"));
        }
        name
    }

    /// The built-in program.
    pub fn program(&self) -> &'static str {
        self.program
    }

    /// Runs it. A trace of its references is written into `scratch`, if it is recorded.
    ///
    /// # Errors
    /// When it cannot be run, or its results are wrong.
    pub fn figures(&self, scratch: &Path) -> Result<Vec<RunFigure>, GoldenError> {
        let simulated = self.run(scratch)?;
        let run = self.name();
        if let Some(wrong) = simulated.wrong {
            return Err(ExperimentError::WrongResult { program: run, wrong }.into());
        }
        figures(&run, &simulated.row).map_err(|source| GoldenError::Record { run, source })
    }

    fn run(&self, scratch: &Path) -> Result<Simulated, ExperimentError> {
        let settings = self.parameters.iter().fold(Settings::default(), |all, &(name, value)| all.with(name, value));
        let program = Executable::named(self.program, &settings)?;
        let Some(machine) = self.recorded_on else { return self.on(self.machine, program)?.run() };
        let path = scratch.join(format!("{}.references", self.program));
        self.on(machine, program)?.recorded_in(path.clone()).run()?;
        let replay = Executable::named(&path.to_string_lossy(), &Settings::default())?;
        self.on(self.machine, replay)?.run()
    }

    fn on(&self, machine: &str, program: Executable) -> Result<Simulation, ExperimentError> {
        let options = Options { attribute: self.causes, ..Options::default() };
        let simulation = Simulation::new(variant::load(machine)?, program, Some(self.cpus), options)?;
        let (barrier, locks) = (policies::barrier(self.barrier)?, policies::locks(self.locks)?);
        let simulation = simulation.with_synchronisation(Synchronisation { barrier, locks })?;
        match policies::scheduler(self.scheduler)? {
            Some(scheduling) => simulation.with_scheduling(scheduling),
            None => Ok(simulation),
        }
    }
}

/// Figures of a record that the simulation determined, field by field.
fn figures(run: &str, row: &SimulationRow) -> Result<Vec<RunFigure>, serde_json::Error> {
    let record = serde_json::to_value(row)?;
    let columns = SimulationRow::COLUMNS.iter().filter(|column| !NO_FIGURES.contains(column));
    let figure = |column: &&str| {
        let value = match record[*column].clone() {
            Value::String(word) => word,
            mut parts @ (Value::Array(_) | Value::Object(_)) => {
                drop_nothing(column, &mut parts);
                digest(parts)
            }
            number => number.to_string(),
        };
        RunFigure { run: run.to_owned(), figure: (*column).to_owned(), value }
    };
    Ok(columns.map(figure).collect())
}

/// Leaves out of a field, and of fields within it, amounts of nothing.
fn drop_nothing(field: &str, parts: &mut Value) {
    match parts {
        Value::Object(entries) => {
            if AMOUNTS.contains(&field) {
                entries.retain(|_, amount| amount.as_f64() != Some(0.0));
            }
            entries.iter_mut().for_each(|(name, entry)| drop_nothing(name, entry));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| drop_nothing("", element)),
        _ => {}
    }
}

/// A digest of parts of a record: equal in whatever order fields are declared.
fn digest(mut parts: Value) -> String {
    parts.sort_all_objects();
    let mut hasher = XxHash64::default();
    hasher.write(parts.to_string().as_bytes());
    format!("#{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_program_and_every_kind_of_node_are_in_the_record() {
        let programs: BTreeSet<_> = runs().iter().map(Run::program).collect();
        let all: BTreeSet<_> = workloads::Workload::all().iter().map(workloads::Workload::name).collect();
        assert_eq!(programs, all);
        let names: BTreeSet<_> = runs().iter().map(Run::name).collect();
        assert_eq!(names.len(), runs().len(), "two runs have one name");
        let kind = |run: &Run| variant::load(run.machine).expect("a machine").controller.kind;
        let kinds: BTreeSet<_> = runs().iter().map(|run| format!("{:?}", kind(run))).collect();
        assert_eq!(kinds.len(), 3, "{kinds:?}");
    }

    #[test]
    fn figures_are_what_the_simulation_determined() {
        let mut row = SimulationRow { time_ns: 0.1, machine_digest: "1".into(), ..SimulationRow::default() };
        row.spent_ns.insert("busy".into(), 1.0);
        let plain = figures("r", &row).expect("a record");
        let told = |name: &str| plain.iter().find(|figure| figure.figure == name).map(|figure| figure.value.as_str());
        assert_eq!((told("time_ns"), told("result"), told("causes")), (Some("0.1"), Some("ok"), Some("null")));
        assert_eq!(told("machine_digest"), None);
        assert!(told("spent_ns").is_some_and(|digest| digest.len() == 17), "{plain:?}");
        // Neither a key more in the machine's description nor an amount of nothing is another figure.
        row.machine_digest = "2".into();
        row.spent_ns.insert("lock".into(), 0.0);
        assert_eq!(figures("r", &row).expect("a record"), plain);
        row.spent_ns.insert("lock".into(), 1.0);
        let now = figures("r", &row).expect("a record");
        let changed: Vec<_> = now.into_iter().filter(|figure| !plain.contains(figure)).collect();
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!(changed[0].figure, "spent_ns");
    }

    #[test]
    fn a_digest_is_the_same_on_every_computer() {
        let parts = serde_json::json!({ "b": [1, 2.5], "a": null });
        assert_eq!(digest(parts), "#6f8c72dbd71d3b6e");
    }
}
