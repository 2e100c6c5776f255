//! Metrics over the whole life of each object, rather than sample by sample.

use super::{Evaluator, Resolved};
use crate::{Object, ObjectKind, Trace, Value};

/// A metric of an object, from when it was first seen to when it was last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Overall {
    /// The object, by index.
    pub object: usize,
    /// The metric, by index.
    pub metric: usize,
    /// Its value.
    pub value: f64,
    /// Whether a part of it was estimated.
    pub estimate: bool,
}

/// With more objects than these, an object's metrics see only itself, its process, the nodes and the machine.
const ALL_TOGETHER: usize = 256;

/// Values of objects that were known at a moment.
type Known = (u64, Vec<(usize, Vec<Value>)>);

/// Computes all metrics over each object's life.
pub fn whole(trace: &Trace, metrics: &[Resolved]) -> Vec<Overall> {
    let mut last = vec![None; trace.objects.len()];
    for (tick, sample) in trace.ticks().enumerate() {
        sample.rows().for_each(|(object, _)| last[object] = Some(tick));
    }
    let mut known: Vec<Vec<Value>> = vec![Vec::new(); trace.objects.len()];
    let mut first: Vec<Option<Known>> = vec![None; trace.objects.len()];
    let mut found = Vec::new();
    for (tick, sample) in trace.ticks().enumerate() {
        for (object, values) in sample.rows() {
            merge(&mut known[object], values);
        }
        for (object, _) in sample.rows() {
            if first[object].is_none() {
                first[object] = Some((sample.time_ns, begun(trace, &known, object)));
            }
            if last[object] == Some(tick)
                && let Some(before) = first[object].take()
            {
                let after = (sample.time_ns, around(&trace.objects, &known, object));
                of_object(trace, metrics, object, before, after, &mut found);
            }
        }
    }
    found.sort_by_key(|overall| (overall.object, overall.metric));
    found
}

/// Newer values replace known ones; values that were not read now stay.
fn merge(known: &mut Vec<Value>, values: &[Value]) {
    known.resize(values.len(), Value::MISSING);
    for (known, value) in known.iter_mut().zip(values) {
        if value.total.is_some() {
            *known = *value;
        }
    }
}

/// Known values of an object and of those around it.
fn around(objects: &[Object], known: &[Vec<Value>], object: usize) -> Vec<(usize, Vec<Value>)> {
    let near = |other: usize| {
        let kind = objects[other].kind;
        other == object || objects.len() <= ALL_TOGETHER || !matches!(kind, ObjectKind::Thread | ObjectKind::Link)
    };
    (0..known.len()).filter(|&other| near(other)).map(|other| (other, known[other].clone())).collect()
}

/// The same when it was first seen. One that came to be meanwhile had counted nothing before; what is not read at every sample
/// began as it is when it is read first.
fn begun(trace: &Trace, known: &[Vec<Value>], object: usize) -> Vec<(usize, Vec<Value>)> {
    let mut around = around(&trace.objects, known, object);
    for (other, values) in &mut around {
        let Object { kind, newborn, .. } = trace.objects[*other];
        for (value, counter) in values.iter_mut().zip(trace.counters_of(kind)) {
            // All totals begin at 0 when they are first read; where a level begins does not matter.
            let from_nothing = newborn && *other == object && !counter.is_level();
            if from_nothing || value.total.is_none() {
                *value = Value::exact(0);
            }
        }
    }
    around
}

fn of_object(
    trace: &Trace,
    metrics: &[Resolved],
    object: usize,
    before: Known,
    after: Known,
    found: &mut Vec<Overall>,
) {
    let of_kind = |resolved: &&Resolved| resolved.metric.of == trace.objects[object].kind;
    let wanted: Vec<Resolved> = metrics.iter().filter(of_kind).cloned().collect();
    let mut evaluator = Evaluator::new(wanted, &trace.counters);
    trace.objects.iter().for_each(|object| evaluator.object(object));
    for (time, rows) in [&before, &after] {
        evaluator.tick(*time, rows.iter().map(|(object, values)| (*object, &values[..])));
    }
    let indices = metrics.iter().enumerate().filter(|(_, resolved)| of_kind(resolved)).map(|(index, _)| index);
    for (own, metric) in indices.enumerate() {
        if let Some((value, estimate)) = evaluator.value(own, object) {
            found.push(Overall { object, metric, value, estimate });
        }
    }
}
