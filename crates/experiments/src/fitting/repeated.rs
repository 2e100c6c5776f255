//! A described machine on which plans are repeated that were measured elsewhere, under the circumstances that they were measured in.

use bench::{ListOrder, Outcome, Plan, Settings, SimulatedPlatform};
use machine::Description;
use record::Record;
use units::Bytes;

use crate::error::ExperimentError;

/// Circumstances of a measurement that its plan does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Circumstances {
    /// Whether memory consisted of the smallest pages, of several kinds.
    pub(super) small_pages: bool,
    /// Whether larger ones were asked for, of several kinds.
    pub(super) large_pages: bool,
    /// The order in which lists were walked.
    pub(super) order: ListOrder,
}

impl Circumstances {
    /// Those of a record.
    pub(super) fn of(record: &Record) -> Self {
        let order = record.conditions.order.as_deref().and_then(ListOrder::named);
        // A simulated machine has one kind, and names its size in kibibytes.
        let asked = record.conditions.pages_asked.as_deref();
        Self {
            small_pages: asked == Some("base"),
            large_pages: asked.is_some_and(|asked| asked == "thp" || asked.ends_with(['M', 'G'])),
            order: order.unwrap_or(ListOrder::Ascending),
        }
    }
}

/// The cost of a plan's simulation beside that of others: it takes as long as what its requesters go through is large. Loops that store
/// go through caches full of lines before they are timed.
pub(super) fn cost(plan: &Plan) -> u64 {
    let Settings { array, stride, lines, .. } = plan.settings;
    let each = match lines {
        Some(lines) if !plan.experiment.is_stream() => lines * stride.0,
        _ => array.0,
    };
    each * plan.placement.locals.len() as u64
}

/// A described machine, with its large pages and without.
#[derive(Clone, PartialEq)]
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

    /// Runs a plan, on pages of the smallest size or on the machine's large ones, with lists in their order.
    ///
    /// # Errors
    /// When it cannot be simulated.
    pub(super) fn run(&self, plan: &Plan, circumstances: Circumstances) -> Result<Outcome, ExperimentError> {
        let description = if circumstances.small_pages { &self.small } else { &self.large };
        let platform = SimulatedPlatform::new(description.clone(), sim::Options::default())?;
        Ok(plan.run(&mut platform.in_order(circumstances.order))?)
    }
}
