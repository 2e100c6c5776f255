//! The figure of a record that fits and comparisons take.

use bench::Experiment;
use record::Record;
use units::Bytes;

/// The least time, or the typical one of lines that other processors prepared; of lists beyond the `private` caches of a core the median.
/// These share a cache with what others bring in, and find most of their lines there just after they were touched: the least is of that
/// moment.
pub(super) fn figure(record: &Record, private: Bytes) -> f64 {
    let is_shared_list = record.experiment == Experiment::AreaRead.name() && record.parameters.array > Some(private);
    if is_shared_list { record.median } else { record.typical() }
}
