//! Banks of DRAM: a bank keeps the row of its last access open for a while. An access to it is sooner by the activation, and one to another
//! row later by the precharge; an idle memory has all rows closed.

use units::{Duration, Time};

use super::activations::Activations;
use super::timing::DramTiming;

/// Groups of banks of a channel in which consecutive lines lie in turn, since data of one group do not follow each other closely: of
/// DDR4's four, Haswell and Skylake have two follow each other, and the others further away (Pessl et al. 2016, addresses of DRAM).
const TURNS: u64 = 2;
/// Groups of banks (DDR4).
pub(super) const GROUPS: u32 = 4;

/// A number of few bits that all bits of another change (Fibonacci hashing, twice, so that regular numbers do not stay regular).
pub(super) const fn mixed(number: u64) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let once = number.wrapping_mul(GOLDEN);
    (once ^ once >> 32).wrapping_mul(GOLDEN) >> 56
}

/// A row of a channel, with its bank, the rank of the bank, and its group there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) row: u64,
    pub(super) bank: u32,
    pub(super) rank: u16,
    pub(super) group: u16,
}

impl DramTiming {
    /// The row and the bank of the line with this number in a channel. Rows at multiples of a bank's size lie in different banks: the
    /// number of a row permutes them (Zhang, Zhu and Zhang 2000), all of its bits.
    pub(super) fn place(&self, line: u64) -> Place {
        let banks = self.banks as u64;
        if self.row_lines == 0 {
            return self.place_in((line % banks) as u32, line / banks);
        }
        let (turn, of_turn, each) = (line % TURNS, line / TURNS / self.row_lines, banks / TURNS);
        let row = of_turn / each;
        self.place_in(((of_turn + mixed(row)) % each * TURNS + turn) as u32, row)
    }

    /// A row of a bank.
    pub(super) const fn place_in(&self, bank: u32, row: u64) -> Place {
        Place { row, bank, rank: (bank / GROUPS % self.ranks as u32) as u16, group: (bank % GROUPS) as u16 }
    }
}

/// The state that the banks of a rank share.
#[derive(Clone, Debug)]
pub(super) struct Rank {
    activations: Activations,
    /// By how much its refreshes come before the multiples of their interval.
    pub(super) refreshed_earlier: Duration,
    /// From when on its lines can be read, after one was written.
    pub(super) readable: Time,
}

impl Rank {
    pub(super) fn new(refreshed_earlier: Duration) -> Self {
        Self { activations: Activations::default(), refreshed_earlier, readable: Time::ZERO }
    }
}

/// A bank, with the row that it has open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bank {
    /// `None` before the first access.
    row: Option<u64>,
    /// The activation of the row.
    activated: Time,
    /// The end of its last access.
    used: Time,
    /// From when on the row can be closed.
    closable: Time,
}

impl Bank {
    /// Opens `row` for accesses that are requested at `at`, with its activation among those of its rank. Returns the time from which
    /// columns can be accessed.
    pub(super) fn open(&mut self, row: u64, at: Time, rank: &mut Rank, timing: &DramTiming) -> Time {
        let free = timing.refresh.free_earlier(at.max(self.used), rank.refreshed_earlier);
        let opened = self.activated + timing.activate;
        let closed = timing.row_lines == 0 || self.row.is_none() || free > self.used.max(opened) + timing.open;
        if !closed && self.row == Some(row) {
            return free.max(opened);
        }
        let precharge = if closed { Duration::ZERO } else { timing.precharge };
        // A row stays open for the cycle of its bank less the precharge.
        let again = if self.row.is_some() { self.activated + (timing.cycle - precharge) } else { free };
        let wanted =
            timing.refresh.free_earlier(free.max(again).max(self.closable) + precharge, rank.refreshed_earlier);
        self.activated = rank.activations.plan(wanted, at, timing.four_activations);
        self.row = Some(row);
        self.activated + timing.activate
    }

    /// A line of the open row has been read at `end`.
    pub(super) fn note_read(&mut self, end: Time) {
        self.used = end;
    }

    /// A line of the open row has been sent to it at `end`, to be written.
    pub(super) fn note_write(&mut self, end: Time, timing: &DramTiming) {
        self.used = end;
        self.closable = end + timing.write_recovery;
    }

    /// Whether `row` is open or being opened.
    pub(super) fn has(&self, row: u64) -> bool {
        self.row == Some(row)
    }
}
