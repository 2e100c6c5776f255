//! Sources of counters: this computer, a simulated machine.

use trace::{Counter, Object, SourceDescription};

/// A register as it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The content of the register, in its width; a level, or 64 bits that the kernel counts itself.
    pub raw: u64,
    /// Nanoseconds that it was meant to count, since some beginning that never changes.
    pub enabled_ns: u64,
    /// Nanoseconds of these that it did count; less if it shares its hardware with others.
    pub running_ns: u64,
    /// Whether it was read at all.
    pub present: bool,
}

impl Reading {
    /// It could not be read, or was not due.
    pub const MISSING: Self = Self { raw: 0, enabled_ns: 0, running_ns: 0, present: false };

    /// A register that counts all the time.
    pub fn of(raw: u64) -> Self {
        Self { raw, enabled_ns: 0, running_ns: 0, present: true }
    }

    /// A register that counts in turns with others.
    pub fn in_turns(raw: u64, enabled_ns: u64, running_ns: u64) -> Self {
        Self { raw, enabled_ns, running_ns, present: true }
    }
}

/// Something that has counters.
///
/// Its counters are fixed; objects may come and go, but only in [`refresh`](Self::refresh).
pub trait CounterSource {
    /// Its description: what it sees here, what it does not, and why.
    fn describe(&self) -> SourceDescription;

    /// Its counters. Every object has those of its kind.
    fn counters(&self) -> &[Counter];

    /// Its objects, until the next refresh.
    fn objects(&self) -> &[Object];

    /// Numbers of the machine that formulas use: `line_bytes`.
    fn constants(&self) -> Vec<(String, f64)> {
        Vec::new()
    }

    /// Looks whether objects came, went or were renamed; true if so. May allocate.
    fn refresh(&mut self) -> bool {
        false
    }

    /// Told by the thread that starts the program which is watched, just before (`begins`) and just after it does.
    fn starting(&mut self, begins: bool) {
        let _nothing_to_do = begins;
    }

    /// The least time between two readings that is worth it, in nanoseconds; zero if reading is cheap.
    fn pace_ns(&self) -> u64 {
        0
    }

    /// The time in nanoseconds, on the one clock of all sources of a trace.
    fn now(&mut self) -> u64;

    /// Reads all registers: for each object in order the counters of its kind in order. As long as `readings` says
    /// ([`Readings::of`](crate::Readings::of)); does not allocate.
    fn read(&mut self, readings: &mut [Reading]);
}
