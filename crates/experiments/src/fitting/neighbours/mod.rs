//! Neighbours of a virtual machine: others on its package, whose work is in the samples of its records; and chance, which is in them
//! everywhere.
//!
//! The least of all samples is disturbed least. Where neighbours or chance change what is measured, and not only how long it takes, it
//! is of a moment of rest, of other places, or of a lucky order: then the median, which repeats from run to run, counts.

mod crowded;
mod lucky;
mod one_core;

use bench::Layout;
use record::{Record, Unit};
use units::Bytes;

use super::list::List;

/// A private cache holds lists up to this share of its size, wherever their pages lie and whatever threads of others bring in beside them.
const HELD: f64 = 0.25;

/// The caches of a core: what it has for itself, and what it shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caches {
    pub(super) line: Bytes,
    /// The first level.
    pub(super) first: Bytes,
    /// The outermost cache of a core alone.
    pub(super) private: Bytes,
    /// The cache that it shares with others.
    pub(super) shared: Bytes,
}

impl Caches {
    /// Those of a simulated machine.
    pub(super) fn of(layout: &Layout) -> Self {
        Self { line: layout.line, first: layout.l1, private: layout.l2, shared: layout.outermost }
    }

    /// The list that a record is about, unless its elements leave out so many lines that they leave out sets.
    fn list(&self, record: &Record) -> Option<List> {
        List::of_record(record).filter(|list| list.stride.0 <= 4 * self.line.0)
    }

    /// The list that a record is about, if the shared cache has room for it, and the private ones for a half at most.
    fn shared_list(&self, record: &Record) -> Option<List> {
        let room = 2 * self.private.0..=self.shared.0 / 2;
        self.list(record).filter(|list| room.contains(&list.extent.0))
    }
}

/// Records to fit by or to compare with.
pub(super) struct Ordinary {
    /// All records, with their medians in place of the best of their samples where medians count.
    pub(super) records: Vec<Record>,
    /// All records, of lists and of memory as they are at rest.
    pub(super) at_rest: Vec<Record>,
    /// Whether neighbours push lists out of the shared cache.
    pub(super) crowded: bool,
    /// Remarks on what neighbours do.
    pub(super) notes: Vec<String>,
}

/// The `records` of a computer with these caches.
pub(super) fn ordinary(records: &[Record], caches: Caches) -> Ordinary {
    let mut records = records.to_vec();
    lucky::medians_of_held_lists(&mut records, caches);
    let on_one_core = one_core::medians_of_pairs(&mut records, caches);
    let at_rest = records.clone();
    let crowded = crowded::medians_beyond_private_caches(&mut records, caches);
    let (crowded, notes) = (crowded.is_some(), on_one_core.into_iter().chain(crowded).collect());
    Ordinary { records, at_rest, crowded, notes }
}

/// Whether it is of the time that a processor waits for lines which others have.
fn is_latency_of_pair(record: &Record) -> bool {
    record.unit == Unit::Nanoseconds && !record.remotes.is_empty()
}

/// Makes the median the figure of a record.
fn count_median(record: &mut Record) {
    let headline = if record.unit == Unit::MegabytesPerSecond { &mut record.max } else { &mut record.min };
    *headline = record.median;
}
