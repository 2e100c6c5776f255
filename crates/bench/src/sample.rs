//! One sample of a measurement, and how measurements of tasks become figures.

use record::Disturbance;

use crate::platform::Measurement;

/// One sample: a figure for each requester, in the unit of the experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// In the order of the plan's requesters.
    pub(crate) values: Vec<f64>,
    /// The bandwidth of the traffic beside it.
    pub(crate) traffic_mb_per_s: Option<f64>,
    /// Disturbances of all of them together.
    pub(crate) disturbance: Disturbance,
}

/// Disturbances of all tasks together.
pub(crate) fn disturbance(measurements: &[Measurement]) -> Disturbance {
    measurements.iter().fold(Disturbance::default(), |all, measurement| all.and(measurement.disturbance))
}

/// Nanoseconds a step.
pub(crate) fn ns_per_step(measurement: Measurement) -> f64 {
    measurement.elapsed.as_ns() / measurement.steps.max(1) as f64
}
