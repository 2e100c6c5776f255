//! Updates: the contribution of each subtree to the panels above it, the lower triangle of a matrix with a row for each row above, in
//! memory of the subtree's thread. The thread sums it up; owners of blocks above read their parts of it.

use std::ops::Range;

use super::domains::{Domains, starts};
use super::symbolic::Symbolic;
use crate::program::{RegionPlan, Shape};

/// The update of one subtree.
pub struct Update {
    /// The panel at its root.
    pub root: usize,
    /// Its thread.
    pub owner: usize,
    /// The rows above the subtree, as words of [`Symbolic::rows`].
    pub rows: Range<usize>,
    /// Its first word; columns follow each other.
    first: usize,
}

impl Update {
    /// The word of a row of a column, from the diagonal on.
    pub fn word(&self, row: usize, column: usize) -> usize {
        self.first + column * self.rows.len() - column * (column + 1) / 2 + row
    }

    /// Its words.
    pub fn words(&self) -> Range<usize> {
        self.first..self.first + triangle(self.rows.len())
    }
}

/// Words of a triangle with its diagonal.
fn triangle(side: usize) -> usize {
    side * (side + 1) / 2
}

/// The updates of all subtrees.
pub struct Updates {
    /// In the order of the subtrees' roots.
    pub of: Vec<Update>,
    /// Words of each thread, whole pages.
    words: Vec<usize>,
}

impl Updates {
    /// The updates of the subtrees of a run.
    pub fn new(shape: &Shape, symbolic: &Symbolic, domains: &Domains) -> Self {
        let mut words = vec![0_usize; shape.threads()];
        let mut place = |&root: &usize| {
            let (panel, owner) = (&symbolic.panels[root], domains.owner(root)?);
            let rows = panel.rows.start + panel.columns.len()..panel.rows.end;
            let first = words[owner];
            words[owner] += triangle(rows.len()).next_multiple_of(shape.line_words);
            Some(Update { root, owner, rows, first })
        };
        let mut of: Vec<Update> = domains.roots.iter().filter_map(&mut place).collect();
        let starts = starts(shape, &mut words);
        of.iter_mut().for_each(|update| update.first += starts[update.owner]);
        Self { of, words }
    }

    /// Their region, each on the node of its thread.
    pub fn plan(&self, shape: &Shape) -> RegionPlan {
        RegionPlan::by_thread(shape, self.words.iter().copied())
    }
}
