//! Least-squares models of measured memory hierarchies, and the machine descriptions that follow from them.
//!
//! - [`hierarchy`]: what a random window of an area costs, as a step function of where it lies (Seidl 1997);
//! - [`remote`]: latency over a distance as local latency, remote penalty and router delays (Prestor 2001 section 4.3.2);
//! - [`caches`]: sizes, lines and reaches from P3 diagrams (Prestor 2001 section 2.1, after Saavedra);
//! - [`held`]: values of a machine description that such fits should find;
//! - [`write_description`]: a machine description of what was measured.
//!
//! Nothing here measures: data come in as numbers, parameters go out with their errors, and what the data do not determine
//! is said to be so.

pub mod caches;
mod describe;
mod error;
pub mod held;
pub mod hierarchy;
pub mod least_squares;
mod parameter;
pub mod remote;
mod staircase;

pub use describe::{HostFindings, write_description};
pub use error::FitError;
pub use least_squares::Uncertain;
pub use parameter::{Finding, Parameter};
