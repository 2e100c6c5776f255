//! The time of a random window, by the size of the area it is chosen from: the hierarchy as a step function of position, seen
//! through its mean over the area (Seidl 1997, eq. 2 to 8).

mod levels;
mod seidl;

pub use levels::{Candidate, Knee, KneeKind, LevelFit, choose_levels};
pub use seidl::{Level, Place, Seidl, SeidlFit, SeidlParameter, levels, mflops};

use units::Bytes;

/// A measured point: the mean time of a window chosen at random from an area.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// The area that windows are chosen from.
    pub area: Bytes,
    /// The size of a window.
    pub window: Bytes,
    /// The mean time that a window takes, in nanoseconds.
    pub ns: f64,
}

/// The share of an area that lies beyond `end`: eq. 5 for a step at `end`, integrated over positions from 0 to `area`.
pub(crate) fn share_beyond(end: f64, area: f64) -> f64 {
    (1.0 - end / area).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_step_is_the_share_beyond_it() {
        // Eq. 5 by the rectangle rule against the closed form.
        let (end, area, parts) = (3.0, 8.0, 100_000);
        let beyond = (0..parts).filter(|part| (f64::from(*part) + 0.5) / f64::from(parts) * area > end).count();
        let mean = beyond as f64 / f64::from(parts);
        assert!((share_beyond(end, area) - mean).abs() < 1e-4);
        assert_eq!(share_beyond(8.0, 4.0), 0.0);
    }
}
