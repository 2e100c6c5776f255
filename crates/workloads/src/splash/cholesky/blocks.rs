//! Blocks of a factor: the rows of a panel that are columns of one other panel. A grid of threads owns those of panels that are in no
//! subtree, as in SPLASH-2 (Rothberg and Gupta, "An efficient block-oriented approach to parallel sparse Cholesky factorization",
//! 1993).

use std::ops::Range;

use super::domains::Domains;
use super::pool::Pool;
use super::symbolic::Symbolic;
use super::updates::Updates;
use crate::parallel::thread_grid;
use crate::program::Shape;

/// A block of a panel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The panel whose columns its rows are.
    pub row: usize,
    /// Its rows, as places in those of its panel.
    pub places: Range<usize>,
    /// Its first word, whose columns follow each other.
    pub first: usize,
    /// How many products of other blocks, and parts of subtrees' updates, are subtracted from it.
    pub products: usize,
}

/// A block by its panel and its number there; the first one of a panel is that of the diagonal.
pub type Name = (usize, usize);

/// All blocks.
pub struct Blocks {
    /// By panel, in the order of their rows; none of panels in subtrees.
    pub of: Vec<Vec<Block>>,
    /// The end of their words.
    pub end: usize,
    /// Words, whole pages, that hold the product of any two of them.
    pub room: usize,
    /// By panel, its number among those in no subtree.
    numbers: Vec<usize>,
    /// By panel, how many blocks come before its own.
    before: Vec<usize>,
    /// Threads in a column and in a row of their grid. Threads follow each other down its columns.
    grid: (usize, usize),
}

impl Blocks {
    /// The blocks of a factor. Those of a thread are on pages of its own, from word `first` on, as an allocator gives them ([`Pool`]).
    pub fn new(shape: &Shape, symbolic: &Symbolic, domains: &Domains, updates: &Updates, first: usize) -> Self {
        let shared = |panel: usize| domains.owner(panel).is_none();
        let of = symbolic.panels.iter().enumerate().map(|(number, panel)| {
            let diagonal = (number, 0..panel.columns.len());
            let all = std::iter::once(diagonal).chain(panel.changes.iter().cloned());
            let of = all.filter(|_| shared(number));
            of.map(|(row, places)| Block { row, places, first: 0, products: 0 }).collect()
        });
        let of: Vec<Vec<Block>> = of.collect();
        let count = |(total, counts): &mut (usize, Vec<usize>), more: usize| {
            counts.push(*total);
            *total += more;
        };
        let (mut numbers, mut before) = ((0, Vec::new()), (0, Vec::new()));
        for (panel, blocks) in of.iter().enumerate() {
            count(&mut numbers, usize::from(shared(panel)));
            count(&mut before, blocks.len());
        }
        let widest = symbolic.panels.iter().map(|panel| panel.columns.len()).max().unwrap_or(0);
        let room = (widest * widest).next_multiple_of(shape.page_words);
        let grid = thread_grid(shape.threads());
        let mut blocks = Self { of, end: first, room, numbers: numbers.1, before: before.1, grid };
        blocks.place(shape, symbolic);
        blocks.count_products(updates, symbolic);
        blocks
    }

    fn place(&mut self, shape: &Shape, symbolic: &Symbolic) {
        let mut pools = vec![Pool::default(); shape.threads()];
        self.end = self.end.next_multiple_of(shape.page_words);
        for name in self.names() {
            let numbers = self.block(name).places.len() * symbolic.panels[name.0].columns.len();
            let first = pools[self.owner(name)].allocate(numbers, &mut self.end, shape.page_words);
            self.of[name.0][name.1].first = first;
        }
    }

    fn count_products(&mut self, updates: &Updates, symbolic: &Symbolic) {
        let mut targets = Vec::new();
        for panel in 0..self.of.len() {
            for lower in 1..self.of[panel].len() {
                targets.extend((1..=lower).map(|upper| self.target(panel, lower, upper)));
            }
        }
        for update in &updates.of {
            targets.extend(self.parts(&symbolic.panels[update.root].changes).map(|(_, _, target)| target));
        }
        targets.into_iter().for_each(|(panel, number)| self.of[panel][number].products += 1);
    }

    /// The parts of the update of a subtree whose root has such changes: the numbers of the lower and the upper change, and the block
    /// that a part is subtracted from.
    pub fn parts(&self, changes: &[(usize, Range<usize>)]) -> impl Iterator<Item = (usize, usize, Name)> {
        let pairs = (0..changes.len()).flat_map(|lower| (0..=lower).map(move |upper| (lower, upper)));
        pairs.map(|(lower, upper)| (lower, upper, self.at(changes[lower].0, changes[upper].0)))
    }

    /// All blocks, panel by panel.
    pub fn names(&self) -> Vec<Name> {
        let of_panel = |panel: usize| (0..self.of[panel].len()).map(move |number| (panel, number));
        (0..self.of.len()).flat_map(of_panel).collect()
    }

    pub fn block(&self, (panel, number): Name) -> &Block {
        &self.of[panel][number]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.of.iter().map(Vec::len).sum()
    }

    /// A block's number among all.
    pub fn index(&self, (panel, number): Name) -> usize {
        self.before[panel] + number
    }

    /// The block of a panel with a number among all.
    pub fn name(&self, panel: usize, index: usize) -> Name {
        (panel, index - self.before[panel])
    }

    /// The thread that stores to a block.
    pub fn owner(&self, name: Name) -> usize {
        let (row, column) = (self.numbers[self.block(name).row], self.numbers[name.0]);
        row % self.grid.0 + column % self.grid.1 * self.grid.0
    }

    /// The block of a row and a column of panels.
    fn at(&self, row: usize, column: usize) -> Name {
        // The rows of a panel are among those of every panel that it changes.
        (column, self.of[column].partition_point(|block| block.row < row))
    }

    /// The block from which the product of two blocks of a panel is subtracted.
    pub fn target(&self, panel: usize, lower: usize, upper: usize) -> Name {
        self.at(self.of[panel][lower].row, self.of[panel][upper].row)
    }

    /// The threads that a block of the factor is sent to, whether they need it or not: all those in its row of the grid, and all in the
    /// column of that number.
    pub fn receivers(&self, name: Name) -> impl Iterator<Item = usize> {
        let (rows, columns) = self.grid;
        let number = self.numbers[self.block(name).row];
        let (row, column) = (number % rows, number % columns);
        let of_row = (0..columns).map(move |column| row + column * rows);
        of_row.chain((0..rows).filter(move |&other| other != row).map(move |row| row + column * rows))
    }

    /// The word of a row of a panel in one of its columns.
    pub fn word(&self, panel: usize, place: usize, column: usize) -> usize {
        let number = self.of[panel].partition_point(|block| block.places.end <= place);
        let block = &self.of[panel][number];
        block.first + column * block.places.len() + place - block.places.start
    }
}
