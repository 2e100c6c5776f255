//! The causes of misses.

/// The cause of a miss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MissCause {
    /// The processor's first miss on the line.
    Cold,
    /// The line was evicted, and a fully associative cache of equal size would have evicted it too; or an outer cache or
    /// filter that includes processors' caches took it back.
    Capacity,
    /// The line was evicted, but a fully associative cache of equal size would have kept it.
    Conflict,
    /// The line was invalidated by a writer, and the processor uses what was written.
    TrueSharing,
    /// The line was invalidated by a writer, and the processor does not use what was written.
    FalseSharing,
}

impl MissCause {
    /// Every cause with its name.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Cold, "cold"),
        (Self::Capacity, "capacity"),
        (Self::Conflict, "conflict"),
        (Self::TrueSharing, "true-sharing"),
        (Self::FalseSharing, "false-sharing"),
    ];
}
