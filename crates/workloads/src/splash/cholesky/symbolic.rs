//! Symbolic factorisation, before any number is known: order, structure, supernodes, panels.

use std::collections::BTreeSet;
use std::ops::Range;

use super::amalgamation::{self, Size};
use super::system::System;

/// A panel: columns that follow each other and have, from the first one's diagonal on, equal rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Panel {
    /// Its columns.
    pub columns: Range<usize>,
    /// Where its rows begin and end in [`Symbolic::rows`]; the first are its columns.
    pub rows: Range<usize>,
    /// The panels that it changes, in ascending order, each with the rows that are that one's columns: places in its own rows.
    pub changes: Vec<(usize, Range<usize>)>,
    /// How many panels change it.
    pub sources: usize,
}

/// How a factor is found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cutting {
    /// Whether nodes are eliminated by minimum degree; else in the order of their numbers.
    pub reorder: bool,
    /// Columns of a panel.
    pub width: usize,
    pub fit: Fit,
}

/// How supernodes fit a cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fit {
    /// They may have any size; a panel has the width at most.
    Any,
    /// A panel has so many numbers at most, unless a single column has more.
    Panels(usize),
    /// Supernodes are merged for a cache that holds a square block of so many columns ([`amalgamation`]), and a panel may be a third
    /// wider than asked for, rather than cut, as in SPLASH-2.
    Merged(f64),
}

impl Fit {
    /// Into how many panels a supernode is cut.
    fn pieces(self, size: Size, width: usize) -> usize {
        let Size { columns, rows } = size;
        match self {
            Self::Any => columns.div_ceil(width),
            Self::Panels(numbers) => columns.div_ceil(width.min((numbers / rows).max(1))),
            Self::Merged(_) if columns <= 4 * width / 3 => 1,
            Self::Merged(_) => {
                // As many or one less, whichever panels are nearer to the width.
                let pieces = columns.div_ceil(width);
                pieces - usize::from(width - columns / pieces > columns / (pieces - 1) - width)
            }
        }
    }
}

/// The structure of the factor of a matrix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbolic {
    /// Columns of a node.
    pub freedoms: usize,
    /// The nodes in the order of elimination, and the place of each in it.
    pub order: Vec<usize>,
    pub place: Vec<usize>,
    /// Rows of all supernodes, one after the other.
    pub rows: Vec<usize>,
    pub panels: Vec<Panel>,
}

/// Nodes that are not yet eliminated, and elements, each of which stands for an eliminated node and joins all its members.
struct Quotient {
    neighbours: Vec<Vec<usize>>,
    elements: Vec<Vec<usize>>,
    members: Vec<Vec<usize>>,
    /// The time at which a node was last marked.
    marks: Vec<usize>,
    time: usize,
}

impl Quotient {
    /// Nothing is eliminated yet.
    fn of(system: &System) -> Self {
        let count = system.count();
        let neighbours = (0..count).map(|node| system.neighbours(node)).collect();
        let empty = || vec![Vec::new(); count];
        Self { neighbours, elements: empty(), members: empty(), marks: vec![0; count], time: 0 }
    }

    /// The nodes that elimination of `node` would join.
    fn reach(&mut self, node: usize) -> Vec<usize> {
        self.time += 1;
        self.marks[node] = self.time;
        let joined = self.elements[node].iter().map(|&element| &self.members[element]);
        let mut reached = Vec::new();
        for &other in joined.chain([&self.neighbours[node]]).flatten() {
            if self.marks[other] != self.time {
                self.marks[other] = self.time;
                reached.push(other);
            }
        }
        reached
    }

    /// Eliminates a node that reaches `reached`: it becomes an element, which takes the place of those that it was in.
    fn eliminate(&mut self, node: usize, reached: &[usize]) {
        let absorbed = std::mem::take(&mut self.elements[node]);
        self.time += 1;
        let now = self.time;
        reached.iter().chain([&node]).for_each(|&each| self.marks[each] = now);
        for &other in reached {
            self.neighbours[other].retain(|&each| self.marks[each] != now);
            self.elements[other].retain(|element| !absorbed.contains(element));
            self.elements[other].push(node);
        }
        absorbed.into_iter().for_each(|element| self.members[element] = Vec::new());
        self.members[node] = reached.to_vec();
    }
}

