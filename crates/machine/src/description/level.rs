//! The private levels of a processor's caches, whichever table describes each.

use units::{Bytes, Hertz};

use super::{Description, Fill, Inclusion, L1Spec, L2Spec, L3Spec, Replacement, WritePolicy};

/// Maximum number of private cache levels.
pub const MOST_CACHE_LEVELS: usize = 3;

/// A private cache level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CacheLevel {
    /// The name of its table.
    pub table: &'static str,
    /// The key of its capacity.
    pub size_key: &'static str,
    /// Capacity.
    pub size: Bytes,
    /// Lines in a set.
    pub ways: u32,
    /// Line size.
    pub line: Bytes,
    /// The replacement policy.
    pub replacement: Replacement,
    /// Core cycles of a hit, beyond the hit time of the level inside.
    pub hit_cycles: u32,
    /// The relation of its contents to those of the level outside.
    pub inclusion: Inclusion,
    /// The treatment of stores that hit.
    pub write: WritePolicy,
    /// Whether a store that misses brings its line into this level.
    pub allocate_on_write_miss: bool,
    /// Its bus or port; `None` for a primary cache inside others.
    pub port: Option<CachePort>,
}

/// The bus of a level outside the primary one, or the system port of a primary cache without others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CachePort {
    /// Its clock.
    pub clock: Hertz,
    /// Its width.
    pub width: Bytes,
    /// Whether the cache accesses the predicted way first.
    pub way_prediction: bool,
    /// Its occupancy by a line from outside.
    pub fill: Fill,
    /// Size of the blocks of a preemptible fill.
    pub fill_block: Bytes,
    /// Its cycles for each block of a preemptible fill or for the end of a whole-line one.
    pub fill_write_cycles: u32,
    /// Its cycles for the writeback of a modified line of the level inside.
    pub inner_writeback_cycles: u32,
    /// Whether an access starts only at common edges with the core clock.
    pub common_edge_start: bool,
    /// Its cycles for a tag check.
    pub tag_check_cycles: u32,
    /// Its cycles for a mispredicted way.
    pub way_miss_cycles: u32,
}

/// The level that a table of a level outside the primary one describes.
macro_rules! from_table {
    ($spec:ident, $table:literal) => {
        impl From<&$spec> for CacheLevel {
            fn from(spec: &$spec) -> Self {
                Self {
                    table: $table,
                    size_key: "size_mib",
                    size: spec.size,
                    ways: spec.ways,
                    line: spec.line,
                    replacement: spec.replacement,
                    hit_cycles: spec.hit_cycles,
                    inclusion: spec.inclusion,
                    write: spec.write,
                    allocate_on_write_miss: spec.allocate_on_write_miss,
                    port: Some(CachePort {
                        clock: spec.bus_clock,
                        width: spec.bus_width,
                        way_prediction: spec.way_prediction,
                        fill: spec.fill,
                        fill_block: spec.fill_block,
                        fill_write_cycles: spec.fill_write_cycles,
                        inner_writeback_cycles: spec.inner_writeback_cycles,
                        common_edge_start: spec.common_edge_start,
                        tag_check_cycles: spec.tag_check_cycles,
                        way_miss_cycles: spec.way_miss_cycles,
                    }),
                }
            }
        }
    };
}

from_table!(L2Spec, "l2");
from_table!(L3Spec, "l3");

impl From<&L1Spec> for CacheLevel {
    fn from(spec: &L1Spec) -> Self {
        Self {
            table: "l1",
            size_key: "size_kib",
            size: spec.size,
            ways: spec.ways,
            line: spec.line,
            replacement: spec.replacement,
            hit_cycles: spec.hit_cycles,
            inclusion: spec.inclusion,
            write: spec.write,
            allocate_on_write_miss: spec.allocate_on_write_miss,
            port: None,
        }
    }
}

impl CacheLevel {
    /// Its lines.
    pub const fn lines(&self) -> u64 {
        self.size.0 / self.line.0
    }
}

impl Description {
    /// The primary cache as a level.
    fn primary_cache(&self) -> CacheLevel {
        let port = self.l1_port.as_ref().map(|port| CachePort {
            clock: port.clock,
            width: port.width,
            way_prediction: false,
            fill: port.fill,
            fill_block: port.fill_block,
            fill_write_cycles: port.fill_write_cycles,
            inner_writeback_cycles: 0,
            common_edge_start: false,
            tag_check_cycles: port.tag_check_cycles,
            way_miss_cycles: 0,
        });
        CacheLevel { port, ..CacheLevel::from(&self.l1) }
    }

    /// The private cache levels, innermost first: one to three.
    pub fn cache_levels(&self) -> impl DoubleEndedIterator<Item = CacheLevel> {
        let (second, third) = (self.l2.as_ref().map(CacheLevel::from), self.l3.as_ref().map(CacheLevel::from));
        [Some(self.primary_cache()), second, third].into_iter().flatten()
    }

    /// The outermost private level, which is the coherent one.
    pub fn coherent_cache(&self) -> CacheLevel {
        let outer = self.l3.as_ref().map(CacheLevel::from).or(self.l2.as_ref().map(CacheLevel::from));
        outer.unwrap_or_else(|| self.primary_cache())
    }

    /// Sets the capacity of the coherent level, of a machine changed in memory.
    pub fn set_coherent_size(&mut self, size: Bytes) {
        match (&mut self.l3, &mut self.l2) {
            (Some(l3), _) => l3.size = size,
            (None, Some(l2)) => l2.size = size,
            (None, None) => self.l1.size = size,
        }
    }
}
