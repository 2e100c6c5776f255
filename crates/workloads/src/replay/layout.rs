//! Where the memory of a recorded program lies in the region that stands for it.
//!
//! Pages of the program follow each other in the region as they do in the program; of a gap between them only so much is left that
//! caches see no difference: each page keeps its number modulo [`COLOURS`]. So all pages of an aligned chunk of that many pages are
//! moved by the same distance, and a small table of chunks holds where everything is.

use references::{GRAIN, Memory};

use crate::program::Shape;

/// Bytes in a word.
const WORD: u64 = 8;
/// The binary logarithm of [`COLOURS`].
const COLOUR_BITS: u32 = 8;
/// Pages whose numbers differ by a multiple of this share their places in any cache here.
const COLOURS: u64 = 1 << COLOUR_BITS;

/// Contents of a page of the region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    /// Memory between pages that the program refers to.
    Gap,
    /// A page that the program refers to.
    Used,
    /// One with words that threads synchronise by.
    Synchronising,
}

/// Where the memory of a recorded program lies on machines with pages and lines of one size.
#[derive(Debug)]
pub struct Layout {
    /// The binary logarithms of the bytes in a page, and in a line.
    page_shift: u32,
    line_shift: u32,
    /// The bits of an address within a line.
    line_mask: u64,
    chunks: Chunks,
    /// The pages of the region.
    pages: Vec<Page>,
}

impl Layout {
    /// The layout of `memory` on a machine of this shape.
    pub fn new(memory: &Memory, shape: &Shape) -> Self {
        let (page_shift, line_shift) = shifts(shape);
        let (mut pages, mut chunks): (Vec<Page>, Vec<Chunk>) = Default::default();
        let mut before = None;
        for grains in &memory.grains {
            let (first, last) = (grains.start * GRAIN, (grains.end - 1) * GRAIN + (GRAIN - 1));
            for page in first >> page_shift..=last >> page_shift {
                if before == Some(page) {
                    continue;
                }
                if before.is_none_or(|before| before + 1 != page) {
                    let gap = page.wrapping_sub(pages.len() as u64) % COLOURS;
                    pages.resize(pages.len() + gap as usize, Page::Gap);
                }
                let (start, bytes, word) = (page << page_shift, 1 << page_shift, pages.len() * shape.page_words);
                match chunks.last_mut() {
                    Some(chunk) if chunk.start >> page_shift >> COLOUR_BITS == page >> COLOUR_BITS => {
                        chunk.bytes = start - chunk.start + bytes;
                    }
                    _ => chunks.push(Chunk { start, bytes, word }),
                }
                pages.push(Page::Used);
                before = Some(page);
            }
        }
        let (line_mask, chunks) = ((1 << line_shift) - 1, Chunks::new(&chunks, page_shift + COLOUR_BITS));
        let mut layout = Self { page_shift, line_shift, line_mask, chunks, pages };
        for &(address, _) in &memory.changes {
            if let Some(page) = layout.page(address) {
                layout.pages[page] = Page::Synchronising;
            }
        }
        layout
    }

    /// Whether it is that of a machine of this shape.
    pub fn is_of(&self, shape: &Shape) -> bool {
        (self.page_shift, self.line_shift) == shifts(shape)
    }

    /// How many pages the region has.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The pages of the region that stand for the program's memory of `bytes` bytes from `address` on.
    pub fn pages_of(&self, address: u64, bytes: u64) -> impl Iterator<Item = usize> {
        let end = address.saturating_add(bytes).div_ceil(1 << self.page_shift);
        (address >> self.page_shift..end).filter_map(|number| self.page(number << self.page_shift))
    }

    /// The page of the region that stands for the one of `address`, if the program refers to that.
    fn page(&self, address: u64) -> Option<usize> {
        let page = self.page_of(self.chunks.find(address)?.word(address));
        (self.pages[page] != Page::Gap).then_some(page)
    }

    #[inline]
    fn page_of(&self, word: usize) -> usize {
        word >> (self.page_shift - WORD.ilog2())
    }

