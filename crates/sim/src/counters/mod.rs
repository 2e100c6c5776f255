//! The counters of simulated machines, in the hardware's shape, and the readings of them.
//!
//! A unit ([`CounterUnit`]) is a set of registers that count together: few, short, and only the events of the selected
//! mode. Their contents follow from exact 64-bit counts of the simulator at the time of a reading ([`Bank`]), so
//! counters that are not read cost nothing. A [`Watch`] names the units and the interval of readings; when it needs
//! more events than a unit counts at once, the modes take turns.

mod hub;
mod magic;
mod processor;
mod register;
mod router;
mod unit;
mod watch;

pub use register::{Bank, Shape};
pub use router::{AGE_TICKS, FULL, HALF_FULL, TICK};
pub use unit::{CountedEvent, CounterUnit, CountingMode};
pub use watch::{Place, Reading, Round, Watch, Watched, Watcher};
