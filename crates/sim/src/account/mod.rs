//! The account of a processor: its counts, the causes of its time and of its misses, and the part that is measured.
//!
//! Plain data: processors count, observers and controllers read.

mod charge;
mod counts;
mod measuring;
mod miss_cause;
mod service;
mod stall_terms;
mod thread;
mod time;

pub use charge::{Charge, MissTag};
pub use counts::{ExternalCounts, ProcessorCounters};
pub use measuring::{MeasuredPart, Measuring};
pub use miss_cause::MissCause;
pub use service::{Distance, MissCounts, Service, Transaction};
pub use stall_terms::StallTerms;
pub use thread::ThreadCounts;
pub use time::{Cause, TimeSplit};
