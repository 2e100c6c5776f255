//! Rerunning published results: what to run, our figures as they come, and how they compare.

use std::collections::{BTreeSet, HashMap};

use bench::SuiteScope;
use machine::Description;
use record::ReproductionRow;
use report::{ErrorSummary, Plot};
use workloads::Workload;

use crate::calibrated_on::{CalibratedOn, CalibrationError};
use crate::calibration::Calibration;
use crate::catalogue::{ENTRIES, Entry, Form, select};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::Measurement;
use crate::outcome::Outcomes;
use crate::parallel;
use crate::published::{Kind, PublishedCell, PublishedTable};
use crate::run::{Finished, run_once};
use crate::system::Systems;
use crate::tables::{Reproduced, Scene, Shape, cluster_programs, sci_programs};

/// Stands for the number of a table that only lends its form to the results of another machine.
const FORM_ONLY: &str = "none";

/// A figure to reproduce.
struct Cell {
    published: PublishedCell,
    /// `None` if our machine has no such figure.
    formula: Option<Formula>,
    calibrated: bool,
}

/// A table to reproduce.
pub struct PreparedTable {
    published: PublishedTable,
    shape: &'static dyn Shape,
    cells: Vec<Cell>,
}

/// Tables to reproduce and the machines that they are about. Everything that can be wrong with the input has been found
/// when there is one.
pub struct Reproduction {
    systems: Systems,
    tables: Vec<PreparedTable>,
    measurements: Vec<Measurement>,
}

/// A measurement that failed.
#[derive(Debug)]
pub struct FailedMeasurement {
    /// The measurement.
    pub measurement: Measurement,
    /// Why it failed.
    pub error: ExperimentError,
}

impl Reproduction {
    /// The tables that `selection` names, as [`select`] reads it, measured as thoroughly as `scope` says.
    ///
    /// # Errors
    /// When there is no such table, a machine is unusable or a cell has no formula.
    pub fn prepare(selection: &str, scope: SuiteScope) -> Result<Self, ExperimentError> {
        let completeness = Completeness::of_published(&scope);
        let systems = Systems::new(scope);
        let calibration = calibration(&systems, None)?;
        let mut tables = Vec::new();
        for entry in select(selection)? {
            let mut published = entry.published()?;
            if published.cells.is_empty() {
                let rows = entry.shape.rows(&Scene { table: &published, systems: &systems })?;
                published.cells = published.blank(&rows);
            }
            tables.push(prepared(published, entry.shape, &systems, &calibration, completeness)?);
        }
        Ok(Self::of(systems, tables))
    }

    /// The tables whose form the results of `suite` have, for the machine of `description`: with the published figures of
    /// the table that is about this machine, or else without any.
    ///
    /// # Errors
    /// When the machine is unusable.
    pub fn of_suite(
        suite: bench::Suite,
        description: &Description,
        scope: SuiteScope,
    ) -> Result<Self, ExperimentError> {
        let whole = Completeness::of_published(&scope);
        let systems = Systems::new(scope);
        systems.add(description.clone())?;
        let calibration = calibration(&systems, Some(description))?;
        // In the order of the paper, each form once.
        let mut chosen: Vec<(Form, &Entry, PublishedTable)> = Vec::new();
        for entry in ENTRIES {
            let Some(form) = entry.form.filter(|form| suite == bench::Suite::All || form.suite() == suite) else {
                continue;
            };
            let published = entry.published()?;
            let is_about_it = published.machine.as_deref() == Some(description.name.as_str());
            match chosen.iter_mut().find(|(known, ..)| *known == form) {
                None => chosen.push((form, entry, published)),
                Some(known) if is_about_it => *known = (form, entry, published),
                Some(_) => {}
            }
        }
        let mut tables = Vec::new();
        for (form, entry, mut published) in chosen {
            let is_about_it = published.machine.as_deref() == Some(description.name.as_str());
            let completeness = if is_about_it { whole } else { Completeness::AsItComes };
            if !is_about_it {
                published.machine = Some(description.name.clone());
                published.title = format!("{}: {}", form.title(), description.title);
                published.id = FORM_ONLY.to_owned();
                let rows = entry.shape.rows(&Scene { table: &published, systems: &systems })?;
                published.cells = published.blank(&rows);
            }
            tables.push(prepared(published, entry.shape, &systems, &calibration, completeness)?);
        }
        Ok(Self::of(systems, tables))
    }

    fn of(systems: Systems, tables: Vec<PreparedTable>) -> Self {
        let mut seen = HashMap::new();
        let mut measurements = Vec::new();
        for formula in tables.iter().flat_map(|table| &table.cells).filter_map(|cell| cell.formula.as_ref()) {
            for measurement in formula.measurements() {
                if seen.insert(measurement.clone(), ()).is_none() {
                    measurements.push(measurement.clone());
                }
            }
        }
        Self { systems, tables, measurements }
    }

    /// Measurements to be run, each once, in the order in which the tables need them.
    pub fn measurements(&self) -> &[Measurement] {
        &self.measurements
    }

