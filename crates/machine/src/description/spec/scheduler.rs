//! The table of the operating system's scheduler: when it acts, and what that costs.

use units::Duration;

use super::section;
use crate::description::kind::{count, ns};

/// Ten seconds and more: what happens rarely on a real machine.
const LONGEST_NS: f64 = 1e11;
/// The longest that a program has run before it is looked at: a day.
const OLDEST_NS: f64 = 1e14;

section! {
    /// The scheduler. Times are those of a real machine, on which programs run for minutes; all are divided by the compression
    /// before they are simulated, so that programs of milliseconds meet as many switches.
    SchedulerSpec in "scheduler" {
        /// By how much all times of this table are divided.
        compression: u32 = "compression", count(1, 1_000_000);
        /// For how long a thread runs while others wait for its processor.
        quantum: Duration = "quantum_ns", ns(1000.0, LONGEST_NS);
        /// For how long a gang runs.
        gang_quantum: Duration = "gang_quantum_ns", ns(1000.0, LONGEST_NS);
        /// What it takes to put a gang on processors, for each of its threads.
        gang_reschedule: Duration = "gang_reschedule_ns", ns(0.0, LONGEST_NS);
        /// What it takes a processor to go from one thread to another.
        switch: Duration = "switch_ns", ns(0.0, LONGEST_NS);
        /// How often an idle processor looks at the queues of others.
        idle_scan: Duration = "idle_scan_ns", ns(1000.0, LONGEST_NS);
        /// For how long a thread looks at a word that does not change until it lets others have the processor.
        spin_limit: Duration = "spin_limit_ns", ns(1000.0, LONGEST_NS);
        /// The mean time between two pieces of work of the operating system's own on a processor; zero for none.
        daemon_interval: Duration = "daemon_interval_ns", ns(0.0, LONGEST_NS);
        /// For how long such a piece has the processor.
        daemon_length: Duration = "daemon_length_ns", ns(1000.0, LONGEST_NS);
        /// For how long programs have run when the simulation begins: their memory is where they began, and their threads are where
        /// the scheduler has taken them since.
        age: Duration = "age_ns", ns(0.0, OLDEST_NS);
        /// From one tick of the clock to the next.
        tick: Duration = "tick_ns", ns(1000.0, LONGEST_NS);
        /// Of each tick of processor 0, what the operating system takes.
        boot_load_percent: u32 = "boot_load_percent", count(0, 99);
    }
}
