//! The record of one measurement: who asked, whose memory, in which state, how far, and the statistics.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, CpuId, NodeId};

use crate::{Conditions, Row, Statistics};

/// The unit of the figures of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The machine measured: the name of a description, or of a host.
    pub machine: String,
    /// The experiment, such as `lmbench-read`.
    pub experiment: String,
    /// The composite coherence state that was prepared, such as `CEXM`.
    pub state: String,
    /// The node whose memory holds the lines.
    #[schemars(with = "u16")]
    pub home: NodeId,
    /// The requesting processor, of several the first.
    #[schemars(with = "u16")]
    pub local: CpuId,
    /// The processors that own or share the lines.
    #[schemars(with = "Vec<u16>")]
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
    /// All requesting processors, the first included.
    #[schemars(with = "Vec<u16>")]
    pub locals: Vec<CpuId>,
    /// The parameters of the experiment; its fields are columns of the record.
    #[serde(flatten)]
    pub parameters: Parameters,
    /// Under which conditions it was measured; its fields are columns of the record.
    #[serde(flatten)]
    pub conditions: Conditions,
}

/// The parameters of experiments that are measured at several values of them; absent where an experiment has no such parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The size of the array that is ranged over, in bytes; the stride is a condition.
    #[schemars(with = "Option<u64>")]
    pub array: Option<Bytes>,
    /// Where in a region of memory the chunk begins that was measured, in bytes.
    #[schemars(with = "Option<u64>")]
    pub offset: Option<Bytes>,
    /// Loads in a row of the traffic beside a latency.
    pub reads: Option<u32>,
    /// Stores in a row of that traffic.
    pub writes: Option<u32>,
    /// Cycles that the traffic idles between its accesses.
    pub pause_cycles: Option<u32>,
}

impl Record {
    /// The experiment with its parameters, for readers: `area-read, 4 KiB by 64 B`.
    pub fn title(&self) -> String {
        let name = &self.experiment;
        match (self.parameters, self.conditions.stride) {
            (Parameters { array: Some(array), .. }, Some(stride)) => format!("{name}, {array} by {stride}"),
            (Parameters { reads: Some(reads), writes: Some(writes), pause_cycles: Some(pause), .. }, _) => {
                format!("{name}, {reads}:{writes}, pause {pause}")
            }
            (Parameters { offset: Some(offset), .. }, _) => format!("{name}, from {offset}"),
            _ => name.clone(),
        }
    }

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

/// No figure but zero is smaller: in nanoseconds, an attosecond.
const LEAST: f64 = 1e-9;
/// No figure is larger: in nanoseconds, more than eleven days.
const MOST: f64 = 1e15;

impl Row for Record {
    const KIND: &'static str = "measurement";

    fn check(&self) -> Result<(), String> {
        let Self { min, max, median, mean, n, .. } = *self;
        if n == 0 {
            return Err("n = 0, not 1 or more samples".to_owned());
        }
        for (name, figure) in [("min", min), ("median", median), ("mean", mean), ("max", max)] {
            if figure != 0.0 && !(LEAST..=MOST).contains(&figure) {
                return Err(format!("{name} = {figure:e}, not 0, or {LEAST:e} to {MOST:e}"));
            }
            if figure < min || figure > max {
                return Err(format!("{name} = {figure}, not from min, {min}, to max, {max}"));
            }
        }
        match self.conditions.clock_mhz {
            Some(clock) if clock.is_nan() || clock <= 0.0 => Err(format!("clock_mhz = {clock}, not more than 0")),
            _ => Ok(()),
        }
    }

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
        "locals",
        "array",
        "offset",
        "reads",
        "writes",
        "pause_cycles",
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
