//! Memory with a place: mapped, bound to a node before it is touched, populated, and verified page by page.
//!
//! A [`Mapping`] either lies where it was asked to lie, on pages of the kind that was asked for, or it is refused with the
//! reason and what would help; nothing is put elsewhere in silence. Only how many transparent huge pages the kernel makes is its
//! own business: [`Mapping::obtained`] tells, and [`Mapping::exactly`] refuses a mixture.

mod calls;
mod homes;
mod kind;
mod mapping;
mod migration;
mod obtained;
mod room;

pub use homes::homes_of;
pub use kind::PageKind;
pub use mapping::{Mapping, PageLocation};
pub use migration::Migration;
pub use obtained::{Obtained, Verification};
