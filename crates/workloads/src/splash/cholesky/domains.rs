//! Subtrees of the elimination tree that are one thread's from start to end: their panels change no others but each other and those
//! above them, so that the thread changes them without locks, in memory of its own.
//!
//! A panel's numbers are in that private memory until it is complete; what it then is goes to the panels that all threads share.

use std::cmp::Reverse;

use super::symbolic::{Panel, Symbolic};
use crate::program::{RegionPlan, Shape};

/// Which panels are in a subtree of one thread, and where those lie in the threads' private memory.
pub struct Domains {
    /// By panel, its thread and its first word, if it is in a subtree.
    places: Vec<Option<(usize, usize)>>,
    /// Words of each thread, whole pages.
    words: Vec<usize>,
    /// Words before those of each thread.
    firsts: Vec<usize>,
    /// The panel at the root of each subtree, in ascending order.
    pub roots: Vec<usize>,
}

/// The multiply-adds of a panel: to complete it, and to change others by it.
fn work(panel: &Panel) -> usize {
    panel.columns.len() * panel.rows.len() * panel.rows.len()
}

/// The part of a thread's work that may be in its subtrees: one in so many. What is left balances the load. A quarter is assumed; with
/// half of it, more than all of the private stores of Hexsel and Topham, Table 1, cholesky on 4 nodes, would be those to subtrees.
const PART: usize = 4;
/// How much less work than the thread with most the one with least may have, in hundredths, and how much of its even share of all the
/// work the one with most may have without that: SPLASH-2's program.
const UNEVEN: usize = 20;
const SMALL: usize = 5;

/// How much of the work is in subtrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// No more than a part of each thread's.
    Part,
    /// As much as can be dealt evenly.
    Even,
}

impl Rule {
    /// Whether threads with such work in their subtrees may keep it, of so much in all.
    fn holds(self, loads: &[usize], all: usize) -> bool {
        let (most, least) =
            loads.iter().fold((0, usize::MAX), |(most, least), &load| (most.max(load), least.min(load)));
        match self {
            Self::Part => most <= all / (PART * loads.len()),
            Self::Even => 100 * (most - least) < UNEVEN * most || 100 * most * loads.len() < SMALL * all,
        }
    }
}

/// Gives subtrees to threads, the heaviest first, each to the one that has least so far. Returns the thread of each, and the work of
/// each thread.
fn deal(roots: &mut [usize], below: &[usize], threads: usize) -> (Vec<usize>, Vec<usize>) {
    roots.sort_unstable_by_key(|&root| (Reverse(below[root]), root));
    let mut loads = vec![0; threads];
    let mut give = |&root: &usize| {
        let least = (0..threads).min_by_key(|&thread| loads[thread]).unwrap_or(0);
        loads[least] += below[root];
        least
    };
    let owners = roots.iter().map(&mut give).collect();
    (owners, loads)
}

/// The subtrees, each by its root with its thread: the heaviest is cut at its root as long as any thread has more work in its subtrees
/// than the rule allows. A thread alone has the whole tree, for there is nobody to share with.
fn subtrees(symbolic: &Symbolic, threads: usize, rule: Rule) -> Vec<(usize, usize)> {
    let count = symbolic.panels.len();
    let parent = |number: usize| symbolic.panels[number].changes.first().map(|&(target, _)| target);
    let mut below: Vec<usize> = symbolic.panels.iter().map(work).collect();
    let mut children = vec![Vec::new(); count];
    let (mut roots, mut all) = (Vec::new(), 0);
    for number in 0..count {
        // A panel comes behind all those below it.
        match parent(number) {
            Some(parent) => {
                below[parent] += below[number];
                children[parent].push(number);
            }
            None => {
                all += below[number];
                roots.push(number);
            }
        }
    }
    loop {
        let (owners, loads) = deal(&mut roots, &below, threads);
        if threads == 1 || roots.is_empty() || rule.holds(&loads, all) {
            return roots.into_iter().zip(owners).collect();
        }
        // The heaviest comes first.
        let root = roots.swap_remove(0);
        roots.append(&mut children[root]);
    }
}

/// Makes the words of each thread whole pages. Returns where those of each begin.
pub fn starts(shape: &Shape, words: &mut [usize]) -> Vec<usize> {
    let mut first = 0;
    let start = |words: &mut usize| {
        *words = words.next_multiple_of(shape.page_words);
        first += *words;
        first - *words
    };
    words.iter_mut().map(start).collect()
}

