//! The list of observers.

use super::probe::{Observer, Probe};
use super::subject::Subject;
use super::{Attribution, Causes, Checker, Meter};
use crate::options::Options;

/// A constructor of an observer, which returns `None` if the options do not ask for it.
type Constructor = fn(&Options, &Subject) -> Option<Box<dyn Observer>>;

/// Every observer, in the order of notification.
const ALL: &[Constructor] = &[Meter::observer, Checker::observer, Causes::observer, Attribution::observer];

/// The connection to the observers of a machine that `options` ask for.
pub fn subscribe(options: &Options, subject: &Subject) -> Probe {
    Probe::new(ALL.iter().filter_map(|make| make(options, subject)))
}
