//! `ccnuma bench` on a simulated machine: independent plans on all cores, published figures beside ours.

use bench::{Layout, Plan, Suite};
use experiments::measurement::Measurement;
use experiments::{ExperimentError, Outcome, Outcomes, Reproduction, parallel, run_plan, suite_settings};
use machine::Resolved;
use record::Record;

use super::{BenchCommand, note_if_nothing, suite_tables, unfinished_mlc};
use crate::failure::Failure;
use crate::output::{Output, note_unknown_column, print};
use crate::progress;

impl BenchCommand {
    /// Measures the machine of a description.
    ///
    /// # Errors
    /// When the input cannot be used, a measurement fails or the output does.
    pub(super) fn run_simulated(&self, machine: &Resolved) -> Result<(), Failure> {
        self.host.refuse()?;
        if let Some(file) = &self.against {
            return self.run_against(file, &machine.description);
        }
        let layout = Layout::simulated(&machine.description).map_err(Failure::input)?;
        let scope = self.scope(suite_settings(&layout))?;
        let (title, view) = (&machine.description.title, self.output.view());
        if !self.experiments.is_empty() {
            let plans = self.plans(&layout, &scope.settings)?;
            let table = |records: &[Record], _: Vec<_>| {
                let table = report::measurements(title, records);
                note_unknown_column(&view, [&table]);
                print(table.shown(&view))
            };
            return self.measure(machine, &plans, self.early_table(machine), table);
        }
        self.refuse_placement()?;
        let suite: Suite = self.suite.as_deref().unwrap_or("local").parse().map_err(Failure::input)?;
        let plans = suite.plans(&layout, &scope).map_err(Failure::input)?;
        let tables = |records: &[Record], _: Vec<_>| print(suite_tables(suite, title, records, &view));
        if suite == Suite::Mlc {
            let early = unfinished_mlc(title, &plans, &layout)?;
            return self.measure(machine, &plans, early, tables);
        }
        if !suite.is_of_the_thesis() {
            return self.measure(machine, &plans, self.early_table(machine), tables);
        }
        let published = Reproduction::of_suite(suite, &machine.description, scope).map_err(Failure::input)?;
        self.measure(machine, &plans, self.early_table(machine), |_, outcomes| {
            let of = |plan| Measurement::of_plan(&machine.description.name, plan);
            let measured = plans.iter().zip(outcomes);
            let outcomes: Outcomes =
                measured.map(|(plan, outcome)| (of(plan), Outcome::Bench(Box::new(outcome)))).collect();
            crate::commands::reproduce::print_tables(&published, &outcomes, &view)
        })
    }

    /// The table of an interrupted run.
    fn early_table(&self, machine: &Resolved) -> impl Fn(&[Record]) -> String + Send + use<> {
        let (title, view) = (machine.description.title.clone(), self.output.view());
        move |records: &[Record]| report::measurements(&title, records).shown(&view)
    }

    /// Runs the plans on all cores and writes their records in order. Has `table` print what came out, if a table is wanted; if the run
    /// is interrupted, `early` gives it.
    fn measure(
        &self,
        machine: &Resolved,
        plans: &[Plan],
        early: impl Fn(&[Record]) -> String + Send + 'static,
        table: impl FnOnce(&[Record], Vec<bench::Outcome>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut output: Output<Record> = self.output.open()?;
        output.tell_early(early);
        output.describe(&experiments::description_row(machine))?;
        if let Some(computer) = bench::computer_of_server(&machine.description) {
            output.announce(&computer)?;
        }
        note_if_nothing(plans);
        let bar = progress::bar(plans.len(), "experiments");
        let (options, description) = (self.thoroughness.simulation(), &machine.description);
        let (mut records, mut outcomes) = (Vec::new(), Vec::new());
        let jobs: Vec<(usize, &Plan)> = plans.iter().enumerate().collect();
        let early = output.clone();
        let work = |&(index, plan): &(usize, &Plan)| {
            let outcome = run_plan(description, plan, options)?;
            early.note(index, outcome.records().cloned().collect());
            Ok(outcome)
        };
        let deliver = |index: usize, result: Result<bench::Outcome, ExperimentError>| -> Result<(), Failure> {
            let outcome = result.map_err(Failure::run)?;
            for warning in &outcome.warnings {
                let (experiment, state) = (&outcome.record.experiment, &outcome.record.state);
                progress::say(format!("warning: {experiment} {state}: {warning}"));
            }
            output.write_all(index, outcome.records())?;
            records.extend(outcome.records().cloned());
            outcomes.push(outcome);
            Ok::<(), Failure>(())
        };
        parallel::in_order(&jobs, work, |done| bar.at(done), deliver)?;
        drop(bar);
        output.complete()?;
        if output.wants_table() {
            table(&records, outcomes)?;
        }
        output.finish()
    }
}
