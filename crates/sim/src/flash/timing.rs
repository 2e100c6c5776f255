//! MAGIC's part of a machine description, in time instead of cycles.

use engine::Grid;
use machine::description::{Description, DirectorySpec, HandlerSpec, MagicSpec, SysadSpec};
use units::Duration;

use crate::SimError;
use crate::system::BusTiming;

/// The parts of a description that only a machine with MAGIC has.
#[derive(Clone, Copy)]
pub struct MagicDescription<'a> {
    /// The controller.
    pub magic: &'a MagicSpec,
    /// The bus to its processor.
    pub sysad: &'a SysadSpec,
    /// Directory and protocol.
    pub directory: &'a DirectorySpec,
    /// Handlers.
    pub handlers: &'a HandlerSpec,
}

impl<'a> MagicDescription<'a> {
    /// The MAGIC sections of `description`.
    ///
    /// # Errors
    /// The nodes have another controller.
    pub fn of(description: &'a Description) -> Result<Self, SimError> {
        let accepted = "magic";
        Ok(Self {
            magic: SimError::table(description.magic.as_ref(), description, accepted)?,
            sysad: SimError::table(description.sysad.as_ref(), description, accepted)?,
            directory: SimError::table(description.directory.as_ref(), description, accepted)?,
            handlers: SimError::table(description.handlers.as_ref(), description, accepted)?,
        })
    }
}

/// Times of MAGIC, its bus and its memory.
#[derive(Clone, Debug)]
pub struct MagicTiming {
    /// One MAGIC (and system bus) cycle.
    pub cycle: Duration,
    /// The edges of its clock.
    pub clock: Grid,
    /// The bus between processor and controller.
    pub bus: BusTiming,
    /// From the bus through the processor interface to the inbox.
    pub interface_in: Duration,
    /// From the outbox through the processor interface to the bus.
    pub interface_out: Duration,
    /// From an interface to the protocol processor: arbitration and dispatch of the handler.
    pub inbox: Duration,
    /// From the protocol processor to an interface.
    pub outbox: Duration,
    /// From the network through its interface to the inbox.
    pub network_in: Duration,
    /// From the outbox through the network interface to the link.
    pub network_out: Duration,
    /// From an owner's tag check to its negative answer in the processor interface.
    pub snoop_answer: Duration,
    /// From an owner's tag check to the line at the pins, not counting its read-out.
    pub dirty_answer: Duration,
    /// From a NACK to the retry.
    pub retry: Duration,
    /// From the completion of a request until its miss register is free.
    pub release: Duration,
    /// From the start of a memory access to the first data.
    pub memory_data: Duration,
    /// Occupancy of the memory by a line read.
    pub memory_read: Duration,
    /// Occupancy of the memory by a line written.
    pub memory_write: Duration,
    /// Protocol processor cycles for a data cache miss.
    pub data_miss_cycles: u32,
}

impl MagicTiming {
    /// The times of the controller in `description`.
    ///
    /// # Errors
    /// The nodes have another controller.
    pub fn new(description: &Description) -> Result<Self, SimError> {
        let MagicDescription { magic, sysad, .. } = MagicDescription::of(description)?;
        let memory = &description.memory;
        let cycle = magic.clock.period();
        let cycles = |count: u32| cycle * u64::from(count);
        Ok(Self {
            cycle,
            clock: Grid::new(cycle),
            bus: BusTiming::new(description, sysad, magic.clock),
            interface_in: cycles(magic.pi_in_cycles),
            interface_out: cycles(magic.pi_out_cycles),
            inbox: cycles(magic.inbox_cycles),
            outbox: cycles(magic.outbox_cycles),
            network_in: cycles(magic.ni_in_cycles),
            network_out: cycles(magic.ni_out_cycles),
            snoop_answer: cycles(magic.snoop_answer_cycles),
            dirty_answer: cycles(magic.dirty_answer_cycles),
            retry: cycles(magic.retry_cycles),
            release: cycles(magic.release_cycles),
            memory_data: cycles(memory.access_cycles),
            memory_read: cycles(memory.line_cycles),
            memory_write: cycles(memory.line_write_cycles),
            data_miss_cycles: magic.data_miss_cycles,
        })
    }
}
