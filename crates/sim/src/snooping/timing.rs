//! The times of a node's bus, from its description.

use engine::Grid;
use machine::description::BusSpec;
use units::Duration;

use crate::part::SnoopingBusTiming;

/// Times of the bus, with those besides its part.
#[derive(Clone, Copy, Debug)]
pub struct NodeBusTiming {
    /// The wires.
    pub wires: SnoopingBusTiming,
    /// The time for the data of a line to cross.
    pub line: Duration,
    /// From the start of a line of data to its critical part at the processor.
    pub critical: Duration,
    /// From the read-out of an owner's cache to its data at the bus.
    pub supply: Duration,
    /// From the combined reply to the completion of a transaction without data.
    pub completion: Duration,
    /// From the completion of a request until its miss register is free.
    pub release: Duration,
}

impl NodeBusTiming {
    /// The times of `bus` with lines of `line` bytes.
    pub fn new(bus: &BusSpec, line: u64) -> Self {
        let cycles = |count: u32| bus.clock.period() * u64::from(count);
        let line = bus.clock.period() * line.div_ceil(bus.width.0);
        let wires = SnoopingBusTiming {
            clock: Grid::new(bus.clock.period()),
            outstanding: bus.outstanding as usize,
            arbitration: cycles(bus.arbitration_cycles),
            address: cycles(bus.address_cycles),
            snoop: cycles(bus.snoop_cycles),
            data: line + cycles(bus.turnaround_cycles),
        };
        Self {
            wires,
            line,
            critical: cycles(bus.critical_cycles),
            supply: cycles(bus.supply_cycles),
            completion: cycles(bus.completion_cycles),
            release: cycles(bus.release_cycles),
        }
    }
}