/// Eliminates nodes in the order of their numbers. Returns them as [`minimum_degree`] does.
fn as_numbered(system: &System) -> Vec<(usize, Vec<usize>)> {
    let mut graph = Quotient::of(system);
    let eliminate = |node| {
        let reached = graph.reach(node);
        graph.eliminate(node, &reached);
        (node, reached)
    };
    (0..system.count()).map(eliminate).collect()
}

/// Eliminates nodes, always one of those that then join fewest (minimum degree, on the quotient graph: George and Liu 1989).
/// Returns them in order, each with the nodes that it joins: the rows of its column.
fn minimum_degree(system: &System) -> Vec<(usize, Vec<usize>)> {
    let count = system.count();
    let mut graph = Quotient::of(system);
    let mut degrees: Vec<usize> = graph.neighbours.iter().map(Vec::len).collect();
    let mut waiting: BTreeSet<(usize, usize)> = degrees.iter().copied().zip(0..count).collect();
    let mut order = Vec::with_capacity(count);
    while let Some((_, node)) = waiting.pop_first() {
        let reached = graph.reach(node);
        graph.eliminate(node, &reached);
        for &other in &reached {
            waiting.remove(&(degrees[other], other));
            degrees[other] = graph.reach(other).len();
            waiting.insert((degrees[other], other));
        }
        order.push((node, reached));
    }
    order
}

/// Puts every node next to those that are eliminated into it: an order as good, in which columns of equal structure follow
/// each other. Returns the nodes in order, and the rows of each as places in it, ascending.
fn postorder(eliminated: &[(usize, Vec<usize>)]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let count = eliminated.len();
    let mut turn = vec![0; count];
    eliminated.iter().enumerate().for_each(|(number, (node, _))| turn[*node] = number);
    let parent = |number: usize| eliminated[number].1.iter().map(|&node| turn[node]).min();
    let mut children = vec![Vec::new(); count];
    let mut roots = Vec::new();
    for number in 0..count {
        match parent(number) {
            Some(parent) => children[parent].push(number),
            None => roots.push(number),
        }
    }
    // Depth first, from the last to the first: each before its children, reversed.
    let mut turns = Vec::with_capacity(count);
    let mut stack = roots;
    while let Some(number) = stack.pop() {
        turns.push(number);
        stack.append(&mut children[number]);
    }
    turns.reverse();
    let mut place = vec![0; count];
    turns.iter().enumerate().for_each(|(at, &number)| place[eliminated[number].0] = at);
    let rows = turns.iter().map(|&number| {
        let mut rows: Vec<usize> = eliminated[number].1.iter().map(|&node| place[node]).collect();
        rows.sort_unstable();
        rows
    });
    (turns.iter().map(|&number| eliminated[number].0).collect(), rows.collect())
}

/// Supernodes: nodes that follow each other, of which each has the rows of the one before but for its own.
fn supernodes(structure: &[Vec<usize>]) -> Vec<Range<usize>> {
    let goes_on =
        |at: usize| structure[at].first() == Some(&(at + 1)) && structure[at].len() == structure[at + 1].len() + 1;
    let mut first = 0;
    let ends = (0..structure.len()).filter(|&at| !goes_on(at));
    ends.map(|last| std::mem::replace(&mut first, last + 1)..last + 1).collect()
}

/// Supernodes that make one each, from the lowest up.
fn grouped(structure: &[Vec<usize>], freedoms: usize, fit: Fit) -> Vec<Vec<Range<usize>>> {
    let supernodes = supernodes(structure);
    let Fit::Merged(side) = fit else { return supernodes.into_iter().map(|supernode| vec![supernode]).collect() };
    let below = |supernode: &Range<usize>| &structure[supernode.end - 1];
    let of = |row: usize| supernodes.partition_point(|supernode| supernode.end <= row);
    let parents: Vec<Option<usize>> =
        supernodes.iter().map(|supernode| below(supernode).first().map(|&row| of(row))).collect();
    let size = |supernode: &Range<usize>| {
        let columns = supernode.len() * freedoms;
        Size { columns, rows: columns + below(supernode).len() * freedoms }
    };
    let sizes: Vec<Size> = supernodes.iter().map(size).collect();
    let groups = amalgamation::merge(&sizes, &parents, side).into_iter();
    groups.map(|group| group.into_iter().map(|number| supernodes[number].clone()).collect()).collect()
}

