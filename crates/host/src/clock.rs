//! The clock: time-stamp or virtual counter, calibrated, its own cost known.
