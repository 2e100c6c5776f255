//! Costs of arithmetic that keeps a unit of the processor busy, in instructions.
//!
//! [`Thread::instructions`](crate::Thread::instructions) counts what issues, four a cycle on an R10000, and knows no units. A division or root is followed by
//! too few independent instructions in the processor's window to hide it, and counts as all that could have issued meanwhile.
//! Cycles are the repeat rates of the MIPS R10000 User's Manual, for doubles.

/// Instructions that issue in a cycle.
const WIDTH: u32 = 4;
/// A division: 21 cycles.
pub const DIVISION: u32 = 21 * WIDTH;
/// A square root: 35 cycles. A division fits beside it in a unit of its own.
pub const SQUARE_ROOT: u32 = 35 * WIDTH;
