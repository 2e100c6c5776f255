//! A list that was walked from end to end, as a record tells of it.

use bench::Experiment;
use record::Record;
use units::Bytes;

/// Elements all over an array, loaded one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct List {
    /// The array.
    pub(super) extent: Bytes,
    /// From one element to the next.
    pub(super) stride: Bytes,
    /// The time of a load, in nanoseconds.
    pub(super) ns: f64,
}

impl List {
    /// The list that a record is about, if it is about one.
    pub(super) fn of_record(record: &Record) -> Option<Self> {
        let conditions = &record.conditions;
        let is_list = record.experiment == Experiment::AreaRead.name();
        is_list.then_some(Self { extent: conditions.window?, stride: conditions.stride?, ns: record.median })
    }
}
