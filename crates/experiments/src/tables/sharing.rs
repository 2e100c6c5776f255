//! Protocols on programs that share lines in one way each, on a small and on a large part of the machine: how time and
//! controllers' occupancy compare. No paper prints this; the FLASH dissertation's sections 5.3.2 to 5.3.4 do the same with
//! SpecOMP2001.

use std::collections::BTreeMap;

use report::{Axis, Mark, Plot, Series as Line};

use super::programs::{self, SYNTHETIC, geometric_mean, pearson};
use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;

/// A row for each program and protocol (`migratory, hybrid`), and one for their geometric mean over the programs; a column
/// for each figure and number of processors (`time at 63`). Times, latencies and total occupancies are relative to those of the
/// first protocol. A row with a program's name alone has the correlation of time and occupancy over its protocols, `mean` that of
/// the means, and `all` that over all programs and protocols.
pub struct Sharing;

/// The protocols of Table 5.1, the one that others are compared with first.
const PROTOCOLS: [&str; 7] = ["cv=2", "cv=2/LB", "dynamic-pointer", "hybrid", "hybrid/IC", "hybrid/IR", "hybrid/RAC"];
/// The numbers of processors of sections 5.3.2 and 5.3.3.
pub(super) const PROCESSORS: [u16; 2] = [8, 63];
/// The row of the mean over the programs, and that of what all together show.
const MEAN: &str = "mean";
const ALL: &str = "all";

/// Names of columns, and their words of [`programs`]: those that are over something are so over the first protocol.
const FIGURES: [(&str, &str); 5] = [
    (TIME, "time over cv=2"),
    ("miss latency", "latency over cv=2"),
    (OCCUPANCY, "occupancy over cv=2"),
    ("instruction misses", "instruction-misses"),
    ("busiest controller", "busiest"),
];
const TIME: &str = "time";
const OCCUPANCY: &str = "occupancy";

impl Shape for Sharing {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some((figure, processors)) = column.rsplit_once(" at ") else { return Ok(None) };
        let Ok(processors) = processors.parse::<u16>() else { return Ok(None) };
        if figure == "correlation of time and occupancy" {
            return correlation(scene, row, processors);
        }
        let Some((program, protocol)) = row.split_once(", ") else { return Ok(None) };
        if program == MEAN {
            mean(scene, protocol, processors, figure)
        } else {
            one(scene, program, protocol, processors, figure)
        }
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let drawn = |processors: u16| {
            let (x, y) = (Axis::linear("total occupancy over cv=2"), Axis::linear("time over cv=2"));
            (format!("{processors}p"), reproduced.plot(x, y, by_protocol(reproduced, processors)))
        };
        PROCESSORS.into_iter().map(drawn).collect()
    }
}

/// A figure of a program under a protocol.
fn one(
    scene: &Scene<'_>,
    program: &str,
    protocol: &str,
    processors: u16,
    figure: &str,
) -> Result<Option<Formula>, ExperimentError> {
    let Some((_, words)) = FIGURES.iter().find(|(name, _)| *name == figure) else { return Ok(None) };
    programs::cell(scene, [&format!("at {processors}"), &format!("{program} {protocol}"), words])
}

/// The geometric mean of a figure over the programs.
fn mean(scene: &Scene<'_>, protocol: &str, processors: u16, figure: &str) -> Result<Option<Formula>, ExperimentError> {
    let of_programs = SYNTHETIC.iter().map(|program| one(scene, program, protocol, processors, figure));
    let of_programs: Option<Vec<Formula>> = of_programs.collect::<Result<_, _>>()?;
    Ok(of_programs.map(|figures| Formula::Computed(figures, geometric_mean)))
}

/// Pearson's coefficient of time and occupancy, both relative, over all protocols of a program, of the mean of programs, or
/// of all of them; none for other rows. As in Table 5.4, the first protocol is a point like the others.
fn correlation(scene: &Scene<'_>, row: &str, processors: u16) -> Result<Option<Formula>, ExperimentError> {
    let mut pairs = Vec::new();
    for protocol in PROTOCOLS {
        for program in SYNTHETIC.iter().filter(|program| row == ALL || row == **program) {
            for figure in [TIME, OCCUPANCY] {
                pairs.extend(one(scene, program, protocol, processors, figure)?);
            }
        }
        if row == MEAN {
            for figure in [TIME, OCCUPANCY] {
                pairs.extend(mean(scene, protocol, processors, figure)?);
            }
        }
    }
    Ok((!pairs.is_empty()).then_some(Formula::Computed(pairs, pearson)))
}

/// A point for each program, its occupancy and its time, in a colour for each protocol.
fn by_protocol(reproduced: &Reproduced<'_>, processors: u16) -> Vec<Line> {
    let columns = ["occupancy", "time"].map(|figure| format!("{figure} at {processors}"));
    let figures: BTreeMap<(&str, &str), f64> =
        reproduced.rows.iter().filter_map(|row| Some(((row.row.as_str(), row.column.as_str()), row.ours?))).collect();
    let line = |(colour, protocol): (usize, &str)| {
        let point = |program: &&str| {
            let row = format!("{program}, {protocol}");
            let of = |column: &String| figures.get(&(row.as_str(), column.as_str())).copied();
            Some((of(&columns[0])?, of(&columns[1])?))
        };
        let points = SYNTHETIC.iter().filter_map(point).collect();
        Line { name: protocol.to_owned(), points, mark: Mark::Points, colour }
    };
    PROTOCOLS.into_iter().enumerate().map(line).collect()
}
