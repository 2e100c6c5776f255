//! The observers of a system: the checker of every access, planted faults, readings of counters, measured intervals.

use units::Time;

use super::measured::Measured;
use super::watching::Watching;
use crate::fault::{Fault, PlantedFault};
use crate::observer::SharedObserver;

/// What observes a system, none of which changes what happens, but for planted faults and paid readings.
pub struct Observation {
    /// The observer of every access, if enabled.
    pub observer: Option<SharedObserver>,
    /// The planted of a planted fault, if there is one.
    pub planted: Option<PlantedFault>,
    /// The readings of counters, if there are any.
    pub(super) watching: Option<Box<Watching>>,
    /// The time of the next reading.
    pub(super) due: Time,
    /// The intervals in which threads are measured.
    pub(super) measured: Measured,
}

impl Observation {
    /// Nothing is read yet; every access is reported to `observer`, and `fault` is planted.
    pub(super) fn new(observer: Option<SharedObserver>, fault: Option<Fault>) -> Self {
        Self {
            observer,
            planted: fault.map(PlantedFault::new),
            watching: None,
            due: Time::MAX,
            measured: Measured::default(),
        }
    }
}
