//! Tag stores: the set-associative primary data cache and the off-chip secondary cache.

use protocol::{CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::LineAddr;

/// One tag: the line's address in the upper bits, the byte of its [`CopyState`] in the lowest eight. Zero is an empty way.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Tag(u64);

impl Tag {
    const STATE_BITS: u32 = u8::BITS;

    /// The tag of a line; an empty one if `state` is none.
    #[inline]
    fn new(line: u64, state: CopyState) -> Self {
        if state.is_valid() { Self(line << Self::STATE_BITS | u64::from(state.bits())) } else { Self(0) }
    }

    #[inline]
    fn line(self) -> u64 {
        self.0 >> Self::STATE_BITS
    }

    #[inline]
    fn state(self) -> CopyState {
        CopyState::from_bits(self.0 as u8)
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn matches(self, line: u64) -> bool {
        self.line() == line && !self.is_empty()
    }
}

/// The primary data cache: two ways, least recently used replacement, write-back (MIPS R10000 manual, section 4;
/// Prestor 2001, 4.1.1: 32-byte blocks). Its states mirror those of the secondary cache, which includes it.
pub struct PrimaryCache {
    tags: Vec<[Tag; 2]>,
    /// The way of each set that was used last.
    recent: Vec<u8>,
    set_mask: u64,
}

impl PrimaryCache {
    /// An empty cache of `sets` sets (a power of two) of two ways.
    pub fn new(sets: usize) -> Self {
        Self { tags: vec![[Tag::default(); 2]; sets], recent: vec![0; sets], set_mask: sets as u64 - 1 }
    }

    /// The state of `block` (an address divided by the block size); looking marks the way as recently used.
    #[inline]
    pub fn lookup(&mut self, block: u64) -> CopyState {
        let set = (block & self.set_mask) as usize;
        let ways = &self.tags[set];
        if ways[0].matches(block) {
            self.recent[set] = 0;
            ways[0].state()
        } else if ways[1].matches(block) {
            self.recent[set] = 1;
            ways[1].state()
        } else {
            CopyState::INVALID
        }
    }

    /// Brings `block` in and returns the block that had to leave, if that one was modified.
    pub fn fill(&mut self, block: u64, state: CopyState) -> Option<u64> {
        let set = (block & self.set_mask) as usize;
        let ways = &mut self.tags[set];
        let way = match ways.iter().position(|tag| tag.matches(block)) {
            Some(way) => way,
            None => ways.iter().position(|tag| tag.is_empty()).unwrap_or(1 - usize::from(self.recent[set])),
        };
        let victim = ways[way];
        ways[way] = Tag::new(block, state);
        self.recent[set] = way as u8;
        (victim.state().is_dirty() && victim.line() != block).then(|| victim.line())
    }

    /// Empties the way that [`PrimaryCache::fill`] will choose for `block`; returns whether a modified block stood there.
    pub fn make_room(&mut self, block: u64) -> bool {
        let set = (block & self.set_mask) as usize;
        let ways = &mut self.tags[set];
        if ways.iter().any(|tag| tag.matches(block) || tag.is_empty()) {
            return false;
        }
        std::mem::take(&mut ways[1 - usize::from(self.recent[set])]).state().is_dirty()
    }

    /// Changes the state of `block` if it is present; returns whether it was present and modified.
    pub fn set_state(&mut self, block: u64, state: CopyState) -> bool {
        let set = (block & self.set_mask) as usize;
        for tag in &mut self.tags[set] {
            if tag.matches(block) {
                let modified = tag.state().is_dirty();
                *tag = Tag::new(block, state);
                return modified;
            }
        }
        false
    }

    /// Empties the cache.
    pub fn clear(&mut self) {
        self.tags.fill([Tag::default(); 2]);
    }
}

/// Where a line sits in the secondary cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    set: u32,
    way: u8,
}

/// A line found in the secondary cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Where.
    pub slot: Slot,
    /// Its state, never [`CopyState::INVALID`].
    pub state: CopyState,
    /// Whether the way prediction (most recently used way first) was right, so that one tag access was enough.
    pub predicted: bool,
}

/// A line that is present, or was until it was displaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Victim {
    /// Which line.
    pub line: LineAddr,
    /// The state it was in.
    pub state: CopyState,
    /// The version of its data.
    pub version: Version,
}

/// The secondary cache: two ways, random replacement, way prediction by a bit a set that names the way used last
/// (Prestor 2001, 2.1 and 4.3.3).
pub struct SecondaryCache {
    /// The bits of the [`Tag`]s, and the contents of the [`Version`]s: plain numbers, which the host hands out zeroed
    /// without touching them.
    tags: Vec<[u64; 2]>,
    versions: Vec<[u32; 2]>,
    recent: Vec<u8>,
    set_mask: u64,
}

