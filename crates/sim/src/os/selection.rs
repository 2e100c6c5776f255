//! The selection of pages to migrate and to replicate, by the misses of nodes on them (Lai and Falsafi 2000, Section 3.1).

use units::NodeId;

use super::movement::PageOperation;

/// The rule by which pages are selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Whether pages migrate.
    pub migration: bool,
    /// Whether pages are replicated.
    pub replication: bool,
    /// Misses at which a page is replicated, or the excess over the home's at which it migrates.
    pub threshold: u32,
}

impl Selection {
    /// The operation on a page on which the node `from` misses, after so many misses of its own and of the home's, and so many
    /// write misses of nodes other than the home. A page without any is replicated rather than moved.
    pub fn select(&self, from: NodeId, (own, home, writes): (u32, u32, u32)) -> Option<PageOperation> {
        if self.replication && writes == 0 && own > self.threshold {
            return Some(PageOperation::Replicate);
        }
        let moves = self.migration && own.saturating_sub(home) >= self.threshold;
        // The page of a reader who alone has not enough misses yet is kept for its replication.
        let waits = self.replication && writes == 0;
        (moves && !waits).then_some(PageOperation::Migrate(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_writes_are_copied_and_others_move_to_a_node_that_is_ahead() {
        let select = |migration, replication, misses| {
            Selection { migration, replication, threshold: 10 }.select(NodeId(3), misses)
        };
        let moved = Some(PageOperation::Migrate(NodeId(3)));
        let copied = Some(PageOperation::Replicate);
        assert_eq!([(10, 0, 0), (11, 0, 0)].map(|misses| select(true, true, misses)), [None, copied]);
        assert_eq!(
            [(10, 0, 1), (19, 10, 1), (20, 10, 1)].map(|misses| select(true, true, misses)),
            [moved, None, moved]
        );
        assert_eq!([(11, 0, 0), (99, 0, 1)].map(|misses| select(false, true, misses)), [copied, None]);
        assert_eq!([(9, 0, 0), (10, 0, 0)].map(|misses| select(true, false, misses)), [None, moved]);
    }
}
