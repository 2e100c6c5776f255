//! `--list`: which metrics can be computed, which cannot, and what the sources of counters see.

use host::discovery::Inventory;
use profile::{CounterSource, Sources};
use record::ObservableRow;
use report::{Column, Table};
use trace::metric::{Metric, Resolved};
use trace::{Preamble, SourceDescription};

use super::preamble;
use crate::failure::Failure;
use crate::output::{Output, OutputFlags, print};
use crate::provenance;

/// Lists what can be computed on this computer, and what not.
///
/// # Errors
/// When the output fails.
pub fn list(
    declared: &[Metric],
    sources: &Sources,
    preamble: &Preamble,
    flags: &OutputFlags,
    inventory: &Inventory,
) -> Result<(), Failure> {
    let (resolved, lacking) = Resolved::derive(declared, sources.counters(), &preamble.constants);
    let mut output: Output<ObservableRow> = flags.open()?.of(&provenance::of_host(inventory));
    let machine = preamble.machine.as_str();
    for Resolved { metric, .. } in &resolved {
        output.write(&metric_row(machine, metric, None))?;
    }
    for (metric, lack) in &lacking {
        output.write(&metric_row(machine, metric, Some(format!("no source counts {lack}"))))?;
    }
    for row in preamble.sources.iter().flat_map(|source| source_rows(machine, source)) {
        output.write(&row)?;
    }
    if !output.wants_table() {
        return output.finish();
    }
    let view = flags.view();
    print(available(&resolved).shown(&view))?;
    if !lacking.is_empty() {
        print(format!("\n{}", unavailable(&lacking).shown(&view)))?;
    }
    print(format!("\n{}", report::paragraph(&preamble::sight(&preamble.sources), &view)))?;
    output.finish()
}

/// Lists the metrics of a simulated machine.
///
/// # Errors
/// When the output fails.
pub fn list_simulated(machine: &str, metrics: &[Resolved], flags: &OutputFlags) -> Result<(), Failure> {
    let mut output: Output<ObservableRow> = flags.open()?;
    for Resolved { metric, .. } in metrics {
        output.write(&metric_row(machine, metric, None))?;
    }
    if !output.wants_table() {
        return output.finish();
    }
    let preamble = Preamble { machine: format!("{machine} (simulated)"), ..Preamble::default() };
    print(format!("{}\n{}", preamble.machine, available(metrics).shown(&flags.view())))?;
    output.finish()
}

fn columns() -> Vec<Column> {
    let [metric, of, unit] = ["metric", "of", "unit"].map(Column::text);
    vec![metric, of, unit, Column::prose("meaning"), Column::prose("formula").detail(1)]
}

fn available(resolved: &[Resolved]) -> Table {
    let mut table = Table::new("Available metrics", columns());
    for Resolved { metric, .. } in resolved {
        let mark = if metric.main { " *" } else { "" };
        let cells = [format!("{}{mark}", metric.name), metric.of.to_string(), metric.unit.clone(), metric.what.clone()];
        table.row(cells.into_iter().chain([metric.formula.clone()]));
    }
    table.note("*: shown by default");
    table
}

fn unavailable(lacking: &[(Metric, String)]) -> Table {
    let [metric, of] = ["metric", "of"].map(Column::text);
    let columns = vec![metric, of, Column::prose("meaning"), Column::prose("missing counter")];
    let mut table = Table::new("Unavailable metrics", columns);
    for (metric, lack) in lacking {
        table.row([metric.name.clone(), metric.of.to_string(), metric.what.clone(), lack.clone()]);
    }
    table
}

fn metric_row(machine: &str, metric: &Metric, why: Option<String>) -> ObservableRow {
    ObservableRow {
        machine: machine.to_owned(),
        about: "metric".to_owned(),
        name: metric.name.clone(),
        of: Some(metric.of.to_string()),
        unit: Some(metric.unit.clone()),
        meaning: metric.what.clone(),
        available: why.is_none(),
        main: metric.main,
        formula: Some(metric.formula.clone()),
        why,
        advice: None,
    }
}

fn source_rows(machine: &str, source: &SourceDescription) -> Vec<ObservableRow> {
    let row = |meaning: &str, missing: Option<(&str, &str)>| ObservableRow {
        machine: machine.to_owned(),
        about: "source".to_owned(),
        name: source.name.clone(),
        of: None,
        unit: None,
        meaning: meaning.to_owned(),
        available: missing.is_none(),
        main: false,
        formula: None,
        why: missing.map(|(why, _)| why.to_owned()),
        advice: missing.map(|(_, advice)| advice.to_owned()).filter(|advice| !advice.is_empty()),
    };
    let seen = source.sees.iter().map(|sees| row(sees, None));
    seen.chain(source.blind.iter().map(|blind| row(&blind.what, Some((&blind.why, &blind.advice))))).collect()
}
