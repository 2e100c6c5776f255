//! Programs on SCI rings, and on DASH beside them (Hexsel and Topham). One shape for all their tables and figures: the words of table,
//! row and column name program, machine and figure of a cell (`words`).

mod figure;
mod programs;
mod words;

use std::collections::BTreeMap;

use report::{Axis, Mark, Plot, Series as Line};
use workloads::BarrierKind;

use super::{Reproduced, Scene, Shape};
use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Measurement, ProgramRun, Subject};
use crate::variant;
use figure::Figure;
use words::{Cell, Extreme, Point, Test};

pub use programs::CALIBRATED_ON;

/// A table or figure over programs on rings.
pub struct SciPrograms {
    /// Words that hold of all cells unless those of row and column differ.
    pub words: &'static str,
}

/// A figure of a diagram: its name, and its values by nodes.
type Points<'a> = (&'a str, Vec<(f64, f64)>);

/// The sizes of the rings.
const SIZES: [u16; 5] = [1, 2, 4, 8, 16];
/// Sizes of secondary caches, in KB (section 4, The Simulated Multiprocessor).
const CACHES: [u64; 4] = [64, 128, 256, 512];
/// The DASH that rings are compared with (section 3).
const DASH: &str = "dash-16p";
/// The size of a cache that holds all data of any of the programs.
const INFINITE: u64 = 64 << 10;

impl Shape for SciPrograms {
    fn other_machines(&self) -> &'static [&'static str] {
        &[DASH]
    }

    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some(cell) = Cell::parse([self.words, row, column]) else { return Ok(None) };
        let own = figure(scene, &cell, &cell.point)?;
        let value = match &cell.over {
            Some(other) => own.over(figure(scene, &cell, other)?),
            None => own,
        };
        Ok(Some(match cell.test {
            None => value,
            Some(Test { least, most }) => Formula::ComputedBy(
                vec![value],
                std::sync::Arc::new(move |values| Some(f64::from(u8::from((least..=most).contains(&values[0]))))),
            ),
        }))
    }

    /// A diagram for each row: its figures over the sizes of rings.
    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let columns = &reproduced.scene.table.columns;
        let drawn = |name: &str| columns.iter().any(|column| column.name == name && !column.is_beside);
        let mut rows: BTreeMap<&str, Vec<Points<'_>>> = BTreeMap::new();
        for row in reproduced.rows.iter().filter(|row| drawn(&row.column)) {
            let Some((figure, size)) = row.column.split_once(" at ") else { continue };
            let Some(point) = size.parse().ok().zip(row.ours) else { continue };
            let lines = rows.entry(&row.row).or_default();
            match lines.iter_mut().find(|(known, _)| *known == figure) {
                Some((_, points)) => points.push(point),
                None => lines.push((figure, vec![point])),
            }
        }
        let unit = columns.first().map_or(String::new(), |column| column.unit.to_string());
        let plot = |(row, lines): (&str, Vec<Points<'_>>)| {
            let line = |(colour, (name, points)): (usize, Points<'_>)| Line {
                name: name.to_owned(),
                points,
                mark: Mark::Line,
                colour,
            };
            let series: Vec<Line> =
                lines.into_iter().enumerate().map(line).filter(|line| line.points.len() > 1).collect();
            let plot = reproduced.plot(Axis::linear("nodes"), Axis::linear(unit.as_str()), series);
            (row.replace(' ', "-"), Plot { title: format!("{}: {row}", plot.title), ..plot })
        };
        rows.into_iter().map(plot).filter(|(_, plot)| !plot.series.is_empty()).collect()
    }
}

