//! Outstanding misses and writebacks: the processor's side of the coherency request buffer.

use protocol::{CacheLine, Mesi};
use units::{LineAddr, Time};

use super::cache::Slot;
use super::{Processor, Wait};

/// Number of an outstanding miss of a processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MissId(pub u8);

impl MissId {
    /// More misses than any processor here has outstanding.
    pub const CAPACITY: usize = 8;
}

/// An outstanding miss.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// The line.
    pub line: LineAddr,
    /// Its state in the protocol, which counts until the line is placed in the cache.
    pub cache: CacheLine,
    /// The primary block that is wanted.
    pub block: u64,
    /// The place kept for it in the secondary cache.
    pub(super) slot: Slot,
    /// Number of the instruction that missed.
    pub(super) instruction: u64,
    /// Whether it is an upgrade: the processor still has a shared copy.
    pub(super) upgrade: bool,
    /// Whether it is for a store or a write prefetch.
    pub(super) writes: bool,
    /// When the wanted value is there, once that is known.
    pub value_at: Option<Time>,
    /// When the end of the line will be in the cache, once that is known.
    pub fill_end: Time,
}

/// A line on its way to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writeback {
    pub(super) line: LineAddr,
    pub(super) cache: CacheLine,
}

impl Processor {
    /// The outstanding miss on `line`.
    #[inline]
    pub fn miss_on(&self, line: LineAddr) -> Option<MissId> {
        let number = self.misses.iter().position(|miss| miss.as_ref().is_some_and(|miss| miss.line == line))?;
        Some(MissId(number as u8))
    }

    /// An outstanding miss.
    #[inline]
    pub fn miss(&self, id: MissId) -> Option<&Miss> {
        self.misses[usize::from(id.0)].as_ref()
    }

    #[inline]
    pub(super) fn miss_mut(&mut self, id: MissId) -> Option<&mut Miss> {
        self.misses[usize::from(id.0)].as_mut()
    }

    /// A free entry for a miss, one for a store if `writes`, an upgrade if `upgrade`, or what to wait for.
    #[inline]
    pub(super) fn free_miss(&self, writes: bool, upgrade: bool) -> Result<MissId, Wait> {
        let count = |kind: fn(&Miss) -> bool| self.misses.iter().flatten().filter(|miss| kind(miss)).count();
        let stores_full = writes && count(|miss| miss.writes) >= self.timing.stores;
        let upgrades_full = upgrade && count(|miss| miss.upgrade) >= self.timing.upgrades;
        if stores_full || upgrades_full {
            return Err(Wait::AnyMiss);
        }
        let free = self.misses[..self.timing.misses].iter().position(Option::is_none);
        free.map(|number| MissId(number as u8)).ok_or(Wait::AnyMiss)
    }

    /// The oldest miss that instruction number `issued` may not overtake by the whole window.
    #[inline]
    pub(super) fn window_full(&self) -> Option<MissId> {
        let oldest = self.misses.iter().enumerate().filter_map(|(number, miss)| Some((miss.as_ref()?, number)));
        let (miss, number) = oldest.min_by_key(|(miss, _)| miss.instruction)?;
        (self.issued - miss.instruction >= self.timing.window).then_some(MissId(number as u8))
    }

    /// The value that miss `id` brings is there at `at`.
    pub fn set_value(&mut self, id: MissId, at: Time) {
        if self.value_from == Some(id) {
            self.value_from = None;
            self.value_at = at + self.work_after_value;
        }
        if let Some(miss) = self.miss_mut(id) {
            miss.value_at = Some(at);
        }
    }

    /// The wanted block of miss `id` enters the primary cache at `now`; a modified block that leaves for it is booked on
    /// the secondary cache bus.
    pub fn fill_primary(&mut self, id: MissId, now: Time) {
        let Some(&Miss { block, cache, fill_end, line, .. }) = self.miss(id) else { return };
        if cache.state == Mesi::Invalid {
            return;
        }
        if let Some(victim) = self.primary.fill(block, cache.state) {
            debug_assert_ne!(self.line_of_block(victim), line, "a line's own blocks do not displace each other");
            self.bus.book_primary_writeback(now, fill_end, &self.timing);
        }
    }

    /// Miss `id` is over: the line takes its place in the secondary cache, in the state in which the protocol left it.
    pub fn close_miss(&mut self, id: MissId) -> Option<Miss> {
        let miss = self.misses[usize::from(id.0)].take()?;
        self.secondary.place(miss.slot, miss.line, miss.cache.state, miss.cache.version);
        Some(miss)
    }

    #[inline]
    pub(super) fn line_of_block(&self, block: u64) -> LineAddr {
        LineAddr(block >> (self.timing.line_shift - self.timing.block_shift))
    }
}
