//! Times against dependent work after each load: Prestor 2001 Figures 4.4 to 4.6.

use std::collections::BTreeMap;

use bench::{Experiment, Placement, Plan, RestartCurve, RestartPoint, RestartSearch, State};
use report::{Axis, Mark, Plot, Series as Line};

use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::Measurement;
use crate::system::System;

/// Figures that the text reads off the curves, in cycles of the processor.
pub struct RestartCurves;

/// The last kernel of the figures' series: their curves settle well before it.
const MOST_WORK: u32 = 120;

/// The measurement of a machine's curves: unowned lines, all on the first node.
fn curves(system: &System) -> Option<Measurement> {
    let node = system.layout.nodes().find(|&node| !system.layout.cpus_of(node).is_empty())?;
    let cpu = *system.layout.cpus_of(node).first()?;
    let mut plan =
        Plan::new(Experiment::RestartRead, State::Uown, Placement::new(node, cpu, None), bench::Settings::simulated());
    plan.settings.restart = RestartSearch { whole_curve: true, max_work: MOST_WORK, ..RestartSearch::default() };
    Some(Measurement::of_plan(system.name(), &plan))
}

impl Shape for RestartCurves {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let (Some(curves), Some(curve)) = (curves(&system), Curve::named(row)) else { return Ok(None) };
        let (column, cycle_ns) = (column.to_owned(), system.layout.clock_period.as_ns());
        let read = move |outcome: &crate::Outcome| {
            Some(fact(curve, &column, outcome.bench()?.restart.as_ref()?, cycle_ns)? / cycle_ns)
        };
        Ok(Some(Formula::reading(curves, read)))
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let Ok(system) = reproduced.scene.system() else { return Vec::new() };
        let outcome = curves(&system).and_then(|curves| reproduced.outcomes.get(&curves)?.bench()?.restart.clone());
        let Some(found) = outcome else { return Vec::new() };
        let cycle_ns = system.layout.clock_period.as_ns();
        let line = |(colour, curve): (usize, &Curve)| {
            let points = found.points.iter().filter_map(|p| Some((p.work.into(), curve.ns(p)? / cycle_ns)));
            Line { name: curve.name().to_owned(), points: points.collect(), mark: Mark::Line, colour }
        };
        let series = Curve::ALL.iter().enumerate().map(line).collect();
        let x = Axis::linear("dependent instructions per load");
        let y = Axis::linear("time per load (processor cycles)");
        vec![("curves".to_owned(), reproduced.plot(x, y, series))]
    }
}

/// One of the figures' curves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Curve {
    L1,
    L2,
    BackToBack,
    Restart,
}

impl Curve {
    const ALL: [Self; 4] = [Self::L1, Self::L2, Self::BackToBack, Self::Restart];

    fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::BackToBack => "back-to-back",
            Self::Restart => "restart",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|curve| curve.name() == name)
    }

    fn ns(self, point: &RestartPoint) -> Option<f64> {
        match self {
            Self::L1 => Some(point.l1_ns),
            Self::L2 => point.l2_ns,
            Self::BackToBack => Some(point.back_to_back_ns),
            Self::Restart => Some(point.restart_ns),
        }
    }
}

/// A fact about a curve, in nanoseconds.
fn fact(curve: Curve, what: &str, found: &RestartCurve, cycle_ns: f64) -> Option<f64> {
    let values: Vec<f64> = found.points.iter().filter_map(|point| curve.ns(point)).collect();
    let (first, last) = (*values.first()?, *values.last()?);
    // The figures' L2 curve is described by how far it lies above L1, which takes two cycles at no work.
    let above_l1 = || found.points.iter().filter_map(|point| Some(curve.ns(point)? - point.l1_ns + 2.0 * cycle_ns));
    match what {
        "at no work" => Some(first),
        "slope" => Some((last - first) / (values.len() - 1).max(1) as f64),
        "least above L1, plus 2" => above_l1().reduce(f64::min),
        "most above L1, plus 2" => above_l1().reduce(f64::max),
        "jump" => usual_jump(&values, cycle_ns),
        "stable minimum" => found.window().iter().filter_map(|point| curve.ns(point)).reduce(f64::min),
        _ => values.get(what.strip_prefix("at work ")?.parse::<usize>().ok()?).copied(),
    }
}

/// The most frequent rise of two cycles or more, the larger of two that are equally frequent. Steps that follow each other
/// are one rise: the mean of a list may pass from one level to the next in two.
fn usual_jump(values: &[f64], cycle_ns: f64) -> Option<f64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    let rising = |a: &f64, b: &f64| b - a >= 0.5 * cycle_ns;
    for rise in values.chunk_by(rising) {
        let cycles = ((rise[rise.len() - 1] - rise[0]) / cycle_ns).round();
        if cycles >= 2.0 {
            *counts.entry(cycles as u64).or_default() += 1;
        }
    }
    let (cycles, _) = counts.into_iter().max_by_key(|&(cycles, count)| (count, cycles))?;
    Some(cycles as f64 * cycle_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve in the style of Figure 4.4: flat at 100 cycles of 4 ns up to 30 additions, then a jump of 5 every 5.
    fn curve() -> RestartCurve {
        let back_to_back = |work: u32| 400.0 + f64::from(work.saturating_sub(30) / 5 * 5) * 4.0;
        let point = |work: u32| {
            let (l1_ns, back_to_back_ns) = (8.0 + 4.0 * f64::from(work), back_to_back(work));
            let l2_ns = Some(l1_ns + 24.0 + f64::from(work % 3) * 4.0);
            RestartPoint { work, l1_ns, l2_ns, back_to_back_ns, restart_ns: back_to_back_ns - l1_ns }
        };
        RestartCurve { points: (0..=100).map(point).collect(), stable: 60..79 }
    }

    #[test]
    fn facts_are_read_off_the_curves() {
        let of = |curve_name, what| fact(Curve::named(curve_name).unwrap(), what, &curve(), 4.0).map(|ns| ns / 4.0);
        assert_eq!(of("L1", "at no work"), Some(2.0));
        assert_eq!(of("L1", "slope"), Some(1.0));
        assert_eq!(of("L2", "at no work"), Some(8.0));
        assert_eq!(of("L2", "least above L1, plus 2"), Some(8.0));
        assert_eq!(of("L2", "most above L1, plus 2"), Some(10.0));
        assert_eq!(of("back-to-back", "at work 30"), Some(100.0));
        assert_eq!(of("back-to-back", "at work 35"), Some(105.0));
        assert_eq!(of("back-to-back", "jump"), Some(5.0));
        assert_eq!(of("restart", "stable minimum"), Some(64.0));
        assert_eq!(of("restart", "at work 200"), None);
        assert_eq!(of("restart", "colour"), None);
    }
}
