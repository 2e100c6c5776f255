//! The operating system of the simulated machine, as a model: policies as plain code, apart from the machine in time.

mod scheduler;

pub use scheduler::{Action, Scheduler, Scheduling, SchedulingCounters, SpaceSharing, TimeSharing, places};
