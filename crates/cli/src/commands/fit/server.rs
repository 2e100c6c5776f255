//! Servers: measured by the suite `fit`, described from its records and from what the machine announces.

use std::io::Write;
use std::path::Path;

use bench::{
    HostOptions, HostPlatform, Layout, Plan, Platform, Settings, Suite, SuiteScope, computer_of_host,
    computer_of_server,
};
use experiments::fitting::{describe_server, disagreement};
use experiments::{ExperimentError, parallel};
use machine::Description;
use record::{ComputerRow, FitRow, Record};
use report::View;

use super::{Measured, description, identity_of, probe, system_of};
use crate::failure::Failure;
use crate::output::{Output, Whole, print};
use crate::{progress, provenance};

/// Measures this computer by the suite `fit`.
pub(super) fn measure_host() -> Result<Measured, Failure> {
    let mut platform = HostPlatform::new(HostOptions::default()).map_err(Failure::run)?;
    let provenance = provenance::of_host(platform.inventory());
    let (identity, surroundings) = probe::surroundings(&platform, None)?;
    let settings = Settings { iterations: probe::HOST_SAMPLES, check: false, ..Settings::host() };
    let scope = SuiteScope {
        largest_area: surroundings.largest_area,
        pages: SuiteScope::pages_of_fit(platform.inventory()),
        ..SuiteScope::whole(settings)
    };
    let plans = Suite::Fit.plans(platform.layout(), &scope).map_err(Failure::input)?;
    let computer = Some(computer_of_host(platform.inventory()));
    let records = probe::measure_plans(&plans, &mut platform, None)?;
    let name = HostPlatform::NAME.to_owned();
    Ok(Measured { name, records, provenance, system: None, identity, announced: vec![], most_caches: None, computer })
}

/// Measures the server of `description` by the suite `fit`, on all cores.
pub(super) fn measure_simulated(description: &Description) -> Result<Measured, Failure> {
    let layout = Layout::simulated(description).map_err(Failure::input)?;
    let scope = SuiteScope::whole(Settings { iterations: 1, ..Settings::simulated() });
    let plans = Suite::Fit.plans(&layout, &scope).map_err(Failure::input)?;
    let bar = progress::bar(plans.len(), "measurements");
    let work = |plan: &Plan| Ok(experiments::run_plan(description, plan, sim::Options::default())?.record);
    let measured: Result<_, ExperimentError> = parallel::collected(&plans, work, |done| bar.at(done));
    let records = measured.map_err(Failure::run)?;
    drop(bar);
    let (name, identity) = (description.name.clone(), identity_of(description));
    let (system, computer) = (Some(system_of(description.clone())?), computer_of_server(description));
    let provenance = provenance::of_software();
    Ok(Measured { name, records, provenance, system, identity, announced: vec![], most_caches: None, computer })
}

/// Describes the server that was measured in `file`, and prints what was measured beside what the description shows. What does not
/// agree, in words.
///
/// # Errors
/// When the records do not suffice, no description can be written that loads, or the output fails.
pub(super) fn describe(
    (path, mut file): (&Path, Whole),
    computer: &ComputerRow,
    records: &[Record],
    output: &mut Output<FitRow>,
    view: &View,
) -> Result<Option<String>, Failure> {
    let name = path.display().to_string();
    let fit = || describe_server(&name, computer, records);
    let described = progress::during("fit by simulation", fit).map_err(Failure::run)?;
    let disagreement = disagreement(&described.compared);
    let warning = disagreement.iter().map(|words| format!("# NOT CONFIRMED by simulation: {words}\n"));
    file.write_all((warning.collect::<String>() + &described.text).as_bytes())?;
    file.complete()?;
    described.compared.iter().try_for_each(|row| output.write(&row.row(&computer.machine)))?;
    if output.wants_table() {
        let mut table = description::table(&computer.machine, &described.description.name, &described.compared);
        described.notes.iter().for_each(|note| table.note(note));
        print(table.shown(view))?;
    }
    Ok(disagreement)
}
