//! The memory that a simulated program shares: real values, and the virtual pages that they stand on.

use std::cell::RefCell;

use sim::{SimError, Simulator};
use units::{Bytes, NodeId, VirtualAddr};
use workloads::RegionPlan;

use crate::relocation::{Relocation, words_of};

/// Bytes in a word.
pub const WORD: u64 = 8;

/// A region of shared memory.
pub struct SharedRegion {
    /// Where it begins in the program's address space.
    start: VirtualAddr,
    /// The simulator knows no values: they are kept here. All threads run on one host thread.
    words: RefCell<Vec<u64>>,
    /// Words that have been put elsewhere, if any have.
    moved: Option<Moved>,
}

/// Words of a region that are not where their neighbours are.
pub struct Moved {
    /// Words in a line.
    line_words: usize,
    /// By line, where its words stand in `places`; zero if all are where they were.
    lines: Vec<u32>,
    /// Where words are, by line and word; line zero is nobody's.
    places: Vec<VirtualAddr>,
    start: VirtualAddr,
}

impl Moved {
    /// Nothing moved yet of a region with lines of so many bytes.
    pub fn of(region: &SharedRegion, line: Bytes) -> Self {
        let line_words = (line.0 / WORD) as usize;
        let lines = region.words.borrow().len().div_ceil(line_words);
        Self { line_words, lines: vec![0; lines], places: vec![VirtualAddr(0); line_words], start: region.start }
    }

    /// Puts some words of the line that begins `offset` bytes after the region's start into the line at `to`.
    pub fn put(&mut self, offset: u64, words: u32, to: VirtualAddr) {
        let line = offset as usize / WORD as usize / self.line_words;
        if self.lines[line] == 0 {
            self.lines[line] = (self.places.len() / self.line_words) as u32;
            let old = self.start.offset((line * self.line_words) as u64 * WORD);
            self.places.extend((0..self.line_words).map(|word| old.offset(word as u64 * WORD)));
        }
        let first = self.lines[line] as usize * self.line_words;
        for word in words_of(words).filter(|&word| word < self.line_words) {
            self.places[first + word] = to.offset(word as u64 * WORD);
        }
    }

    fn at(&self, word: usize) -> Option<VirtualAddr> {
        let line = self.lines[word / self.line_words] as usize;
        (line != 0).then(|| self.places[line * self.line_words + word % self.line_words])
    }
}

impl SharedRegion {
    /// A region as planned, all zero, on pages of `page` bytes.
    ///
    /// # Errors
    /// When a node that is asked for does not exist or has no room left.
    pub fn new(simulator: &mut Simulator, plan: &RegionPlan, page: Bytes) -> Result<Self, SimError> {
        Self::relocated(simulator, plan, page, &Relocation::default())
    }

    /// The same with pages where `relocation` says, if it says something of them.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn relocated(
        simulator: &mut Simulator,
        plan: &RegionPlan,
        page: Bytes,
        relocation: &Relocation,
    ) -> Result<Self, SimError> {
        let pages = |words: usize| (words as u64 * WORD).div_ceil(page.0) as usize;
        let parts = plan.parts.iter();
        let mut planned: Vec<_> = parts.flat_map(|part| std::iter::repeat_n(part.home, pages(part.words))).collect();
        if !relocation.is_none() {
            // Nothing is mapped: only where the next page will be is told.
            let start = simulator.map(&[])?;
            relocation.place(start.0, page, &mut planned);
        }
        let start = simulator.map(&planned)?;
        Ok(Self { start, words: RefCell::new(vec![0; plan.words()]), moved: None })
    }

    /// Some of its words are elsewhere from now on: to be said before anybody has referred to it.
    pub fn relocate(&mut self, moved: Moved) {
        self.moved = Some(moved);
    }

    /// How long it is, in bytes.
    pub fn bytes(&self) -> u64 {
        self.words.borrow().len() as u64 * WORD
    }

    /// Whether an address is in it.
    pub fn contains(&self, at: u64) -> bool {
        (self.start.0..self.start.0 + self.bytes()).contains(&at)
    }

    /// Where a word is in the program's address space.
    #[inline]
    pub fn at(&self, word: usize) -> VirtualAddr {
        let moved = self.moved.as_ref().and_then(|moved| moved.at(word));
        moved.unwrap_or_else(|| self.start.offset(word as u64 * WORD))
    }

    /// The node of each of its pages of `page` bytes; `None` if nobody has touched it.
    pub fn homes(&self, simulator: &Simulator, page: Bytes) -> Vec<Option<NodeId>> {
        (0..self.bytes()).step_by(page.0 as usize).map(|offset| simulator.home_of(self.start.offset(offset))).collect()
    }

    /// The value of a word.
    ///
    /// # Panics
    /// If the region ends before: the program's fault.
    #[inline]
    pub fn get(&self, word: usize) -> u64 {
        self.words.borrow()[word]
    }

    /// Gives a word a value.
    #[inline]
    pub fn set(&self, word: usize, value: u64) {
        self.words.borrow_mut()[word] = value;
    }
}

#[cfg(test)]
mod tests {
    use sim::Options;
    use workloads::Part;

    use super::*;

    /// Consecutive pages of a region fall into consecutive places of the cache, whichever nodes they are on, and no page is
    /// given twice.
    #[test]
    fn pages_are_coloured_by_their_number() {
        let description = machine::load("origin2000-r12k-300-8p").expect("a machine");
        let mut simulator = Simulator::new(&description, Options::default()).expect("it can be simulated");
        let page = description.tlb.page;
        let words = (3 * page.0 / WORD) as usize;
        let homes = [2, 0, 1, 2, 0].map(NodeId);
        let plan = RegionPlan { parts: homes.map(|home| Part { home: Some(home), words }).to_vec() };
        let region = SharedRegion::new(&mut simulator, &plan, page).expect("there is room");
        let place = |word| simulator.place_of(region.at(word)).expect("it was asked for");
        let starts: Vec<_> = (0..15).map(|number| place(number * words / 3)).collect();
        let way = description.coherent_cache().size.0 / u64::from(description.coherent_cache().ways);
        for (number, start) in starts.iter().enumerate() {
            assert_eq!(start.0 % way, number as u64 * page.0 % way);
            assert_eq!(start.0 >> 32, u64::from(homes[number / 3].0));
            assert!(!starts[..number].contains(start));
        }
        assert_eq!(place(words / 3 + 5), starts[1].offset(40));
    }
}
