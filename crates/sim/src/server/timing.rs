//! The times of a server's parts, from their description.

use machine::description::Description;
use units::Duration;

use crate::SimError;
use crate::part::DramTiming;

/// Times of a server besides those of its cores and of its networks.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerTiming {
    /// From a core to the stop of its tile, and back.
    pub(super) core: Duration,
    /// From the line at a core until its miss register is free.
    pub(super) release: Duration,
    /// From a request at a slice to the contents of its tags.
    pub(super) lookup: Duration,
    /// Occupancy of the tags by a message.
    pub(super) occupancy: Duration,
    /// From the tags to the data of a line.
    pub(super) data: Duration,
    /// Time of a response or of data that pass through a caching agent.
    pub(super) pass: Duration,
    /// From one snoop of several to the next.
    pub(super) next_snoop: Duration,
    /// Time of a core from a snoop to its answer, besides its tags and the read-out.
    pub(super) snoop: Duration,
    /// Additional time of a core whose answer brings the line.
    pub(super) read_out: Duration,
    /// From a request at a home to what it does.
    pub(super) home_request: Duration,
    /// From a response at a home to what it does.
    pub(super) home_response: Duration,
    /// Occupancy of a home by a message.
    pub(super) home_occupancy: Duration,
    /// The memory of a controller.
    pub(super) memory: DramTiming,
}

impl ServerTiming {
    /// The times of `description`.
    ///
    /// # Errors
    /// It describes another kind of node.
    pub(super) fn new(description: &Description) -> Result<Self, SimError> {
        let server = SimError::table(description.server.as_ref(), description, "server")?;
        let slice = SimError::table(description.l3_slice.as_ref(), description, "server")?;
        let home = SimError::table(description.home.as_ref(), description, "server")?;
        let banks = SimError::table(description.banks.as_ref(), description, "server")?;
        let of_die = |count: u32| server.clock.period() * u64::from(count);
        let of_slice = |count: u32| slice.clock.period() * u64::from(count);
        Ok(Self {
            core: of_die(server.core_cycles),
            release: of_die(server.release_cycles),
            lookup: of_slice(slice.lookup_cycles),
            occupancy: of_slice(slice.occupancy_cycles),
            data: of_slice(slice.data_cycles),
            pass: of_slice(slice.pass_cycles),
            next_snoop: of_slice(1),
            snoop: of_slice(slice.snoop_cycles),
            read_out: of_slice(slice.read_out_cycles),
            home_request: of_die(home.request_cycles),
            home_response: of_die(home.response_cycles),
            home_occupancy: of_die(home.occupancy_cycles),
            memory: DramTiming::new(description, banks, home.memory_clock),
        })
    }

    /// The shortest time from an event at an agent to its effect on a core.
    pub(super) fn soonest_at_core(&self) -> Duration {
        self.lookup.min(self.pass) + self.core
    }
}