    /// The tables, in order.
    pub fn tables(&self) -> &[PreparedTable] {
        &self.tables
    }

    /// The descriptions of the machines that measurements are made on, by name.
    pub fn machines(&self) -> Vec<Description> {
        let used = |name: &str| self.measurements.iter().any(|measurement| measurement.machine == name);
        self.systems.loaded().iter().filter(|s| used(s.name())).map(|s| s.description.clone()).collect()
    }

    /// Runs all measurements on all cores. `progress` is told how many have finished each time one does, `deliver` gets
    /// every row in order as soon as what it needs is there; a measurement that fails leaves its figures out.
    ///
    /// Runs of programs that have `finished` already are not run again; new ones are noted there at once.
    ///
    /// # Errors
    /// The first error of `deliver`, which ends the run.
    pub fn run<E>(
        &self,
        options: sim::Options,
        finished: &dyn Finished,
        progress: impl FnMut(usize),
        mut deliver: impl FnMut(ReproductionRow) -> Result<(), E>,
    ) -> Result<(Outcomes, Vec<FailedMeasurement>), E> {
        let machines: HashMap<String, Description> =
            self.systems.loaded().iter().map(|s| (s.name().to_owned(), s.description.clone())).collect();
        let (mut outcomes, mut failures) = (Outcomes::new(), Vec::new());
        let position: HashMap<&Measurement, usize> =
            self.measurements.iter().enumerate().map(|(i, m)| (m, i)).collect();
        let mut rows =
            self.tables.iter().flat_map(|table| table.cells.iter().map(move |cell| (table, cell))).peekable();
        let mut deliver_ready = |outcomes: &Outcomes, delivered: usize| {
            let ready = |cell: &Cell| cell.measurements().all(|needed| position[needed] < delivered);
            while let Some((table, cell)) = rows.next_if(|(_, cell)| ready(cell)) {
                deliver(row(&table.published, cell, outcomes))?;
            }
            Ok(())
        };
        deliver_ready(&outcomes, 0)?;
        let work =
            |measurement: &Measurement| run_once(&machines[&measurement.machine], measurement, options, finished);
        parallel::in_order(&self.measurements, work, progress, |index, result| {
            let measurement = self.measurements[index].clone();
            match result {
                Ok(outcome) => drop(outcomes.insert(measurement, outcome)),
                Err(error) => failures.push(FailedMeasurement { measurement, error }),
            }
            deliver_ready(&outcomes, index + 1)
        })?;
        Ok((outcomes, failures))
    }

    /// The rows of every table, as far as `outcomes` determine them.
    pub fn rows(&self, outcomes: &Outcomes) -> Vec<ReproductionRow> {
        let of_table = |table: &PreparedTable| {
            table.cells.iter().map(|cell| row(&table.published, cell, outcomes)).collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(of_table).collect()
    }

    /// Diagrams of the tables, each with a name for its file.
    pub fn plots(&self, outcomes: &Outcomes) -> Vec<(String, Plot)> {
        let mut plots = Vec::new();
        for table in &self.tables {
            let scene = Scene { table: &table.published, systems: &self.systems };
            let rows = table.rows(outcomes);
            let name = table.name().replace('/', "-");
            let drawn = table.shape.plots(&Reproduced { scene, rows: &rows, outcomes });
            plots.extend(drawn.into_iter().map(|(what, plot)| (format!("{name}-{what}"), plot)));
        }
        plots
    }
}

impl PreparedTable {
    /// The paper and the table: `prestor/4.6`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.published.paper, self.published.id)
    }

    /// The heading of a printed table: the published table with its page, and its title.
    pub fn heading(&self) -> String {
        let PublishedTable { paper, id, title, page, section, .. } = &self.published;
        if id == FORM_ONLY {
            return title.clone();
        }
        let what = match (id.strip_prefix("figure-"), id.strip_prefix("study-")) {
            (Some(figure), _) => format!("Figure {figure}"),
            (_, Some(_)) => "study without a published counterpart".to_owned(),
            _ => format!("Table {id}"),
        };
        let page = page.map_or_else(String::new, |page| format!(", p. {page}"));
        format!("{title} ({paper}, {what}{page}, section {section})")
    }

    /// The table as published.
    pub fn published(&self) -> &PublishedTable {
        &self.published
    }

    /// Its rows, as far as `outcomes` determine them.
    pub fn rows(&self, outcomes: &Outcomes) -> Vec<ReproductionRow> {
        self.cells.iter().map(|cell| row(&self.published, cell, outcomes)).collect()
    }

    /// How far our figures are from the published ones, for each kind of figure in the table.
    pub fn summaries(&self, rows: &[ReproductionRow]) -> Vec<ErrorSummary> {
        let mut kinds: Vec<Kind> = self.cells.iter().map(|cell| cell.published.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let of_kind = |kind| {
            let cells = self.cells.iter().zip(rows);
            let rows = cells.filter(move |(cell, _)| cell.published.kind == kind).map(|(_, row)| row);
            ErrorSummary::of(format!("{} {kind}", self.name()), rows)
        };
        kinds.into_iter().map(of_kind).collect()
    }
}

impl Cell {
    fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        self.formula.iter().flat_map(Formula::measurements)
    }
}

