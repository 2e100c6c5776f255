//! Programs with the algorithms and the memory behaviour of SpecOMP2001, written anew: parallel sections between serial parts,
//! memory placed by who touches it first, and where chapter 6 of the FLASH dissertation finds a fault, the fault and its repair.

mod applu;
mod apsi;
mod art;
mod equake;
mod field;
mod fma3d;
mod gafort;
mod mgrid;
mod swim;
mod wupwise;

pub use applu::Applu;
pub use apsi::Apsi;
pub use art::Art;
pub use equake::Equake;
pub use fma3d::Fma3d;
pub use gafort::Gafort;
pub use mgrid::Mgrid;
pub use swim::Swim;
pub use wupwise::Wupwise;

/// Instructions to draw a number at random.
const DRAW: u32 = 20;
/// Instructions to begin a line of points: its address, the bounds of the loop over it.
const LINE: u32 = 6;
