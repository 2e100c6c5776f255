//! Utilisation of nodes' memories in the course of a Fourier transform, whose transposes go all to all: Prestor 2001 Figures 6.4
//! to 6.7.

use std::cmp::Reverse;
use std::ops::Range;

use report::{Axis, Mark, Plot, Series as Line};
use units::Duration;
use workloads::{Settings, Workload};

use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::{Looks, Measurement, ProgramRun, Subject};
use crate::profiling::Timeline;
use crate::{Outcome, variant};

/// A row for each order in which a transpose visits the threads; columns of the second transpose: how long it takes, what nodes'
/// memories are busy on average and at most in an interval, and how much the busiest node exceeds the mean of all
/// (`peak to mean`; 1 is even), interval by interval.
///
/// The thesis transforms 4 Mi points on 16 processors (section 6.4). These are 1 Mi, with secondary caches smaller by as much: a
/// thread's rows exceed its cache as often.
pub struct Transposes {
    /// How many processors.
    pub cpus: u16,
}

/// The orders: their names, and the program's parameter.
const ORDERS: [(&str, u64); 3] = [("unoptimised", 0), ("basic stagger", 1), ("optimised stagger", 2)];
/// Points, and MiB of secondary cache: a quarter each of what the thesis had.
const POINTS: u64 = (4 << 20) / 4;
const CACHE_MIB: u64 = 8 / 4;
/// From one sample to the next, 100 us, a small part of a transpose: of the utilisation of memory and of what comes in by links.
const LOOKS: Looks = Looks { interval: Duration(100_000_000), metrics: &["mem", "niin"] };
/// Links work in transposes alone: an interval belongs to one if they do at least so much of what they do in the busiest.
const AT_WORK: f64 = 0.02;

/// A transpose in a profile, interval by interval.
struct Transpose {
    /// Its time, in nanoseconds.
    ns: f64,
    /// Utilisation of memory of each node in each interval, in percent.
    utilisations: Vec<Vec<f64>>,
}

impl Transposes {
    fn measurement(&self, scene: &Scene<'_>, order: &str) -> Result<Option<Measurement>, ExperimentError> {
        let Some((_, stagger)) = ORDERS.iter().find(|(name, _)| *name == order) else { return Ok(None) };
        let workload = Workload::new("fft", &Settings::default().with("points", POINTS).with("stagger", *stagger))?;
        let machine = variant::with(scene.system()?.name(), "l2.size_mib", CACHE_MIB);
        let machine = scene.systems.get(&machine)?.name().to_owned();
        let run = ProgramRun::new(workload, self.cpus);
        Ok(Some(Measurement { machine, subject: Subject::Profile(run, LOOKS) }))
    }

    /// The nodes whose processors take part.
    fn nodes(&self) -> usize {
        usize::from(self.cpus / 2)
    }
}

/// The intervals in which the links of the first `nodes` nodes are at work, in three parts between which they pause longest: when
/// all copy from threads of their own node, they pause, too, but not for as long as rows are transformed.
fn transposes(timeline: &Timeline, nodes: usize) -> Option<[Range<usize>; 3]> {
    let received = |interval: usize| {
        let share = |node| timeline.series("niin", &name(node)).and_then(|series| series[interval + 1]).unwrap_or(0.0);
        length_ns(timeline, interval) * (0..nodes).map(share).sum::<f64>()
    };
    let work: Vec<f64> = (0..timeline.times_ns.len().saturating_sub(1)).map(received).collect();
    let most = work.iter().copied().fold(0.0, f64::max);
    let at_work: Vec<usize> = (0..work.len()).filter(|&interval| work[interval] > most * AT_WORK).collect();
    // Between which of those the links pause, the longest pause first.
    let mut pauses: Vec<usize> = (1..at_work.len()).filter(|&next| at_work[next] - at_work[next - 1] > 1).collect();
    pauses.sort_by_key(|&next| Reverse(at_work[next] - at_work[next - 1]));
    pauses.truncate(2);
    pauses.sort_unstable();
    let [second, third] = pauses[..] else { return None };
    let of = |first: usize, end: usize| at_work[first]..at_work[end - 1] + 1;
    Some([of(0, second), of(second, third), of(third, at_work.len())])
}

/// The name of a node in a trace.
fn name(node: usize) -> String {
    format!("n{node}")
}

/// How long an interval is, in nanoseconds.
fn length_ns(timeline: &Timeline, interval: usize) -> f64 {
    timeline.times_ns[interval + 1] - timeline.times_ns[interval]
}

