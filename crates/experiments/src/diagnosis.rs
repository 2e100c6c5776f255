//! A diagnosis of a program on a simulated machine: what it loses where, what of that grows with the machine, and what each
//! remedy gains when it is tried.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use diagnose::{Finding, Sight, Trial, choice, diagnose, rank};
use machine::Description;
use record::{Attribution, DataObject, FindingRow, SimulationRow, SourceLine};
use report::html::SourceLoss;
use symbols::{Symbols, SymbolsError};

use crate::error::ExperimentError;
use crate::parallel;
use crate::simulation::attribution::settled;
use crate::simulation::trial::remedied;
use crate::simulation::{Simulated, Simulation};
use execution::Relocation;

/// The run to compare with has this many times fewer processors.
const FEWER: usize = 4;
/// Remedies of findings that cost less than this share of the run are not tried.
const WORTH_TRYING: f64 = 0.02;

/// Other barriers or locks that gain less than this share are not told of.
const WORTH_GAINING: f64 = 0.01;

/// Findings on a program, with the run that they follow from.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The record of the run.
    pub row: SimulationRow,
    /// Losses of the run, by place.
    pub told: Attribution,
    /// The fault of the program's results, if there is one.
    pub wrong: Option<String>,
    /// The findings, what gains most first.
    pub findings: Vec<Finding>,
    /// Classes of faults that could be examined, and those that could not.
    pub sight: Sight,
}

/// Diagnoses the program of `simulation`. Without `tries`, remedies are proposed and not tried. `progress` is told of each run that
/// is over, and how many there are as far as is known.
///
/// # Errors
/// When a simulation fails.
pub fn run(
    simulation: &Simulation,
    fewer: Option<&Simulation>,
    tries: bool,
    mut progress: impl FnMut(usize, usize),
) -> Result<Diagnosis, ExperimentError> {
    let first: Vec<Simulation> =
        [Some(simulation), fewer].into_iter().flatten().map(|simulation| simulation.clone().attributed(true)).collect();
    let mut runs = Vec::new();
    let work = |simulation: &Simulation| simulation.run();
    let deliver = |_: usize, run: Result<Simulated, ExperimentError>| -> Result<(), ExperimentError> {
        runs.push(run?);
        Ok(())
    };
    parallel::in_order(&first, work, |done| progress(done, first.len()), deliver)?;
    let mut runs = runs.into_iter();
    // A run that was asked to tell what it lost does.
    let (Some(run), fewer) = (runs.next(), runs.next()) else { unreachable!("the first run has been delivered") };
    let told = |run: &Simulated| run.attribution.clone().unwrap_or_default();
    let (base, fewer) = (told(&run), fewer.as_ref().map(told));
    let mut findings = diagnose(&base, fewer.as_ref());
    if tries {
        try_remedies(simulation, &base, &mut findings, first.len(), progress)?;
        rank(&mut findings);
    }
    let sight = Sight::of(&base, fewer.is_some());
    Ok(Diagnosis { row: run.row, told: base, wrong: run.wrong, findings, sight })
}

/// Diagnoses a run of a program of the user's own, whose file is `program`, on a simulated machine or on this computer: what is lost
/// is told by the names of its variables, the places where it allocates, and its lines. Also what cannot be told, and what to do
/// about it.
///
/// # Errors
/// When the program's file cannot be read.
pub fn of_own(
    row: SimulationRow,
    mut told: Attribution,
    program: &Path,
) -> Result<(Diagnosis, Vec<&'static str>), SymbolsError> {
    let symbols = Symbols::of(program)?;
    name(&mut told, &symbols);
    let row = SimulationRow { regions: Some(told.by_object()), ..row };
    let mut findings = diagnose(&told, None);
    findings.extend(choice(&told, &row.barrier, &row.locks));
    rank(&mut findings);
    let lacking = symbols.lacking().map(symbols::Lacking::advice).into_iter().collect();
    let sight = Sight::of(&told, false);
    Ok((Diagnosis { row, told, wrong: None, findings, sight }, lacking))
}

