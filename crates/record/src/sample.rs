//! Samples: values of an object's metrics at a moment, as a profiler saw them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Row;

/// A metric, or a counter, of an object in an interval of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleRow {
    /// When the interval ended, in seconds since the trace began.
    pub time: f64,
    /// The kind of object: `machine`, `node`, `link`, `process`, `thread`.
    pub kind: String,
    /// Its short name: `n1`, `t4`.
    pub object: String,
    /// Its full name.
    pub title: String,
    /// The metric, or the counter's column.
    pub metric: String,
    /// Its value in `unit`.
    pub value: f64,
    /// The unit; empty for counts of events.
    pub unit: String,
    /// Whether a counter in it was counted a part of the time only.
    pub estimate: bool,
}

impl Row for SampleRow {
    const KIND: &'static str = "sample";
    const COLUMNS: &'static [&'static str] =
        &["time", "kind", "object", "title", "metric", "value", "unit", "estimate"];
}

/// Something that a trace says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceInfoRow {
    /// The file.
    pub trace: String,
    /// The subject: `machine`, `command`, `object`, `metric`, `counter`, `sees`, `blind`, `event`, `time`, `warning`.
    pub about: String,
    /// Its name, where it has one.
    pub name: String,
    /// The unit of a metric or counter.
    pub unit: String,
    /// The information, in one line.
    pub text: String,
}

impl Row for TraceInfoRow {
    const KIND: &'static str = "trace";
    const COLUMNS: &'static [&'static str] = &["trace", "about", "name", "unit", "text"];
}

/// Something that can be observed on a machine, or cannot: a metric, or what a source of counters sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservableRow {
    /// The machine.
    pub machine: String,
    /// The kind of observable: `metric`, or `source` for values that a source of counters provides or lacks.
    pub about: String,
    /// The metric, or the source.
    pub name: String,
    /// The kind of object that a metric is of.
    pub of: Option<String>,
    /// The unit of a metric.
    pub unit: Option<String>,
    /// The meaning of the metric, or the values of the source, in words.
    pub meaning: String,
    /// Whether it can be observed.
    pub available: bool,
    /// Whether it is shown without being asked for.
    pub main: bool,
    /// The formula of a metric.
    pub formula: Option<String>,
    /// Why it cannot be observed.
    pub why: Option<String>,
    /// Advice on how to make it observable.
    pub advice: Option<String>,
}

impl Row for ObservableRow {
    const KIND: &'static str = "observable";
    const COLUMNS: &'static [&'static str] =
        &["machine", "about", "name", "of", "unit", "meaning", "available", "main", "formula", "why", "advice"];
}
