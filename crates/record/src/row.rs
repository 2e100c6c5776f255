//! Records as the writers need them: their kind, and their columns, in order.

use schemars::JsonSchema;
use serde::Serialize;

/// A record. Its serialised fields are exactly its columns, in that order (a test of every implementor holds this).
pub trait Row: Serialize + JsonSchema {
    /// The kind, as the field `record` of a line has it.
    const KIND: &'static str;
    /// The names of the fields, in the order in which they are written.
    const COLUMNS: &'static [&'static str];
    /// Those of them that are maps: a line of CSV has a column for each of their keys, `COLUMN.KEY`.
    const MAPS: &'static [&'static str] = &[];
    /// Those of them that are lists of parts, which have fields of their own: JSON has them, CSV has not.
    const PARTS: &'static [&'static str] = &[];

    /// Whether it is possible, as far as it tells by itself: a reader refuses one that is not.
    ///
    /// # Errors
    /// The first impossible field, with its value and what is possible.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