impl SecondaryCache {
    /// An empty cache of `sets` sets (a power of two) of two ways. Untouched sets take no memory.
    pub fn new(sets: usize) -> Self {
        Self {
            tags: vec![[0; 2]; sets],
            versions: vec![[0; 2]; sets],
            recent: vec![0; sets],
            set_mask: sets as u64 - 1,
        }
    }

    #[inline]
    fn set_of(&self, line: LineAddr) -> usize {
        (line.0 & self.set_mask) as usize
    }

    /// Looks for `line` without touching the way prediction.
    #[inline]
    pub fn probe(&self, line: LineAddr) -> Option<Found> {
        let set = self.set_of(line);
        let way = self.tags[set].iter().position(|&tag| Tag(tag).matches(line.0))?;
        Some(Found {
            slot: Slot { set: set as u32, way: way as u8 },
            state: Tag(self.tags[set][way]).state(),
            predicted: usize::from(self.recent[set]) == way,
        })
    }

    /// Looks for `line` on behalf of the processor: a hit makes its way the predicted one.
    #[inline]
    pub fn lookup(&mut self, line: LineAddr) -> Option<Found> {
        let found = self.probe(line)?;
        self.recent[found.slot.set as usize] = found.slot.way;
        Some(found)
    }

    /// Chooses the way in which `line` will be placed: an empty one, else one at random; never a `reserved` one.
    /// Empties it and returns the line that stood there. `None` if both ways are reserved.
    pub fn make_room(
        &mut self,
        line: LineAddr,
        reserved: impl Fn(Slot) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<(Slot, Option<Victim>)> {
        let set = self.set_of(line);
        let slot = |way: u8| Slot { set: set as u32, way };
        let empty = (0..2).find(|&way| self.tags[set][usize::from(way)] == 0 && !reserved(slot(way)));
        let way = match empty {
            Some(way) => way,
            None => {
                let first = (random.next_u32() & 1) as u8;
                [first, 1 - first].into_iter().find(|&way| !reserved(slot(way)))?
            }
        };
        let tag = Tag(std::mem::take(&mut self.tags[set][usize::from(way)]));
        let victim = (!tag.is_empty()).then(|| Victim {
            line: LineAddr(tag.line()),
            state: tag.state(),
            version: Version(self.versions[set][usize::from(way)]),
        });
        Some((slot(way), victim))
    }

    /// Whether two lines compete for the same places.
    pub fn shares_set(&self, one: LineAddr, other: LineAddr) -> bool {
        self.set_of(one) == self.set_of(other)
    }

    /// The places that `line` can have.
    pub fn places(&self, line: LineAddr) -> impl Iterator<Item = Slot> + use<> {
        let set = self.set_of(line) as u32;
        (0..2).map(move |way| Slot { set, way })
    }

    /// Nothing is in `slot` any more.
    pub fn empty(&mut self, slot: Slot) {
        self.tags[slot.set as usize][usize::from(slot.way)] = 0;
    }

    /// Places `line` in `slot`.
    pub fn place(&mut self, slot: Slot, line: LineAddr, state: CopyState, version: Version) {
        let set = slot.set as usize;
        self.tags[set][usize::from(slot.way)] = Tag::new(line.0, state).0;
        self.versions[set][usize::from(slot.way)] = version.0;
        self.recent[set] = slot.way;
    }

    /// The version of the data in `slot`.
    #[inline]
    pub fn version(&self, slot: Slot) -> Version {
        Version(self.versions[slot.set as usize][usize::from(slot.way)])
    }

    /// Changes state and version of the line in `slot`.
    #[inline]
    pub fn update(&mut self, slot: Slot, line: LineAddr, state: CopyState, version: Version) {
        let set = slot.set as usize;
        self.tags[set][usize::from(slot.way)] = Tag::new(line.0, state).0;
        self.versions[set][usize::from(slot.way)] = version.0;
    }

    /// All lines present, in the order of the sets.
    pub fn lines(&self) -> impl Iterator<Item = Victim> + '_ {
        let present = |(&tag, &version): (&u64, &u32)| {
            let tag = Tag(tag);
            (!tag.is_empty()).then(|| Victim {
                line: LineAddr(tag.line()),
                state: tag.state(),
                version: Version(version),
            })
        };
        self.tags
            .iter()
            .zip(&self.versions)
            .flat_map(move |(tags, versions)| tags.iter().zip(versions).filter_map(present))
    }

