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
    /// By hash of a page number, the list of the entries with such numbers: a power of two of lists, each with the entry found last at
    /// its head.
    heads: Box<[u16]>,
    /// By entry, the next of its list.
    next: Box<[u16]>,
    filled: usize,
}

/// The end of a list of entries.
const END: u16 = u16::MAX;

// The number of an entry is not that of the end of a list.
const _: () = assert!(MOST_TRANSLATIONS <= END as u32);

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
    /// Lists of a small buffer; a large one has four for each entry.
    const LEAST_LISTS: usize = 256;

    fn new(entries: usize) -> Self {
        let lists = (4 * entries).next_power_of_two().max(Self::LEAST_LISTS);
        Self {
            entries: vec![NONE; entries],
            heads: vec![END; lists].into(),
            next: vec![END; entries].into(),
            filled: 0,
        }
    }

    /// Whether the buffer has this page number; if not, loads it.
    #[inline]
    fn access(&mut self, page: u64, random: &mut Xoshiro256PlusPlus) -> bool {
        let head = usize::from(self.heads[self.list_of(page)]);
        if self.entries.get(head) == Some(&page) {
            return true;
        }
        self.search(page, random)
    }

    #[inline]
    fn list_of(&self, page: u64) -> usize {
        page as usize & (self.heads.len() - 1)
    }

    fn remove(&mut self, page: u64) {
        if let Some(entry) = self.unlink(page) {
            self.entries[entry] = NONE;
        }
    }

    fn clear(&mut self) {
        self.entries.fill(NONE);
        self.heads.fill(END);
        self.filled = 0;
    }

    #[cold]
    fn search(&mut self, page: u64, random: &mut Xoshiro256PlusPlus) -> bool {
        let found = self.unlink(page);
        let entry = found.unwrap_or_else(|| self.replace(random));
        self.entries[entry] = page;
        let list = self.list_of(page);
        self.next[entry] = std::mem::replace(&mut self.heads[list], entry as u16);
        found.is_some()
    }

    /// An entry for another page, in no list.
    fn replace(&mut self, random: &mut Xoshiro256PlusPlus) -> usize {
        if self.filled < self.entries.len() {
            self.filled += 1;
            return self.filled - 1;
        }
        let entry = random.next_u32() as usize % self.entries.len();
        self.unlink(self.entries[entry]);
        entry
    }

    /// Takes the entry of a page out of its list. Returns it, if there is one.
    fn unlink(&mut self, page: u64) -> Option<usize> {
        let list = self.list_of(page);
        let (mut before, mut entry) = (None, self.heads[list]);
        while entry != END {
            let (at, next) = (usize::from(entry), self.next[usize::from(entry)]);
            if self.entries[at] == page {
                match before {
                    None => self.heads[list] = next,
                    Some(before) => self.next[before] = next,
                }
                return Some(at);
            }
            (before, entry) = (Some(at), next);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    proptest! {
        /// Lists find what a look at every entry would.
        #[test]
        fn a_level_is_a_set_of_entries(steps in prop::collection::vec((0u64..12, 0u8..20), 1..400)) {
            let mut random = [1, 1].map(Xoshiro256PlusPlus::seed_from_u64);
            let (mut level, mut model) = (Level::new(6), Vec::new());
            for (number, step) in steps {
                // Half of the pages share a list.
                let page = if number % 2 == 0 { number * 256 } else { number };
                match step {
                    0 => (level.clear(), model.clear()).0,
                    1 => {
                        level.remove(page);
                        model.iter_mut().filter(|entry| **entry == page).for_each(|entry| *entry = NONE);
                    }
                    _ => {
                        let found = model.contains(&page);
                        if !found && model.len() < 6 {
                            model.push(page);
                        } else if !found {
                            model[random[1].next_u32() as usize % 6] = page;
                        }
                        prop_assert_eq!(level.access(page, &mut random[0]), found);
                    }
                }
                prop_assert_eq!(&level.entries[..level.filled], &model[..]);
            }
        }
    }

    #[test]
    fn a_level_holds_as_many_pages_as_it_has_entries() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut level = Level::new(64);
        for page in 0..64 {
            assert!(!level.access(page, &mut random));
        }
        assert!((0..64).all(|page| level.access(page, &mut random)));
        // Pages 256 apart share a list.
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
