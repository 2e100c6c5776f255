//! The restart-latency search: how soon a processor can go on if nothing contends with the transfer of the line.

use record::{Disturbance, Warning};

use crate::measure::time;
use crate::platform::{Phase, Platform, PlatformError, Task};
use crate::prepare::{Slice, empty_caches, prepare};
use crate::procedure::{Collected, Procedure};
use crate::sample::{disturbance, ns_per_step};
use crate::search::{RestartCurve, RestartPoint, RestartSearch, Settling, stable_stretch};
use crate::{BenchError, Plan};

/// Searches for the restart latency of a plan.
pub(crate) struct Search;

impl Procedure for Search {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, _count: u32) -> Result<(), BenchError> {
        let plan = &collected.plan.clone();
        let search = plan.settings.restart;
        let lines = plan.lines(platform.layout());
        let single = Slice::allocate(platform, plan, 1)?;
        let mut settling = Settling::new(search);
        let mut points = Vec::new();
        for work in 0..=search.max_work {
            let (mut back_to_back_ns, mut l1_ns) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..search.repetitions {
                back_to_back_ns = back_to_back_ns.min(collected.twice(|| back_to_back(plan, platform, lines, work))?);
                l1_ns = l1_ns.min(collected.twice(|| cached(plan, platform, &single, work, lines))?);
            }
            let restart_ns = back_to_back_ns - l1_ns;
            points.push(RestartPoint { work, l1_ns, l2_ns: None, back_to_back_ns, restart_ns });
            if settling.push(restart_ns) && !search.whole_curve {
                break;
            }
        }
        if search.whole_curve {
            add_second_level(collected, platform, &mut points)?;
        }
        let settled = stable_stretch(points.iter().map(|point| point.restart_ns), search);
        let RestartSearch { max_work, bound, stable, .. } = search;
        let warning = settled.is_none().then_some(Warning::RestartUnsettled { max_work, bound, stable });
        let stable = settled.unwrap_or(points.len().saturating_sub(stable)..points.len());
        collected.curves.push(RestartCurve { points, stable });
        collected.warnings.extend(warning);
        collected.note_conditions(platform);
        Ok(())
    }
}

/// The mean back-to-back time of the requesters on freshly prepared lines, and what disturbed it.
fn back_to_back(
    plan: &Plan,
    platform: &mut dyn Platform,
    lines: u64,
    work: u32,
) -> Result<(f64, Disturbance), PlatformError> {
    let slice = Slice::allocate(platform, plan, lines)?;
    empty_caches(platform, plan, &slice)?;
    prepare(platform, plan, &slice)?;
    let sample = time(plan, platform, &slice, work)?;
    Ok((sample.values.iter().sum::<f64>() / sample.values.len() as f64, sample.disturbance))
}

/// The mean time of `steps` steps around lists that a cache holds once they have been walked, and what disturbed it.
fn cached(
    plan: &Plan,
    platform: &mut dyn Platform,
    lists: &Slice,
    work: u32,
    steps: u64,
) -> Result<(f64, Disturbance), PlatformError> {
    let mut tasks: Vec<Task> = lists.portions(plan, plan.experiment.kernel(work));
    platform.run(Phase::new(&tasks))?;
    for task in &mut tasks {
        task.count = steps;
    }
    let measurements = platform.run(Phase::new(&tasks))?;
    let count = measurements.len() as f64;
    let disturbance = disturbance(&measurements);
    Ok((measurements.into_iter().map(ns_per_step).sum::<f64>() / count, disturbance))
}

/// Measures the curve of hits in the second-level cache: lists of four times the lines of the first level, no two
/// elements in a line, so that none stays there.
fn add_second_level(
    collected: &mut Collected,
    platform: &mut dyn Platform,
    points: &mut [RestartPoint],
) -> Result<(), PlatformError> {
    let plan = &collected.plan.clone();
    let layout = platform.layout();
    let lines = (4 * layout.l1.0).min(layout.l2.0 / 2) / layout.line.0;
    let lists = Slice::allocate(platform, plan, lines)?;
    for point in points {
        point.l2_ns = Some(collected.twice(|| cached(plan, platform, &lists, point.work, lines))?);
    }
    Ok(())
}
