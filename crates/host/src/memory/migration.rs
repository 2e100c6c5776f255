//! Moving a mapping to another node, page by page, and what came of it.

use std::collections::BTreeMap;

use units::{Bytes, NodeId};

use super::mapping::{FORBIDDEN_ADVICE, Mapping, PageLocation, addresses, locate, usable};
use super::obtained::{Verification, page_sizes};
use super::{PageKind, room};
use crate::HostError;

/// Outcome of moving a mapping to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Migration {
    /// The node.
    pub to: NodeId,
    /// How many pages were already there.
    pub there: u64,
    /// How many pages were moved.
    pub moved: u64,
    /// The pages that stayed where they were.
    pub stayed: Vec<PageLocation>,
}

impl Mapping {
    /// Moves all pages to a node (move_pages(2)), then asks where each of them is. Pages that are in use elsewhere may stay:
    /// the outcome tells which. What is written in them stays the same.
    ///
    /// # Errors
    /// When the node cannot be used or has not so much to give, or the kernel does not let us move or check.
    pub fn migrate(&mut self, to: NodeId) -> Result<Migration, HostError> {
        /// A transparent huge page moves as a whole with its first part; the others are busy meanwhile and are found there
        /// when asked about again.
        const ATTEMPTS: usize = 3;
        let failed = |source| HostError::Call {
            call: format!("move_pages to node {to}"),
            source,
            advice: FORBIDDEN_ADVICE.to_owned(),
        };
        usable(&self.inventory, to)?;
        let before = self.nodes_of_pages()?;
        let there = before.iter().filter(|page| page.node == Ok(to)).count() as u64;
        let size = Bytes((before.len() as u64 - there) * self.granule.0);
        room::check(&self.inventory, to, size, size, self.pages)?;
        let not_there = |pages: &[PageLocation]| -> Vec<PageLocation> {
            pages.iter().filter(|page| page.node != Ok(to)).copied().collect()
        };
        let mut stayed = not_there(&before);
        let mut now = before.clone();
        if !stayed.is_empty() {
            self.region.bind(0, self.region.length(), to).map_err(failed)?;
        }
        for _ in 0..ATTEMPTS {
            if stayed.is_empty() {
                break;
            }
            let offsets: Vec<usize> = stayed.iter().map(|page| page.offset.0 as usize).collect();
            self.region.move_to(&offsets, to).map_err(failed)?;
            now = locate(&self.region, self.granule, 0..self.region.length()).map_err(failed)?;
            stayed = not_there(&now);
        }
        self.update(&now);
        let moved = before.len() as u64 - there - stayed.len() as u64;
        Ok(Migration { to, there, moved, stayed })
    }

    /// Brings up to date what was obtained: moving can take huge pages apart.
    fn update(&mut self, now: &[PageLocation]) {
        let mut nodes = BTreeMap::<NodeId, Bytes>::new();
        for node in now.iter().filter_map(|page| page.node.ok()) {
            nodes.entry(node).or_default().0 += self.granule.0;
        }
        self.obtained.nodes = nodes;
        self.obtained.verified = Verification::MovePages { pages: now.len() as u64 };
        if self.pages != PageKind::Transparent {
            return;
        }
        let huge = self.inventory.transparent.size;
        let range = addresses(&self.region, &(0..self.region.length()));
        if let Ok(pages) = page_sizes(&self.inventory.files, &range, huge) {
            self.obtained.pages = pages;
        }
    }
}
