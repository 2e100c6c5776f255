//! Metrics over time, as a trace tells them.

use std::collections::BTreeMap;

use trace::metric::{Evaluator, Resolved, built_in, whole};
use trace::{Trace, Value};

/// Metrics of objects at the samples of a trace.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// When each sample was taken, in nanoseconds.
    pub times_ns: Vec<f64>,
    /// By metric and object, such as `mem` of `n0`, its value in the interval that ended with each sample; none where it could not
    /// be computed, as in the first.
    series: BTreeMap<(String, String), Vec<Option<f64>>>,
    /// By metric and object, its value in the whole time.
    whole: BTreeMap<(String, String), f64>,
    /// By counter and object, what was counted in all.
    totals: BTreeMap<(String, String), f64>,
}

impl Timeline {
    /// All metrics that follow from a trace.
    pub fn of(trace: &Trace) -> Self {
        let (resolved, _) = Resolved::derive(&built_in(), &trace.counters, &trace.preamble.constants);
        let mut evaluator = Evaluator::new(resolved, &trace.counters);
        for object in &trace.objects {
            evaluator.object(object);
        }
        let mut timeline = Self::default();
        for overall in whole(trace, evaluator.metrics()) {
            let (object, metric) = (&trace.objects[overall.object], &evaluator.metrics()[overall.metric].metric);
            timeline.whole.insert((metric.name.clone(), object.name.clone()), overall.value);
        }
        for tick in trace.ticks() {
            evaluator.tick(tick.time_ns, tick.rows());
            timeline.times_ns.push(tick.time_ns as f64);
            for (object, values) in tick.rows() {
                timeline.note(trace, &evaluator, object, values);
            }
        }
        timeline
    }

    fn note(&mut self, trace: &Trace, evaluator: &Evaluator, object: usize, values: &[Value]) {
        let whose = &trace.objects[object];
        let samples = self.times_ns.len();
        for (index, resolved) in evaluator.metrics().iter().enumerate() {
            if resolved.metric.of == whose.kind {
                let key = (resolved.metric.name.clone(), whose.name.clone());
                let series = self.series.entry(key).or_default();
                series.resize(samples, None);
                series[samples - 1] = evaluator.value(index, object).map(|(value, _)| value);
            }
        }
        for (counter, value) in trace.counters_of(whose.kind).zip(values) {
            if let Some(total) = value.total {
                self.totals.insert((counter.name.clone(), whose.name.clone()), total as f64);
            }
        }
    }

    /// A timeline of given values, by metric and object.
    #[cfg(test)]
    pub fn made(times_ns: Vec<f64>, series: impl Iterator<Item = (String, String, Vec<Option<f64>>)>) -> Self {
        let named = |(metric, object, values)| ((metric, object), values);
        Self { times_ns, series: series.map(named).collect(), ..Self::default() }
    }

    /// A metric of an object over the whole time, if it is known.
    pub fn whole(&self, metric: &str, object: &str) -> Option<f64> {
        self.whole.get(&(metric.to_owned(), object.to_owned())).copied()
    }

    /// A metric of an object, sample by sample, if it is known.
    pub fn series(&self, metric: &str, object: &str) -> Option<&[Option<f64>]> {
        self.series.get(&(metric.to_owned(), object.to_owned())).map(Vec::as_slice)
    }

    /// A metric of an object with the times at which its intervals ended, in nanoseconds.
    pub fn points(&self, metric: &str, object: &str) -> Vec<(f64, f64)> {
        let series = self.series(metric, object).unwrap_or_default();
        self.times_ns.iter().zip(series).filter_map(|(&time, value)| Some((time, (*value)?))).collect()
    }

    /// Total of a counter of an object, if it is known.
    pub fn total(&self, counter: &str, object: &str) -> Option<f64> {
        self.totals.get(&(counter.to_owned(), object.to_owned())).copied()
    }

    /// Total of a counter over all objects that have it.
    pub fn total_of_all(&self, counter: &str) -> f64 {
        let of = |((name, _), total): (&(String, String), &f64)| (name == counter).then_some(*total);
        self.totals.iter().filter_map(of).sum()
    }
}