    /// The word of the region that stands for the one at `address`. One that no summary told of, as only a damaged trace has them, is
    /// in the first page.
    #[inline]
    pub fn word(&self, address: u64) -> usize {
        match self.chunks.find(address) {
            Some(chunk) => chunk.word(address),
            None => ((address & ((1 << self.page_shift) - 1)) / WORD) as usize,
        }
    }

    /// Whether the page of a word of the region has words that threads synchronise by.
    #[inline]
    pub fn synchronises(&self, word: usize) -> bool {
        self.pages.get(self.page_of(word)) == Some(&Page::Synchronising)
    }

    /// The lines behind the first one that an access to `bytes` bytes at `address` reaches into, by their first bytes.
    #[inline]
    pub fn further_lines(&self, address: u64, bytes: u8) -> Option<impl Iterator<Item = u64> + use<>> {
        let shift = self.line_shift;
        let reaches = (address & self.line_mask) + u64::from(bytes) > self.line_mask + 1;
        let last = address.saturating_add(u64::from(bytes).saturating_sub(1));
        reaches.then(|| ((address >> shift) + 1..=last >> shift).map(move |number| number << shift))
    }
}

/// The binary logarithms of the bytes in a page and in a line, both of which are powers of two.
fn shifts(shape: &Shape) -> (u32, u32) {
    let shift = |words: usize| (words as u64 * WORD).ilog2();
    (shift(shape.page_words), shift(shape.line_words))
}

/// The pages of a chunk from the first to the last one that the program refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Chunk {
    /// The address of the first one.
    start: u64,
    /// Their length in bytes; 0 of a free slot.
    bytes: u64,
    /// The word of the region that stands for the first one of theirs.
    word: usize,
}

impl Chunk {
    const FREE: Self = Self { start: 0, bytes: 0, word: 0 };

    #[inline]
    fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.bytes
    }

    /// The word of the region that stands for the one at `address`, which it contains.
    #[inline]
    fn word(&self, address: u64) -> usize {
        self.word + ((address - self.start) / WORD) as usize
    }
}

/// Chunks by address: a hash table that is looked into at every reference.
///
/// The number of a chunk is spread by multiplication (Knuth, "The Art of Computer Programming", volume 3, 6.4); a chunk is there or in
/// the slots that follow, before a free one. At most a quarter of the slots is taken, so that almost all are in the first one.
#[derive(Debug)]
struct Chunks {
    /// A power of two of them.
    slots: Vec<Chunk>,
    /// The bits of a product that are not part of the number of a slot.
    spread_shift: u32,
    /// The binary logarithm of the bytes in a chunk.
    chunk_shift: u32,
}

