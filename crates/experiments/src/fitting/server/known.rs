//! Figures that were simulated before: a fit comes back to machines that it has tried, and what takes seconds is not simulated again.

use std::cell::RefCell;

use bench::Plan;

use super::observed::Observation;
use crate::fitting::repeated::{Circumstances, Repeated};

/// The figures of plans on machines that were simulated.
#[derive(Default)]
pub(super) struct Known {
    machines: RefCell<Vec<(Repeated, Vec<Figure>)>>,
}

/// The figure of a plan on one machine. Simulation has one outcome for both.
struct Figure {
    plan: Plan,
    circumstances: Circumstances,
    value: f64,
}

impl Known {
    /// The figure of an observation's plan on `machine`, if it was simulated.
    pub(super) fn figure(&self, machine: &Repeated, observation: &Observation) -> Option<f64> {
        let machines = self.machines.borrow();
        let (_, figures) = machines.iter().find(|(known, _)| known == machine)?;
        let is_its =
            |known: &&Figure| known.plan == observation.plan && known.circumstances == observation.circumstances;
        figures.iter().find(is_its).map(|figure| figure.value)
    }

    /// Keeps what was simulated.
    pub(super) fn add(&self, machine: &Repeated, observation: &Observation, value: f64) {
        let Observation { plan, circumstances, .. } = observation.clone();
        let figure = Figure { plan, circumstances, value };
        let mut machines = self.machines.borrow_mut();
        match machines.iter_mut().find(|(known, _)| known == machine) {
            Some((_, figures)) => figures.push(figure),
            None => machines.push((machine.clone(), vec![figure])),
        }
    }
}
