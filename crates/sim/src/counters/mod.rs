//! The counters that simulated machines have, in the shape of the hardware's, and who looks at them.
//!
//! A unit ([`CounterUnit`]) is a set of registers that count together: few, short, and only what they are told to. What they
//! hold follows from what the simulator counts anyway, exactly and in 64 bits, whenever somebody looks ([`Bank`]): a machine at
//! which nobody looks runs as fast as without them. Whoever looks ([`Watch`]) names units and how often; registers of which more
//! is wanted than they can count at once take turns.

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