impl Domains {
    /// No subtrees: all panels are shared.
    pub fn none(symbolic: &Symbolic, threads: usize) -> Self {
        Self {
            places: vec![None; symbolic.panels.len()],
            words: vec![0; threads],
            firsts: vec![0; threads],
            roots: Vec::new(),
        }
    }

    /// Subtrees for the threads of a run.
    pub fn new(shape: &Shape, symbolic: &Symbolic, rule: Rule) -> Self {
        let threads = shape.threads();
        let mut domains = Self::none(symbolic, threads);
        let mut owner = vec![None; symbolic.panels.len()];
        for (root, thread) in subtrees(symbolic, threads, rule) {
            owner[root] = Some(thread);
            domains.roots.push(root);
        }
        domains.roots.sort_unstable();
        for number in (0..symbolic.panels.len()).rev() {
            let above = symbolic.panels[number].changes.first().and_then(|&(target, _)| owner[target]);
            owner[number] = above.or(owner[number]);
        }
        for (number, owner) in owner.into_iter().enumerate() {
            let Some(thread) = owner else { continue };
            let Panel { columns, rows, .. } = &symbolic.panels[number];
            domains.places[number] = Some((thread, domains.words[thread]));
            domains.words[thread] += (columns.len() * rows.len()).next_multiple_of(shape.line_words);
        }
        domains.firsts = starts(shape, &mut domains.words);
        domains
    }

    /// The threads' private memory, each on the node of its thread.
    pub fn plan(&self, shape: &Shape) -> RegionPlan {
        RegionPlan::by_thread(shape, self.words.iter().copied())
    }

    /// The thread that a panel is one's of, if it is in a subtree.
    pub fn owner(&self, panel: usize) -> Option<usize> {
        self.places[panel].map(|(thread, _)| thread)
    }

    /// Where such a panel begins in the threads' private memory.
    pub fn first(&self, panel: usize) -> Option<usize> {
        self.places[panel].map(|(thread, word)| self.firsts[thread] + word)
    }

    /// The panels that all threads share.
    pub fn shared(&self) -> usize {
        self.places.iter().filter(|place| place.is_none()).count()
    }
}

#[cfg(test)]
mod tests {
    use units::NodeId;

    use super::*;
    use crate::matrix::Matrix;
    use crate::splash::cholesky::symbolic::{Cutting, Fit};
    use crate::splash::cholesky::system::System;

    /// A subtree has all panels below each of its own, and no thread has more than its part of the work in them.
    #[test]
    fn subtrees_are_whole_and_no_larger_than_their_part() {
        let system = System::Matrix(Matrix::named("bcsstk14").expect("it is built in"));
        let symbolic = Symbolic::new(&system, Cutting { reorder: false, width: 8, fit: Fit::Any });
        let all: usize = symbolic.panels.iter().map(work).sum();
        let mut before = symbolic.panels.len() + 1;
        for threads in [1, 2, 4, 8, 16] {
            let shape = Shape {
                homes: (0..threads as u16).map(NodeId).collect(),
                nodes: threads,
                line_words: 8,
                page_words: 1024,
                seed: 0,
                locks: Default::default(),
            };
            let domains = Domains::new(&shape, &symbolic, Rule::Part);
            let inside = symbolic.panels.len() - domains.shared();
            assert!(
                inside <= before && inside > 0,
                "{inside} of {} panels on {threads} threads",
                symbolic.panels.len()
            );
            before = inside;
            if threads == 1 {
                assert_eq!(domains.shared(), 0);
            }
            let mut ends: Vec<(usize, usize)> = Vec::new();
            for (number, panel) in symbolic.panels.iter().enumerate() {
                let owners = panel.changes.iter().map(|&(target, _)| domains.owner(target));
                for above in owners {
                    assert!(above.is_none() || above == domains.owner(number), "panel {number}");
                }
                if let Some(first) = domains.first(number) {
                    ends.push((first, first + panel.columns.len() * panel.rows.len()));
                }
            }
            ends.sort_unstable();
            assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "panels overlap");
            assert!(domains.plan(&shape).words() >= ends.last().map_or(0, |end| end.1));
            let in_subtrees = |thread: usize| -> usize {
                let own =
                    symbolic.panels.iter().enumerate().filter(|(number, _)| domains.owner(*number) == Some(thread));
                own.map(|(_, panel)| work(panel)).sum()
            };
            let most = (0..threads).map(in_subtrees).max();
            assert!(threads == 1 || most.is_some_and(|most| most <= all / (PART * threads)), "{most:?} of {all}");
        }
    }
}
