//! Where a program's memory is to be, other than the program says.

use std::collections::{BTreeMap, HashMap};

use diagnose::Apart;
use serde::{Deserialize, Serialize};
use sim::{SimError, Simulator};
use units::{Bytes, CpuId, NodeId, VirtualAddr};

use crate::memory::{Moved, SharedRegion, WORD};

/// Where a program's memory is to be, other than it says itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Relocation {
    /// By address, the node of a page.
    homes: BTreeMap<u64, NodeId>,
    /// Words that are to be apart from others of their lines, each line's with one processor, on its node.
    apart: Vec<(Apart, NodeId)>,
}

impl Relocation {
    /// Whether all is where the program says.
    pub fn is_none(&self) -> bool {
        self.homes.is_empty() && self.apart.is_empty()
    }

    /// The node that the page which begins at `start` is to be on, if any.
    pub fn home(&self, start: u64) -> Option<NodeId> {
        self.homes.get(&start).copied()
    }

    /// The nodes of a region's pages of `page` bytes, which begins at `start`: as `planned`, but for those that are to be elsewhere.
    pub fn place(&self, start: u64, page: Bytes, planned: &mut [Option<NodeId>]) {
        for (&at, &node) in self.homes.range(start..start + planned.len() as u64 * page.0) {
            planned[((at - start) / page.0) as usize] = Some(node);
        }
    }

    /// Makes room for the words that are to be apart: for each processor on pages of its node, for each piece a line. Where each
    /// line begins.
    ///
    /// # Errors
    /// When a node has no room left.
    pub fn lay_out(
        &self,
        simulator: &mut Simulator,
        line: Bytes,
        page: Bytes,
    ) -> Result<Vec<(Apart, VirtualAddr)>, SimError> {
        let mut by_user: BTreeMap<CpuId, (NodeId, Vec<Apart>)> = BTreeMap::new();
        for &(apart, node) in &self.apart {
            by_user.entry(apart.cpu).or_insert_with(|| (node, Vec::new())).1.push(apart);
        }
        let mut laid_out = Vec::with_capacity(self.apart.len());
        for (node, pieces) in by_user.into_values() {
            let pages = (pieces.len() as u64 * line.0).div_ceil(page.0);
            let start = simulator.map(&vec![Some(node); pages as usize])?;
            let place = |(number, piece)| (piece, VirtualAddr(start.0 + number as u64 * line.0));
            laid_out.extend(pieces.into_iter().enumerate().map(place));
        }
        Ok(laid_out)
    }

    /// Gives the words of regions that are to be apart lines of their own, on pages of those who use them.
    ///
    /// # Errors
    /// When a node has no room left.
    pub fn separate(
        &self,
        simulator: &mut Simulator,
        regions: &mut [SharedRegion],
        line: Bytes,
        page: Bytes,
    ) -> Result<(), SimError> {
        let mut moved: HashMap<usize, Moved> = HashMap::new();
        for (piece, at) in self.lay_out(simulator, line, page)? {
            let Some(region) = regions.iter().position(|region| region.contains(piece.line)) else { continue };
            let own = moved.entry(region).or_insert_with(|| Moved::of(&regions[region], line));
            own.put(piece.line - regions[region].at(0).0, piece.words, at);
        }
        for (region, moved) in moved {
            regions[region].relocate(moved);
        }
        Ok(())
    }

    /// Puts pages, each by its first address, on nodes.
    pub fn put(&mut self, pages: impl IntoIterator<Item = (u64, NodeId)>) {
        self.homes.extend(pages);
    }

    /// Parts words from others of their lines, each line's with one processor, on its node.
    pub fn part(&mut self, pieces: impl IntoIterator<Item = (Apart, NodeId)>) {
        self.apart.extend(pieces);
    }
}

/// The words of a mask, from the first on.
pub(crate) fn words_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..u32::BITS as usize).filter(move |word| mask & 1 << word != 0)
}

const _: () = assert!(WORD == 8, "masks have a bit for eight bytes");
