//! The data of a line, as protocols carry them.

/// Which store a copy of a line holds: 0 is the initial contents, and each store makes the next version.
///
/// It stands for the data. A protocol carries it wherever the hardware carries data and never looks at it; the model
/// checker does, to show that every load returns the last store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version(pub u32);

impl Version {
    /// The contents after one more store.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}
