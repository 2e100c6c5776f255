//! The record of one measurement: who asked, whose memory, in which state, how far, and the statistics.

use std::fmt;

use serde::{Deserialize, Serialize};
use units::{CpuId, NodeId};

use crate::{Conditions, Row, Statistics};

/// One value or several: a single one is written bare, several as a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// A single value.
    One(T),
    /// None, two or more.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values, however many.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(mut values: Vec<T>) -> Self {
        match values.pop() {
            Some(last) if values.is_empty() => Self::One(last),
            Some(last) => {
                values.push(last);
                Self::Many(values)
            }
            None => Self::Many(values),
        }
    }
}

/// The unit of the figures of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// 10^6 bytes a second.
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    /// Cycles of the processor's clock.
    #[serde(rename = "cycles")]
    Cycles,
    /// Parts in a hundred.
    #[serde(rename = "%")]
    Percent,
    /// The quotient of two figures of one unit.
    #[serde(rename = "ratio")]
    Ratio,
    /// How many of something: nodes, hops, sharers.
    #[serde(rename = "count")]
    Count,
    /// Bytes: sizes and strides.
    #[serde(rename = "B")]
    Bytes,
    /// 10^6 floating-point operations a second.
    #[serde(rename = "MFLOPS")]
    Megaflops,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nanoseconds => "ns",
            Self::MegabytesPerSecond => "MB/s",
            Self::Cycles => "cycles",
            Self::Percent => "%",
            Self::Ratio => "ratio",
            Self::Count => "count",
            Self::Bytes => "B",
            Self::Megaflops => "MFLOPS",
        })
    }
}

/// One measurement of one experiment in one placement.
///
/// The three distances name the legs of an intervention (Prestor 2001 section 4.3.3). With several requesters or
/// several remote processors each is the longest; `yhops` and `zhops` are absent (`null`) without a remote processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The machine measured: the name of a description, or of a host.
    pub machine: String,
    /// The experiment, such as `lmbench-read`.
    pub experiment: String,
    /// The composite coherence state that was prepared, such as `CEXM`.
    pub state: String,
    /// The node whose memory holds the lines.
    pub home: NodeId,
    /// The requesting processor, or a list when there were several.
    pub local: OneOrMany<CpuId>,
    /// The processors that own or share the lines.
    pub remotes: Vec<CpuId>,
    /// Hops from the requester to the home.
    pub xhops: u32,
    /// Hops from the home to the remote processor.
    pub yhops: Option<u32>,
    /// Hops from the remote processor to the requester.
    pub zhops: Option<u32>,
    /// The unit of the five figures that follow.
    pub unit: Unit,
    /// The smallest sample: the reported figure of a latency.
    pub min: f64,
    /// The largest sample: the reported figure of a bandwidth.
    pub max: f64,
    /// The middle sample.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation; `null` of a single sample.
    pub stdev: Option<f64>,
    /// The number of samples.
    pub n: u64,
    /// Where the 95 % confidence interval of the median begins; `null` below six samples, which give none.
    pub ci_low: Option<f64>,
    /// Where it ends; `null` with `ci_low`.
    pub ci_high: Option<f64>,
    /// Under which conditions it was measured; its fields are columns of the record.
    #[serde(flatten)]
    pub conditions: Conditions,
}

impl Record {
    /// The figure that the thesis prints: the minimum of a latency, the maximum of a bandwidth (Prestor 2001
    /// section 4.3.1, at Table 4.6).
    pub fn headline(&self) -> f64 {
        if self.unit == Unit::MegabytesPerSecond { self.max } else { self.min }
    }

    /// The record of something else that was measured in the same run, under the same conditions.
    pub fn beside(&self, experiment: String, unit: Unit, statistics: Statistics) -> Self {
        let Statistics { min, max, median, mean, stdev, n, ci_low, ci_high } = statistics;
        Self { experiment, unit, min, max, median, mean, stdev, n, ci_low, ci_high, ..self.clone() }
    }

    /// The figures together.
    pub fn statistics(&self) -> Statistics {
        let Self { min, max, median, mean, stdev, n, ci_low, ci_high, .. } = *self;
        Statistics { min, max, median, mean, stdev, n, ci_low, ci_high }
    }
}

impl Row for Record {
    const COLUMNS: &'static [&'static str] = &[
        "machine",
        "experiment",
        "state",
        "home",
        "local",
        "remotes",
        "xhops",
        "yhops",
        "zhops",
        "unit",
        "min",
        "max",
        "median",
        "mean",
        "stdev",
        "n",
        "ci_low",
        "ci_high",
        "series",
        "relation",
        "pages_asked",
        "pages_obtained",
        "stride",
        "window",
        "order",
        "preparation",
        "check",
        "clock_mhz",
        "repeated",
        "kept",
        "disturbances",
    ];
}
