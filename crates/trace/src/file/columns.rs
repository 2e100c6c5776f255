//! The columns of a trace: from counters to Arrow's fields, and back.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Schema};

use crate::{Counter, Preamble};

/// The version of what is written; readers refuse others.
pub(super) const VERSION: &str = "1";
/// Keys of the schema's metadata.
pub(super) const VERSION_KEY: &str = "ccnuma.trace";
pub(super) const PREAMBLE_KEY: &str = "ccnuma.preamble";
/// Key of a column's metadata.
const COUNTER_KEY: &str = "ccnuma.counter";
/// Suffix to the name of a counter's column: the column of the time in which it was counted.
const COUNTED: &str = ".counted";

/// The columns before those of counters.
pub(super) const TIME: &str = "time_ns";
pub(super) const OBJECT: &str = "object";
pub(super) const NAME: &str = "name";
pub(super) const EVENT: &str = "event";
pub(super) const DETAIL: &str = "detail";
/// How many those are.
pub(super) const FIXED: usize = 5;

/// The schema of a trace of these counters.
pub(super) fn schema(preamble: &Preamble, counters: &[Counter]) -> Result<Schema, serde_json::Error> {
    let mut fields = vec![
        Field::new(TIME, DataType::UInt64, false),
        Field::new(OBJECT, DataType::UInt32, true),
        Field::new(NAME, DataType::Utf8, true),
        Field::new(EVENT, DataType::Utf8, true),
        Field::new(DETAIL, DataType::Utf8, true),
    ];
    for counter in counters {
        let metadata = HashMap::from([(COUNTER_KEY.to_owned(), serde_json::to_string(counter)?)]);
        fields.push(Field::new(counter.column(), DataType::UInt64, true).with_metadata(metadata));
        if counter.can_be_estimate() {
            fields.push(Field::new(counted_column(counter), DataType::Float32, true));
        }
    }
    let preamble = serde_json::to_string(preamble)?;
    let metadata = [(VERSION_KEY.to_owned(), VERSION.to_owned()), (PREAMBLE_KEY.to_owned(), preamble)];
    Ok(Schema::new_with_metadata(fields, HashMap::from(metadata)))
}

/// The name of the column that tells the part of time in which a counter was counted.
pub(super) fn counted_column(counter: &Counter) -> String {
    counter.column() + COUNTED
}

/// The counter that a column holds, if it holds one.
pub(super) fn counter_of(field: &Field) -> Option<Counter> {
    let counter: Counter = serde_json::from_str(field.metadata().get(COUNTER_KEY)?).ok()?;
    (counter.column() == *field.name() && *field.data_type() == DataType::UInt64).then_some(counter)
}
