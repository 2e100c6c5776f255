//! The multiplexed bus between a node's processors and their controller, in time instead of cycles.

use engine::Grid;
use machine::description::{Description, SysadSpec};
use units::{Duration, Hertz};

use super::Crossing;

/// Occupancies of the bus, and delays to its other end.
#[derive(Clone, Debug)]
pub struct BusTiming {
    /// Bus transactions start at multiples of this.
    pub grid: Grid,
    /// Bus occupancy of a processor's request, turnaround included.
    pub request: Duration,
    /// From the start of a request on the bus to its arrival in the processor interface.
    pub request_seen: Duration,
    /// Bus occupancy of a line of data, turnaround included.
    pub data: Duration,
    /// Time for the data of a line to cross the bus.
    pub line: Duration,
    /// From the start of data on the bus to the processor having the critical part.
    pub critical: Duration,
    /// Bus occupancy of an intervention or invalidation.
    pub intervention: Duration,
    /// From the start of an intervention on the bus to the processors' tag checks.
    pub intervention_seen: Duration,
    /// Bus occupancy of a completion without data.
    pub completion: Duration,
    /// From the start of a completion on the bus to the processor.
    pub completion_seen: Duration,
}

impl BusTiming {
    /// The bus `sysad` of `description`, at the `clock` of its controller.
    pub fn new(description: &Description, sysad: &SysadSpec, clock: Hertz) -> Self {
        let cycle = clock.period();
        let cycles = |count: u32| cycle * u64::from(count);
        let line = cycle * (description.coherent_cache().line.0 / sysad.width.0);
        let turnaround = cycles(sysad.turnaround_cycles);
        Self {
            grid: Grid::new(cycles(sysad.grid_cycles)),
            request: cycles(sysad.request_cycles) + turnaround,
            request_seen: cycles(sysad.request_cycles),
            data: line + turnaround,
            line,
            critical: cycles(sysad.critical_cycles),
            intervention: cycles(sysad.intervention_cycles) + turnaround,
            intervention_seen: cycles(sysad.request_cycles),
            completion: cycles(sysad.completion_cycles) + turnaround,
            completion_seen: cycles(sysad.completion_cycles),
        }
    }

    /// The crossing of an answer to the processor, with a line of data or without.
    pub const fn answer(&self, data: bool) -> Crossing {
        match data {
            true => Crossing { occupancy: self.data, seen: self.critical, line: Some(self.line) },
            false => Crossing { occupancy: self.completion, seen: self.completion_seen, line: None },
        }
    }
}
