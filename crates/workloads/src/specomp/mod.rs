//! Programs with the algorithms, sharing and faults of the SpecOMP2001 suite, as the FLASH dissertation (chapters 3 and 6) has
//! measured and mended them.

mod art;
mod equake;
mod fma3d;
mod gafort;

pub use art::Art;
pub use equake::Equake;
pub use fma3d::Fma3d;
pub use gafort::Gafort;
