//! A diagnosis of a program on a simulated machine: what it loses where, what of that grows with the machine, and what each
//! remedy gains when it is tried.

use std::collections::BTreeMap;

use diagnose::{Finding, diagnose, rank};
use record::{Attribution, FindingRow};
use report::html::SourceLoss;

use crate::error::ExperimentError;
use crate::parallel;
use crate::simulation::{Simulated, Simulation};

/// The run to compare with has this many times fewer processors.
const FEWER: usize = 4;
/// Remedies of findings that cost less than this share of the run are not tried.
const WORTH_TRYING: f64 = 0.02;

/// What was found.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The run, with what it lost where.
    pub run: Simulated,
    /// The findings, what gains most first.
    pub findings: Vec<Finding>,
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
    Ok(Diagnosis { run, findings })
}

/// Runs the program once more for each remedy that can be tried, and notes what it gains.
fn try_remedies(
    simulation: &Simulation,
    base: &Attribution,
    findings: &mut [Finding],
    before: usize,
    mut progress: impl FnMut(usize, usize),
) -> Result<(), ExperimentError> {
    let worth = |finding: &Finding| finding.cost >= WORTH_TRYING || finding.cost_unknown;
    let tried: Vec<usize> =
        (0..findings.len()).filter(|&number| worth(&findings[number]) && findings[number].trial.is_some()).collect();
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
    fn describe(&self, site: u64) -> String {
        let told = self.run.attribution.as_ref();
        told.map_or_else(|| format!("{site:#x}"), |told| told.describe(site).0)
    }

    /// The findings as records.
    pub fn rows(&self) -> Vec<FindingRow> {
        let row = |(number, finding): (usize, &Finding)| FindingRow {
            program: self.run.row.program.clone(),
            machine: self.run.row.machine.clone(),
            cpus: self.run.row.cpus,
            rank: number as u32 + 1,
            class: finding.class.name().to_owned(),
            object: finding.object.clone(),
            place: finding.site.map(|site| self.describe(site)),
            cost_pct: 100.0 * finding.cost,
            gain_pct: finding.gain.map(|gain| 100.0 * gain),
            evidence: finding.evidence.clone(),
            remedy: finding.remedy.clone(),
            trial: finding.trial.as_ref().map(diagnose::Trial::describe),
        };
        self.findings.iter().enumerate().map(row).collect()
    }
}

/// Places of a program that are shown.
const PLACES: usize = 30;

impl Diagnosis {
    /// The places of the program at which most was lost, worst first; none if they are not known.
    pub fn lines(&self) -> Vec<SourceLoss> {
        let Some(told) = &self.run.attribution else { return Vec::new() };
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
