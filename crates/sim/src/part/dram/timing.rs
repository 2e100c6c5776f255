//! Sizes and times of DRAM, from a description.

use machine::description::{BanksSpec, Description};
use units::{Duration, Hertz};

use crate::part::Refresh;

/// Sizes and times of the DRAM behind a memory controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DramTiming {
    /// Channels.
    pub channels: usize,
    /// Banks of each channel, over all its ranks.
    pub banks: usize,
    /// Ranks of each channel.
    pub ranks: usize,
    /// From the start of an access to a bank without an open row to the first data.
    pub access: Duration,
    /// Occupancy of the channel by a line read.
    pub read: Duration,
    /// Occupancy of the channel by a line written.
    pub write: Duration,
    /// From the activation of a row of a bank to that of another.
    pub cycle: Duration,
    /// Lines of a row; 0: every access opens its row anew.
    pub row_lines: u64,
    /// To open a row.
    pub activate: Duration,
    /// To close one.
    pub precharge: Duration,
    /// From its last access until a row is closed.
    pub open: Duration,
    /// Whether requests overtake each other.
    pub reorders: bool,
    /// Age of a request from which on it precedes younger ones that could be served sooner.
    pub patience: Duration,
    /// Idle time of the wires between lines of two ranks.
    pub rank_switch: Duration,
    /// From one line to the next of the same group of banks.
    pub same_group: Duration,
    /// Time in which a rank activates four rows at most.
    pub four_activations: Duration,
    /// Collected writes with which a channel turns to them; 1: each is written when it comes.
    pub high_watermark: usize,
    /// Those that are left when it turns back to reads.
    pub low_watermark: usize,
    /// Idle time of the wires from a read to a write.
    pub read_to_write: Duration,
    /// Idle time of the wires from a write to a read of the same rank, of whatever group of banks.
    pub write_to_read: Duration,
    /// From the end of a line written, in the time of lines read, to the precharge of its row.
    pub write_recovery: Duration,
    /// Refresh of all banks of a rank.
    pub refresh: Refresh,
}

impl DramTiming {
    /// The memory of `description`, whose controller has this clock.
    pub fn new(description: &Description, banks: &BanksSpec, clock: Hertz) -> Self {
        let (memory, cycles) = (&description.memory, |count: u32| clock.period() * u64::from(count));
        Self {
            channels: banks.channels as usize,
            banks: banks.banks as usize,
            ranks: banks.ranks as usize,
            access: cycles(memory.access_cycles),
            read: cycles(memory.line_cycles),
            write: cycles(memory.line_write_cycles),
            cycle: cycles(banks.cycle),
            row_lines: banks.row_lines.into(),
            activate: cycles(banks.activate_cycles),
            precharge: cycles(banks.precharge_cycles),
            open: cycles(banks.row_open_cycles),
            reorders: banks.reorders,
            patience: if banks.patience_cycles == 0 { Duration(u64::MAX) } else { cycles(banks.patience_cycles) },
            rank_switch: cycles(banks.rank_switch_cycles),
            same_group: cycles(banks.same_group_cycles),
            four_activations: cycles(banks.four_activations_cycles),
            high_watermark: banks.write_high_watermark.max(1) as usize,
            low_watermark: banks.write_low_watermark as usize,
            read_to_write: cycles(banks.read_to_write_cycles),
            write_to_read: cycles(banks.write_to_read_cycles),
            write_recovery: cycles(banks.write_recovery_cycles),
            refresh: Refresh::new(memory.refresh_interval, cycles(memory.refresh_cycles)),
        }
    }
}
