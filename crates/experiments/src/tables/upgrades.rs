//! Upgrade latency against the number of sharers, by protocol: FLASH dissertation, Figures 5.7 and 5.8.

use bench::{random_sharers, upgrade_latency};
use report::{Axis, Plot};

use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::Measurement;
use crate::system::System;
use crate::{Outcome, variant};

/// A row for each number of sharers and a column for each protocol: the mean over random sets of sharers. What the text
/// states of the curves, whose figures it does not print, are rows of facts: how two protocols compare (`A over B`), up to how
/// many sharers one is the fastest, and whether one is slower than another.
///
/// The processors have one request outstanding (section 5.3.1).
pub struct UpgradeLatencies;

/// The key of the machine's description that the dissertation changed for this experiment, and what to.
const ONE_REQUEST: (&str, u32) = ("processor.outstanding_misses", 1);
/// The row of statements about a whole curve.
const WHOLE_CURVE: &str = "1 to 16";
/// The sharers over which such statements are looked for.
const DETAILED: std::ops::RangeInclusive<usize> = 1..=16;

impl Shape for UpgradeLatencies {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        if row == WHOLE_CURVE {
            return fastest_up_to(scene, column);
        }
        let Ok(sharers) = row.parse::<usize>() else { return Ok(None) };
        if let Some((one, other)) = column.split_once(" over ") {
            let both = latency(scene, one, sharers)?.zip(latency(scene, other, sharers)?);
            return Ok(both.map(|(one, other)| one.over(other)));
        }
        if let Some((one, other)) = column.split_once(" is slower than ") {
            let both = latency(scene, one, sharers)?.zip(latency(scene, other, sharers)?);
            let slower = |values: &[f64]| Some(f64::from(u8::from(values[0] > values[1])));
            return Ok(both.map(|(one, other)| Formula::Computed(vec![one, other], slower)));
        }
        latency(scene, column, sharers)
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let protocols = protocols(&reproduced.scene);
        let protocols: Vec<&str> = protocols.iter().map(String::as_str).collect();
        let (x, y) = (Axis::linear("sharers"), Axis::linear("upgrade latency (processor cycles)"));
        vec![("latency".to_owned(), reproduced.plot(x, y, reproduced.columns_by_row(&protocols)))]
    }
}

/// The columns of latencies: all that are no statement.
fn protocols(scene: &Scene<'_>) -> Vec<String> {
    let names = scene.table.columns.iter().map(|column| column.name.clone());
    names.filter(|name| !name.contains(' ')).collect()
}

/// The mean latency of an upgrade with so many sharers, in processor cycles; `None` if the machine has not so many.
pub(super) fn latency(scene: &Scene<'_>, protocol: &str, sharers: usize) -> Result<Option<Formula>, ExperimentError> {
    let (key, value) = ONE_REQUEST;
    let name = variant::with(scene.under(protocol)?.name(), key, value);
    Ok(mean_over_sets(&*scene.systems.get(&name)?, sharers))
}

fn mean_over_sets(system: &System, sharers: usize) -> Option<Formula> {
    let line = system.layout.line;
    let plans = random_sharers(&system.layout, sharers, system.scope());
    let one = |plan| {
        Formula::reading(Measurement::of_plan(system.name(), plan), move |outcome| match outcome {
            Outcome::Bench(outcome) => Some(upgrade_latency(line, outcome.record.headline())),
            _ => None,
        })
    };
    (!plans.is_empty()).then(|| system.cycles(Formula::mean(plans.iter().map(one).collect())))
}

/// Up to how many sharers the protocol of a column `NAME is fastest up to` is faster than all others of the table; zero if
/// it is slower already with one.
fn fastest_up_to(scene: &Scene<'_>, column: &str) -> Result<Option<Formula>, ExperimentError> {
    let Some(fastest) = column.strip_suffix(" is fastest up to") else { return Ok(None) };
    let mut curves = vec![fastest.to_owned()];
    curves.extend(protocols(scene).into_iter().filter(|name| name != fastest));
    let mut latencies = Vec::new();
    for sharers in DETAILED {
        for protocol in &curves {
            let Some(latency) = latency(scene, protocol, sharers)? else { return Ok(None) };
            latencies.push(latency);
        }
    }
    let count = curves.len();
    Ok(Some(Formula::ComputedBy(latencies, std::sync::Arc::new(move |values| Some(leading(values, count) as f64)))))
}

/// How many groups of `count` values from the first on have their least value in front.
fn leading(values: &[f64], count: usize) -> usize {
    values.chunks_exact(count).take_while(|group| group[1..].iter().all(|other| group[0] < *other)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_leads_until_another_one_crosses_it() {
        let dynamic = [1.0, 2.0, 3.0, 4.0];
        let coarse = [2.0, 3.0, 3.5, 3.9];
        let values: Vec<f64> = dynamic.into_iter().zip(coarse).flat_map(|(a, b)| [a, b, 9.0]).collect();
        assert_eq!(leading(&values, 3), 3);
        assert_eq!(leading(&[2.0, 2.0, 1.0, 5.0], 2), 0, "a tie is no lead, and a later lead does not count");
    }
}
