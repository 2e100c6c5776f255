//! The table of the operating system's scheduler: its times and costs.

use units::Duration;

use super::section;
use crate::description::kind::{count, ns};

/// Upper limit of times, for events that are rare on a real machine: 100 seconds.
const LONGEST_NS: f64 = 1e11;
/// Upper limit of the age of programs: almost three hours.
const OLDEST_NS: f64 = 1e13;

section! {
    /// The scheduler. Times are those of a real machine, whose programs run for minutes; all are divided by the
    /// compression before the simulation, so that programs of milliseconds have as many switches.
    SchedulerSpec in "scheduler" {
        /// The divisor of all times of this table.
        compression: u32 = "compression", count(1, 1_000_000);
        /// Time that a thread runs while others wait for its processor.
        quantum: Duration = "quantum_ns", ns(1000.0, LONGEST_NS);
        /// Time that a gang runs.
        gang_quantum: Duration = "gang_quantum_ns", ns(1000.0, LONGEST_NS);
        /// Time to place a gang on processors, for each of its threads.
        gang_reschedule: Duration = "gang_reschedule_ns", ns(0.0, LONGEST_NS);
        /// Time of a processor to switch between threads.
        switch: Duration = "switch_ns", ns(0.0, LONGEST_NS);
        /// Interval at which an idle processor scans the queues of others.
        idle_scan: Duration = "idle_scan_ns", ns(1000.0, LONGEST_NS);
        /// Time that a thread spins on an unchanged word before it yields the processor.
        spin_limit: Duration = "spin_limit_ns", ns(1000.0, LONGEST_NS);
        /// Mean time between daemons (operating system work) on a processor; zero for none.
        daemon_interval: Duration = "daemon_interval_ns", ns(0.0, LONGEST_NS);
        /// Time that a daemon occupies the processor.
        daemon_length: Duration = "daemon_length_ns", ns(1000.0, LONGEST_NS);
        /// Time that programs have run before the simulation begins: their memory is placed as at their start, and
        /// their threads as the scheduler has moved them since.
        age: Duration = "age_ns", ns(0.0, OLDEST_NS);
        /// Interval between clock ticks.
        tick: Duration = "tick_ns", ns(1000.0, LONGEST_NS);
        /// Operating system time in each tick of processor 0, in percent.
        boot_load_percent: u32 = "boot_load_percent", count(0, 99);
    }
}
