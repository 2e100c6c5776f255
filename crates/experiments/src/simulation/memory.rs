//! The memory that a simulated program shares: real values, and the virtual pages that they stand on.

use std::cell::RefCell;

use sim::{SimError, Simulator};
use units::{Bytes, NodeId, VirtualAddr};
use workloads::RegionPlan;

/// Bytes in a word.
pub const WORD: u64 = 8;

/// A region of shared memory.
pub struct SharedRegion {
    /// Where it begins in the program's address space.
    start: VirtualAddr,
    /// The simulator knows no values: they are kept here. All threads run on one host thread.
    words: RefCell<Vec<u64>>,
}

impl SharedRegion {
    /// A region as planned, all zero, on pages of `page` bytes.
    ///
    /// # Errors
    /// When a node that is asked for does not exist or has no room left.
    pub fn new(simulator: &mut Simulator, plan: &RegionPlan, page: Bytes) -> Result<Self, SimError> {
        let pages = |words: usize| (words as u64 * WORD).div_ceil(page.0) as usize;
        let parts = plan.parts.iter();
        let planned: Vec<_> = parts.flat_map(|part| std::iter::repeat_n(part.home, pages(part.words))).collect();
        let start = simulator.map(&planned)?;
        Ok(Self { start, words: RefCell::new(vec![0; plan.words()]) })
    }

    /// Where a word is in the program's address space.
    #[inline]
    pub fn at(&self, word: usize) -> VirtualAddr {
        self.start.offset(word as u64 * WORD)
    }

    /// The node of each of its pages of `page` bytes; `None` if nobody has touched it.
    pub fn homes(&self, simulator: &Simulator, page: Bytes) -> Vec<Option<NodeId>> {
        let bytes = self.words.borrow().len() as u64 * WORD;
        (0..bytes).step_by(page.0 as usize).map(|offset| simulator.home_of(self.start.offset(offset))).collect()
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
        let way = description.l2.size.0 / u64::from(description.l2.ways);
        for (number, start) in starts.iter().enumerate() {
            assert_eq!(start.0 % way, number as u64 * page.0 % way);
            assert_eq!(start.0 >> 32, u64::from(homes[number / 3].0));
            assert!(!starts[..number].contains(start));
        }
        assert_eq!(place(words / 3 + 5), starts[1].offset(40));
    }
}
