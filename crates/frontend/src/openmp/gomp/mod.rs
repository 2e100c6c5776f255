//! Functions called by code that gcc and gfortran compile: the interface of libgomp, versions 1.0 to 5.0.

mod doacross;
mod loops;
mod parallel;
mod reductions;
mod sync;
mod tasks;

pub use tasks::{GOMP_taskwait_depend, portions};
