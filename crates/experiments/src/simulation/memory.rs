//! The memory that a simulated program shares: real values, and the simulated pages that they stand on.

use std::cell::RefCell;
use std::collections::BTreeMap;

use machine::Description;
use sim::{SimError, Simulator};
use units::{Bytes, NodeId, PhysicalAddr};
use workloads::RegionPlan;

/// Bytes in a word.
pub const WORD: u64 = 8;

/// A region of shared memory.
pub struct SharedRegion {
    /// Where each of its pages is.
    pages: Vec<PhysicalAddr>,
    page_shift: u32,
    /// The simulator knows no values: they are kept here. All threads run on one host thread.
    words: RefCell<Vec<u64>>,
}

impl SharedRegion {
    /// Where a word is in simulated memory.
    ///
    /// # Panics
    /// If the region ends before: the program's fault.
    #[inline]
    pub fn at(&self, word: usize) -> PhysicalAddr {
        let offset = word as u64 * WORD;
        self.pages[(offset >> self.page_shift) as usize].offset(offset & ((1 << self.page_shift) - 1))
    }

    /// The value of a word.
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

/// Hands out pages whose place in the secondary cache follows from their number, as IRIX colours pages: memory of several
/// nodes would otherwise compete for the same sets, since every node's begins at the same place.
pub struct Pages {
    page: Bytes,
    /// How many pages one way of the secondary cache holds.
    colours: u64,
    /// Pages that were passed over.
    spare: BTreeMap<(NodeId, u64), Vec<PhysicalAddr>>,
    /// The colour of the next page.
    next: u64,
}

impl Pages {
    /// The pages of a machine, all free.
    pub fn new(description: &Description) -> Self {
        let page = description.tlb.page;
        let colours = description.l2.size.0 / u64::from(description.l2.ways) / page.0;
        Self { page, colours: colours.max(1), spare: BTreeMap::new(), next: 0 }
    }

    /// What may remain unused of a node's memory for the sake of colours.
    pub fn slack(&self) -> Bytes {
        Bytes(self.colours * self.page.0)
    }

    /// A region as planned, all zero.
    ///
    /// # Errors
    /// When a node does not exist or has no room left.
    pub fn region(&mut self, simulator: &mut Simulator, plan: &RegionPlan) -> Result<SharedRegion, SimError> {
        let mut pages = Vec::new();
        for part in &plan.parts {
            for _ in 0..(part.words as u64 * WORD).div_ceil(self.page.0) {
                // What is not placed goes round the nodes.
                let nodes = simulator.topology().nodes().len() as u64;
                let home = part.home.unwrap_or(NodeId((self.next % nodes) as u16));
                pages.push(self.page(simulator, home)?);
            }
        }
        let words = RefCell::new(vec![0; plan.words()]);
        Ok(SharedRegion { pages, page_shift: self.page.0.trailing_zeros(), words })
    }

    fn page(&mut self, simulator: &mut Simulator, home: NodeId) -> Result<PhysicalAddr, SimError> {
        let colour = self.next % self.colours;
        self.next += 1;
        if let Some(page) = self.spare.get_mut(&(home, colour)).and_then(Vec::pop) {
            return Ok(page);
        }
        loop {
            let page = simulator.allocate(home, self.page)?;
            let found = page.page(self.page).0 % self.colours;
            if found == colour {
                return Ok(page);
            }
            self.spare.entry((home, found)).or_default().push(page);
        }
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
        let mut pages = Pages::new(&description);
        let page = description.tlb.page;
        let words = (3 * page.0 / WORD) as usize;
        let homes = [2, 0, 1, 2, 0].map(NodeId);
        let plan = RegionPlan { parts: homes.map(|home| Part { home: Some(home), words }).to_vec() };
        let region = pages.region(&mut simulator, &plan).expect("there is room");
        let starts: Vec<_> = (0..15).map(|number| region.at(number * words / 3)).collect();
        let way = description.l2.size.0 / u64::from(description.l2.ways);
        for (number, start) in starts.iter().enumerate() {
            assert_eq!(start.0 % way, number as u64 * page.0 % way);
            assert_eq!(start.0 >> 32, u64::from(homes[number / 3].0));
            assert!(!starts[..number].contains(start));
        }
        assert_eq!(region.at(words / 3 + 5), starts[1].offset(40));
    }
}
