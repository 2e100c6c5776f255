//! `ccnuma bench` on this computer: trials in interleaved rounds, interrupted without loss.

use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bench::{HostPlatform, Outcome, Plan, Platform, Settings, Suite, SuiteScope, Trial, rounds};
use host::discovery::Inventory;
use host::memory::PageKind;
use record::{Record, Warning};

use super::{BenchCommand, print_tables};
use crate::commands::topology;
use crate::failure::Failure;
use crate::output::{Output, print};
use crate::progress;

/// Trials that are interleaved with each other: as many as fit into a few seconds, so that results reach the disk while a
/// long suite runs.
const INTERLEAVED: usize = 48;
/// Samples of a quick run.
const QUICK_SAMPLES: u32 = 5;

impl BenchCommand {
    /// Measures this computer.
    ///
    /// # Errors
    /// When the input cannot be used, nothing at all could be measured, or the output fails.
    pub(super) fn run_on_host(&self) -> Result<(), Failure> {
        let mut defaults = Settings::host();
        if self.host.quick {
            defaults.iterations = QUICK_SAMPLES;
        }
        let mut scope = self.scope(defaults)?;
        let options = self.host.options(self.thoroughness.seed)?;
        if self.experiments.is_empty() {
            self.refuse_placement()?;
        }
        let suite: Suite = self.suite.as_deref().unwrap_or("overview").parse().map_err(Failure::input)?;
        let mut platform = HostPlatform::new(options).map_err(Failure::run)?;
        self.adapt(&mut scope, platform.inventory());
        if !self.output.replaces_table() {
            print(headline(&platform))?;
        }
        let plans = match self.experiments.is_empty() {
            false => self.plans(platform.layout(), &scope.settings)?,
            true => suite.plans(platform.layout(), &scope).map_err(Failure::input)?,
        };
        let outcomes = self.measure_here(&plans, &mut platform)?;
        let records: Vec<Record> = outcomes.iter().flat_map(Outcome::records).cloned().collect();
        match self.output.replaces_table() {
            true => Ok(()),
            false => print_tables("this computer", &records),
        }
    }

    /// Adapts a suite to this computer and to how much time there is.
    fn adapt(&self, scope: &mut SuiteScope, inventory: &Inventory) {
        let thp = inventory.transparent.enabled.as_deref().is_some_and(|mode| mode != "never");
        if self.host.pages.is_none() && thp && !self.host.quick {
            scope.pages = vec![PageKind::Base, PageKind::Transparent];
        }
        if self.host.quick {
            (scope.areas_per_octave, scope.every_pause, scope.mixes) = (1, 3, 1);
        }
    }

    /// Runs the plans, a few dozen at a time in rounds, and writes their records in order.
    fn measure_here(&self, plans: &[Plan], platform: &mut HostPlatform) -> Result<Vec<Outcome>, Failure> {
        let mut output: Output<Record> = self.output.open()?;
        let interrupted = interruption()?;
        let samples = plans.first().map_or(1, |plan| plan.settings.iterations);
        let trials: Result<Vec<Trial>, _> = plans.iter().map(|plan| Trial::new(plan, platform.layout())).collect();
        let mut trials = trials.map_err(Failure::input)?;
        let bar = progress::bar(rounds::samples_of(&trials, samples) as usize, "samples");
        let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
        while !trials.is_empty() && !interrupted.load(Ordering::Relaxed) {
            let mut group: Vec<Trial> = trials.drain(..trials.len().min(INTERLEAVED)).collect();
            let (failed, _) = rounds::interleaved(&mut group, platform, samples, || {
                bar.inc(1);
                !interrupted.load(Ordering::Relaxed)
            });
            for failed in failed {
                let plan = group[failed.trial].plan();
                failures.push(format!("{} {}: {}", plan.experiment, plan.state, failed.error));
            }
            for trial in group.into_iter().filter(|trial| trial.taken() > 0) {
                let outcome = trial.outcome(platform.layout());
                for record in outcome.records() {
                    output.write(record)?;
                }
                outcomes.push(outcome);
            }
        }
        bar.finish_and_clear();
        report_warnings(&outcomes);
        if outcomes.is_empty() && failures.len() == 1 {
            return Err(Failure::run(&failures[0]));
        }
        for failure in &failures {
            eprintln!("not measured: {failure}");
        }
        if interrupted.load(Ordering::Relaxed) {
            eprintln!(
                "interrupted: {} of {} measurements follow, some with fewer samples",
                outcomes.len(),
                plans.len()
            );
        }
        match outcomes.is_empty() && !failures.is_empty() {
            true => Err(Failure::run("nothing could be measured")),
            false => Ok(outcomes),
        }
    }
}

/// What is measured by which clock, and what this computer keeps from being measured.
fn headline(platform: &HostPlatform) -> String {
    let (inventory, clock) = (platform.inventory(), platform.clock());
    let mut lines = vec![
        format!("{}\n", topology::computer::headline(inventory)),
        format!("clock: {} at {:.1} MHz\n", clock.source().name(), clock.rate().as_mhz()),
    ];
    lines.extend(clock.notes().iter().map(|note| format!("note: {note}\n")));
    let usable = inventory.usable_cpus();
    if let [only] = usable[..] {
        lines.push(format!(
            "note: only CPU {only} may be used: nothing passes between processors, and there is no latency under load\n"
        ));
    }
    lines.push("\n".to_owned());
    lines.concat()
}

/// Becomes true when somebody interrupts the run; a second interruption ends it at once.
fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let already = interrupted.clone();
        // In this order: the first interruption finds it false, sets it and returns.
        signal_hook::flag::register_conditional_shutdown(signal, 130, already)
            .and_then(|_| signal_hook::flag::register(signal, interrupted.clone()))
            .map_err(Failure::run)?;
    }
    Ok(interrupted)
}

/// Each kind of warning once, with how many other measurements it is about: a busy machine disturbs many alike.
fn report_warnings(outcomes: &[Outcome]) {
    let mut told: Vec<(Discriminant<Warning>, String, usize)> = Vec::new();
    for outcome in outcomes {
        for warning in &outcome.warnings {
            match told.iter_mut().find(|(kind, ..)| *kind == discriminant(warning)) {
                Some((_, _, others)) => *others += 1,
                None => {
                    let text = format!("{} {}: {warning}", outcome.record.experiment, outcome.record.state);
                    told.push((discriminant(warning), text, 0));
                }
            }
        }
    }
    for (_, text, others) in told {
        let more = match others {
            0 => String::new(),
            1 => " (and so another measurement)".to_owned(),
            others => format!(" (and so {others} other measurements)"),
        };
        eprintln!("warning: {text}{more}");
    }
}
