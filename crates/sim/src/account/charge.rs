//! The charge of a wait: its cause and its miss.

use super::Cause;

/// The number of a miss of a processor, modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MissTag(pub u32);

impl MissTag {
    /// No miss of the program.
    pub const NONE: Self = Self(0);
}

/// A wait, with the miss that it is charged to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charge {
    /// The cause of the wait.
    pub cause: Cause,
    /// The miss that it is charged to; none for waits without a miss.
    pub tag: MissTag,
}

impl From<Cause> for Charge {
    fn from(cause: Cause) -> Self {
        Self { cause, tag: MissTag::NONE }
    }
}
