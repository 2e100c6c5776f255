//! The operating system of the simulated machine, as a model: policies as plain code, apart from the machine in time.

mod domains;
mod paging;
mod placement;
mod translations;

pub use domains::domain_nodes;
pub use paging::{Move, PageNumber, Paging, PagingCounters};
pub use translations::Translations;
