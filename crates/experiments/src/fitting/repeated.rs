//! A described machine on which plans are repeated that were measured elsewhere, on pages of the kind that they were measured on.

use bench::{Outcome, Plan};
use machine::Description;
use units::Bytes;

use crate::error::ExperimentError;

/// A described machine, with its large pages and without.
pub(super) struct Repeated {
    large: Description,
    small: Description,
}

impl Repeated {
    pub(super) fn new(large: Description) -> Self {
        let mut small = large.clone();
        small.tlb.large_page = Bytes(0);
        Self { large, small }
    }

    /// Runs a plan, on pages of the smallest size or on the machine's large ones.
    ///
    /// # Errors
    /// When it cannot be simulated.
    pub(super) fn run(&self, plan: &Plan, on_small_pages: bool) -> Result<Outcome, ExperimentError> {
        let description = if on_small_pages { &self.small } else { &self.large };
        crate::run_plan(description, plan, sim::Options::default())
    }
}
