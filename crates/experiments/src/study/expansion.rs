//! The runs of a study's blocks: every combination, checked, by the same expansion as `ccnuma sim` and the same suites as
//! `ccnuma bench`.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bench::{Layout, Suite, SuiteScope};
use machine::{Description, DescriptionError, Resolved};
use record::{RunState, SweepRunRow, Work};
use sim::Options;
use workloads::{Data, Matrix, Scene, Workload};

use super::error::{Place, StudyError};
use super::file::{Axis, BenchBlock, Block, Keyed, ProgramEntry, SimBlock};
use super::run::{StudyRun, Task};
use super::{Study, label};
use crate::error::ExperimentError;
use crate::key::{Detail, RunKey, content_digest};
use crate::run::suite_settings;
use crate::simulation::{Simulation, Sweep, Variations, digest, protocol};
use crate::variant;

/// The runs of all blocks. Paths are relative to `folder`.
///
/// # Errors
/// When something that is asked for does not exist, or cannot be run.
pub(super) fn study(blocks: &[Block], folder: &Path, software: &str) -> Result<Study, StudyError> {
    let mut expansion = Expansion { folder, software, runs: Vec::new(), remarks: BTreeSet::new() };
    for block in blocks {
        match block {
            Block::Sim(block) => expansion.simulations(block)?,
            Block::Bench(block) => expansion.suites(block)?,
        }
    }
    let Expansion { mut runs, remarks, .. } = expansion;
    // Blocks may overlap: a run is one run, wherever it is asked for again.
    let mut seen = HashSet::new();
    runs.retain(|run| seen.insert(run.key));
    label::label(&mut runs);
    let mut described = HashSet::new();
    let machines = runs.iter().map(StudyRun::description).filter(|machine| described.insert(digest(machine)));
    Ok(Study { machines: machines.cloned().collect(), remarks: remarks.into_iter().collect(), runs })
}

/// The most runs of a study, which are all held in memory.
const MOST_RUNS: usize = 100_000;

struct Expansion<'a> {
    folder: &'a Path,
    software: &'a str,
    runs: Vec<StudyRun>,
    remarks: BTreeSet<String>,
}

