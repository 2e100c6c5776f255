//! Kernels and applications after the SPLASH-2 suite (Woo, Ohara, Torrie, Singh and Gupta, ISCA 1995): the same algorithms, data
//! and sharing, written anew.

mod barnes;
mod fft;
mod lu;
mod ocean;
mod radix;
pub(crate) mod vector;
mod water;

pub use barnes::Barnes;
pub use fft::Fft;
pub use lu::Lu;
pub use ocean::Ocean;
pub use radix::Radix;
pub use water::Water;
