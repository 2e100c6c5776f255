//! Disturbances of a measurement: context switches, migrations, page faults, stolen time, changes of frequency, pauses.

mod gaps;
mod parse;
mod reason;
mod watch;

pub use gaps::{Gaps, gaps};
pub use reason::{Detector, Interference, Missing, Reason};
pub use watch::Watch;
