//! The processor's times, converted once from a machine description.

use std::rc::Rc;

use engine::Grid;
use machine::description::{CacheLevel, Description, Fill, MOST_CACHE_LEVELS, ProcessorModel, Refill, WritePolicy};
use units::{Bytes, Duration, Hertz};

use crate::part::{CacheSpec, LevelSpec, Levels, PrefetcherSpec};

/// The times of a level outside the primary one, or of the system port of a primary cache without others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelTiming {
    /// From the start of an access to the data, if the way was predicted right.
    pub hit: Duration,
    /// Tag check of the predicted way.
    pub tag_check: Duration,
    /// Whole cycles from one tag check to the next.
    pub tag_interval: Duration,
    /// Part of a cycle by which the mean interval is longer.
    pub tag_interval_part: Duration,
    /// The cycle.
    pub cycle: Duration,
    /// Tag check of the other way.
    pub other_way: Duration,
    /// Accesses start at edges of this clock.
    pub grid: Grid,
    /// Time for a line of the level inside to be written back to this one.
    pub inner_writeback: Duration,
    /// Time of a store that the level inside passes on, after the tag check.
    pub store: Duration,
    /// Time to read or to write a line at the speed of the cache.
    pub line_read: Duration,
    /// How a line fill holds the bus.
    pub fill: Fill,
    /// Blocks in which a preemptible fill proceeds.
    pub fill_blocks: u32,
    /// Time for which each block of a preemptible fill, or the end of a whole-line one, holds the bus.
    pub fill_write: Duration,
}

/// The processor's part of a machine description, in time instead of cycles.
#[derive(Clone, Debug)]
pub struct ProcessorTiming {
    /// One core cycle.
    pub cycle: Duration,
    /// Time in which one instruction issues.
    pub issue: Duration,
    /// Hardware threads of a core.
    pub threads: usize,
    /// Instructions in flight at once.
    pub window: u64,
    /// Misses outstanding at once.
    pub misses: usize,
    /// Those among them that references wait for, at most.
    pub fill_buffers: usize,
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
    /// Every reference is done before the next instruction issues.
    pub blocking: bool,
    /// Whether instructions behind one whose operands are not there go on.
    pub out_of_order: bool,
    /// Primary hits have effects besides their time: those of more than a cycle on a blocking processor, and those that a prefetcher
    /// observes.
    pub special_hits: bool,
    /// Whether a primary hit may be special, or blocked by an upgrade.
    pub checks_hits: bool,
    /// Stores that the write buffer holds.
    pub write_buffer: usize,
    /// The levels by number, the primary one first; the primary one's times are those of its system port, if it has one.
    pub levels: [LevelTiming; MOST_CACHE_LEVELS],
    /// The number of the outermost level.
    pub outermost: usize,
    /// The caches of the levels.
    pub hierarchy: Rc<Levels>,
    /// Whether a store to private data that misses goes around the caches.
    pub private_around: bool,
    /// Traffic of others into the outermost level, in MB/s.
    pub others_mb_per_s: u32,
    /// The prefetcher, if there is one.
    pub prefetcher: Option<PrefetcherSpec>,
    /// Line size, a shift.
    pub line_shift: u32,
    /// Page size, a shift.
    pub one_page_shift: u32,
    /// Size of the region that proposals of the prefetcher do not leave, a shift.
    pub prefetched_region_shift: u32,
    /// Bytes that one TLB entry covers, a shift.
    pub page_shift: u32,
    /// Bytes that one TLB entry covers of memory under physical addresses, a shift: a large page, if there are any.
    pub physical_shift: u32,
    /// Time of a TLB refill.
    pub translation_miss: Duration,
    /// Time that a translation in the second level of the TLB adds to an access.
    pub translation_second: Duration,
    /// Walkers of page tables; 0 if a trap refills the TLB.
    pub walkers: usize,
    /// Entries of the levels of the TLB.
    pub translation_entries: [usize; 2],
}

