//! What the writers need to know of a record: its columns, in order.

use serde::Serialize;

/// A record. Its serialised fields are exactly its columns, in that order (a test of every implementor holds this).
pub trait Row: Serialize {
    /// The names of the fields, in the order in which they are written.
    const COLUMNS: &'static [&'static str];
}
