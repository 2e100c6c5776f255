//! Safety properties of a cluster.

use protocol::cluster::DirectoryState;
use protocol::snoop::{Moesi, Rights};

use super::state::{ClusterState, LATEST};
use super::{ClusterModel, HOME};
use crate::model::{Model, Property, Violation};

/// Copies in the caches of one node.
#[derive(Default)]
struct Copies {
    valid: usize,
    sole: usize,
    owned: usize,
    old: usize,
}

impl<const OWNED: bool> ClusterModel<OWNED> {
    /// Checks the properties that hold in every state, and the directory's agreement if nothing is outstanding.
    ///
    /// A load could hit any copy at any time, so "every load returns the last store" is equivalent to "every copy holds
    /// the last store"; a load that misses returns the contents of its new copy. With early grant, the copies of nodes
    /// that have yet to perform an invalidation may be old.
    pub(super) fn check(&self, state: &ClusterState) -> Result<(), Violation> {
        let may_be_old = if self.protocol.early_grant { state.may_be_old() } else { 0 };
        let (mut sole, mut valid, mut owned, mut writers, mut readers) = (0, 0, 0, 0, 0);
        for node in 0..self.nodes {
            let copies = self.copies(state, node);
            self.check_node(state, node, &copies)?;
            if may_be_old >> node & 1 == 1 {
                continue;
            }
            self.check_contents(state, node, &copies)?;
            sole += copies.sole;
            valid += copies.valid;
            owned += copies.owned;
            writers += usize::from(state.lines[node].rights == Rights::Write);
            readers += usize::from(state.lines[node].rights == Rights::Read);
        }
        if owned > 1 || (sole > 0 && valid > 1) {
            return Err(single_writer(format!("{valid} copies, {owned} owned, {sole} sole")));
        }
        if writers > 1 || (writers == 1 && readers > 0) {
            return Err(single_writer(format!("{writers} nodes may write, and {readers} others may read")));
        }
        match if self.is_quiescent(state) { self.disagreement(state) } else { None } {
            None => Ok(()),
            Some(problem) => {
                let detail = format!("nothing is outstanding, and {problem}");
                Err(Violation { property: Property::DirectoryAgreement, detail })
            }
        }
    }

    fn copies(&self, state: &ClusterState, node: usize) -> Copies {
        let mut copies = Copies::default();
        for cache in self.cpus_of(node).map(|cpu| &state.caches[cpu]).filter(|cache| cache.state != Moesi::Invalid) {
            copies.valid += 1;
            copies.sole += usize::from(matches!(cache.state, Moesi::Exclusive | Moesi::Modified));
            copies.owned += usize::from(cache.state.is_owner());
            copies.old += usize::from(cache.version != LATEST);
        }
        copies
    }

    /// Checks that the caches of a node respect its rights: without rights there are no copies, which for a line of
    /// another node is inclusion in the block cache. A MESI bus has no owned copies beside others.
    fn check_node(&self, state: &ClusterState, node: usize, copies: &Copies) -> Result<(), Violation> {
        let rights = state.lines[node].rights;
        let too_many = match rights {
            Rights::None => copies.valid > 0,
            Rights::Read => copies.sole > 0 || copies.owned > 0,
            Rights::Write => copies.owned > 1 || (copies.sole > 0 && copies.valid > 1),
        };
        let has_state_owned = !OWNED && copies.owned > copies.sole;
        if too_many || has_state_owned {
            let Copies { valid, sole, owned, .. } = copies;
            let detail = format!("{valid} copies, {owned} owned, {sole} sole, in n{node}, which may {rights:?}");
            return Err(single_writer(detail));
        }
        Ok(())
    }

    /// Checks that the copies of a node, and its block cache or memory unless a cache owns the line, hold the last
    /// store.
    fn check_contents(&self, state: &ClusterState, node: usize, copies: &Copies) -> Result<(), Violation> {
        let detail = if copies.old > 0 {
            format!("n{node} has {} copies that are older than the last store", copies.old)
        } else if state.lines[node].rights != Rights::None && copies.owned == 0 && state.contents[node] != LATEST {
            format!("no cache of n{node} owns the line, and its block cache or memory is older than the last store")
        } else {
            return Ok(());
        };
        Err(Violation { property: Property::LatestValue, detail })
    }

    /// Problem of a state in which nothing is outstanding: the directory disagrees with the devices, or memory with both.
    fn disagreement(&self, state: &ClusterState) -> Option<&'static str> {
        let rights = || state.lines[..self.nodes].iter().map(|line| line.rights).enumerate();
        if state.entry.poisoned && rights().any(|(node, rights)| node != HOME.index() && rights != Rights::None) {
            return Some("a node has a right to a poisoned line");
        }
        match state.entry.state {
            DirectoryState::Shared => {
                if rights().any(|(_, rights)| rights == Rights::Write) {
                    Some("a node may write a line that the directory has as shared")
                } else if rights().any(|(node, rights)| rights == Rights::Read && state.entry.sharers >> node & 1 == 0)
                {
                    Some("a node may read the line, and the directory does not list it")
                } else if state.contents[HOME.index()] != LATEST {
                    Some("no node owns the line, and memory is older than the last store")
                } else {
                    None
                }
            }
            DirectoryState::Owned { owner } => {
                if rights().any(|(node, rights)| (node == owner.index()) != (rights == Rights::Write)) {
                    Some("the directory's owner is not the node that may write")
                } else if state.entry.sharers != 0 {
                    Some("the directory lists sharers beside an owner")
                } else {
                    None
                }
            }
            // The home waits for a report.
            DirectoryState::Forwarded { .. } => None,
        }
    }
}

fn single_writer(detail: String) -> Violation {
    Violation { property: Property::SingleWriter, detail }
}
