//! A processor's copy of a line.

use protocol::{CopyState, Version};

use super::Held;

/// A processor's copy of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CachedCopy {
    /// Its state; [`CopyState::INVALID`] stands for no copy.
    pub state: CopyState,
    /// The version of its data.
    pub version: Version,
}

impl CachedCopy {
    /// The copy in a line's place in the caches, if it has one.
    #[inline]
    pub fn of(held: Option<Held>) -> Self {
        held.map_or_else(Self::default, |Held { state, version, .. }| Self { state, version })
    }
}
