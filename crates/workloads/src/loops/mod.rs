//! Parallel loops over arrays and matrices: numerical kernels that share by rows or by ranges, with barriers between them.

mod cg;
mod ge;
mod mmult;
mod number;
mod paths;
mod rows;
mod stream;

pub use cg::Cg;
pub use ge::Ge;
pub use mmult::Mmult;
pub use paths::Paths;
pub(crate) use rows::Rows;
pub use stream::Stream;

use crate::parallel::cost;

/// Instructions to draw a number at random.
const DRAW: u32 = 20;
/// Instructions to multiply and add, beside loads and stores: the multiply-add, an address, the loop.
const MULTIPLY_ADD: u32 = 3;
/// Instructions of a division with its address and its part of the loop.
const DIVIDE: u32 = cost::DIVISION + 3;
/// Instructions to begin a row: its address, the bounds of the loop over it.
const ROW: u32 = 6;