    /// Takes the first line out that is found from set `cursor` on, with the set it was in.
    pub fn take_from(&mut self, cursor: usize) -> Option<(Victim, usize)> {
        let sets = self.tags.iter_mut().zip(&self.versions).enumerate().skip(cursor);
        for (set, (ways, versions)) in sets {
            let Some(way) = ways.iter().position(|&tag| tag != 0) else { continue };
            let tag = Tag(std::mem::take(&mut ways[way]));
            let version = Version(versions[way]);
            return Some((Victim { line: LineAddr(tag.line()), state: tag.state(), version }, set));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn the_primary_cache_replaces_the_way_used_longest_ago() {
        let mut cache = PrimaryCache::new(4);
        assert_eq!(cache.fill(0, CopyState::MODIFIED), None);
        assert_eq!(cache.fill(4, CopyState::SHARED), None);
        assert_eq!(cache.lookup(0), CopyState::MODIFIED);
        assert_eq!(cache.fill(8, CopyState::SHARED), None, "block 4 leaves and was clean");
        assert_eq!(cache.lookup(4), CopyState::INVALID);
        assert_eq!(cache.lookup(8), CopyState::SHARED);
        assert_eq!(cache.fill(12, CopyState::SHARED), Some(0), "block 0 leaves and was modified");
    }

    #[test]
    fn the_secondary_cache_keeps_clear_of_reserved_ways() {
        let mut cache = SecondaryCache::new(2);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (first, none) = cache.make_room(LineAddr(0), |_| false, &mut random).unwrap();
        assert_eq!(none, None);
        cache.place(first, LineAddr(0), CopyState::MODIFIED, Version(7));
        let (second, _) = cache.make_room(LineAddr(2), |slot| slot == first, &mut random).unwrap();
        assert_ne!(first, second);
        assert!(cache.make_room(LineAddr(4), |_| true, &mut random).is_none());
        let (again, victim) = cache.make_room(LineAddr(4), |slot| slot == second, &mut random).unwrap();
        assert_eq!(again, first);
        assert_eq!(victim, Some(Victim { line: LineAddr(0), state: CopyState::MODIFIED, version: Version(7) }));
    }

    proptest! {
        /// Whatever is filled and looked up, the primary cache holds what two lists a set in order of use would.
        #[test]
        fn the_primary_cache_is_two_lists_in_order_of_use(steps in prop::collection::vec((0u64..32, any::<bool>()), 1..200)) {
            const SETS: u64 = 4;
            let mut cache = PrimaryCache::new(SETS as usize);
            let mut model = vec![Vec::<u64>::new(); SETS as usize];
            for (block, fill) in steps {
                let set = &mut model[(block % SETS) as usize];
                let known = set.iter().position(|&other| other == block);
                prop_assert_eq!(cache.lookup(block) != CopyState::INVALID, known.is_some());
                if let Some(at) = known {
                    set.remove(at);
                    set.push(block);
                } else if fill {
                    let victim = if set.len() == 2 { Some(set.remove(0)) } else { None };
                    set.push(block);
                    prop_assert_eq!(cache.fill(block, CopyState::MODIFIED), victim);
                }
            }
        }

        /// Whatever is placed, no line is lost but a victim that was named, and none is there twice.
        #[test]
        fn the_secondary_cache_loses_only_the_victims_it_names(lines in prop::collection::vec(0u64..64, 1..200), seed: u64) {
            let mut cache = SecondaryCache::new(8);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut model = std::collections::BTreeSet::new();
            for line in lines {
                if cache.lookup(LineAddr(line)).is_none() {
                    let (slot, victim) = cache.make_room(LineAddr(line), |_| false, &mut random).unwrap();
                    cache.place(slot, LineAddr(line), CopyState::SHARED, Version(line as u32));
                    model.insert(line);
                    if let Some(victim) = victim {
                        prop_assert!(model.remove(&victim.line.0));
                        prop_assert_eq!(victim.version, Version(victim.line.0 as u32));
                    }
                }
                let mut present: Vec<_> = cache.lines().map(|copy| copy.line.0).collect();
                present.sort_unstable();
                prop_assert!(present.iter().eq(&model));
            }
            let mut cursor = 0;
            while let Some((victim, set)) = cache.take_from(cursor) {
                prop_assert!(model.remove(&victim.line.0));
                cursor = set;
            }
            prop_assert!(model.is_empty());
        }
    }

    #[test]
    fn way_prediction_follows_the_last_use() {
        let mut cache = SecondaryCache::new(2);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for line in [0, 2] {
            let (slot, _) = cache.make_room(LineAddr(line), |_| false, &mut random).unwrap();
            cache.place(slot, LineAddr(line), CopyState::SHARED, Version(0));
        }
        assert!(!cache.lookup(LineAddr(0)).unwrap().predicted);
        assert!(cache.lookup(LineAddr(0)).unwrap().predicted);
        assert!(cache.probe(LineAddr(4)).is_none());
    }
}
