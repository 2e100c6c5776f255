//! The operating system of the simulated machine, modelled as policies that are independent of the machine's timing.

mod domains;
mod paging;
mod placement;
mod replication;
mod scheduler;
mod translations;

pub use domains::domain_nodes;
pub use paging::{PageNumber, Paging, PagingCounters, Transfer};
pub use replication::Reference;
pub use scheduler::{Action, Scheduler, Scheduling, SchedulingCounters, SpaceSharing, TimeSharing, places};
pub use translations::Translations;