impl Symbolic {
    /// The structure of the factor of `system`, cut into panels.
    pub fn new(system: &System, cutting: Cutting) -> Self {
        let eliminated = if cutting.reorder { minimum_degree(system) } else { as_numbered(system) };
        let (order, structure) = postorder(&eliminated);
        let freedoms = system.freedoms();
        let groups = grouped(&structure, freedoms, cutting.fit);
        // Places in the order of elimination, in that of the groups.
        let moved: Vec<usize> = groups.iter().flatten().flat_map(Range::clone).collect();
        let inverse = |of: &[usize]| {
            let mut place = vec![0; of.len()];
            of.iter().enumerate().for_each(|(at, &each)| place[each] = at);
            place
        };
        let (order, now): (Vec<usize>, _) = (moved.iter().map(|&at| order[at]).collect(), inverse(&moved));
        let place = inverse(&order);
        let mut symbolic = Self { freedoms, order, place, rows: Vec::new(), panels: Vec::new() };
        let mut first = 0;
        for group in groups {
            let nodes = first..first + group.iter().map(Range::len).sum::<usize>();
            let highest = group.last().map_or(0, |supernode| supernode.end - 1);
            let mut below: Vec<usize> = structure[highest].iter().map(|&at| now[at]).collect();
            below.sort_unstable();
            first = nodes.end;
            symbolic.add_supernode(nodes, &below, cutting);
        }
        symbolic.connect();
        symbolic
    }

    /// Adds a supernode of nodes that follow each other, with the rows below it, cut into panels of equal width but for one.
    fn add_supernode(&mut self, nodes: Range<usize>, below: &[usize], cutting: Cutting) {
        let (first_row, freedoms) = (self.rows.len(), self.freedoms);
        let own = |node: usize| node * freedoms..(node + 1) * freedoms;
        self.rows.extend(nodes.clone().chain(below.iter().copied()).flat_map(own));
        let (start, columns) = (nodes.start * freedoms, nodes.len() * freedoms);
        let count = cutting.fit.pieces(Size { columns, rows: self.rows.len() - first_row }, cutting.width);
        for panel in 0..count {
            let (from, to) = (panel * columns / count, (panel + 1) * columns / count);
            self.panels.push(Panel {
                columns: start + from..start + to,
                rows: first_row + from..self.rows.len(),
                changes: Vec::new(),
                sources: 0,
            });
        }
    }