/// The figure of a point, or the extreme that the cell asks for over other points like it.
fn figure(scene: &Scene<'_>, cell: &Cell, point: &Point) -> Result<Formula, ExperimentError> {
    let rings = || SIZES.into_iter().filter(|&nodes| nodes > 1);
    let points: Vec<Point> = match cell.extreme {
        None => return reading(scene, point),
        Some(Extreme::Greatest | Extreme::Least) => rings().map(|nodes| Point { nodes, ..point.clone() }).collect(),
        Some(Extreme::GreatestBelow(limit)) => {
            rings().filter(|&nodes| nodes <= limit).map(|nodes| Point { nodes, ..point.clone() }).collect()
        }
        Some(Extreme::SpreadOfCaches) => {
            let caches = |nodes| CACHES.map(|cache| Point { nodes, cache, ..point.clone() });
            let spreads: Result<Vec<Formula>, ExperimentError> =
                SIZES.into_iter().map(|nodes| spread(scene, &caches(nodes))).collect();
            return Ok(Formula::greatest(spreads?));
        }
    };
    let figures = points.iter().map(|point| reading(scene, point)).collect::<Result<Vec<_>, _>>()?;
    Ok(if cell.extreme == Some(Extreme::Least) { Formula::least(figures) } else { Formula::greatest(figures) })
}

/// The greatest figure of some points less the least.
fn spread(scene: &Scene<'_>, points: &[Point]) -> Result<Formula, ExperimentError> {
    let figures = points.iter().map(|point| reading(scene, point)).collect::<Result<Vec<_>, _>>()?;
    Ok(Formula::greatest(figures.clone()).less(Formula::least(figures)))
}

/// The figure of one run; a speedup takes two.
fn reading(scene: &Scene<'_>, point: &Point) -> Result<Formula, ExperimentError> {
    let base = match point.figure {
        Figure::Speedup => Some(Point { figure: Figure::Time, nodes: 1, ..point.clone() }),
        Figure::ClockSpeedup => Some(Point { figure: Figure::Time, clock: None, ..point.clone() }),
        _ => None,
    };
    if let Some(base) = base {
        let figure = Figure::Time;
        let clock = if point.figure == Figure::ClockSpeedup { Some(words::DOUBLED_MHZ) } else { point.clock };
        let own = Point { figure, clock, ..point.clone() };
        return Ok(reading(scene, &base)?.over(reading(scene, &own)?));
    }
    let machine = machine(scene, point)?;
    let system = scene.systems.get(&machine)?;
    // Threads of SPLASH look at a word until the last has come to a barrier: counts of references include that (Table 1).
    let barrier = Some(BarrierKind::LlSc);
    let workload = programs::compiled(point, scene.systems.scope().quick)?;
    let run = ProgramRun { workload, cpus: point.nodes, barrier };
    let reader = figure::Reader::of(&system.description);
    let measurement = Measurement { machine: system.name().to_owned(), subject: Subject::Program(run) };
    let figure = point.figure;
    Ok(Formula::one_of_several(measurement, figure.name(), move |outcome| match outcome {
        Outcome::Program(row) => reader.read(figure, row),
        _ => None,
    }))
}

/// The name of the machine of a point: DASH, or one of the family of the table's machine.
fn machine(scene: &Scene<'_>, point: &Point) -> Result<String, ExperimentError> {
    if point.on_dash {
        return Ok(DASH.to_owned());
    }
    let own = scene.system()?.name().to_owned();
    let family = own.rsplit_once('-').map_or(own.as_str(), |(family, _)| family);
    let mut name = format!("{family}-{}p", point.nodes);
    if point.cache != words::USUAL_CACHE {
        name = variant::with(&name, "l2.size_mib", point.cache as f64 / 1024.0);
    }
    if point.clock == Some(words::DOUBLED_MHZ) {
        // The tag check takes three processor cycles, a line 16 ns, and the value comes at a cycle of the processor.
        for (key, value) in
            [("processor.clock_mhz", words::DOUBLED_MHZ), ("l2.hit_cycles", 7), ("l2.tag_check_cycles", 15)]
        {
            name = variant::with(&name, key, value);
        }
    }
    Ok(name)
}
