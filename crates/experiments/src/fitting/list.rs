//! A list that was walked from end to end, as a record tells of it.

use bench::{Experiment, ListOrder};
use record::Record;
use units::Bytes;

use super::repeated::Circumstances;

/// The part of a private cache that a list fills at most: beyond, its pages may meet in some sets.
pub(super) const FILLED: f64 = 0.5;

/// Elements all over an array, loaded one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List {
    /// The array.
    pub(super) extent: Bytes,
    /// From one element to the next.
    pub(super) stride: Bytes,
    /// The pages that were asked for; `None` where a machine has but one kind.
    pub(super) pages: Option<String>,
    /// The order in which they were loaded.
    pub(super) order: ListOrder,
    /// The time of a load, in nanoseconds: the record's figure, which is the least of all samples unless medians count. What disturbs a
    /// sample adds to it, and on a computer that others use disturbs most of them.
    pub(super) ns: f64,
}

impl List {
    /// The list that a record is about, if it is about one.
    pub(super) fn of_record(record: &Record) -> Option<Self> {
        let conditions = &record.conditions;
        let is_list = record.experiment == Experiment::AreaRead.name();
        let (extent, stride) = (conditions.window?, conditions.stride?);
        (is_list && stride.0 > 0).then(|| Self {
            extent,
            stride,
            pages: conditions.pages_asked.clone(),
            order: Circumstances::of(record).order,
            ns: record.headline(),
        })
    }

    /// Lists of neighbouring elements on one kind of pages, ascending, each with the index of its record: those that tell sizes. Where
    /// there are several kinds, that of most lists counts; lists with a larger stride are about translation.
    pub(super) fn dense(records: &[Record]) -> Vec<(usize, Self)> {
        let of = |(index, record): (usize, &Record)| Some((index, Self::of_record(record)?));
        let mut lists: Vec<(usize, Self)> = records.iter().enumerate().filter_map(of).collect();
        let least = lists.iter().map(|(_, list)| list.stride).min();
        lists.retain(|(_, list)| Some(list.stride) == least);
        let of_kind = |pages: &Option<String>| lists.iter().filter(|(_, list)| list.pages == *pages).count();
        let most = lists.iter().map(|(_, list)| &list.pages).max_by_key(|pages| of_kind(pages)).cloned().flatten();
        lists.retain(|(_, list)| list.pages == most);
        lists.sort_by(|(_, a), (_, b)| a.extent.cmp(&b.extent).then(a.ns.total_cmp(&b.ns)));
        lists.dedup_by_key(|(_, list)| list.extent);
        lists
    }
}
