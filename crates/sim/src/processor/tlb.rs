//! The translation lookaside buffer: fully associative, refilled by software.

use machine::description::MOST_TRANSLATIONS;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// A fully associative buffer of page numbers with random replacement, as the R10000's (64 entries, each for two
/// consecutive pages: Prestor 2001, 2.1).
pub struct Tlb {
    entries: Vec<u64>,
    /// A direct-mapped index, a power of two long, that finds most entries without searching.
    index: Box<[u16]>,
    filled: usize,
    last: u64,
}

// An index slot has 16 bits for the entry number.
const _: () = assert!(MOST_TRANSLATIONS <= 1 << u16::BITS);

/// The page number of an empty entry; no page has it.
const NONE: u64 = u64::MAX;

impl Tlb {
    /// Index slots of a small buffer; a large one has four for each entry.
    const LEAST_SLOTS: usize = 256;

    /// An empty buffer of `entries` entries (at most [`MOST_TRANSLATIONS`]).
    pub fn new(entries: usize) -> Self {
        let slots = (4 * entries).next_power_of_two().max(Self::LEAST_SLOTS);
        Self { entries: vec![NONE; entries], index: vec![0; slots].into(), filled: 0, last: NONE }
    }

    /// Whether the latest access was to this page number.
    #[inline]
    pub fn is_latest(&self, page: u64) -> bool {
        page == self.last
    }

    /// Looks up a page number (an address divided by the reach of an entry). Returns `false` on a miss, after loading
    /// the entry.
    #[inline]
    pub fn access(&mut self, page: u64, random: &mut Xoshiro256PlusPlus) -> bool {
        self.last = page;
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

    /// Drops the entry of a page number, if there is one.
    pub fn remove(&mut self, page: u64) {
        if let Some(entry) = self.entries[..self.filled].iter_mut().find(|entry| **entry == page) {
            *entry = NONE;
        }
        self.last = NONE;
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        self.entries.fill(NONE);
        self.filled = 0;
        self.last = NONE;
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
    fn holds_as_many_pages_as_it_has_entries() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut tlb = Tlb::new(64);
        for page in 0..64 {
            assert!(!tlb.access(page, &mut random));
        }
        // Pages 256 apart share an index slot: found by searching.
        assert!((0..64).all(|page| tlb.access(page, &mut random)));
        assert!(!tlb.access(256, &mut random), "a 65th page misses");
        assert!(tlb.access(256, &mut random));
        let misses = (0..64).filter(|&page| !tlb.access(page, &mut random)).count();
        assert!((1..=64).contains(&misses), "and took a place");
        tlb.remove(256);
        assert!(!tlb.access(256, &mut random), "it was dropped");
        tlb.clear();
        assert!(!tlb.access(0, &mut random));
    }
}
