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

/// What a page of the region stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    /// Memory between pages that the program refers to.
    Gap,
    /// A page that the program refers to.
    Used,
    /// A page with words that threads synchronise by.
    Synchronising,
}

/// Where a word of the program lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number in the region.
    pub word: usize,
    /// Whether its page has words that threads synchronise by.
    pub synchronises: bool,
}

/// Where the memory of a recorded program lies on machines with pages and lines of one size.
#[derive(Debug)]
pub struct Layout {
    /// The binary logarithms of the bytes in a page, and in a line.
    page_shift: u32,
    line_shift: u32,
    chunks: Chunks,
    /// The pages of the region.
    pages: Vec<Page>,
}

impl Layout {
    /// The layout of `memory` on a machine of this shape.
    pub fn new(memory: &Memory, shape: &Shape) -> Self {
        let (page_shift, line_shift) = shifts(shape);
        let (mut pages, mut chunks): (Vec<Page>, Vec<(u64, usize)>) = Default::default();
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
                let chunk = page >> COLOUR_BITS;
                if chunks.last().is_none_or(|&(latest, _)| latest != chunk) {
                    chunks.push((chunk, (pages.len() as u64 & !(COLOURS - 1)) as usize * shape.page_words));
                }
                pages.push(Page::Used);
                before = Some(page);
            }
        }
        let mut layout = Self { page_shift, line_shift, chunks: Chunks::new(&chunks), pages };
        for (address, _) in &memory.changes {
            if let Some(page) = layout.page(address >> page_shift) {
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
        (address >> self.page_shift..end).filter_map(|number| self.page(number))
    }

    /// The page of the region that stands for page `number` of the program, if that refers to it.
    fn page(&self, number: u64) -> Option<usize> {
        let first = self.chunks.find(number >> COLOUR_BITS)? >> self.page_word_shift();
        let page = first + (number % COLOURS) as usize;
        self.pages.get(page).is_some_and(|&page| page != Page::Gap).then_some(page)
    }

    /// The binary logarithm of the words in a page.
    #[inline]
    fn page_word_shift(&self) -> u32 {
        self.page_shift - WORD.ilog2()
    }

    /// The place of the word at `address`.
    #[inline]
    pub fn place(&self, address: u64) -> Place {
        let chunk_shift = self.page_shift + COLOUR_BITS;
        if let Some(first) = self.chunks.find(address >> chunk_shift) {
            let word = first + ((address & ((1 << chunk_shift) - 1)) / WORD) as usize;
            if let Some(&page @ (Page::Used | Page::Synchronising)) = self.pages.get(word >> self.page_word_shift()) {
                return Place { word, synchronises: page == Page::Synchronising };
            }
        }
        self.elsewhere(address)
    }

    /// The place of a word that no summary told of, as only a damaged trace has them: in the first page.
    #[cold]
    fn elsewhere(&self, address: u64) -> Place {
        Place { word: ((address & ((1 << self.page_shift) - 1)) / WORD) as usize, synchronises: false }
    }

    /// The lines behind the first one that an access to `bytes` bytes at `address` reaches into, by their first bytes.
    #[inline]
    pub fn further_lines(&self, address: u64, bytes: u8) -> Option<impl Iterator<Item = u64> + use<>> {
        let (shift, line) = (self.line_shift, 1 << self.line_shift);
        let reaches = (address & (line - 1)) + u64::from(bytes) > line;
        let last = address.saturating_add(u64::from(bytes).saturating_sub(1));
        reaches.then(|| ((address >> shift) + 1..=last >> shift).map(move |number| number << shift))
    }
}

/// The binary logarithms of the bytes in a page and in a line, both of which are powers of two.
fn shifts(shape: &Shape) -> (u32, u32) {
    let shift = |words: usize| (words as u64 * WORD).ilog2();
    (shift(shape.page_words), shift(shape.line_words))
}

/// By number of a chunk, its first word in the region: a hash table that is looked into at every reference.
///
/// Numbers are spread by multiplication (Knuth, "The Art of Computer Programming", volume 3, 6.4), and looked for from there on
/// until a free slot. At most a quarter of the slots is taken, so that almost every chunk is in the first one looked at.
#[derive(Debug)]
struct Chunks {
    /// Numbers of chunks and their first words: a power of two of them.
    slots: Vec<(u64, usize)>,
    /// The bits of a product that are not part of the number of a slot.
    shift: u32,
}

impl Chunks {
    /// The number of a free slot; no chunk has it, as each is of several bytes.
    const FREE: u64 = u64::MAX;
    /// 2^64 divided by the golden ratio.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new(chunks: &[(u64, usize)]) -> Self {
        let count = (4 * chunks.len()).next_power_of_two().max(4);
        let mut table = Self { slots: vec![(Self::FREE, 0); count], shift: u64::BITS - count.ilog2() };
        for &(chunk, word) in chunks {
            let slot = table.slot(chunk);
            table.slots[slot] = (chunk, word);
        }
        table
    }

    /// The slot of a chunk, or a free one if it has none.
    #[inline]
    fn slot(&self, chunk: u64) -> usize {
        let mut slot = (chunk.wrapping_mul(Self::SPREAD) >> self.shift) as usize;
        while self.slots[slot].0 != chunk && self.slots[slot].0 != Self::FREE {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    #[inline]
    fn find(&self, chunk: u64) -> Option<usize> {
        let (found, word) = self.slots[self.slot(chunk)];
        (found == chunk).then_some(word)
    }
}
