//! A simulation of which all references are recorded.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use execution::WORD;
use references::{Area, Header, Recorder};
use units::NodeId;
use workloads::Record;

use super::{Simulated, Simulation};
use crate::error::ExperimentError;

/// Properties of a simulation that its trace cannot hold.
const LOST: [&str; 2] = [
    "timing-dependent order of locks and work distribution (the recorded order is replayed)",
    "fetch-and-op at memory",
];

impl Simulation {
    /// The same, which writes what its threads refer to into the file at `path` as it runs. From there [`super::Executable::named`]
    /// replays it on any machine.
    pub fn recorded_in(mut self, path: PathBuf) -> Self {
        self.record = Some(path);
        self
    }

    /// Runs the program and records it.
    pub(super) fn run_recorded(&self, path: &Path) -> Result<Simulated, ExperimentError> {
        let page = self.shape.page_words as u64 * WORD;
        // The trace's memory begins behind page 0, so that no address of it is 0.
        let (mut starts, mut areas, mut next) = (Vec::new(), Vec::new(), page);
        let near = |home: Option<NodeId>| self.shape.homes.iter().position(|&node| Some(node) == home);
        let plans = self.workload.regions(&self.shape);
        for (number, plan) in plans.iter().enumerate() {
            starts.push(next);
            for part in &plan.parts {
                let bytes = part.words as u64 * WORD;
                let name = self.workload.region_name(number, plans.len()).to_owned();
                areas.push(Area { name, address: next, bytes, near: near(part.home) });
                next += bytes;
            }
        }
        let header = Header {
            program: self.workload.name().to_owned(),
            command: Vec::new(),
            recorded_on: self.description.name.clone(),
            threads: self.cpus(),
            synchronised: true,
            lost: LOST.map(str::to_owned).to_vec(),
            areas,
        };
        let recorder = Recorder::create(path, &header).map_err(workloads::ReplayError::from)?;
        let recorder = Rc::new(RefCell::new(recorder));
        let simulated = self.run_with(Some(Record { recorder: recorder.clone(), starts }))?;
        if let Some(recorder) = Rc::into_inner(recorder) {
            recorder.into_inner().finish().map_err(workloads::ReplayError::from)?;
        }
        Ok(simulated)
    }
}
