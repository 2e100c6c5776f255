//! Observers: subscribers to what processors and the system do, none of which changes it.
//!
//! A [`Probe`] is the connection of a processor or of the system to them. Notifications come in three channels
//! ([`probe::Channels`]): references, misses and waits ([`ReferenceEvent`]); the contents of lines
//! ([`ContentsEvent`]); measured intervals of programs ([`IntervalEvent`]). A point of the simulator that notifies of
//! one of the first two tests one pointer, which is null if neither has a subscriber. Notifications of the third are
//! as rare as calls of the operating system, and are always sent.
//!
//! An observer is a file of this folder with a [`probe::Observer`], and a line in the list of `registry.rs`. Its
//! results are collected by its type ([`Probe::collect`]). Nothing here uses processors or the system.

mod attribution;
mod causes;
mod checker;
mod event;
mod loss;
mod meter;
mod probe;
mod registry;
mod subject;

pub use attribution::Attribution;
pub use causes::Causes;
pub use checker::{Checker, Observed};
pub use event::{ContentsEvent, IntervalEvent, ReferenceEvent};
pub use loss::{LineLoss, Loss, WORD_BITS, WordSet};
pub use meter::Meter;
pub use probe::Probe;
pub use registry::subscribe;
pub use subject::Subject;
