//! Panels in shared memory, and what is done to them: one changes another, and is completed when all have changed it.

use std::ops::Range;

use super::domains::Domains;
use super::symbolic::{Panel, Symbolic};
use crate::parallel::{Array, cost};
use crate::program::Shape;
use crate::thread::Thread;

/// Instructions to find where a row of one panel is in another, beside the loads: a comparison, the loop.
pub const FIND: u32 = 4;
/// Instructions to multiply a number by two multipliers and add both products: the multiply-adds, the loop.
pub const MULTIPLY: u32 = 3;
/// Instructions of a row beside: addresses, subtractions, the loop.
pub const ROW: u32 = 8;
/// Instructions to begin a panel: its columns and rows.
pub const PANEL: u32 = 20;

/// Where each panel is, and whose it is.
pub struct Layout {
    /// The first word of each panel, whose rows follow each other.
    pub firsts: Vec<usize>,
    /// Words of all.
    pub words: usize,
    owners: Vec<usize>,
}

impl Layout {
    /// Panels are dealt round, but for those of subtrees. Those of a thread follow each other on pages of their own, and each begins
    /// a line. There is room for those of subtrees, and for the others unless they are in blocks elsewhere.
    pub fn new(shape: &Shape, symbolic: &Symbolic, domains: &Domains, in_blocks: bool) -> Self {
        let (threads, count) = (shape.threads(), symbolic.panels.len());
        let owners: Vec<usize> = (0..count).map(|panel| domains.owner(panel).unwrap_or(panel % threads)).collect();
        let (mut firsts, mut words) = (vec![0; count], 0_usize);
        for number in 0..threads {
            words = words.next_multiple_of(shape.page_words);
            let here = |&panel: &usize| owners[panel] == number && !(in_blocks && domains.owner(panel).is_none());
            for panel in (0..count).filter(here) {
                firsts[panel] = words;
                let Panel { columns, rows, .. } = &symbolic.panels[panel];
                words += (columns.len() * rows.len()).next_multiple_of(shape.line_words);
            }
        }
        Self { firsts, words, owners }
    }

    /// The thread that stores a panel.
    pub fn owner(&self, panel: usize) -> usize {
        self.owners[panel]
    }
}

/// All panels.
pub struct Panels<'r, R> {
    pub symbolic: &'r Symbolic,
    pub layout: &'r Layout,
    pub domains: &'r Domains,
    pub values: &'r R,
    pub rows: &'r R,
    /// The panels of subtrees until they are complete.
    pub own: &'r R,
}

/// Numbers that are summed up.
#[derive(Clone, Copy)]
pub enum Numbers<'r, R> {
    /// In memory that all threads share.
    Shared(Array<'r, R, f64>),
    /// In a thread's private memory, from a word on.
    Own(&'r R, usize),
}

impl<R> Numbers<'_, R> {
    #[inline]
    pub fn load<T: Thread<Region = R>>(&self, thread: &mut T, at: usize) -> f64 {
        match self {
            Self::Shared(values) => values.load(thread, at),
            Self::Own(region, first) => f64::from_bits(thread.load_own(region, first + at)),
        }
    }

    #[inline]
    pub fn store<T: Thread<Region = R>>(&self, thread: &mut T, at: usize, value: f64) {
        match self {
            Self::Shared(values) => values.store(thread, at, value),
            Self::Own(region, first) => thread.store_own(region, first + at, value.to_bits()),
        }
    }
}

/// Where some rows are among others that hold them, both as words of `rows`, which are those of [`Symbolic::rows`].
pub fn find<T: Thread>(rows: &T::Region, some: Range<usize>, there: Range<usize>, thread: &mut T) -> Vec<usize> {
    let (mut at, mut other) = (0, thread.load(rows, there.start));
    let find = |word: usize| {
        let row = thread.load(rows, word);
        thread.instructions(FIND);
        while other != row {
            at += 1;
            other = thread.load(rows, there.start + at);
            thread.instructions(FIND);
        }
        at
    };
    some.map(find).collect()
}

impl<'r, R> Panels<'r, R> {
    fn panel(&self, number: usize) -> (&'r Panel, Array<'r, R, f64>) {
        (&self.symbolic.panels[number], Array::from(self.values, self.layout.firsts[number]))
    }

