//! The cache of a device for lines of other nodes, by its tags. Contents and rights are the protocol's, line by line.

use machine::description::{ClusterSpec, Description, DeviceCache, Replacement};
use protocol::snoop::Rights;
use protocol::{CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use units::LineAddr;

use crate::map::LineMap;
use crate::part::{Cache, CacheSpec, Slot};

/// The frames of a device's cache.
pub(super) struct Frames {
    kind: DeviceCache,
    tags: Cache,
    sets: u64,
    /// Sets from the first one of a home's memory to that of the next home.
    apart: u64,
    lines: LineMap,
    random: Xoshiro256PlusPlus,
}

impl Frames {
    pub(super) fn new(description: &Description, spec: &ClusterSpec, lines: LineMap, nodes: usize, seed: u64) -> Self {
        let sets = match spec.cache {
            DeviceCache::Infinite => 1,
            DeviceCache::Inclusive | DeviceCache::WriteInclusive | DeviceCache::RemoteAccess => {
                spec.cache_size.0 / (lines.line().0 * u64::from(spec.cache_ways))
            }
        };
        let ways = spec.cache_ways as usize;
        let page_shift = description.scattered_page_shift(lines.line());
        let tags = Cache::of_tags(&CacheSpec {
            sets: sets as usize,
            ways,
            replacement: Replacement::LeastRecentlyUsed,
            page_shift,
        });
        let apart = if page_shift == 0 { (sets / nodes as u64).max(1) } else { 0 };
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { kind: spec.cache, tags, sets, apart, lines, random }
    }

    /// Whether it is DASH's, which keeps the lines of replies and those that a cache of the node shares.
    pub(super) fn is_remote_access(&self) -> bool {
        self.kind == DeviceCache::RemoteAccess
    }

    /// Whether it is a block cache, of which every line that is requested for the node gets a frame.
    pub(super) fn is_block_cache(&self) -> bool {
        matches!(self.kind, DeviceCache::Inclusive | DeviceCache::WriteInclusive)
    }

    /// Whether a line of which the node has these rights must have a frame as long as a cache of the node holds it.
    pub(super) fn includes(&self, rights: Rights) -> bool {
        match self.kind {
            DeviceCache::Inclusive => true,
            DeviceCache::WriteInclusive => rights == Rights::Write,
            DeviceCache::Infinite | DeviceCache::RemoteAccess => false,
        }
    }

    /// Whether caches of the node may hold lines that this one does not.
    pub(super) fn may_lack_lines(&self) -> bool {
        matches!(self.kind, DeviceCache::WriteInclusive | DeviceCache::RemoteAccess)
    }

    /// The name of a line in the tags. Where frames of pages follow each other, memories of different homes start at different sets,
    /// as an operating system would spread a program's pages; by physical address alone, the first pages of all nodes would share
    /// the first sets.
    fn name(&self, line: LineAddr) -> u64 {
        let start = u64::from(self.lines.home(line).0) * self.apart;
        line.0 & !(self.sets - 1) | (line.0 + start) & (self.sets - 1)
    }

    /// The line of a name.
    fn line(&self, name: u64) -> LineAddr {
        let start = u64::from(self.lines.home(LineAddr(name)).0) * self.apart;
        LineAddr(name & !(self.sets - 1) | name.wrapping_sub(start) & (self.sets - 1))
    }

    /// Whether the line has a frame.
    pub(super) fn holds(&self, line: LineAddr) -> bool {
        self.kind == DeviceCache::Infinite || self.tags.probe(self.name(line)).is_some()
    }

    /// Whether the line has a frame, which becomes the most recently used one.
    pub(super) fn look_up(&mut self, line: LineAddr) -> bool {
        self.kind == DeviceCache::Infinite || self.tags.look_up(self.name(line)).is_some()
    }

    /// Gives the line a frame, never that of a line that `is_busy`. Returns the line that it replaces, if there is one.
    ///
    /// # Errors
    /// Every frame is busy: the line of one of them.
    pub(super) fn insert(
        &mut self,
        line: LineAddr,
        is_busy: impl Fn(LineAddr) -> bool,
    ) -> Result<Option<LineAddr>, LineAddr> {
        if self.kind == DeviceCache::Infinite {
            return Ok(None);
        }
        let name = self.name(line);
        let (mut busy, mut held) = ([None; CacheSpec::MOST_WAYS], line);
        for (place, slot) in busy.iter_mut().zip(self.tags.places(name)) {
            let occupant = self.tags.occupant(slot).map(|other| self.line(other));
            if let Some(other) = occupant.filter(|&other| is_busy(other)) {
                (*place, held) = (Some(slot), other);
            }
        }
        let reserved = |slot: Slot| busy.contains(&Some(slot));
        let victim = self.tags.fill(name, (CopyState::SHARED, Version(0)), reserved, &mut self.random).ok_or(held)?;
        Ok(victim.map(|victim| self.line(victim.line)))
    }

    /// Frees the line's frame.
    pub(super) fn remove(&mut self, line: LineAddr) {
        if self.kind != DeviceCache::Infinite
            && let Some(found) = self.tags.probe(self.name(line))
        {
            self.tags.empty(found.slot);
        }
    }
}
