//! `ccnuma bench` on this computer: trials in interleaved rounds, and an interruption loses none but the sample that it meets.

use std::mem::{Discriminant, discriminant};
use std::path::Path;
use std::time::{Duration, Instant};

use bench::{HostPlatform, Outcome, Plan, Platform, Settings, Suite, SuiteScope, Trial, rounds};
use host::clock::CoreClock;
use host::discovery::Inventory;
use host::interference::{Watch, gaps};
use host::memory::PageKind;
use host::threads::current_cpu;
use record::{Record, Warning};

use super::{BenchCommand, note_if_nothing, suite_tables, tables, unfinished_mlc};
use crate::commands::topology;
use crate::failure::Failure;
use crate::output::{Files, Output, draw, make_drawings, print};
use crate::{progress, provenance};

/// Trials that are interleaved with each other: as many as fit into a few seconds, so that results reach the disk while a
/// long suite runs.
const INTERLEAVED: usize = 48;
/// How long is listened for pauses before anything is measured, and how long they may be without a word.
const LISTENING: units::Duration = units::Duration(20_000_000_000);
const SHORT_PAUSE: units::Duration = units::Duration(100_000_000);
/// Rounds that are completed even if time is up.
const FEWEST_ROUNDS: u32 = 3;
/// The title of this computer's tables.
const TITLE: &str = "this computer";
/// An interruption keeps all samples of a measurement that has few, and all but one in so many of one that has many.
const KEPT: usize = 32;
/// Samples of the suite `fit`, as far as its time is enough for them. It takes the least of each, which many that are spread over
/// minutes find between what other virtual machines do.
const FIT_SAMPLES: u32 = 100;
/// Samples of a quick run.
const QUICK_SAMPLES: u32 = 6;

impl BenchCommand {
    /// Measures this computer.
    ///
    /// # Errors
    /// When the input cannot be used, nothing at all could be measured, or the output fails.
    pub(super) fn run_on_host(&self) -> Result<(), Failure> {
        let suite: Suite = self.suite.as_deref().unwrap_or("overview").parse().map_err(Failure::input)?;
        let of_suite = self.experiments.is_empty().then_some(suite);
        let mut defaults = Settings::host();
        if self.host.quick {
            defaults.iterations = QUICK_SAMPLES;
        } else if of_suite == Some(Suite::Fit) {
            defaults.iterations = FIT_SAMPLES;
        }
        let mut scope = self.scope(defaults)?;
        let options = self.host.options(self.thoroughness.seed)?;
        if self.experiments.is_empty() {
            self.refuse_placement()?;
        }
        if let Some(directory) = &self.host.svg {
            make_drawings(directory)?;
        }
        let mut platform = HostPlatform::new(options).map_err(Failure::run)?;
        self.adapt(&mut scope, platform.inventory(), suite);
        let plans = match self.experiments.is_empty() {
            false => self.plans(platform.layout(), &scope.settings)?,
            true => suite.plans(platform.layout(), &scope).map_err(Failure::input)?,
        };
        if !self.output.replaces_table() {
            print(report::paragraph(&headline(&platform), &self.output.view()))?;
        }
        let mut output: Output<Record> = self.output.open()?.of(&provenance::of_host(platform.inventory()));
        output.announce(&bench::computer_of_host(platform.inventory()))?;
        let view = self.output.view();
        let early = view.clone();
        match of_suite {
            Some(Suite::Mlc) => output.tell_early(unfinished_mlc(TITLE, &plans, platform.layout())?),
            _ => output.tell_early(move |records| tables(TITLE, records, &early)),
        }
        note_if_nothing(&plans);
        let limit = self.host.limit(of_suite);
        let outcomes = measure_here(&plans, &mut platform, limit, &mut output)?;
        let records: Vec<Record> = outcomes.iter().flat_map(Outcome::records).cloned().collect();
        if let Some(directory) = &self.host.svg {
            draw_curves(self.output.files(), &records, directory)?;
        }
        output.complete()?;
        if output.wants_table() {
            print(if self.experiments.is_empty() {
                suite_tables(suite, TITLE, &records, &view)
            } else {
                tables(TITLE, &records, &view)
            })?;
        }
        output.finish()
    }

    /// Adapts a suite to this computer and to how much time there is.
    fn adapt(&self, scope: &mut SuiteScope, inventory: &Inventory, suite: Suite) {
        if suite == Suite::Fit {
            scope.pages = if self.host.pages.is_none() { SuiteScope::pages_of_fit(inventory) } else { Vec::new() };
            return;
        }
        if self.host.pages.is_none() && inventory.transparent.is_on() && !self.host.quick {
            scope.pages = vec![PageKind::Base, PageKind::Transparent];
        }
        if self.host.quick {
            (scope.areas_per_octave, scope.every_pause, scope.mixes) = (1, 3, 1);
            scope.largest_area = scope.settings.array;
        }
    }
}

