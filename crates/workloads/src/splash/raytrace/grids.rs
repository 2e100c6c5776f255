//! The hierarchy of uniform grids: how it is built, and how a ray walks through it.
//!
//! A grid divides a cube into cells of equal size. A bit for each cell tells whether it is empty; the others are found in a table
//! of chains by their number. A cell has a list of the elements whose bounds reach into it, or a grid of its own (SPLASH-2's
//! raytrace; Glassner 1984 has octrees of this kind).

use super::forms::{Forms, Ray};
use crate::parallel::cost;
use crate::scene::Grids;
use crate::splash::vector::Vector;
use crate::thread::Thread;

/// Words of a grid: cells along an axis, buckets, the words of table and bits, the low corner and the side of a cell.
const GRID_WORDS: usize = 8;
/// Words of a cell in a chain: its number, the word of the next one, how many elements it has, and the word of their list.
const CELL_WORDS: usize = 4;
/// In place of the number of elements: the cell has a grid.
const DIVIDED: u64 = u64::MAX;
/// In place of the word of a cell: there is none.
const NONE: u64 = 0;
/// The first grid is behind the word that stands for none.
const FIRST: usize = 1;
/// How far bounds reach beyond what they bound, for rounding.
const SLACK: f64 = 1e-9;

/// Instructions to clip a ray and to enter a grid: divisions of which two wait for a third, cells, and distances to their walls.
const CLIP: u32 = 3 * cost::DIVISION + 30;
const ENTER: u32 = 60;
/// Instructions of a step to the next cell, and to find a cell in its chain.
const STEP: u32 = 22;
const FIND: u32 = 12;

/// Visitor of the elements that a ray meets on its way.
pub trait Visit<T: Thread> {
    /// It meets an element in a cell.
    fn element(&mut self, element: usize, ray: &Ray, thread: &mut T);

    /// Whether what it has met up to this distance is enough.
    fn is_done(&self, distance: f64) -> bool;
}

struct Builder<'b> {
    bounds: &'b [[Vector; 2]],
    shape: &'b Grids,
    words: Vec<u64>,
}

/// The words of the hierarchy over elements with these bounds, all of them in a cube from 0 to 1.
pub fn build(bounds: &[[Vector; 2]], shape: &Grids) -> Vec<u64> {
    let mut builder = Builder { bounds, shape, words: vec![0; FIRST] };
    builder.grid(&(0..bounds.len()).collect::<Vec<_>>(), ([0.0; 3], 1.0), 0);
    builder.words
}

impl Builder<'_> {
    /// Puts elements into a grid over a cube, given by its low corner and its side. Returns its word.
    fn grid(&mut self, elements: &[usize], (low, side): (Vector, f64), level: usize) -> usize {
        let (cells, size) = (self.shape.cells, side / self.shape.cells as f64);
        let buckets = self.shape.buckets.min(cells.pow(3));
        let first = self.words.len();
        let (table, bits) = (first + GRID_WORDS, first + GRID_WORDS + buckets);
        self.words.resize(bits + cells.pow(3).div_ceil(64), 0);
        let [x, y, z] = low.map(f64::to_bits);
        let head = [cells as u64, buckets as u64, table as u64, bits as u64, x, y, z, size.to_bits()];
        self.words[first..table].copy_from_slice(&head);
        let mut lists = vec![Vec::new(); cells.pow(3)];
        for &element in elements {
            let [least, most] = self.bounds[element];
            let cell = |at: f64, axis: usize| (((at - low[axis]) / size).max(0.0) as usize).min(cells - 1);
            let [x, y, z]: [_; 3] =
                std::array::from_fn(|axis| cell(least[axis] - SLACK, axis)..=cell(most[axis] + SLACK, axis));
            let all = z.flat_map(|z| y.clone().map(move |y| (y, z)));
            for (y, z) in all {
                x.clone().for_each(|x| lists[x + cells * (y + cells * z)].push(element));
            }
        }
        for (number, list) in lists.iter().enumerate() {
            if list.is_empty() {
                self.words[bits + number / 64] |= 1 << (number % 64);
                continue;
            }
            let corner = [number % cells, number / cells % cells, number / cells / cells];
            let corner = std::array::from_fn(|axis| low[axis] + size * corner[axis] as f64);
            let content = if list.len() > self.shape.elements && level < self.shape.levels {
                (DIVIDED, self.grid(list, (corner, size), level + 1))
            } else {
                let start = self.words.len();
                self.words.extend(list.iter().map(|&element| element as u64));
                (list.len() as u64, start)
            };
            let (cell, bucket) = (self.words.len(), table + number % buckets);
            self.words.extend([number as u64, self.words[bucket], content.0, content.1 as u64]);
            self.words[bucket] = cell as u64;
        }
        first
    }
}

