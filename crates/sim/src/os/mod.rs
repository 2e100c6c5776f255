//! The operating system of the simulated machine, modelled as policies that are independent of the machine's timing.

mod domains;
mod movement;
mod paging;
mod placement;
mod replication;
mod scheduler;
mod selection;
mod transfer;
mod translations;

pub use domains::domain_nodes;
pub use movement::{Discovery, PageOperation};
pub use paging::{PageNumber, Paging, PagingCounters};
pub use replication::Reference;
pub use scheduler::{Action, Scheduler, Scheduling, SchedulingCounters, SpaceSharing, TimeSharing, places};
pub use selection::Selection;
pub use transfer::{PageJob, PageJobs, PageStep, PageTransfers, Transfer};
pub use translations::Translations;
