//! How busy memory and links of a node are while threads read its lines: Prestor 2001 Figures 6.1 and 6.2.

use report::{Axis, Mark, Plot, Series as Line};

use super::{Reproduced, Scene, Shape};
use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Measurement, Subject};
use crate::utilisation::{Readers, Utilisation as Seen};

/// A row for each kind and number of readers: `2 local` sum an array up, `3 neighbours` load a double of each line.
pub struct Utilisation;

fn measurement(scene: &Scene<'_>, row: &str) -> Result<Option<Measurement>, ExperimentError> {
    let Some((threads, kind)) = row.split_once(' ') else { return Ok(None) };
    let Ok(threads) = threads.parse() else { return Ok(None) };
    let readers = match kind {
        "local" => Readers::Reduction { threads },
        "neighbours" => Readers::Neighbours { threads },
        _ => return Ok(None),
    };
    let machine = scene.system()?.name().to_owned();
    Ok(Some(Measurement { machine, subject: Subject::Utilisation(readers) }))
}

impl Shape for Utilisation {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some(measurement) = measurement(scene, row)? else { return Ok(None) };
        let read: fn(&Seen) -> f64 = match column {
            "bandwidth" => |seen| seen.mb_per_s,
            "memory" => |seen| seen.memory_pct,
            "outgoing link" => |seen| seen.outgoing_pct,
            "incoming link" => |seen| seen.incoming_pct,
            _ => return Ok(None),
        };
        Ok(Some(Formula::reading(measurement, move |outcome| match outcome {
            Outcome::Utilisation(seen) => Some(read(seen)),
            _ => None,
        })))
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let mut names: Vec<&str> = reproduced.rows.iter().map(|row| row.row.as_str()).collect();
        names.dedup();
        let profile = |name: &str| match reproduced.outcomes.get(&measurement(&reproduced.scene, name).ok()??)? {
            Outcome::Utilisation(seen) => Some(seen.profile.iter().map(|&(ns, pct)| (ns / 1e6, pct)).collect()),
            _ => None,
        };
        let line = |(colour, name): (usize, &&str)| {
            let points = profile(name)?;
            Some(Line { name: (*name).to_owned(), points, mark: Mark::Line, colour })
        };
        let (x, y) = (Axis::linear("time (ms)"), Axis::linear("memory utilisation (%)"));
        vec![("memory".to_owned(), reproduced.plot(x, y, names.iter().enumerate().filter_map(line).collect()))]
    }
}
