//! Published figures, reproduced, recovered and recorded; programs and their simulations; whatever a machine is described as.
//!
//! All tests of this crate are one program: the harness then runs them beside each other, and they are linked once.

mod catalogue;
mod diagnosis;
mod extremes;
mod flash;
mod golden;
mod placement;
mod profiling;
mod programs;
mod recovery;
mod replay;
mod scheduling;
mod sci;
mod server_recovery;
mod studies;
mod study;
mod study_pictures;
mod two_users;
