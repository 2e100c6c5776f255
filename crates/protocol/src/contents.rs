//! Contents of a line, as protocols carry them.

/// Version of a line's contents: 0 is the initial contents, and each store creates the next version.
///
/// A version stands for the data. Protocols carry it wherever hardware carries data, and never read it; the model
/// checker reads it to prove that every load returns the last store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version(pub u32);

impl Version {
    /// The version after one more store.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}