/// The hierarchy in shared memory.
pub struct Hierarchy<'r, R> {
    pub grids: &'r R,
    pub forms: Forms<'r, R>,
}

impl<R> Hierarchy<'_, R> {
    /// Shows a ray's elements to a visitor, cell by cell, until that has enough or the ray has left all.
    pub fn walk<T: Thread<Region = R>>(&self, ray: &Ray, visitor: &mut impl Visit<T>, thread: &mut T) {
        thread.instructions(CLIP);
        let (mut enter, mut leave) = (0.0_f64, f64::INFINITY);
        for axis in 0..3 {
            let to = |wall: f64| (wall - ray.from[axis]) * ray.inverse[axis];
            let (one, other) = (to(-SLACK), to(1.0 + SLACK));
            // A distance that is not a number, along a wall, bounds nothing.
            enter = enter.max(one.min(other));
            leave = leave.min(one.max(other));
        }
        if enter <= leave {
            self.walk_grid(FIRST, ray, (enter, leave), visitor, thread);
        }
    }

    fn word<T: Thread<Region = R>>(&self, word: usize, thread: &mut T) -> u64 {
        thread.load(self.grids, word)
    }

    /// A ray's way through a grid, between two distances. Returns whether the visitor has enough.
    fn walk_grid<T: Thread<Region = R>>(
        &self,
        grid: usize,
        ray: &Ray,
        (mut enter, leave): (f64, f64),
        visitor: &mut impl Visit<T>,
        thread: &mut T,
    ) -> bool {
        let cells = thread.load_dependent(self.grids, grid) as usize;
        let [buckets, table, bits] = [1, 2, 3].map(|word| self.word(grid + word, thread) as usize);
        let [x, y, z, size] = [4, 5, 6, 7].map(|word| f64::from_bits(self.word(grid + word, thread)));
        let (low, at) = ([x, y, z], ray.at(enter));
        thread.instructions(ENTER);
        let mut cell: [usize; 3] =
            std::array::from_fn(|axis| (((at[axis] - low[axis]) / size).max(0.0) as usize).min(cells - 1));
        let ahead = ray.towards.map(|part| part > 0.0);
        let mut next: [f64; 3] = std::array::from_fn(|axis| {
            let wall = low[axis] + size * (cell[axis] + usize::from(ahead[axis])) as f64;
            let distance = (wall - ray.from[axis]) * ray.inverse[axis];
            if distance.is_finite() { distance } else { f64::INFINITY }
        });
        let between = ray.inverse.map(|inverse| size * inverse.abs());
        loop {
            let axis = (0..3).min_by(|&one, &other| next[one].total_cmp(&next[other])).unwrap_or(0);
            let exit = next[axis].min(leave);
            let number = cell[0] + cells * (cell[1] + cells * cell[2]);
            thread.instructions(STEP);
            let empty = self.word(bits + number / 64, thread) >> (number % 64) & 1 == 1;
            if !empty && self.visit_cell((table, buckets), number, ray, (enter, exit), visitor, thread) {
                return true;
            }
            let last = if ahead[axis] { cells - 1 } else { 0 };
            if next[axis] >= leave || cell[axis] == last {
                return false;
            }
            cell[axis] = if ahead[axis] { cell[axis] + 1 } else { cell[axis] - 1 };
            enter = enter.max(exit);
            next[axis] += between[axis];
        }
    }

    /// Shows the elements of a cell that is not empty. Returns whether the visitor has enough.
    fn visit_cell<T: Thread<Region = R>>(
        &self,
        (table, buckets): (usize, usize),
        number: usize,
        ray: &Ray,
        (enter, exit): (f64, f64),
        visitor: &mut impl Visit<T>,
        thread: &mut T,
    ) -> bool {
        let mut cell = self.word(table + number % buckets, thread);
        thread.instructions(FIND);
        while cell != NONE && thread.load_dependent(self.grids, cell as usize) != number as u64 {
            cell = self.word(cell as usize + 1, thread);
            thread.instructions(FIND);
        }
        if cell == NONE {
            return false;
        }
        let [count, content] = [2, 3].map(|word| self.word(cell as usize + word, thread));
        if count == DIVIDED {
            return self.walk_grid(content as usize, ray, (enter, exit.max(enter)), visitor, thread);
        }
        for place in content..content + count {
            let element = thread.load_dependent(self.grids, place as usize) as usize;
            visitor.element(element, ray, thread);
        }
        visitor.is_done(exit)
    }
}

const _: () = assert!(CELL_WORDS == 4);