impl Expansion<'_> {
    fn simulations(&mut self, block: &SimBlock) -> Result<(), StudyError> {
        let (variations, machines) = self.machines(&block.machines, &block.varied)?;
        let mut data: Vec<Data> = Vec::new();
        if let Some(named) = &block.matrix {
            data.push(Matrix::named(&self.located(&named.value)).map_err(|error| refused(&named.at, error))?.into());
        }
        if let Some(named) = &block.scene {
            data.push(Scene::named(&self.located(&named.value)).map_err(|error| refused(&named.at, error))?.into());
        }
        let detail = Detail { parts: block.stats, causes: block.causes };
        let cpus = block.cpus.iter().flat_map(|each| each.value.0.iter().copied()).collect();
        let parameters = values_of(&block.parameters);
        let plain = Sweep {
            machines,
            variations,
            data,
            cpus,
            seeds: block.seeds.clone(),
            options: Options { attribute: block.causes, ..Options::default() },
            ..Sweep::default()
        };
        for program in &block.programs {
            let at = &program.name.at;
            let (name, content) = self.program(program)?;
            let parameters = values_of(&program.parameters).into_iter().chain(parameters.iter().cloned()).collect();
            let sweep = Sweep { programs: vec![name], parameters, ..plain.clone() };
            self.has_room(sweep.count(), at)?;
            for simulation in sweep.simulations().map_err(|error| refused(place_of(&error, block, at), error))? {
                self.remarks.extend(simulation.workload().remarks());
                self.runs.push(self.simulation(simulation, detail, content.as_deref()));
            }
        }
        Ok(())
    }

    /// A run of a program; `content` tells what a trace holds.
    fn simulation(&self, simulation: Simulation, detail: Detail, content: Option<&str>) -> StudyRun {
        let row = simulation.row(true);
        let identity = row.identity();
        let identity = content.map_or(identity.clone(), |content| format!("{identity} {content}"));
        let key = RunKey::of_simulation(self.software, detail, &identity);
        let row = SweepRunRow {
            key: key.to_string(),
            state: RunState::Left,
            work: Work::Sim,
            run: String::new(),
            machine: row.machine,
            protocol: row.protocol,
            seed: row.seed,
            program: Some(row.program),
            parameters: row.parameters,
            cpus: Some(row.cpus),
            placement: Some(row.placement),
            scheduler: Some(row.scheduler),
            barrier: Some(row.barrier),
            locks: Some(row.locks),
            suite: None,
            experiment: None,
        };
        StudyRun { key, row, task: Task::Simulation { simulation: Box::new(simulation), detail } }
    }

    fn suites(&mut self, block: &BenchBlock) -> Result<(), StudyError> {
        let (_, machines) = self.machines(&block.machines, &block.varied)?;
        let mut suites = Vec::new();
        for named in &block.suites {
            suites.push((&named.at, named.value.parse::<Suite>().map_err(|error| refused(&named.at, error))?));
        }
        if suites.is_empty() {
            suites.push((&block.at, Suite::Local));
        }
        for machine in machines {
            let description = Arc::new(machine.description);
            for &(at, suite) in &suites {
                self.suite(block, &description, at, suite)?;
            }
        }
        Ok(())
    }

    /// A suite on a machine: a run a plan and seed.
    fn suite(
        &mut self,
        block: &BenchBlock,
        machine: &Arc<Description>,
        at: &Place,
        suite: Suite,
    ) -> Result<(), StudyError> {
        let layout = Layout::simulated(machine).map_err(|error| refused(at, error))?;
        let mut settings = suite_settings(&layout);
        settings.iterations = block.iterations.unwrap_or(settings.iterations);
        settings.lines = block.lines;
        let scope = SuiteScope { nodes_per_distance: block.nodes_per_distance, ..SuiteScope::whole(settings) };
        let plans = suite.plans(&layout, &scope).map_err(|error| refused(at, error))?;
        self.has_room(plans.len().saturating_mul(block.seeds.len()), at)?;
        for plan in plans {
            for &seed in &block.seeds {
                // All fields of a plan stand in its words for programmers.
                let work = format!("measurement {} {seed} {plan:?}", machine.to_toml());
                let key = RunKey::new(self.software, &work);
                let name = suite.name();
                let bench::Placement { home, locals, remotes } = &plan.placement;
                let cpus = |all: &[units::CpuId]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
                let others = if remotes.is_empty() { String::new() } else { format!(" remote={}", cpus(remotes)) };
                let (experiment, state) = (plan.experiment, plan.state);
                let run = format!("{experiment} {state} home={home} local={}{others}", cpus(locals));
                let row = SweepRunRow {
                    key: key.to_string(),
                    state: RunState::Left,
                    work: Work::Bench,
                    run,
                    machine: machine.name.clone(),
                    protocol: protocol(machine).to_owned(),
                    seed,
                    program: None,
                    parameters: Default::default(),
                    cpus: None,
                    placement: None,
                    scheduler: None,
                    barrier: None,
                    locks: None,
                    suite: Some(name.to_owned()),
                    experiment: Some(experiment.to_string()),
                };
                let options = Options { seed, ..Options::default() };
                let task = Task::Plan { description: machine.clone(), plan: Box::new(plan.clone()), options };
                self.runs.push(StudyRun { key, row, task });
            }
        }
        Ok(())
    }

    /// Refuses so many more runs where a study would have too many, before they are made.
    fn has_room(&self, more: usize, at: &Place) -> Result<(), StudyError> {
        let all = self.runs.len().saturating_add(more);
        if all <= MOST_RUNS {
            return Ok(());
        }
        Err(refused(at, format!("{all} runs so far; accepted: up to {MOST_RUNS} runs in a study")))
    }

    /// The machines in all their variations.
    fn machines(
        &self,
        names: &Axis<String>,
        varied: &[Keyed<String>],
    ) -> Result<(Variations, Vec<Resolved>), StudyError> {
        let mut variations = Variations::default();
        for (key, values) in varied {
            for each in values {
                let added = variations.add(key, std::slice::from_ref(&each.value));
                added.map_err(|error| refused(&each.at, error))?;
            }
        }
        if let Some(first) = names.first() {
            self.has_room(names.len().saturating_mul(variations.count()), &first.at)?;
        }
        let mut machines = Vec::new();
        for named in names {
            let (base, located) = self.machine(&named.value);
            let resolved =
                variations.of(&located).map_err(|error| refused(place_of_key(&error, varied, &named.at), error))?;
            machines.extend(resolved.into_iter().map(|mut machine| {
                // The name is as the study has it, wherever the study is.
                let name = &mut machine.description.name;
                if let Some(changes) = name.strip_prefix(&*self.located(base)) {
                    *name = format!("{base}{changes}");
                }
                machine
            }));
        }
        Ok((variations, machines))
    }

    /// The machine that a name begins with, as the study has it, and the whole name with the path of its file.
    fn machine<'n>(&self, name: &'n str) -> (&'n str, String) {
        let whole = self.folder.join(name).is_file();
        let base = if whole { name } else { name.split(variant::SEPARATOR).next().unwrap_or(name) };
        if base.contains('/') || base.ends_with(".toml") {
            (base, format!("{}{}", self.located(base), &name[base.len()..]))
        } else {
            (base, name.to_owned())
        }
    }

    /// A program's name, or the path of its trace, with what the trace holds.
    fn program(&self, program: &ProgramEntry) -> Result<(String, Option<String>), StudyError> {
        let named = &program.name;
        let path = PathBuf::from(self.located(&named.value));
        if Workload::all().iter().any(|known| known.name() == named.value) || !path.exists() {
            return Ok((named.value.clone(), None));
        }
        let content =
            content_digest(&path).map_err(|error| refused(&named.at, format!("{}: {error}", path.display())))?;
        Ok((path.display().to_string(), Some(content)))
    }

    /// The path of a file that the study names, or the name itself if there is no such file.
    fn located(&self, name: &str) -> String {
        let path = self.folder.join(name);
        if path.exists() { path.display().to_string() } else { name.to_owned() }
    }
}

