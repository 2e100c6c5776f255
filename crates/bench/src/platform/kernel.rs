//! The kernels: what a processor does at each element of its list or array.

/// What one task executes at each of its elements, in order of address.
///
/// The latency and bandwidth kernels are those of Prestor 2001 Figures 4.2 and 4.3 and the series of section 4.2.3; the
/// strided kernels are those of section 2.1 (after Saavedra). How a kernel is realised is the platform's affair: a
/// simulated instruction stream, or generated machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Chase a circular linked list: load the next element's address, then `work` dependent one-cycle additions. READ
    /// requests.
    Walk {
        /// Additions that depend on the load and that the next load depends on.
        work: u32,
    },
    /// As `Walk`, but store to each element's line before the load from it. RDEX or UPGRD requests.
    Modify {
        /// Additions that depend on the load and that the next element's accesses depend on.
        work: u32,
    },
    /// Add up the elements: independent loads, as many in flight as the processor allows. READ requests.
    Sum,
    /// Add up the elements, each prefetched for reading ahead of its load. RDSH requests.
    SumPrefetch,
    /// Store to each element: independent stores. RDEX or UPGRD requests, and WB if dirty lines are displaced.
    Fill,
    /// Load from each element, in any order, to own or to share its line.
    TouchLoad,
    /// Store to each element, in any order, to own its line modified.
    TouchStore,
    /// Prefetch each element for reading and load it, to share its line even if nobody else does.
    TouchShared,
    /// Afterwards this processor's caches hold none of the elements' lines: clean lines were dropped without telling the
    /// home, dirty ones written back. A platform may drop more than the elements.
    DropCaches,
    /// Read-use: add up the elements with the loop overhead of compiled code (P3 diagram).
    ReadUse,
    /// Read-modify-write: `a[i] = a[i] * a[i] - c` with the loop overhead of compiled code (P3 diagram).
    ReadModifyWrite,
}