impl Chunks {
    /// 2^64 divided by the golden ratio.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new(chunks: &[Chunk], chunk_shift: u32) -> Self {
        let count = (4 * chunks.len()).next_power_of_two().max(4);
        let (slots, spread_shift) = (vec![Chunk::FREE; count], u64::BITS - count.ilog2());
        let mut table = Self { slots, spread_shift, chunk_shift };
        for &chunk in chunks {
            let slot = table.slot(chunk.start);
            table.slots[slot] = chunk;
        }
        table
    }

    /// The slot where the search for the chunk of `address` begins.
    #[inline]
    fn first_slot(&self, address: u64) -> usize {
        ((address >> self.chunk_shift).wrapping_mul(Self::SPREAD) >> self.spread_shift) as usize
    }

    /// The slot of the chunk that `address` is in, or else a free one.
    fn slot(&self, address: u64) -> usize {
        let mut slot = self.first_slot(address);
        while !self.slots[slot].contains(address) && self.slots[slot].bytes > 0 {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    #[inline]
    fn find(&self, address: u64) -> Option<&Chunk> {
        let first = self.slots.get(self.first_slot(address));
        first.filter(|chunk| chunk.contains(address)).or_else(|| self.find_further(address))
    }

    #[cold]
    fn find_further(&self, address: u64) -> Option<&Chunk> {
        let chunk = &self.slots[self.slot(address)];
        chunk.contains(address).then_some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use units::NodeId;

    use super::*;
    use crate::random::Random;

    const PAGE_WORDS: usize = 2 * (GRAIN / WORD) as usize;
    const PAGE: u64 = 2 * GRAIN;

    fn layout(pages: &BTreeSet<u64>, changes: Vec<(u64, u32)>) -> Layout {
        let (line_words, page_words, locks) = (4, PAGE_WORDS, Default::default());
        let shape = Shape { homes: vec![NodeId(0)], nodes: 1, line_words, page_words, seed: 0, locks };
        // The second grain of each page.
        let grains = pages.iter().map(|page| 2 * page + 1..2 * page + 2).collect();
        Layout::new(&Memory { grains, changes }, &shape)
    }

    /// The rule, page by page: what is together stays together, and a gap is closed to less than the colours.
    fn expected(pages: &BTreeSet<u64>) -> BTreeMap<u64, usize> {
        let (mut places, mut next) = (BTreeMap::new(), 0_u64);
        for &page in pages {
            while next % COLOURS != page % COLOURS {
                next += 1;
            }
            places.insert(page, next as usize);
            next += 1;
        }
        places
    }

    /// Runs of pages: near each other, anywhere, and at the end of the address space.
    fn any_pages(seed: u64) -> BTreeSet<u64> {
        let mut random = Random::new(seed, 0);
        let mut run = |_| {
            let start = match random.below(3) {
                0 => random.below(2000),
                1 => random.below(1 << 50),
                _ => (1 << 53) - 40,
            };
            start as u64..(start + 1 + random.below(40)) as u64
        };
        (0..1 + seed % 60).flat_map(&mut run).collect()
    }

    #[test]
    fn every_page_keeps_its_colour_and_its_neighbours() {
        for pages in (0..200).map(any_pages) {
            let (layout, expected) = (layout(&pages, Vec::new()), expected(&pages));
            for (page, place) in &expected {
                assert_eq!(layout.word(page * PAGE + 24), place * PAGE_WORDS + 3);
                assert_eq!(layout.pages_of(page * PAGE + PAGE / 2, 1).collect::<Vec<_>>(), [*place]);
            }
            assert_eq!(Some(layout.pages()), expected.values().max().map(|last| last + 1));
        }
    }

    #[test]
    fn what_is_not_referred_to_has_no_page() {
        for pages in (0..200).map(any_pages) {
            let layout = layout(&pages, Vec::new());
            for other in 0..2100 {
                assert_eq!(layout.pages_of(other * PAGE, 1).count(), usize::from(pages.contains(&other)));
                assert!(layout.word(other * PAGE) < layout.pages() * PAGE_WORDS);
            }
        }
    }

    /// The first page of the second chunk has the colour of one that the first chunk refers to, and stands for nothing.
    #[test]
    fn pages_of_chunks_that_overlap_in_the_region_are_told_apart() {
        let layout = layout(&BTreeSet::from([2, 3, 10 * COLOURS + 5]), vec![(3 * PAGE + 8, 1)]);
        assert_eq!(layout.pages(), 6);
        assert_eq!(layout.pages_of(10 * COLOURS * PAGE, COLOURS * PAGE).collect::<Vec<_>>(), [5]);
        let synchronising: Vec<usize> = (0..6).filter(|page| layout.synchronises(page * PAGE_WORDS)).collect();
        assert_eq!(synchronising, [3]);
    }

    #[test]
    fn an_access_reaches_into_the_lines_that_it_has_bytes_in() {
        let layout = layout(&BTreeSet::from([0]), Vec::new());
        let lines = |address, bytes| layout.further_lines(address, bytes).map(Iterator::collect::<Vec<_>>);
        assert_eq!(lines(32, 32), None);
        assert_eq!(lines(63, 0), None);
        assert_eq!(lines(63, 1), None);
        assert_eq!(lines(63, 2), Some(vec![64]));
        assert_eq!(lines(40, 100), Some(vec![64, 96, 128]));
        assert_eq!(lines(u64::MAX, 8), Some(Vec::new()), "the address space ends");
    }
}
