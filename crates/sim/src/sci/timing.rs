//! The times of an SCI node, from the description of its parts.

use machine::description::{CachePort, Description};
use units::Duration;

use crate::SimError;
use crate::part::BanksTiming;

/// Times of a node besides those of its processor and its ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct SciTiming {
    /// The time for a line to cross from memory or link interface into the coherent cache.
    pub(super) line: Duration,
    /// The time of a store into the coherent cache after its line has come.
    pub(super) store: Duration,
    /// An access to the tags of the coherent cache.
    pub(super) tag_check: Duration,
    /// From a NACK to the next access to the tag, for another request.
    pub(super) retry: Duration,
    /// One cycle of the memory.
    pub(super) cycle: Duration,
    /// The memory.
    pub(super) banks: BanksTiming,
}

impl SciTiming {
    /// The times of `description`.
    ///
    /// # Errors
    /// It describes another kind of node.
    pub(super) fn new(description: &Description) -> Result<Self, SimError> {
        let sci = SimError::table(description.sci.as_ref(), description, "sci")?;
        let banks = SimError::table(description.banks.as_ref(), description, "sci")?;
        let coherent = description.coherent_cache();
        let bus = |cycles: fn(&CachePort, u64) -> u64| {
            coherent.port.map_or(Duration::ZERO, |port| port.clock.period() * cycles(&port, coherent.line.0))
        };
        let cycle = sci.clock.period();
        Ok(Self {
            line: bus(|port, line| line.div_ceil(port.width.0)),
            store: bus(|port, _| port.store_cycles.into()),
            tag_check: bus(|port, _| port.tag_check_cycles.into()),
            retry: cycle * u64::from(sci.retry_cycles),
            cycle,
            banks: BanksTiming::new(description, banks, sci.clock),
        })
    }
}
