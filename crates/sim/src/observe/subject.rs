//! The machine, as its observers depend on it.

/// The properties of a machine that its observers depend on.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The number of hardware threads, and of processors: thread `n` is one of processor `n` modulo the latter.
    pub threads: usize,
    pub processors: usize,
    /// The lines that a processor's caches hold.
    pub cache_lines: usize,
    /// Binary logarithm of the bytes of a line.
    pub line_shift: u32,
    /// Whether a load may return older contents while the writer collects acknowledgements.
    pub relaxes_order: bool,
    /// Whether a line may be taken from a processor without a writer.
    pub recalls: bool,
}