    /// Finds which panels change which.
    fn connect(&mut self) {
        let columns = self.order.len() * self.freedoms;
        let mut panel_of = vec![0; columns];
        for (number, panel) in self.panels.iter().enumerate() {
            panel_of[panel.columns.clone()].fill(number);
        }
        for number in 0..self.panels.len() {
            let rows = &self.rows[self.panels[number].rows.clone()];
            let mut at = self.panels[number].columns.len();
            let mut changes = Vec::new();
            while at < rows.len() {
                let target = panel_of[rows[at]];
                let end = at + rows[at..].iter().take_while(|&&row| panel_of[row] == target).count();
                changes.push((target, at..end));
                at = end;
            }
            changes.iter().for_each(|&(target, _)| self.panels[target].sources += 1);
            self.panels[number].changes = changes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::splash::cholesky::mesh::{FREEDOMS, Mesh};

    const fn cut(width: usize) -> Cutting {
        Cutting { reorder: true, width, fit: Fit::Any }
    }

    /// Structure of the factor by its definition: eliminating a column joins all its rows.
    fn fill(mesh: &Mesh, place: &[usize]) -> Vec<BTreeSet<usize>> {
        let below = |node: usize| {
            mesh.neighbours(node).into_iter().map(|other| place[other]).filter(move |&other| other > place[node])
        };
        let mut columns = vec![BTreeSet::new(); mesh.count()];
        (0..mesh.count()).for_each(|node| columns[place[node]] = below(node).collect());
        for at in 0..columns.len() {
            let rows = columns[at].clone();
            if let Some(&first) = rows.first() {
                columns[first].extend(rows.into_iter().skip(1));
            }
        }
        columns
    }

    #[test]
    fn panels_have_the_rows_that_elimination_fills() {
        for (nodes, width) in [([5, 4, 3], 7), ([9, 7, 1], 4), ([1, 1, 1], 8), ([12, 1, 1], 2)] {
            let mesh = Mesh { nodes };
            let symbolic = Symbolic::new(&System::Mesh(mesh), cut(width));
            let expected = fill(&mesh, &symbolic.place);
            let mut next = 0;
            for panel in &symbolic.panels {
                assert_eq!(panel.columns.start, next);
                next = panel.columns.end;
                assert!(panel.columns.len() <= width);
                for (number, column) in panel.columns.clone().enumerate() {
                    let rows: Vec<usize> = symbolic.rows[panel.rows.clone()][number..].to_vec();
                    let own = column..(column / FREEDOMS + 1) * FREEDOMS;
                    let below = expected[column / FREEDOMS].iter();
                    let filled = own.chain(below.flat_map(|row| row * FREEDOMS..(row + 1) * FREEDOMS));
                    assert_eq!(rows, filled.collect::<Vec<_>>(), "column {column}");
                }
            }
            assert_eq!(next, mesh.count() * FREEDOMS);
        }
    }

    /// A plate of 30 by 30 nodes: in its natural order, its band of 32 nodes fills.
    #[test]
    fn minimum_degree_fills_less_than_a_band() {
        let symbolic = Symbolic::new(&System::Mesh(Mesh { nodes: [30, 30, 1] }), cut(8));
        let words: usize = symbolic.panels.iter().map(|panel| panel.columns.len() * panel.rows.len()).sum();
        let band = 30 * 30 * FREEDOMS * 32 * FREEDOMS;
        assert!(words < band * 3 / 4, "{words} {band}");
    }

    /// Hexsel and Topham, section 2: the factor of BCSSTK14 has 110461 elements outside of the diagonal.
    #[test]
    fn the_factor_of_bcsstk14_has_its_published_size() {
        let system = System::Matrix(Matrix::named("bcsstk14").expect("it is built in"));
        let below = |cutting| -> usize {
            let symbolic = Symbolic::new(&system, cutting);
            let of =
                |panel: &Panel| (0..panel.columns.len()).map(|column| panel.rows.len() - column - 1).sum::<usize>();
            symbolic.panels.iter().map(of).sum()
        };
        assert_eq!(below(Cutting { reorder: false, ..cut(8) }), 110_461);
        let reordered = below(cut(8));
        assert!((95_000..125_000).contains(&reordered), "{reordered}");
    }

    #[test]
    fn panels_have_no_more_numbers_than_allowed() {
        let system = System::Matrix(Matrix::named("bcsstk14").expect("it is built in"));
        let limit = 2000;
        let symbolic = Symbolic::new(&system, Cutting { reorder: false, width: 64, fit: Fit::Panels(limit) });
        let most = symbolic.panels.iter().map(|panel| panel.columns.len() * panel.rows.len()).max();
        assert!(most.is_some_and(|most| most > limit / 2 && most <= limit), "{most:?}");
    }

    /// Merged supernodes are fewer, have at least the rows of the others, and are cut into panels of about the width.
    #[test]
    fn merged_supernodes_hold_more_numbers() {
        let system = System::Matrix(Matrix::named("bcsstk16").expect("it is built in"));
        let of = |fit| Symbolic::new(&system, Cutting { reorder: false, width: 32, fit });
        let (plain, merged) = (of(Fit::Any), of(Fit::Merged(45.0)));
        let numbers = |symbolic: &Symbolic| -> usize {
            symbolic.panels.iter().map(|panel| panel.columns.len() * panel.rows.len()).sum()
        };
        assert!(merged.panels.len() * 3 < plain.panels.len() * 2, "{} of {}", merged.panels.len(), plain.panels.len());
        assert!((1.0..1.5).contains(&(numbers(&merged) as f64 / numbers(&plain) as f64)));
        assert!(merged.panels.iter().all(|panel| panel.columns.len() <= 42));
        let mut order = merged.order.clone();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..system.count()));
    }

    #[test]
    fn panels_are_about_as_wide_as_asked_for() {
        let pieces = |columns| Fit::Merged(45.0).pieces(Size { columns, rows: columns }, 32);
        assert_eq!([1, 42, 43, 64, 70, 80, 100].map(pieces), [1, 1, 2, 2, 2, 3, 3]);
    }
}
