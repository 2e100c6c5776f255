//! Hardware and software events as the kernel counts them (`perf_event_open(2)`): what a machine has, by name, and counters of
//! them on threads or CPUs.

mod counter;
mod named;
mod served;
mod touches;
mod unit;

pub use counter::{EventGroup, GroupReading, Scope};
pub use named::{NamedEvent, hardware_events, software_events};
pub use served::Served;
pub use touches::{Heard, Loads, Mapping, Sampled, Touch, Touches};
pub use unit::{EventCode, MonitoringUnit, UnitEvent, monitoring_units};

use crate::discovery::KernelFiles;

/// How much the kernel lets us count: `/proc/sys/kernel/perf_event_paranoid`
/// (Documentation/admin-guide/sysctl/kernel.rst), none if the kernel has no events at all.
pub fn paranoia(files: &KernelFiles) -> Option<i32> {
    files.text("proc/sys/kernel/perf_event_paranoid").ok()??.trim().parse().ok()
}
