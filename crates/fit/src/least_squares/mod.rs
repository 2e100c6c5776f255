//! Least squares: linear systems with an honest account of what the data determine, and models with a few parameters that
//! enter non-linearly.
//!
//! All sums are of *relative* squared residuals (Seidl 1997, eq. 8): times from nanoseconds to microseconds weigh alike.

mod linear;
mod separable;
mod step;

pub use linear::{Solution, Uncertain, solve};
pub use separable::{Separable, SeparableFit, minimise};
pub use step::damped_step;