    /// The numbers of a panel that is not complete.
    fn incomplete(&self, number: usize) -> Numbers<'r, R> {
        match self.domains.first(number) {
            Some(first) => Numbers::Own(self.own, first),
            None => Numbers::Shared(self.panel(number).1),
        }
    }

    /// Subtracts from panel `target` what the completed panel `source` contributes: the products of its rows that are columns
    /// of the target with all rows from there on. `change` is the change's number at the source.
    pub fn change<T: Thread<Region = R>>(&self, source: usize, change: usize, thread: &mut T) {
        let from = &self.symbolic.panels[source];
        let (target, columns) = from.changes[change].clone();
        let (to, results) = (&self.symbolic.panels[target], self.incomplete(target));
        let wide = to.columns.len();
        thread.instructions(PANEL);
        let found = find(self.rows, from.rows.start + columns.start..from.rows.end, to.rows.clone(), thread);
        self.subtract(source, columns, &found, |row, column| row * wide + column, results, thread);
    }

    /// Subtracts from the update of a subtree, whose rows are `rows`, what a completed panel of it contributes: the products of its
    /// rows from place `from` on, which are above the subtree. `word` is that of a row and a column of the update.
    pub fn contribute<T: Thread<Region = R>>(
        &self,
        source: usize,
        from: usize,
        (rows, update): (Range<usize>, &'r R),
        word: impl Fn(usize, usize) -> usize,
        thread: &mut T,
    ) {
        let panel = &self.symbolic.panels[source];
        thread.instructions(PANEL);
        let found = find(self.rows, panel.rows.start + from..panel.rows.end, rows, thread);
        self.subtract(source, from..panel.rows.len(), &found, word, Numbers::Shared(Array::new(update)), thread);
    }

    /// Subtracts the products of some rows of a completed panel with all from the first of them on: two of those rows at a time.
    /// `found` is where the rows are in the result, `word` which word of it that of a row and a column is.
    fn subtract<T: Thread<Region = R>>(
        &self,
        source: usize,
        columns: Range<usize>,
        found: &[usize],
        word: impl Fn(usize, usize) -> usize,
        results: Numbers<'_, R>,
        thread: &mut T,
    ) {
        let (from, values) = self.panel(source);
        let (width, count) = (from.columns.len(), from.rows.len());
        for first in columns.clone().step_by(2) {
            let pair = first..(first + 2).min(columns.end);
            let mut multipliers = vec![[0.0; 2]; width];
            for (number, row) in pair.clone().enumerate() {
                for (column, both) in multipliers.iter_mut().enumerate() {
                    both[number] = values.load(thread, row * width + column);
                }
            }
            for row in first..count {
                let mut sums = [0.0; 2];
                for (column, both) in multipliers.iter().enumerate() {
                    let value = values.load(thread, row * width + column);
                    sums[0] += value * both[0];
                    sums[1] += value * both[1];
                    thread.instructions(MULTIPLY);
                }
                for (number, column) in pair.clone().enumerate().filter(|&(_, column)| column <= row) {
                    let at = word(found[row - columns.start], found[column - columns.start]);
                    let before = results.load(thread, at);
                    results.store(thread, at, before - sums[number]);
                }
                thread.instructions(ROW);
            }
        }
    }

    /// Makes a panel that all others have changed a part of the factor: row by row, each with the rows of its columns.
    pub fn complete<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) {
        let (panel, values) = self.panel(number);
        let before = self.incomplete(number);
        let width = panel.columns.len();
        let mut inverses = vec![0.0; width];
        thread.instructions(PANEL);
        for row in 0..panel.rows.len() {
            let own: Vec<f64> =
                (0..width.min(row + 1)).map(|column| before.load(thread, row * width + column)).collect();
            let mut done: Vec<f64> = Vec::with_capacity(width);
            for (column, value) in own.into_iter().enumerate() {
                let mut left = value;
                for (before, known) in done.iter().enumerate() {
                    let other = if column == row { *known } else { values.load(thread, column * width + before) };
                    left -= known * other;
                    thread.instructions(MULTIPLY);
                }
                if column == row {
                    let root = left.sqrt();
                    inverses[column] = 1.0 / root;
                    thread.instructions(cost::SQUARE_ROOT + cost::DIVISION);
                    done.push(root);
                } else {
                    done.push(left * inverses[column]);
                }
            }
            for (column, value) in done.into_iter().enumerate() {
                values.store(thread, row * width + column, value);
            }
            thread.instructions(ROW);
        }
    }
}