/// Diagnoses a run of a program on this computer: `told` gives the account of it, once it is known whether the kernel loads the program
/// elsewhere than it was linked for. Also what cannot be told, and what to do about it.
pub fn of_host(program: &Path, row: SimulationRow, told: impl FnOnce(bool) -> Attribution) -> (Diagnosis, Vec<String>) {
    let symbols = Symbols::of(program);
    let mut told = told(symbols.as_ref().is_ok_and(Symbols::moves));
    let lacking = match &symbols {
        Ok(symbols) => {
            name(&mut told, symbols);
            symbols.lacking().map(|lacking| lacking.advice().to_owned())
        }
        // A script has none.
        Err(error) => Some(error.to_string()),
    };
    let row = SimulationRow {
        cpus: told.threads.len() as u32,
        time_ns: told.time_ns,
        regions: Some(told.by_object()),
        ..row
    };
    let findings = diagnose(&told, None);
    let sight = Sight::of(&told, false);
    (Diagnosis { row, told, wrong: None, findings, sight }, lacking.into_iter().collect())
}

/// Calls places and data by the names that a program has for them.
fn name(told: &mut Attribution, symbols: &Symbols) {
    let allocated = told.objects.iter().filter_map(|object| object.site);
    let sites: BTreeSet<u64> =
        told.losses.iter().map(|loss| loss.site).filter(|&site| site != 0).chain(allocated).collect();
    for site in sites {
        let found = line(symbols.place(site));
        // The place of a site in a library may be known already.
        if found != SourceLine::default() || !told.sites.contains_key(&site) {
            told.sites.insert(site, found);
        }
    }
    let names: Vec<Option<String>> = told
        .objects
        .iter()
        .map(|object| object.site.map(|site| format!("{} from {}", object.name, told.describe(site).0)))
        .collect();
    for (object, name) in told.objects.iter_mut().zip(names) {
        if let Some(name) = name {
            object.name = name;
        }
    }
    let variable = |variable: &symbols::Variable| DataObject {
        name: variable.name.clone(),
        start: variable.start,
        bytes: variable.bytes,
        site: None,
    };
    told.objects.extend(symbols.variables().iter().map(variable));
    told.objects = settled(std::mem::take(&mut told.objects));
}

/// A place of a program, for a record.
pub fn line(place: symbols::Place) -> SourceLine {
    let symbols::Place { function, file, line: number, callers } = place;
    SourceLine { function, file, line: number, callers: callers.into_iter().map(line).collect() }
}

/// The findings whose remedies are tried, by their numbers.
fn worth_trying(findings: &[Finding]) -> Vec<usize> {
    let worth = |finding: &Finding| finding.cost >= WORTH_TRYING || finding.cost_unknown;
    (0..findings.len()).filter(|&number| worth(&findings[number]) && findings[number].trial.is_some()).collect()
}

/// Runs the program once more for each remedy that can be tried, and notes what it gains.
fn try_remedies(
    simulation: &Simulation,
    base: &Attribution,
    findings: &mut [Finding],
    before: usize,
    mut progress: impl FnMut(usize, usize),
) -> Result<(), ExperimentError> {
    let tried = worth_trying(findings);
    let mut trials = Vec::new();
    for &number in &tried {
        if let Some(trial) = &findings[number].trial {
            trials.push(simulation.clone().attributed(false).with_trial(trial, base)?);
        }
    }
    let total = before + trials.len();
    let work = |simulation: &Simulation| simulation.run();
    let deliver = |index: usize, run: Result<Simulated, ExperimentError>| -> Result<(), ExperimentError> {
        findings[tried[index]].gain = Some(1.0 - run?.row.time_ns / base.time_ns);
        Ok(())
    };
    parallel::in_order(&trials, work, |done| progress(before + done, total), deliver)
}