impl StudyRun {
    /// The machine that it is on.
    pub fn description(&self) -> &Description {
        match &self.task {
            Task::Simulation { simulation, .. } => simulation.description(),
            Task::Plan { description, .. } => description,
        }
    }
}

fn refused(at: &Place, reason: impl std::fmt::Display) -> StudyError {
    let reason = reason.to_string();
    let reason = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    StudyError::Refused { at: at.clone(), reason }
}

/// The place of what an error of a program is about: numbers of processors, or else the program.
fn place_of<'a>(error: &ExperimentError, block: &'a SimBlock, program: &'a Place) -> &'a Place {
    let of_cpus = matches!(error, ExperimentError::Processors { .. } | ExperimentError::RecordedThreads { .. });
    block.cpus.first().filter(|_| of_cpus).map_or(program, |first| &first.at)
}

/// The place of what an error of a machine is about: a parameter that is varied, or else the machine.
fn place_of_key<'a>(error: &DescriptionError, varied: &'a [Keyed<String>], machine: &'a Place) -> &'a Place {
    let entry = match error {
        DescriptionError::UnknownKey { entry, .. }
        | DescriptionError::MissingUnit { entry, .. }
        | DescriptionError::WrongType { entry, .. }
        | DescriptionError::Impossible { entry, .. } => entry,
        _ => return machine,
    };
    let is_of = |key: &str| key == entry.key || entry.key.ends_with(&format!(".{key}"));
    let found = varied.iter().find(|(key, _)| is_of(key)).and_then(|(_, values)| {
        let same = |value: &str| value == entry.value.trim_matches('"');
        values.iter().find(|each| same(&each.value)).or(values.first())
    });
    found.map_or(machine, |each| &each.at)
}

fn values_of(parameters: &[Keyed<u64>]) -> Vec<(String, Vec<u64>)> {
    parameters.iter().map(|(key, values)| (key.clone(), values.iter().map(|each| each.value).collect())).collect()
}
