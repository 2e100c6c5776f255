//! The processor's times, converted once from a machine description.

use machine::description::{Description, Fill, Replacement};
use units::{Bytes, Duration};

use crate::part::CacheSpec;

/// The processor's part of a machine description, in time instead of cycles.
#[derive(Clone, Debug)]
pub struct ProcessorTiming {
    /// One core cycle.
    pub cycle: Duration,
    /// Time in which one instruction issues.
    pub issue: Duration,
    /// Instructions in flight at once.
    pub window: u64,
    /// Misses outstanding at once.
    pub misses: usize,
    /// Stores among them, at most.
    pub stores: usize,
    /// Upgrades among the stores, at most.
    pub upgrades: usize,
    /// Whether a load must wait for an upgrade of its line.
    pub upgrade_blocks_loads: bool,
    /// From the detection of a miss to the request at the pins.
    pub miss_to_request: Duration,
    /// From the critical data at the pins to the instruction that uses them.
    pub data_to_use: Duration,
    /// The answer to an invalidation, while a request for the line is outstanding, takes this long after the tag check.
    pub own_invalidation: Duration,
    /// From the completion of a miss until its miss register is free.
    pub release: Duration,
    /// The shortest time from a message at the pins to any answer.
    pub soonest_answer: Duration,
    /// Block size of the primary cache, a shift.
    pub block_shift: u32,
    /// Load-to-use time of a primary hit.
    pub primary_hit: Duration,
    /// From the start of a secondary access to the data, if the way was predicted right.
    pub secondary_hit: Duration,
    /// Tag check of the predicted way.
    pub tag_check: Duration,
    /// Tag check of the other way.
    pub other_way: Duration,
    /// Secondary accesses start at edges of this clock.
    pub secondary_grid: Duration,
    /// Time for a primary block to be written back to the secondary cache.
    pub primary_writeback: Duration,
    /// Time to read a line from the secondary cache.
    pub line_read: Duration,
    /// How a line fill holds the secondary cache bus.
    pub fill: Fill,
    /// Blocks in which a preemptible fill proceeds.
    pub fill_blocks: u32,
    /// Time for which each block of a preemptible fill, or the end of a whole-line one, holds the bus.
    pub fill_write: Duration,
    /// Line size, a shift.
    pub line_shift: u32,
    /// Bytes that one TLB entry covers, a shift.
    pub page_shift: u32,
    /// Time of a TLB refill.
    pub translation_miss: Duration,
    /// The primary cache.
    pub primary: CacheSpec,
    /// The secondary cache.
    pub secondary: CacheSpec,
    /// Entries of the TLB.
    pub translation_entries: usize,
}

impl ProcessorTiming {
    /// The processor of `description`; its miss registers are free `release` after completion, and its controller
    /// answers no sooner than `soonest_answer`.
    pub fn new(description: &Description, release: Duration, soonest_answer: Duration) -> Self {
        let (processor, l1, l2, tlb) = (&description.processor, &description.l1, &description.l2, &description.tlb);
        let cycle = processor.clock.period();
        let bus = l2.bus_clock.period();
        let shift = |bytes: Bytes| bytes.0.trailing_zeros();
        Self {
            cycle,
            issue: cycle / u64::from(processor.issue_width),
            window: u64::from(processor.instruction_window),
            misses: processor.outstanding_misses as usize,
            stores: processor.outstanding_stores as usize,
            upgrades: processor.outstanding_upgrades as usize,
            upgrade_blocks_loads: processor.upgrade_blocks_loads,
            miss_to_request: cycle * u64::from(processor.miss_to_request_cycles),
            data_to_use: cycle * u64::from(processor.data_to_use_cycles),
            own_invalidation: cycle * u64::from(processor.own_invalidation_cycles),
            release,
            soonest_answer,
            block_shift: shift(l1.line),
            primary_hit: cycle * u64::from(l1.hit_cycles),
            secondary_hit: cycle * u64::from(l2.hit_cycles),
            tag_check: bus * u64::from(l2.tag_check_cycles),
            other_way: if l2.way_prediction { bus * u64::from(l2.way_miss_cycles) } else { Duration::ZERO },
            secondary_grid: if l2.common_edge_start { common_edge(cycle, bus) } else { bus },
            primary_writeback: bus * u64::from(l2.l1_writeback_cycles),
            line_read: bus * (l2.line.0 / l2.bus_width.0),
            fill: l2.fill,
            fill_blocks: (l2.line.0 / l2.fill_block.0) as u32,
            fill_write: bus * u64::from(l2.fill_write_cycles),
            line_shift: shift(l2.line),
            page_shift: shift(tlb.page) + tlb.pages_per_entry.trailing_zeros(),
            translation_miss: tlb.miss,
            primary: cache(l1.size, l1.line, l1.ways, l1.replacement),
            secondary: cache(l2.size, l2.line, l2.ways, l2.replacement),
            translation_entries: tlb.entries as usize,
        }
    }
}

impl ProcessorTiming {
    /// From the start of a line of data on the system bus, whose critical part takes `critical` and whose whole takes
    /// `line`, to the request of a dependent load at the pins, if that misses and nothing else happens.
    pub fn turnaround(&self, critical: Duration, line: Duration) -> Duration {
        let issued = critical + self.data_to_use + self.primary_hit;
        let looked = match self.fill {
            Fill::WholeLine => issued.max(line + self.fill_write),
            Fill::PreemptibleBlocks => issued,
        };
        looked.align_up(self.secondary_grid) + self.tag_check + self.other_way + self.miss_to_request
    }
}

/// A cache of `size` with lines of `line` in sets of `ways`.
fn cache(size: Bytes, line: Bytes, ways: u32, replacement: Replacement) -> CacheSpec {
    CacheSpec { sets: (size.0 / line.0 / u64::from(ways)) as usize, ways: ways as usize, replacement }
}

/// The distance between common edges of two clocks with commensurate periods: the smallest whole number of core cycles
/// that is also a whole number of bus cycles, to within rounding of the periods.
fn common_edge(core: Duration, bus: Duration) -> Duration {
    let aligned = |cycles: u64| {
        let rest = core.0 * cycles % bus.0;
        rest.min(bus.0 - rest) <= cycles
    };
    core * (1..=12).find(|&cycles| aligned(cycles)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use units::Hertz;

    use super::*;

    #[test]
    fn common_edges_of_the_origins_clocks() {
        let edge = |core, bus| common_edge(Hertz::from_mhz(core).period(), Hertz::from_mhz(bus).period());
        assert_eq!(edge(250.0, 250.0), Duration(4000));
        assert_eq!(edge(195.0, 130.0), Duration(3 * 5128));
        assert_eq!(edge(300.0, 200.0), Duration(3 * 3333));
    }
}
