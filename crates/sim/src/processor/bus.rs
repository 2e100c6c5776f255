//! The secondary cache bus: tag checks, hits, line fills, primary writebacks and line reads share it.

use machine::description::Fill;
use units::{Duration, Time};

use super::ProcessorTiming;

/// A stretch of time for which a line fill holds the bus.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Time,
    to: Time,
}

/// The bus between a processor and its secondary cache.
///
/// Accesses are served in order. Line fills take stretches of time that the system bus dictates: one for the whole line
/// on the R10000, one for each 32-byte block on the R12000, which can check tags in between (Prestor 2001, 4.2.3).
#[derive(Debug, Default)]
pub struct SecondaryBus {
    free_at: Time,
    fills: Vec<Window>,
}

impl SecondaryBus {
    /// When an access that is ready at `ready` can start: after those before it, between fills, at an edge of `grid`.
    pub fn start(&self, ready: Time, grid: Duration) -> Time {
        let mut start = ready.max(self.free_at).align_up(grid);
        // Windows are few and nearly sorted: look again until none is in the way.
        while let Some(window) = self.fills.iter().find(|window| window.from <= start && start < window.to) {
            start = window.to.align_up(grid);
        }
        start
    }

    /// Holds the bus for `length` from `start`.
    pub fn hold(&mut self, start: Time, length: Duration) {
        self.free_at = start + length;
    }

    /// Books the fill of a line whose data cross the system bus from `first` on, `line` long in all. `now` is the time
    /// of booking: windows that have passed are forgotten. Returns when the last of the line is in the cache.
    pub fn book_fill(&mut self, now: Time, first: Time, line: Duration, timing: &ProcessorTiming) -> Time {
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

    /// A modified primary block leaves for the secondary cache, to make room for one that will be there at `value`, with
    /// the line whose fill ends at `fill_end`. During the fill, the R10000 has it wait for the end and the R12000 lets it
    /// go between the blocks (Prestor 2001, 4.3.1); after the fill, it takes the bus when the value comes.
    pub fn book_primary_writeback(&mut self, value: Time, fill_end: Time, timing: &ProcessorTiming) {
        if fill_end <= value {
            self.fills.push(Window { from: value, to: value + timing.primary_writeback });
        } else if timing.fill == Fill::WholeLine
            && let Some(window) = self.fills.iter_mut().find(|window| window.to == fill_end)
        {
            window.to += timing.primary_writeback;
        }
    }
}
