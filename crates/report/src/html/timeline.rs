//! The samples of a trace as data for the page's script.

use std::collections::BTreeMap;

use serde::Serialize;
use trace::metric::{Evaluator, Metric, Resolved, built_in};
use trace::{Counter, ObjectKind, Tick, Trace};

use super::HtmlError;

/// Points that a line of a plot has at most: more samples are averaged.
const POINTS: usize = 1500;
/// Metrics of a kind of object that are shown at most: the main ones first.
const METRICS: usize = 8;

/// A plot: a metric of all objects of a kind.
#[derive(Serialize)]
struct Chart {
    kind: &'static str,
    /// The kind in the plural.
    kinds: &'static str,
    metric: String,
    unit: String,
    what: String,
    /// Whether [`has_steps`].
    steps: bool,
    objects: Vec<Line>,
}

/// A line of a plot.
#[derive(Serialize)]
struct Line {
    name: String,
    title: String,
    values: Vec<Option<f64>>,
}

/// Data that the script reads.
#[derive(Serialize)]
struct Data {
    /// The time of each point, in milliseconds.
    times_ms: Vec<f64>,
    /// Samples that a point is the mean of.
    averaged: usize,
    charts: Vec<Chart>,
}

/// Objects of a kind in words.
const fn plural(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Machine => "machine",
        ObjectKind::Node => "nodes",
        ObjectKind::Link => "links",
        ObjectKind::Process => "processes",
        ObjectKind::Thread => "threads",
    }
}

/// The metrics that are shown of each kind.
fn chosen(trace: &Trace) -> Vec<Resolved> {
    let (resolved, _) = Resolved::derive(&built_in(), &trace.counters, &trace.preamble.constants);
    let mut counts: BTreeMap<ObjectKind, usize> = BTreeMap::new();
    let (main, rest): (Vec<Resolved>, Vec<Resolved>) = resolved.into_iter().partition(|resolved| resolved.metric.main);
    let mut fits = |resolved: &Resolved| {
        let count = counts.entry(resolved.metric.of).or_default();
        *count += 1;
        *count <= METRICS
    };
    let mut shown: Vec<Resolved> = main.into_iter().chain(rest).filter(|resolved| fits(resolved)).collect();
    shown.sort_by_key(|resolved| resolved.metric.of);
    shown
}

fn evaluator(trace: &Trace) -> Evaluator {
    let mut evaluator = Evaluator::new(chosen(trace), &trace.counters);
    trace.objects.iter().for_each(|object| evaluator.object(object));
    evaluator
}

/// Whether values are numbers of something, such as of a node, between which there is nothing: levels without a unit, as they are.
fn has_steps(metric: &Metric, trace: &Trace) -> bool {
    let is_it = |counter: &Counter| counter.of == metric.of && counter.name == metric.formula && counter.is_level();
    metric.unit.is_empty() && trace.counters.iter().any(is_it)
}

/// The samples that are shown. A simulated machine is sampled once more when its run ends, which may be right after the sample before:
/// rates over so short a time are peaks without a meaning, so the sample before is left out.
fn ticks(trace: &Trace) -> Vec<Tick<'_>> {
    let mut ticks: Vec<Tick<'_>> = trace.ticks().collect();
    let lengths: Vec<u64> = ticks.windows(2).map(|pair| pair[1].time_ns - pair[0].time_ns).collect();
    if let [.., usual, last] = lengths[..]
        && trace.preamble.simulated
        && 2 * last < usual
    {
        ticks.remove(ticks.len() - 2);
    }
    ticks
}

/// The samples as JSON in which nothing ends a script.
pub fn data(trace: &Trace) -> Result<String, HtmlError> {
    let mut evaluator = evaluator(trace);
    let ticks = ticks(trace);
    let step = ticks.len().div_ceil(POINTS).max(1);
    let points = ticks.len().div_ceil(step);
    let pairs: Vec<(usize, usize)> = (0..evaluator.metrics().len())
        .flat_map(|metric| (0..trace.objects.len()).map(move |object| (metric, object)))
        .filter(|&(metric, object)| evaluator.metrics()[metric].metric.of == trace.objects[object].kind)
        .collect();
    let stepped: Vec<bool> = evaluator.metrics().iter().map(|resolved| has_steps(&resolved.metric, trace)).collect();
    let mut sums = vec![vec![(0.0, 0u32); points]; pairs.len()];
    let mut times_ms = vec![0.0; points];
    for (number, tick) in ticks.iter().enumerate() {
        evaluator.tick(tick.time_ns, tick.rows());
        times_ms[number / step] = tick.time_ns as f64 / 1e6;
        for (pair, &(metric, object)) in pairs.iter().enumerate() {
            if let Some((value, _)) = evaluator.value(metric, object).filter(|(value, _)| value.is_finite()) {
                let sum = &mut sums[pair][number / step];
                // The mean of two nodes is no node.
                let before = if stepped[metric] { (0.0, 0) } else { *sum };
                *sum = (before.0 + value, before.1 + 1);
            }
        }
    }
    let mean = |&(sum, count): &(f64, u32)| (count > 0).then(|| sum / f64::from(count));
    let mut charts: Vec<Chart> = Vec::new();
    for (&(metric, object), sums) in pairs.iter().zip(&sums) {
        let (declared, object) = (&evaluator.metrics()[metric].metric, &trace.objects[object]);
        let line =
            Line { name: object.name.clone(), title: object.title.clone(), values: sums.iter().map(mean).collect() };
        if line.values.iter().all(Option::is_none) {
            continue;
        }
        match charts.last_mut().filter(|chart| chart.metric == declared.name && chart.kind == declared.of.name()) {
            Some(chart) => chart.objects.push(line),
            None => charts.push(Chart {
                kind: declared.of.name(),
                kinds: plural(declared.of),
                metric: declared.name.clone(),
                unit: declared.unit.clone(),
                what: declared.what.clone(),
                steps: stepped[metric],
                objects: vec![line],
            }),
        }
    }
    let text = serde_json::to_string(&Data { times_ms, averaged: step, charts })?;
    // In JSON these stand in strings alone, where they may be written so.
    Ok(text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"))
}

/// The metric that is a node's load, where it is known.
const LOAD_OF_NODES: &str = "mem";

/// Mean loads of nodes and links by name, over the whole trace, in percent: nodes by their memory if that is known, else by the
/// first main metric that is a percentage, as links are.
pub fn mean_loads(trace: &Trace) -> BTreeMap<(ObjectKind, String), f64> {
    let mut evaluator = evaluator(trace);
    let ends = trace.ticks().next().into_iter().chain(trace.ticks().next_back());
    ends.for_each(|tick| evaluator.tick(tick.time_ns, tick.rows()));
    let mut loads = BTreeMap::new();
    for kind in [ObjectKind::Node, ObjectKind::Link] {
        let busy =
            |resolved: &Resolved| resolved.metric.of == kind && resolved.metric.main && resolved.metric.unit == "%";
        let metrics = evaluator.metrics();
        let named = metrics.iter().position(|resolved| busy(resolved) && resolved.metric.name == LOAD_OF_NODES);
        let Some(metric) = named.or_else(|| metrics.iter().position(busy)) else { continue };
        for (number, object) in trace.objects.iter().enumerate().filter(|(_, object)| object.kind == kind) {
            if let Some((value, _)) = evaluator.value(metric, number) {
                loads.insert((kind, object.name.clone()), value);
            }
        }
    }
    loads
}
