//! Descriptors of blocks, and the tables that lead to them, in shared memory as in SPLASH-2's program: for each column of the matrix
//! where its blocks begin, for each block its row and where its descriptor is, and the descriptors, of 64 bytes. Blocks are found by
//! bisection.

use super::blocks::{Blocks, Name};
use super::symbolic::Symbolic;
use crate::parallel::Share;
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// Words of a descriptor, and which of them is what.
const DESCRIPTOR: usize = 8;
const PLACE: usize = 0;
const OWNER: usize = 1;
const LEFT: usize = 2;
const LENGTH: usize = 3;
const NUMBERS: usize = 4;

/// Instructions to follow a pointer to a field, and for a step of the bisection.
const FIELD: u32 = 3;
const STEP: u32 = 6;

/// Where the parts of the region begin.
struct Places {
    rows: usize,
    pointers: usize,
    descriptors: usize,
    end: usize,
}

impl Places {
    fn new(symbolic: &Symbolic, blocks: &Blocks) -> Self {
        let columns = symbolic.order.len() * symbolic.freedoms;
        // Two 32-bit numbers a word; descriptors begin lines.
        let rows = (columns + 1).div_ceil(2);
        let pointers = rows + blocks.count().div_ceil(2);
        let descriptors = (pointers + blocks.count()).next_multiple_of(DESCRIPTOR);
        Self { rows, pointers, descriptors, end: descriptors + blocks.count() * DESCRIPTOR }
    }
}

/// The descriptors of all blocks.
pub struct Descriptors<'r, R> {
    region: &'r R,
    blocks: &'r Blocks,
    symbolic: &'r Symbolic,
    places: Places,
}

impl<'r, R> Descriptors<'r, R> {
    /// The region.
    pub fn plan(shape: &Shape, symbolic: &Symbolic, blocks: &Blocks) -> RegionPlan {
        RegionPlan::unplaced(shape, Places::new(symbolic, blocks).end)
    }

    /// The descriptors in `region`.
    pub fn new(region: &'r R, symbolic: &'r Symbolic, blocks: &'r Blocks) -> Self {
        Self { region, blocks, symbolic, places: Places::new(symbolic, blocks) }
    }

    /// Stores a thread's share of the tables, and its blocks' descriptors.
    pub fn initialise<T: Thread<Region = R>>(&self, share: Share, thread: &mut T) {
        let panels = &self.symbolic.panels;
        let mut starts = vec![0; 2 * self.places.rows];
        for (number, panel) in panels.iter().enumerate() {
            // The end of a panel's blocks is where those of the column behind it begin.
            let (first, end) =
                (self.blocks.index((number, 0)), self.blocks.index((number, self.blocks.of[number].len())));
            starts[panel.columns.start] = first;
            starts[panel.columns.start + 1..=panel.columns.end].fill(end);
        }
        let names = self.blocks.names();
        let mut rows: Vec<usize> = names.iter().map(|&name| self.blocks.block(name).row).collect();
        rows.resize(2 * (self.places.pointers - self.places.rows), 0);
        for word in share.block(self.places.rows) {
            thread.store(self.region, word, pair(&starts, word));
        }
        for word in share.block(rows.len() / 2) {
            thread.store(self.region, self.places.rows + word, pair(&rows, word));
        }
        for index in share.block(names.len()) {
            thread.store(self.region, self.places.pointers + index, self.descriptor(index) as u64);
        }
        for name in names.into_iter().filter(|&name| self.blocks.owner(name) == share.number) {
            let (first, block) = (self.descriptor(self.blocks.index(name)), self.blocks.block(name));
            let fields = [
                (PLACE, block.row as u64 | (name.0 as u64) << 32),
                (OWNER, share.number as u64),
                (LEFT, block.products as u64),
                (LENGTH, block.places.len() as u64),
                (NUMBERS, block.first as u64),
            ];
            fields.into_iter().for_each(|(field, value)| thread.store(self.region, first + field, value));
        }
    }

    fn descriptor(&self, index: usize) -> usize {
        self.places.descriptors + index * DESCRIPTOR
    }

    fn load_half<T: Thread<Region = R>>(&self, first: usize, index: usize, thread: &mut T) -> usize {
        thread.instructions(FIELD);
        (thread.load(self.region, first + index / 2) >> (32 * (index % 2)) & 0xffff_ffff) as usize
    }

    /// A field of a block's descriptor, through the pointer to it.
    fn field<T: Thread<Region = R>>(&self, name: Name, field: usize, thread: &mut T) -> u64 {
        let descriptor = thread.load(self.region, self.places.pointers + self.blocks.index(name)) as usize;
        thread.instructions(FIELD);
        thread.load_dependent(self.region, descriptor + field)
    }

    /// The block of a row and a column of panels.
    pub fn find<T: Thread<Region = R>>(&self, row: usize, column: usize, thread: &mut T) -> Name {
        let first = self.symbolic.panels[column].columns.start;
        let (mut low, mut high) = (self.load_half(0, first, thread), self.load_half(0, first + 1, thread));
        while low < high {
            let probe = usize::midpoint(low, high);
            thread.instructions(STEP);
            let found = self.load_half(self.places.rows, probe, thread);
            if found == row {
                return self.blocks.name(column, probe);
            }
            if found > row {
                high = probe;
            } else {
                low = probe + 1;
            }
        }
        unreachable!("the rows of a panel are among those of every panel that it changes")
    }

    /// The thread that stores to a block.
    pub fn owner<T: Thread<Region = R>>(&self, name: Name, thread: &mut T) -> usize {
        self.field(name, OWNER, thread) as usize
    }

    /// Where a block is, for one who will read its numbers.
    pub fn look_up<T: Thread<Region = R>>(&self, name: Name, thread: &mut T) {
        for field in [PLACE, LENGTH, NUMBERS] {
            self.field(name, field, thread);
        }
    }

    /// How many products a block still waits for.
    pub fn left<T: Thread<Region = R>>(&self, name: Name, thread: &mut T) -> u64 {
        self.field(name, LEFT, thread)
    }

    /// One product less to wait for. Returns how many are left.
    pub fn count_down<T: Thread<Region = R>>(&self, name: Name, thread: &mut T) -> u64 {
        let left = self.left(name, thread) - 1;
        thread.store(self.region, self.descriptor(self.blocks.index(name)) + LEFT, left);
        left
    }
}

/// Two numbers in a word.
fn pair(numbers: &[usize], word: usize) -> u64 {
    numbers[2 * word] as u64 | (numbers[2 * word + 1] as u64) << 32
}