/// Runs the plans in rounds, a few dozen at a time or, where time is limited, all together, and writes their records in order.
fn measure_here(
    plans: &[Plan],
    platform: &mut HostPlatform,
    limit: Option<Duration>,
    output: &mut Output<Record>,
) -> Result<Vec<Outcome>, Failure> {
    let started = Instant::now();
    let together = if limit.is_some() { plans.len() } else { INTERLEAVED };
    let samples = plans.first().map_or(1, |plan| plan.settings.iterations);
    let layout = platform.layout().clone();
    let trials: Result<Vec<Trial>, _> = plans.iter().map(|plan| Trial::new(plan, &layout)).collect();
    let mut trials = trials.map_err(Failure::input)?;
    let bar = progress::bar(rounds::samples_of(&trials, samples) as usize, "samples");
    let (mut outcomes, mut failures, mut before) = (Vec::new(), Vec::new(), 0);
    while !trials.is_empty() {
        let mut group: Vec<Trial> = trials.drain(..trials.len().min(together)).collect();
        let all = group.len();
        let (failed, _) = rounds::interleaved(&mut group, platform, samples, |complete, number, trial| {
            bar.step();
            // One in KEPT of those before, so that keeping them takes no longer than taking them.
            if trial.taken() > 0 && trial.taken().is_multiple_of(trial.taken() / KEPT + 1) {
                let outcome = trial.clone().outcome(&layout);
                output.note(before + number, outcome.records().cloned().collect());
            }
            complete < FEWEST_ROUNDS || limit.is_none_or(|limit| started.elapsed() < limit)
        });
        for failed in failed {
            let plan = group[failed.trial].plan();
            failures.push((format!("{} {}", plan.experiment, plan.state), failed.error.to_string()));
        }
        for (number, trial) in group.into_iter().enumerate().filter(|(_, trial)| trial.taken() > 0) {
            let outcome = trial.outcome(&layout);
            output.write_all(before + number, outcome.records())?;
            outcomes.push(outcome);
        }
        before += all;
    }
    drop(bar);
    report_warnings(&outcomes);
    let told = alike(&failures);
    if let [only] = &told[..]
        && outcomes.is_empty()
    {
        return Err(Failure::run(only));
    }
    told.iter().for_each(|failure| eprintln!("not measured: {failure}"));
    match outcomes.is_empty() && !failures.is_empty() {
        true => Err(Failure::run("no measurement succeeded")),
        false => Ok(outcomes),
    }
}

/// Draws what the records have curves for.
fn draw_curves(files: Files, records: &[Record], directory: &Path) -> Result<(), Failure> {
    let plots = [("hierarchy", report::area_curves(records)), ("loaded", report::load_curves(records))];
    let plots = plots.into_iter().filter_map(|(name, plot)| Some((name.to_owned(), plot?.svg())));
    let matrices = report::matrices(records).into_iter().map(|(name, matrix)| (name, matrix.svg()));
    draw(files, directory, plots.chain(matrices).collect())
}

/// The computer and its clock, and notes on what disturbs or prevents measurements.
fn headline(platform: &HostPlatform) -> String {
    let (inventory, clock) = (platform.inventory(), platform.clock());
    let mut lines = vec![
        format!("{}\n", topology::computer::headline(inventory)),
        format!("clock: {} at {:.1} MHz\n", clock.source().name(), clock.rate().as_mhz()),
    ];
    lines.extend(clock.notes().iter().map(|note| format!("note: {note}\n")));
    lines.extend(inventory.notes.iter().map(|note| format!("note: {note}\n")));
    let (here, _) = current_cpu();
    lines.extend(Watch::new(here, clock).missing().iter().map(|missing| format!("note: {missing}\n")));
    if CoreClock::new().is_ok_and(|core| !core.measure(clock).agrees()) {
        lines.push("note: two measurements of the core clock disagree: figures in cycles are unreliable\n".to_owned());
    }
    let pauses = gaps(clock, LISTENING);
    if pauses.longest > SHORT_PAUSE {
        let ms = |time: units::Duration| time.as_seconds() * 1e3;
        lines.push(format!(
            "note: thread was descheduled {} times in {:.0} ms, {:.1} ms at most (interrupts, other programs or a \
             hypervisor)\n",
            pauses.count,
            ms(pauses.watched),
            ms(pauses.longest)
        ));
    }
    let usable = inventory.usable_cpus();
    if let [only] = usable[..] {
        lines.push(format!("note: only CPU {only} is usable: no core-to-core and no loaded latency\n"));
    }
    lines.push("\n".to_owned());
    lines.concat()
}

/// Each reason once for which measurements failed, with the first of them and how many others: reasons that differ in nothing but
/// numbers, as how many pages are missing, are one.
fn alike(failures: &[(String, String)]) -> Vec<String> {
    let mut told: Vec<(String, String, usize)> = Vec::new();
    for (measurement, reason) in failures {
        let words: Vec<&str> =
            reason.split(|letter: char| letter.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
        let words = words.join("#");
        match told.iter_mut().find(|(known, ..)| *known == words) {
            Some((_, _, others)) => *others += 1,
            None => told.push((words, format!("{measurement}: {reason}"), 0)),
        }
    }
    told.into_iter().map(|(_, text, others)| format!("{text}{}", and_others(others))).collect()
}

/// How many other measurements something is about.
fn and_others(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (1 other measurement likewise)".to_owned(),
        others => format!(" ({others} other measurements likewise)"),
    }
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
        eprintln!("warning: {text}{}", and_others(others));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_that_fail_alike_are_told_once() {
        let failed = |measurement: &str, reason: &str| (measurement.to_owned(), reason.to_owned());
        let failures = [
            failed("lmbench-read UOWN", "16 pages of 2 MiB are needed"),
            failed("area-read UOWN", "0 pages of 2 MiB are needed"),
            failed("lmbench-read CEXH", "CPU 1 is offline"),
            failed("lmbench-rdex UOWN", "512 pages of 2 MiB are needed"),
        ];
        let told = alike(&failures);
        let first = "lmbench-read UOWN: 16 pages of 2 MiB are needed (2 other measurements likewise)";
        assert_eq!(told, [first, "lmbench-read CEXH: CPU 1 is offline"]);
    }
}
