//! How much of a suite to run.

use host::discovery::Inventory;
use host::memory::PageKind;
use units::Bytes;

use crate::Settings;

/// How much of a suite to run.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteScope {
    /// How thoroughly to measure.
    pub settings: Settings,
    /// How many nodes to visit at each distance; `None` for all of them.
    pub nodes_per_distance: Option<usize>,
    /// The kinds of pages that are compared; none to take them as they come.
    pub pages: Vec<PageKind>,
    /// Areas of the hierarchy from one size to twice that size.
    pub areas_per_octave: u32,
    /// The largest area of the hierarchy.
    pub largest_area: Bytes,
    /// The step from one measured pace of traffic to the next.
    pub every_pause: usize,
    /// How many mixes of reads and writes are measured.
    pub mixes: usize,
    /// How much memory of each node is mapped.
    pub mapped: Bytes,
    /// How many random sets of sharers of each size are tried.
    pub draws: u32,
    /// Whether studies of programs take less data and fewer numbers of processors: minutes instead of hours.
    pub quick: bool,
}

impl SuiteScope {
    /// Everything, with these settings.
    pub fn whole(settings: Settings) -> Self {
        Self {
            settings,
            nodes_per_distance: None,
            pages: Vec::new(),
            areas_per_octave: 2,
            largest_area: Bytes::from_mib(1024),
            every_pause: 1,
            mixes: 3,
            mapped: Bytes::from_mib(1024),
            draws: 4,
            quick: false,
        }
    }

    /// The kinds of pages of the suite `fit` on this computer: one, the largest that it gives without a pool, so that translation adds
    /// least to what caches and memory take. None, to take them as they come, where there is no larger one.
    pub fn pages_of_fit(inventory: &Inventory) -> Vec<PageKind> {
        if inventory.transparent.is_on() { vec![PageKind::Transparent] } else { Vec::new() }
    }
}
