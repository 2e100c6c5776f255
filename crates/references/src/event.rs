//! Events of a thread, as far as memory and other threads see them.

/// Kind of a reference to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// Asks for a copy to read, and waits for nothing.
    PrefetchShared,
    /// Asks for a copy to write, and waits for nothing.
    PrefetchExclusive,
}

/// A reference to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The kind of the reference.
    pub kind: AccessKind,
    /// Whether the address was computed from the value of the latest load.
    pub dependent: bool,
    /// How many bytes: 1 to 128.
    pub bytes: u8,
    /// The first of them, in the program's own address space.
    pub address: u64,
}

/// An event of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It refers to memory.
    Access(Access),
    /// So many instructions that depend on no access.
    Instructions(u32),
    /// So many one-cycle instructions, each depending on the one before, the first on the latest load.
    Work(u32),
    /// It waits until all threads that have not ended are here.
    Barrier,
    /// It waits until the word at `address` has been changed `changes` times, as [`Event::Change`] counts.
    Await {
        /// The word.
        address: u64,
        /// How often.
        changes: u32,
    },
    /// It changes the word at `address` for others to see, all its earlier stores done.
    Change {
        /// The word.
        address: u64,
    },
    /// From here on (`true`), or up to here (`false`), is what is measured.
    Measure(bool),
    /// The place of the program, such as a program counter, that what follows is done by.
    Site(u64),
}