impl Diagnosis {
    /// Tries what can be tried of the remedies for a program of the user's own, which was diagnosed on `machine`: `again` runs it on
    /// a machine, with its memory so, and with another kind of barrier or locks if one is named, and tells the nanoseconds that it took, if it came to its end. `progress` is told of each run
    /// that is over, and how many there are.
    ///
    /// # Errors
    /// When the machine cannot be changed as a remedy has it.
    pub fn try_own(
        &mut self,
        machine: &Description,
        again: impl Fn(&Description, &Relocation, Option<(&str, &str)>) -> Option<f64> + Send + Sync,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<(), ExperimentError> {
        let mut trials = Vec::new();
        for number in worth_trying(&self.findings) {
            let Some(trial) = &self.findings[number].trial else { continue };
            match trial {
                Trial::Synchronise(key, kind) => {
                    trials.push((number, (machine.clone(), Relocation::default()), Some((*key, *kind))));
                }
                trial => {
                    trials.extend(remedied(machine, trial, &self.told)?.map(|remedied| (number, remedied, None)));
                }
            }
        }
        let (findings, before) = (&mut self.findings, self.told.time_ns);
        let work = |(_, (machine, relocation), policy): &(usize, (Description, Relocation), _)| {
            again(machine, relocation, *policy)
        };
        let deliver = |index: usize, time_ns: Option<f64>| -> Result<(), ExperimentError> {
            findings[trials[index].0].gain = time_ns.map(|time_ns| 1.0 - time_ns / before);
            Ok(())
        };
        parallel::in_order(&trials, work, |done| progress(done, trials.len()), deliver)?;
        // Kinds of barriers and locks are worth telling only if they gain something.
        let vain = |finding: &Finding| {
            matches!(finding.trial, Some(Trial::Synchronise(..)))
                && finding.gain.is_some_and(|gain| gain < WORTH_GAINING)
        };
        self.findings.retain(|finding| !vain(finding));
        rank(&mut self.findings);
        Ok(())
    }

    fn describe(&self, site: u64) -> String {
        self.told.describe(site).0
    }

    /// The findings as records.
    pub fn rows(&self) -> Vec<FindingRow> {
        let row = |(number, finding): (usize, &Finding)| FindingRow {
            program: self.row.program.clone(),
            machine: self.row.machine.clone(),
            cpus: self.row.cpus,
            rank: number as u32 + 1,
            class: finding.class.name().to_owned(),
            object: finding.object.clone(),
            place: finding.site.map(|site| self.describe(site)),
            cost_pct: 100.0 * finding.cost,
            bound_pct: finding.bound.map(|bound| 100.0 * bound),
            gain_pct: finding.gain.map(|gain| 100.0 * gain),
            evidence: finding.evidence.clone(),
            remedy: finding.remedy.clone(),
            trial: finding.trial.as_ref().map(Trial::describe),
        };
        self.findings.iter().enumerate().map(row).collect()
    }
}

/// Places of a program that are shown.
const PLACES: usize = 30;

impl Diagnosis {
    /// The places of the program at which most was lost, worst first; none if they are not known.
    pub fn lines(&self) -> Vec<SourceLoss> {
        let told = &self.told;
        let mut sites: BTreeMap<String, SourceLoss> = BTreeMap::new();
        let all = told.processor_ns();
        for loss in told.losses.iter().filter(|loss| loss.site != 0) {
            let (place, function) = told.describe(loss.site);
            let zero = || SourceLoss { place: place.clone(), function, misses: 0, time_pct: 0.0 };
            let of = sites.entry(place.clone()).or_insert_with(zero);
            let stalled = &loss.stalled_ns;
            of.misses += loss.count.misses();
            of.time_pct += 100.0 * (stalled.misses() + stalled.translation + stalled.lock + stalled.barrier) / all;
        }
        let mut lines: Vec<SourceLoss> = sites.into_values().filter(|line| line.time_pct > 0.0).collect();
        lines.sort_by(|a, b| b.time_pct.total_cmp(&a.time_pct).then_with(|| a.place.cmp(&b.place)));
        lines.truncate(PLACES);
        lines
    }
}

/// With how many processors a run is compared, if it has enough of them.
pub fn fewer_processors(cpus: usize) -> Option<u16> {
    (cpus >= 2 * FEWER).then_some((cpus / FEWER) as u16)
}