impl ProcessorTiming {
    /// The processor of `description`; its miss registers are free `release` after completion, and its controller
    /// answers no sooner than `soonest_answer`.
    pub fn new(description: &Description, release: Duration, soonest_answer: Duration) -> Self {
        let (processor, tlb) = (&description.processor, &description.tlb);
        let cycle = processor.clock.period();
        let shift = |bytes: Bytes| bytes.0.trailing_zeros();
        let described: Vec<CacheLevel> = description.cache_levels().collect();
        let coherent = description.coherent_cache();
        let block_shift = shift(description.l1.line);
        let specs: Vec<LevelSpec> =
            described.iter().map(|level| spec_of(description, level, shift(level.line) - block_shift)).collect();
        let level = |number: usize| {
            described.get(number).map_or(LevelTiming::NONE, |level| LevelTiming::new(level, processor.clock))
        };
        let prefetcher = description.prefetch.as_ref().map(|prefetch| PrefetcherSpec {
            kind: prefetch.kind,
            degree: prefetch.degree,
            streams: prefetch.streams as usize,
        });
        let blocking = processor.model == ProcessorModel::Blocking;
        // A hit of one cycle is done when the next instruction issues, so that a blocking processor need not keep it.
        let long_hits = description.l1.hit_cycles > 1 || processor.issue_width > 1;
        let special_hits = blocking && long_hits || prefetcher.is_some() && described.len() == 1;
        Self {
            cycle,
            issue: cycle / u64::from(processor.issue_width),
            threads: processor.threads as usize,
            window: u64::from(processor.instruction_window),
            misses: processor.outstanding_misses as usize,
            fill_buffers: match processor.fill_buffers {
                0 => processor.outstanding_misses as usize,
                buffers => buffers as usize,
            },
            stores: processor.outstanding_stores as usize,
            upgrades: processor.outstanding_upgrades as usize,
            upgrade_blocks_loads: processor.upgrade_blocks_loads,
            miss_to_request: cycle * u64::from(processor.miss_to_request_cycles),
            data_to_use: cycle * u64::from(processor.data_to_use_cycles),
            own_invalidation: cycle * u64::from(processor.own_invalidation_cycles),
            release,
            soonest_answer,
            block_shift,
            primary_hit: cycle * u64::from(description.l1.hit_cycles),
            blocking,
            out_of_order: !blocking && description.bus.is_none(),
            special_hits,
            checks_hits: special_hits || processor.upgrade_blocks_loads,
            write_buffer: processor.write_buffer as usize,
            levels: std::array::from_fn(level),
            outermost: described.len() - 1,
            hierarchy: Levels::new(&specs).into(),
            private_around: !coherent.allocate_on_private_write_miss,
            others_mb_per_s: coherent.others_mb_per_s,
            prefetcher,
            line_shift: shift(coherent.line),
            one_page_shift: shift(tlb.page),
            prefetched_region_shift: match description.prefetch.as_ref().map(|prefetch| prefetch.region) {
                None | Some(Bytes(0)) => shift(tlb.page),
                Some(region) => shift(region),
            },
            page_shift: shift(tlb.page) + tlb.pages_per_entry.trailing_zeros(),
            physical_shift: match tlb.large_page {
                Bytes(0) => shift(tlb.page) + tlb.pages_per_entry.trailing_zeros(),
                large => shift(large),
            },
            translation_miss: tlb.miss,
            translation_second: cycle * u64::from(tlb.second_hit_cycles),
            walkers: if tlb.refill == Refill::Walk { tlb.walkers as usize } else { 0 },
            translation_entries: [tlb.entries, tlb.second_entries].map(|entries| entries as usize),
        }
    }

    /// The times of the coherent level.
    #[inline]
    pub fn coherent(&self) -> &LevelTiming {
        &self.levels[self.outermost]
    }

    /// From the start of a line of data on the system bus, whose critical part takes `critical` and whose whole takes
    /// `line`, to the request of a dependent load at the pins, if that misses and nothing else happens.
    pub fn turnaround(&self, critical: Duration, line: Duration) -> Duration {
        let issued = critical + self.data_to_use + self.primary_hit;
        let checked = (1..=self.outermost).fold(issued, |ready, number| {
            let level = &self.levels[number];
            let free = match level.fill {
                Fill::WholeLine if number == self.outermost => ready.max(line + level.fill_write),
                Fill::WholeLine | Fill::PreemptibleBlocks => ready,
            };
            free.align_up(level.grid.period()) + level.tag_check + level.other_way
        });
        checked + self.miss_to_request
    }
}

impl LevelTiming {
    /// The times of no level.
    const NONE: Self = Self {
        hit: Duration::ZERO,
        tag_check: Duration::ZERO,
        tag_interval: Duration::ZERO,
        tag_interval_part: Duration::ZERO,
        cycle: Duration::ZERO,
        other_way: Duration::ZERO,
        grid: Grid::ANY,
        inner_writeback: Duration::ZERO,
        store: Duration::ZERO,
        line_read: Duration::ZERO,
        fill: Fill::PreemptibleBlocks,
        fill_blocks: 1,
        fill_write: Duration::ZERO,
    };

    /// The times of `level` in a processor of this `clock`.
    fn new(level: &CacheLevel, clock: Hertz) -> Self {
        let Some(port) = &level.port else { return Self::NONE };
        let (cycle, bus) = (clock.period(), port.clock.period());
        let is_primary = level.table == "l1";
        let interval = match port.tag_interval_cycles {
            0.0 => f64::from(port.tag_check_cycles),
            cycles => cycles,
        };
        Self {
            hit: if is_primary { Duration::ZERO } else { cycle * u64::from(level.hit_cycles) },
            tag_check: bus * u64::from(port.tag_check_cycles),
            tag_interval: bus * interval as u64,
            tag_interval_part: Duration((bus.0 as f64 * interval.fract()).round() as u64),
            cycle: bus,
            other_way: if port.way_prediction { bus * u64::from(port.way_miss_cycles) } else { Duration::ZERO },
            grid: Grid::new(if port.common_edge_start { common_edge(cycle, bus) } else { bus }),
            inner_writeback: bus * u64::from(port.inner_writeback_cycles),
            store: bus * u64::from(port.store_cycles),
            line_read: bus * (level.line.0 / port.width.0).max(1),
            fill: port.fill,
            fill_blocks: (level.line.0 / port.fill_block.0) as u32,
            fill_write: bus * u64::from(port.fill_write_cycles),
        }
    }
}

/// The cache of a level whose lines are `2^shift` primary blocks.
fn spec_of(description: &Description, level: &CacheLevel, shift: u32) -> LevelSpec {
    let (ways, replacement) = (level.ways as usize, level.replacement);
    let sets = (level.lines() / u64::from(level.ways)) as usize;
    LevelSpec {
        cache: CacheSpec { sets, ways, replacement, page_shift: description.scattered_page_shift(level.line) },
        shift,
        inclusion: level.inclusion,
        through: level.write == WritePolicy::Through,
        allocates: level.allocate_on_write_miss,
        keeps: level.keep_on_write_hit,
    }
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