fn row(table: &PublishedTable, cell: &Cell, outcomes: &Outcomes) -> ReproductionRow {
    let theirs = cell.published.theirs;
    let ours = cell.formula.as_ref().and_then(|formula| formula.evaluate(outcomes));
    ReproductionRow {
        paper: table.paper.clone(),
        table: table.id.clone(),
        row: cell.published.row.clone(),
        column: cell.published.column.clone(),
        unit: cell.published.unit,
        theirs,
        ours,
        error_pct: ReproductionRow::error_of(theirs, ours),
        calibrated: cell.calibrated,
    }
}

/// Whether every cell of a table must have a formula.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completeness {
    /// It is the published table: a cell without a formula is our fault.
    Required,
    /// Its form is used for another machine, or not all nodes are visited: cells that make no sense there are left out.
    AsItComes,
}

impl Completeness {
    /// Completeness of a published table that is measured within `scope`.
    const fn of_published(scope: &SuiteScope) -> Self {
        if scope.nodes_per_distance.is_some() { Self::AsItComes } else { Self::Required }
    }
}

fn prepared(
    published: PublishedTable,
    shape: &'static dyn Shape,
    systems: &Systems,
    calibration: &Calibration,
    completeness: Completeness,
) -> Result<PreparedTable, ExperimentError> {
    let mut cells = Vec::new();
    for cell in &published.cells {
        let formula = shape.formula(&Scene { table: &published, systems }, &cell.row, &cell.column)?;
        match (&formula, completeness) {
            (None, Completeness::AsItComes) => continue,
            (None, Completeness::Required) => {
                return Err(ExperimentError::NoFormula {
                    table: format!("{}/{}", published.paper, published.id),
                    row: cell.row.clone(),
                    column: cell.column.clone(),
                });
            }
            (Some(_), _) => {}
        }
        let calibrated = formula.as_ref().is_some_and(|formula| calibration.covers(&published, cell, formula));
        cells.push(Cell { published: cell.clone(), formula, calibrated });
    }
    Ok(PreparedTable { published, shape, cells })
}

/// Calibration of the built-in machines, `other`, the programs and studies of them, with the measurements behind it.
fn calibration(systems: &Systems, other: Option<&Description>) -> Result<Calibration, ExperimentError> {
    let mut stated: Vec<(String, String)> = Vec::new();
    let tables = ENTRIES.iter().map(Entry::published).collect::<Result<Vec<_>, _>>()?;
    // Machines of the tables may be of a family, of which none is built in by name.
    let others = ENTRIES.iter().flat_map(|entry| entry.shape.other_machines()).map(|&name| name.to_owned());
    let measured = tables.iter().filter_map(|table| table.machine.clone()).chain(others);
    let names: BTreeSet<String> = machine::names().map(|(name, _)| name).chain(measured).collect();
    let known: Vec<Description> = names.iter().filter_map(|name| machine::load(name).ok()).collect();
    for description in known.iter().chain(other) {
        for entry in &description.calibrated_on {
            if stated.iter().all(|(_, known)| known != entry) {
                stated.push((format!("machine {}", description.name), entry.clone()));
            }
        }
    }
    for program in Workload::all() {
        let own =
            program.calibrated_on().iter().map(|&entry| (format!("program {}", program.name()), entry.to_owned()));
        stated.extend(own);
    }
    stated.extend(sci_programs::CALIBRATED_ON.map(|entry| ("the programs of hexsel".to_owned(), entry.to_owned())));
    stated.extend(cluster_programs::CALIBRATED_ON.map(|entry| ("the programs of lai".to_owned(), entry.to_owned())));
    let mut entries = Vec::new();
    for (fitted, entry) in &stated {
        let parsed = CalibratedOn::parse(fitted, entry)?;
        let unknown = |problem: String| CalibrationError { fitted: fitted.clone(), entry: entry.clone(), problem };
        let mut found = false;
        for table in &tables {
            if parsed.concerns(table) {
                found = true;
                if let Some(name) = parsed.unknown_name(table) {
                    return Err(unknown(format!("the table has no row or column {name}")).into());
                }
            }
        }
        if !found {
            return Err(unknown("unknown table".to_owned()).into());
        }
        entries.push(parsed);
    }
    let mut calibration = Calibration::new(entries);
    for (entry, table) in ENTRIES.iter().zip(&tables) {
        if !calibration.entries().iter().any(|stated| stated.concerns(table)) {
            continue;
        }
        for cell in &table.cells {
            if let Some(formula) = entry.shape.formula(&Scene { table, systems }, &cell.row, &cell.column)? {
                calibration.learn(table, cell, &formula);
            }
        }
    }
    Ok(calibration)
}
