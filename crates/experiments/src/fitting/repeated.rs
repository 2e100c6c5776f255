//! A described machine on which plans are repeated that were measured elsewhere, on pages of the kind that they were measured on.

use bench::{Experiment, Outcome, Plan};
use machine::Description;
use units::Bytes;

use crate::error::ExperimentError;

/// Samples of a list of which others displace a part: as many as of a real machine, so that most are long after it was first touched.
const STEADY: u32 = 11;

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

    /// The size of a core's own caches.
    pub(super) fn private(&self) -> Bytes {
        self.large.coherent_cache().size
    }

    /// Runs a plan, on pages of the smallest size or on the machine's large ones.
    ///
    /// # Errors
    /// When it cannot be simulated.
    pub(super) fn run(&self, plan: &Plan, on_small_pages: bool) -> Result<Outcome, ExperimentError> {
        let description = if on_small_pages { &self.small } else { &self.large };
        let others = description.l3_slice.as_ref().is_some_and(|slice| slice.others_mb_per_s > 0);
        let is_shared = plan.experiment == Experiment::AreaRead && plan.settings.array > self.private();
        let mut plan = plan.clone();
        if others && is_shared {
            plan.settings.iterations = STEADY;
        }
        crate::run_plan(description, &plan, sim::Options::default())
    }
}
