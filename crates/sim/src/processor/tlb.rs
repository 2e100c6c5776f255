//! The translation lookaside buffer: one level or two, each fully associative.

use machine::description::MOST_TRANSLATIONS;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// The levels of translation lookaside buffers that a reference searches.
pub struct Tlb {
    first: Level,
    second: Option<Level>,
    /// The number of the latest reference's small page.
    latest: u64,
}

/// Where a translation was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    First,
    Second,
    /// In no level: the translation is to be refilled.
    Nowhere,
}

/// A fully associative buffer of page numbers with random replacement, as the R10000's (64 entries, each for two
/// consecutive pages: Prestor 2001, 2.1).
struct Level {
    entries: Vec<u64>,
    /// A direct-mapped index, a power of two long, that finds most entries without searching.
    index: Box<[u16]>,
    filled: usize,
}

// An index slot has 16 bits for the entry number.
const _: () = assert!(MOST_TRANSLATIONS <= 1 << u16::BITS);

/// The page number of an empty entry; no page has it.
pub const NONE: u64 = u64::MAX;

impl Tlb {
    /// Empty buffers of `first` and `second` entries (at most [`MOST_TRANSLATIONS`] each); without a second level if it has none.
    pub fn new(first: usize, second: usize) -> Self {
        let second = (second > 0).then(|| Level::new(second));
        Self { first: Level::new(first), second, latest: NONE }
    }

    /// Whether the latest reference was to this small page.
    #[inline]
    pub fn is_latest(&self, page: u64) -> bool {
        page == self.latest
    }

    /// Exchanges the number of the latest reference's small page for that of another thread's.
    pub fn exchange_latest(&mut self, other: &mut u64) {
        std::mem::swap(&mut self.latest, other);
    }

    /// Looks up the entry `tag` (an address divided by the reach of an entry) for a reference to the small page `page`, and loads it
    /// into the levels that lack it.
    #[inline]
    pub fn access(&mut self, page: u64, tag: u64, random: &mut Xoshiro256PlusPlus) -> Found {
        self.latest = page;
        if self.first.access(tag, random) {
            return Found::First;
        }
        let second = self.second.as_mut().is_some_and(|second| second.access(tag, random));
        if second { Found::Second } else { Found::Nowhere }
    }

    /// Drops the entry `tag`, if there is one.
    pub fn remove(&mut self, tag: u64) {
        self.first.remove(tag);
        self.second.iter_mut().for_each(|second| second.remove(tag));
        self.latest = NONE;
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        self.first.clear();
        self.second.iter_mut().for_each(Level::clear);
        self.latest = NONE;
    }
}

impl Level {
    /// Index slots of a small buffer; a large one has four for each entry.
    const LEAST_SLOTS: usize = 256;

    fn new(entries: usize) -> Self {
        let slots = (4 * entries).next_power_of_two().max(Self::LEAST_SLOTS);
        Self { entries: vec![NONE; entries], index: vec![0; slots].into(), filled: 0 }
    }

    /// Whether the buffer has this page number; if not, loads it.
    #[inline]
    fn access(&mut self, page: u64, random: &mut Xoshiro256PlusPlus) -> bool {
        let hint = usize::from(self.index[self.slot_of(page)]);
        if self.entries[hint] == page {
            return true;
        }
        self.search(page, random)
    }

    #[inline]
    fn slot_of(&self, page: u64) -> usize {
        page as usize & (self.index.len() - 1)
    }

    fn remove(&mut self, page: u64) {
        if let Some(entry) = self.entries[..self.filled].iter_mut().find(|entry| **entry == page) {
            *entry = NONE;
        }
    }

    fn clear(&mut self) {
        self.entries.fill(NONE);
        self.filled = 0;
    }

    #[cold]
    fn search(&mut self, page: u64, random: &mut Xoshiro256PlusPlus) -> bool {
        let found = self.entries.iter().position(|&entry| entry == page);
        let slot = found.unwrap_or_else(|| {
            if self.filled < self.entries.len() {
                self.filled += 1;
                self.filled - 1
            } else {
                random.next_u32() as usize % self.entries.len()
            }
        });
        self.entries[slot] = page;
        let index = self.slot_of(page);
        self.index[index] = slot as u16;
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn a_level_holds_as_many_pages_as_it_has_entries() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut level = Level::new(64);
        for page in 0..64 {
            assert!(!level.access(page, &mut random));
        }
        // Pages 256 apart share an index slot: found by searching.
        assert!((0..64).all(|page| level.access(page, &mut random)));
        assert!(!level.access(256, &mut random), "a 65th page misses");
        assert!(level.access(256, &mut random));
        let misses = (0..64).filter(|&page| !level.access(page, &mut random)).count();
        assert!((1..=64).contains(&misses), "and took a place");
        level.remove(256);
        assert!(!level.access(256, &mut random), "it was dropped");
        level.clear();
        assert!(!level.access(0, &mut random));
    }

    #[test]
    fn the_second_level_has_what_the_first_dropped() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut tlb = Tlb::new(4, 64);
        let mut found = |tlb: &mut Tlb, page| tlb.access(page, page, &mut random);
        assert!((0..64).all(|page| found(&mut tlb, page) == Found::Nowhere));
        assert!(tlb.is_latest(63) && found(&mut tlb, 63) == Found::First);
        let second = (0..63).filter(|&page| found(&mut tlb, page) == Found::Second).count();
        assert!(second >= 59, "only four entries of the first level can hit: {second}");
        tlb.remove(63);
        assert_eq!(found(&mut tlb, 63), Found::Nowhere);
        tlb.clear();
        assert_eq!(found(&mut tlb, 0), Found::Nowhere);
        let mut single = Tlb::new(4, 0);
        assert!((0..9).all(|page| found(&mut single, page) == Found::Nowhere));
    }
}
