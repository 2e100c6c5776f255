//! The bus of a cache level, shared by tag checks, hits, line fills, writebacks of the level inside and line reads.

use engine::Grid;
use machine::description::Fill;
use units::{Duration, Time};

use super::timing::LevelTiming;

/// An interval in which a line fill occupies the bus.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Time,
    to: Time,
}

/// The bus between a cache level and the level inside it, or the system port of a primary cache without others.
///
/// Accesses are served in order. Line fills occupy intervals that the system bus determines: one for the whole line on
/// the R10000, one for each 32-byte block on the R12000, which can check tags in between (Prestor 2001, 4.2.3).
#[derive(Debug, Default)]
pub struct CacheBus {
    free_at: Time,
    fills: Vec<Window>,
    /// The part of a cycle by which intervals between tag checks were too short so far, as they end at edges of the clock.
    owed: Duration,
}

impl CacheBus {
    /// The start of an access that is ready at `ready`: after earlier accesses, between fills, at an edge of `grid`.
    pub fn start(&self, ready: Time, grid: Grid) -> Time {
        let mut start = grid.edge(ready.max(self.free_at));
        // Windows are few and nearly sorted, so the search repeats until none overlaps.
        while let Some(window) = self.fills.iter().find(|window| window.from <= start && start < window.to) {
            start = grid.edge(window.to);
        }
        start
    }

    /// Occupies the bus from `start` on by a tag check of `level` and by what takes `longer`. Intervals between tag checks are whole
    /// cycles; their mean is that of the level where accesses start at each edge of its clock.
    pub fn hold(&mut self, start: Time, level: &LevelTiming, longer: Duration) {
        let mut interval = level.tag_interval;
        self.owed += level.tag_interval_part;
        if self.owed >= level.cycle {
            self.owed -= level.cycle;
            interval += level.cycle;
        }
        self.free_at = start + interval + longer;
    }

    /// Occupies the bus for `length` from `start`, for a line that is read out.
    pub fn hold_read(&mut self, start: Time, length: Duration) {
        self.free_at = start + length;
    }

    /// Reserves the fill of a line whose data cross the system bus from `first` on, for `line` in all. Windows that end
    /// before `now` are dropped. Returns when the end of the line is in the cache.
    pub fn book_fill(&mut self, now: Time, first: Time, line: Duration, timing: &LevelTiming) -> Time {
        self.fills.retain(|window| window.to > now);
        match timing.fill {
            Fill::WholeLine => {
                let end = first + line + timing.fill_write;
                self.fills.push(Window { from: first, to: end });
                end
            }
            Fill::PreemptibleBlocks => {
                let block = line / u64::from(timing.fill_blocks);
                let mut end = first;
                for number in 1..=u64::from(timing.fill_blocks) {
                    let from = first + block * number;
                    end = from + timing.fill_write;
                    self.fills.push(Window { from, to: end });
                }
                end
            }
        }
    }

    /// Reserves the bus for `length` from `from` on. Windows that end before `now` are dropped.
    pub fn reserve(&mut self, now: Time, from: Time, length: Duration) {
        if length > Duration::ZERO {
            self.fills.retain(|window| window.to > now);
            self.fills.push(Window { from, to: from + length });
        }
    }

    /// Reserves the writeback of a modified block of the level inside that makes room for one available at `value`, from the line
    /// whose fill ends at `fill_end`. During the fill, the R10000 delays it to the end and the R12000 interleaves it
    /// with the blocks (Prestor 2001, 4.3.1); after the fill, it takes the bus when the value arrives.
    pub fn book_primary_writeback(&mut self, value: Time, fill_end: Time, timing: &LevelTiming) {
        if fill_end <= value {
            self.fills.push(Window { from: value, to: value + timing.inner_writeback });
        } else if timing.fill == Fill::WholeLine
            && let Some(window) = self.fills.iter_mut().find(|window| window.to == fill_end)
        {
            window.to += timing.inner_writeback;
        }
    }
}
