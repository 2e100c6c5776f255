//! Outcomes of measurements.

use std::collections::BTreeMap;

use record::{Record, SimulationRow};

use crate::measurement::Measurement;
use crate::remote_reads::RemoteReadTime;
use crate::shared_region::Traffic;
use crate::utilisation::{Profile, Utilisation};

/// The outcomes of the measurements that were run.
pub type Outcomes = BTreeMap<Measurement, Outcome>;

/// The outcome of a measurement.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// An experiment of the benchmark suite.
    Bench(Box<bench::Outcome>),
    /// The traffic at the home of a shared region.
    Traffic(Traffic),
    /// The time of a random window of an area.
    Windows(Box<Record>),
    /// Reads of another node's lines.
    RemoteReads(RemoteReadTime),
    /// How busy memory and links of a node were.
    Utilisation(Box<Utilisation>),
    /// A parallel program, and what the nodes did when.
    Profile(Box<Profile>),
    /// A parallel program whose results were right.
    Program(Box<SimulationRow>),
}

impl Outcome {
    /// The outcome of a benchmark experiment, if it is one.
    pub fn bench(&self) -> Option<&bench::Outcome> {
        match self {
            Self::Bench(outcome) => Some(outcome),
            _ => None,
        }
    }
}
