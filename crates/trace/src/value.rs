//! A counter's value after virtualisation.

/// A counter's total at a moment, or a level.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Value {
    /// The count since the object was first seen (since it came to be, if that was later than the trace), or the level;
    /// none when it could not be read, or was not due.
    pub total: Option<u64>,
    /// The part of the time since the last reading in which it was counted: below 1 the total includes an estimate.
    pub counted: f32,
}

impl Value {
    /// Nothing was read.
    pub const MISSING: Self = Self { total: None, counted: 0.0 };

    /// Counted all the time.
    pub fn exact(total: u64) -> Self {
        Self { total: Some(total), counted: 1.0 }
    }
}
