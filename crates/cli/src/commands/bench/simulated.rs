//! `ccnuma bench` on a simulated machine: independent plans on all cores, published figures beside ours.

use bench::{Layout, Plan, Settings, Suite};
use experiments::formula::Measurement;
use experiments::{Outcome, Outcomes, Reproduction, parallel, run_plan};
use machine::Resolved;
use record::Record;

use super::{BenchCommand, print_tables};
use crate::failure::Failure;
use crate::output::{Output, print};
use crate::progress;

impl BenchCommand {
    /// Measures the machine of a description.
    ///
    /// # Errors
    /// When the input cannot be used, a measurement fails or the output does.
    pub(super) fn run_simulated(&self, machine: &Resolved) -> Result<(), Failure> {
        self.host.refuse()?;
        let scope = self.scope(Settings::simulated())?;
        let layout = Layout::simulated(&machine.description).map_err(Failure::input)?;
        if !self.experiments.is_empty() {
            let plans = self.plans(&layout, &scope.settings)?;
            let records = self.measure(machine, &plans, |_, _| ())?;
            return match &records {
                Some(records) => print(report::measurements(&machine.description.title, records)),
                None => Ok(()),
            };
        }
        self.refuse_placement()?;
        let suite: Suite = self.suite.as_deref().unwrap_or("local").parse().map_err(Failure::input)?;
        let plans = suite.plans(&layout, &scope).map_err(Failure::input)?;
        if !suite.is_of_the_thesis() {
            let mut outcomes = Vec::new();
            if self.measure(machine, &plans, |_, outcome| outcomes.push(outcome))?.is_some() {
                let records: Vec<Record> = outcomes.iter().flat_map(bench::Outcome::records).cloned().collect();
                print_tables(&machine.description.title, &records)?;
            }
            return Ok(());
        }
        let tables = Reproduction::of_suite(suite, &machine.description, scope).map_err(Failure::input)?;
        let mut outcomes = Outcomes::new();
        let keep = |plan: &Plan, outcome| {
            outcomes.insert(Measurement::of_plan(&machine.description.name, plan), Outcome::Bench(Box::new(outcome)));
        };
        if self.measure(machine, &plans, keep)?.is_some() {
            crate::commands::reproduce::print_tables(&tables, &outcomes)?;
        }
        Ok(())
    }

    /// Runs the plans on all cores and writes their records in order. The records, if a table is wanted.
    fn measure(
        &self,
        machine: &Resolved,
        plans: &[Plan],
        mut keep: impl FnMut(&Plan, bench::Outcome),
    ) -> Result<Option<Vec<Record>>, Failure> {
        let mut output: Output<Record> = self.output.open()?;
        output.describe(&experiments::description_row(machine))?;
        let bar = progress::bar(plans.len(), "experiments");
        let (options, description) = (self.thoroughness.simulation(), &machine.description);
        let mut records = Vec::new();
        let work = |plan: &Plan| run_plan(description, plan, options);
        let deliver = |index: usize, result: Result<bench::Outcome, _>| -> Result<(), Failure> {
            let outcome = result.map_err(Failure::run)?;
            for warning in &outcome.warnings {
                bar.suspend(|| eprintln!("warning: {} {}: {warning}", outcome.record.experiment, outcome.record.state));
            }
            for record in outcome.records() {
                output.write(record)?;
                records.push(record.clone());
            }
            keep(&plans[index], outcome);
            Ok::<(), Failure>(())
        };
        let result = parallel::in_order(plans, work, |done| bar.set_position(done as u64), deliver);
        bar.finish_and_clear();
        result?;
        Ok(output.wants_table().then_some(records))
    }
}
