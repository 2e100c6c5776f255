//! The observation of a system: its observers, planted faults, readings of counters, measured intervals.

use units::Time;

use super::measured::Measured;
use super::watching::Watching;
use crate::fault::{Fault, PlantedFault};
use crate::observe::Probe;

/// The observation of a system, which does not change it, except by planted faults and paid readings.
pub struct Observation {
    /// The connection to the observers.
    pub probe: Probe,
    /// The planted fault, if there is one.
    pub planted: Option<PlantedFault>,
    /// The readings of counters, if there are any.
    pub(super) watching: Option<Box<Watching>>,
    /// The time of the next reading.
    pub(super) due: Time,
    /// The intervals in which threads are measured.
    pub(super) measured: Measured,
}

impl Observation {
    /// No readings yet; observers are connected by `probe`, and `fault` is planted.
    pub(super) fn new(probe: Probe, fault: Option<Fault>) -> Self {
        Self {
            probe,
            planted: fault.map(PlantedFault::new),
            watching: None,
            due: Time::MAX,
            measured: Measured::default(),
        }
    }
}
