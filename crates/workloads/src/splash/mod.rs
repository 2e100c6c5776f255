//! Kernels and applications after the SPLASH-2 suite (Woo, Ohara, Torrie, Singh and Gupta, ISCA 1995): the same algorithms, data
//! and sharing, written anew.

mod barnes;
mod cholesky;
mod fft;
mod fmm;
mod lu;
mod mp3d;
mod ocean;
mod plummer;
mod radix;
mod raytrace;
pub(crate) mod vector;
mod water;

pub use barnes::Barnes;
pub use cholesky::Cholesky;
pub use fft::Fft;
pub use fmm::Fmm;
pub use lu::Lu;
pub use mp3d::Mp3d;
pub use ocean::Ocean;
pub use radix::Radix;
pub use raytrace::Raytrace;
pub use water::Water;