fn second_transpose(timeline: &Timeline, nodes: usize) -> Option<Transpose> {
    let [_, second, _] = transposes(timeline, nodes)?;
    let memory: Option<Vec<_>> = (0..nodes).map(|node| timeline.series("mem", &name(node))).collect();
    let memory = memory?;
    let busy = |interval: usize| memory.iter().map(|series| series[interval + 1]).collect::<Option<Vec<f64>>>();
    let ns = second.clone().map(|interval| length_ns(timeline, interval)).sum();
    Some(Transpose { ns, utilisations: second.map(busy).collect::<Option<_>>()? })
}

impl Transpose {
    fn mean(&self) -> f64 {
        let all = self.utilisations.iter().flatten();
        all.clone().sum::<f64>() / all.count() as f64
    }

    fn greatest(&self) -> f64 {
        self.utilisations.iter().flatten().copied().fold(0.0, f64::max)
    }

    /// Utilisation of the busiest node of each interval over the mean of all nodes, intervals weighted by that mean.
    fn peak_to_mean(&self) -> f64 {
        let peaks = self.utilisations.iter().map(|nodes| nodes.iter().copied().fold(0.0, f64::max));
        peaks.sum::<f64>() / self.utilisations.len() as f64 / self.mean()
    }
}

impl Shape for Transposes {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some(measurement) = self.measurement(scene, row)? else { return Ok(None) };
        let read: fn(&Transpose) -> f64 = match column {
            "time" => |transpose| transpose.ns,
            "mean utilisation" => Transpose::mean,
            "greatest utilisation" => Transpose::greatest,
            "peak to mean" => Transpose::peak_to_mean,
            _ => return Ok(None),
        };
        let nodes = self.nodes();
        Ok(Some(Formula::reading(measurement, move |outcome| match outcome {
            Outcome::Profile(profile) => second_transpose(&profile.timeline, nodes).map(|transpose| read(&transpose)),
            _ => None,
        })))
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let mut plots = Vec::new();
        for (order, _) in ORDERS {
            let measurement = self.measurement(&reproduced.scene, order).ok().flatten();
            let outcome = measurement.and_then(|measurement| reproduced.outcomes.get(&measurement));
            let Some(Outcome::Profile(profile)) = outcome else { continue };
            let line = |node: usize| {
                let points = profile.timeline.points("mem", &self::name(node));
                let points = points.into_iter().map(|(ns, pct)| (ns / 1e6, pct)).collect();
                Line { name: format!("node {node}"), points, mark: Mark::Line, colour: node }
            };
            // As many as the figures show: with more than four nodes, the even ones.
            let step = if self.nodes() > 4 { 2 } else { 1 };
            let series = (0..self.nodes()).step_by(step).map(line).collect();
            let (x, y) = (Axis::linear("time (ms)"), Axis::linear("memory utilisation (%)"));
            let plot = reproduced.plot(x, y, series);
            let title = format!("{}: {order}", plot.title);
            plots.push((order.replace(' ', "-"), Plot { title, ..plot }));
        }
        plots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of two nodes every 100 ns; of each interval, the utilisations of memories and whether the links worked.
    fn timeline(intervals: &[([u64; 2], bool)]) -> Timeline {
        let times = (0..=intervals.len()).map(|sample| 100.0 * sample as f64).collect();
        let series = |node: usize| {
            let memory = intervals.iter().map(|(memory, _)| Some(memory[node] as f64));
            let links = intervals.iter().map(|(_, links)| Some(if *links { 40.0 } else { 0.1 }));
            let since = |values: &mut dyn Iterator<Item = Option<f64>>| std::iter::once(None).chain(values).collect();
            let named = |metric: &str, values| (metric.to_owned(), name(node), values);
            [named("mem", since(&mut { memory })), named("niin", since(&mut { links }))]
        };
        Timeline::made(times, (0..2).flat_map(series))
    }

    #[test]
    fn transposes_are_where_links_work() {
        let (quiet, even) = (([10, 10], false), ([50, 50], true));
        let second = [([90, 30], true), quiet, ([20, 60], true)];
        let profile = timeline(&[&[quiet, even, quiet, quiet], &second[..], &[quiet, quiet, even]].concat());
        assert_eq!(transposes(&profile, 2), Some([1..2, 4..7, 9..10]), "the short pause is part of the second");
        let second = second_transpose(&profile, 2).expect("three transposes");
        assert_eq!((second.ns, second.greatest()), (300.0, 90.0));
        assert!((second.mean() - 220.0 / 6.0).abs() < 1e-9);
        assert!((second.peak_to_mean() - 160.0 / 110.0).abs() < 1e-9);
    }

    #[test]
    fn two_transposes_have_no_second_of_three() {
        let (quiet, even) = (([10, 10], false), ([50, 50], true));
        assert!(second_transpose(&timeline(&[even, quiet, even]), 2).is_none());
    }
}
