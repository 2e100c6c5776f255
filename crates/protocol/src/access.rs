//! Accesses of a processor to a line, common to all protocols.

/// An access to a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An instruction fetch.
    InstructionFetch,
    /// A prefetch of a shared copy.
    ReadPrefetch,
    /// A prefetch of an exclusive copy. The R10000 places the line in Modified state at once (Prestor 2001, Section
    /// 4.1.2, footnote 1).
    WritePrefetch,
    /// A coherent read that leaves no copy in the cache.
    UncachedRead,
    /// A read by a page copy engine, which invalidates every copy of the line.
    PoisonRead,
}

impl Access {
    /// Every access, in order.
    pub const ALL: [Self; 7] = [
        Self::Load,
        Self::Store,
        Self::InstructionFetch,
        Self::ReadPrefetch,
        Self::WritePrefetch,
        Self::UncachedRead,
        Self::PoisonRead,
    ];

    /// Whether the access needs the right to write.
    #[inline]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Store | Self::WritePrefetch)
    }
}
