//! A sparse matrix is factored: panels change each other, in an order that comes of itself.

mod mesh;
mod panels;
mod symbolic;
mod system;

use std::sync::{Arc, Mutex, PoisonError};

use mesh::Mesh;
use panels::{Layout, Panels};
use symbolic::{Cutting, Symbolic};
use system::System;

use crate::Blocks;
use crate::parallel::{Array, Locks, Share};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::thread::Thread;

program! {
    /// A supernodal Cholesky factorisation after that of SPLASH (Rothberg and Gupta 1991): columns of equal structure that follow
    /// each other are supernodes, cut into panels, dealt to the threads. A thread that has completed a panel puts a task into the
    /// queue of the owner of each panel that this one changes, under the queue's lock; owners take tasks as they come, and
    /// complete a panel when all changes to it are made. Nobody else stores to it; whoever needs it reads it.
    ///
    /// Matrices are those of meshes of bricks with three displacements at each node. The default has the 1806 rows of BCSSTK14;
    /// a length of 37, width of 11 and height of 4 the 4884 rows of BCSSTK16 (tk16 of SPLASH), 62 numbers a row instead of 59.
    /// Ordering, by minimum degree, and structure are found before the program begins: SPLASH reads ordered matrices from files.
    /// A matrix from a file takes the place of the mesh ([`Matrix`](crate::Matrix)), with its rows in the order of the file.
    Cholesky is "cholesky": "supernodal factorisation of a finite-element matrix: panels, and queues of tasks under locks",
        of matrix {
        /// Nodes along the mesh.
        length: 43, 1 to 512;
        /// Nodes across it.
        width: 14, 1 to 128;
        /// Nodes upwards.
        height: 1, 1 to 64;
        /// Columns of a panel, at most.
        panel: 8, 1 to 4096;
        /// KiB of a panel, at most, as SPLASH's program cuts supernodes to fit the cache; 0 for any size.
        fit: 0, 0 to 1048576;
        /// 1: the rows of a file's matrix are ordered by minimum degree. 0: they are in order already.
        reorder: 0, 0 to 1;
    }
}

/// Instructions to compute a number of the matrix and its place.
const DRAW: u32 = 60;
/// Instructions to take a task from a queue, or to put it in.
const TASK: u32 = 12;

/// Regions: numbers, rows of all supernodes, queues, locks.
const VALUES: usize = 0;
const ROWS: usize = 1;
const QUEUES: usize = 2;
const LOCKS: usize = 3;

/// How large what is left of the matrix may be when the product of the factors is taken away, relative to it.
const ROUNDING: f64 = 1e-13;

/// A change to be made: a completed panel, and the change's number at it.
type Task = (u32, u32);

/// The queues of all threads: of each, how many tasks were put in, in a line of its own, and the tasks. None is taken out of
/// memory: there is room for all that will ever come.
struct Queues<'r, R> {
    region: &'r R,
    blocks: Blocks,
    locks: Locks<'r, R>,
}

impl<'r, R> Queues<'r, R> {
    fn count_at(&self, owner: usize) -> usize {
        self.blocks.word(owner, 0)
    }

    fn tasks(&self, owner: usize) -> Array<'r, R, Task> {
        Array::from(self.region, self.blocks.word(owner, 1))
    }

    fn put<T: Thread<Region = R>>(&self, owner: usize, task: Task, thread: &mut T) {
        self.locks.critical(thread, owner, |thread| {
            let count = thread.load(self.region, self.count_at(owner));
            self.tasks(owner).store(thread, count as usize, task);
            thread.instructions(TASK);
            thread.store_release(self.region, self.count_at(owner), count + 1);
        });
    }
}

impl Cholesky {
    fn system(&self) -> System {
        let mesh = || Mesh { nodes: [self.length, self.width, self.height].map(|nodes| nodes as usize) };
        self.matrix.map_or_else(|| System::Mesh(mesh()), System::Matrix)
    }

    fn cutting(&self) -> Cutting {
        let numbers = (self.fit > 0).then_some((self.fit << 10) as usize / size_of::<f64>());
        Cutting { reorder: self.reorder == 1 || self.matrix.is_none(), width: self.panel as usize, numbers }
    }

    /// The structure of the factor. All threads of a run want the same one, and so do all runs of a sweep: the latest is kept.
    fn symbolic(&self) -> Arc<Symbolic> {
        static LATEST: Mutex<Option<(Cholesky, Arc<Symbolic>)>> = Mutex::new(None);
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, symbolic)) = latest.as_ref().filter(|(program, _)| program == self) {
            return symbolic.clone();
        }
        let symbolic = Arc::new(Symbolic::new(&self.system(), self.cutting()));
        *latest = Some((*self, symbolic.clone()));
        symbolic
    }

    /// Room for the tasks of the thread that has most.
    fn queues(shape: &Shape, symbolic: &Symbolic, layout: &Layout) -> Blocks {
        let mut tasks = vec![0; shape.threads()];
        for (number, panel) in symbolic.panels.iter().enumerate() {
            tasks[layout.owner(number)] += panel.sources;
        }
        let most = tasks.into_iter().max().unwrap_or(0);
        Blocks::new(shape, 1 + most.div_ceil(shape.line_words))
    }

    /// The matrix where a panel is, row by row; zero above the diagonal and where only the factor is not.
    fn panel(&self, symbolic: &Symbolic, number: usize, seed: u64) -> Vec<f64> {
        let (system, freedoms, panel) = (self.system(), symbolic.freedoms, &symbolic.panels[number]);
        let (rows, width) = (&symbolic.rows[panel.rows.clone()], panel.columns.len());
        let mut values = vec![0.0; rows.len() * width];
        let first = panel.columns.start / freedoms;
        for at in first..panel.columns.end.div_ceil(freedoms) {
            let node = symbolic.order[at];
            for other in system.neighbours(node).into_iter().chain([node]) {
                let block = system.block(other, node, seed);
                let parts = (0..freedoms).flat_map(|row| (0..freedoms).map(move |column| (row, column)));
                for (down, right) in parts {
                    let (row, column) = (symbolic.place[other] * freedoms + down, at * freedoms + right);
                    if row >= column && panel.columns.contains(&column) {
                        let place = rows.partition_point(|&each| each < row);
                        values[place * width + column - panel.columns.start] = block[down][right];
                    }
                }
            }
        }
        values
    }
}

/// Does a thread's part: changes of its panels as they come, and in between those panels that nobody changes.
fn factor<T: Thread>(share: Share, panels: &Panels<'_, T::Region>, queues: &Queues<'_, T::Region>, thread: &mut T) {
    let (all, number) = (&panels.symbolic.panels, share.number);
    let mut waiting: Vec<usize> = all.iter().map(|panel| panel.sources).collect();
    let mut missing = share.cyclic(all.len()).count();
    let mut free = share.cyclic(all.len()).filter(|&panel| all[panel].sources == 0);
    let (mut taken, mut count) = (0, 0);
    while missing > 0 {
        if taken == count {
            count = thread.load_acquire(queues.region, queues.count_at(number));
        }
        let complete = if taken < count {
            let (source, change) = queues.tasks(number).load(thread, taken as usize);
            taken += 1;
            thread.instructions(TASK);
            panels.change(source as usize, change as usize, thread);
            let (target, _) = all[source as usize].changes[change as usize];
            waiting[target] -= 1;
            (waiting[target] == 0).then_some(target)
        } else if let Some(panel) = free.next() {
            Some(panel)
        } else {
            count = thread.await_change(queues.region, queues.count_at(number), count);
            None
        };
        if let Some(panel) = complete {
            panels.complete(panel, thread);
            missing -= 1;
            for (change, &(target, _)) in all[panel].changes.iter().enumerate() {
                queues.put(panels.layout.owner(target), (panel as u32, change as u32), thread);
            }
        }
    }
}

impl Program for Cholesky {
    const REGIONS: &'static [&'static str] = &["values", "rows", "queues", "locks"];
    const DYNAMIC: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let symbolic = self.symbolic();
        let layout = Layout::new(shape, &symbolic);
        vec![
            RegionPlan::unplaced(shape, layout.words),
            RegionPlan::unplaced(shape, symbolic.rows.len()),
            Self::queues(shape, &symbolic, &layout).plan(shape.homes.iter().copied()),
            Locks::<()>::plan(shape, shape.threads()),
        ]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (share, symbolic) = (Share::new(shape, thread.number()), self.symbolic());
        let layout = Layout::new(shape, &symbolic);
        for panel in share.cyclic(symbolic.panels.len()) {
            for (word, value) in self.panel(&symbolic, panel, shape.seed).into_iter().enumerate() {
                thread.store(&regions[VALUES], layout.firsts[panel] + word, value.to_bits());
                thread.instructions(DRAW);
            }
        }
        for row in share.block(symbolic.rows.len()) {
            thread.store(&regions[ROWS], row, symbolic.rows[row] as u64);
        }
        thread.barrier();
        thread.measure(true);
        let panels = Panels { symbolic: &symbolic, layout: &layout, values: &regions[VALUES], rows: &regions[ROWS] };
        let queues = Queues {
            region: &regions[QUEUES],
            blocks: Self::queues(shape, &symbolic, &layout),
            locks: Locks::new(shape, &regions[LOCKS], shape.threads()),
        };
        factor(share, &panels, &queues, thread);
        thread.barrier();
        thread.measure(false);
        0
    }

    /// The factor times its transpose is the matrix.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let symbolic = self.symbolic();
        let layout = Layout::new(shape, &symbolic);
        let count = symbolic.order.len() * symbolic.freedoms;
        let value = |panel: usize, word: usize| f64::from_bits(read(VALUES, layout.firsts[panel] + word));
        // Of each row of the factor, the numbers before the diagonal, each with its panel, its place among the rows there, and
        // its column there.
        let mut before: Vec<Vec<(usize, usize, usize)>> = vec![Vec::new(); count];
        let (mut off, mut norm) = (0.0, 0.0);
        let mut sums = vec![0.0; count];
        for (number, panel) in symbolic.panels.iter().enumerate() {
            let (matrix, width) = (self.panel(&symbolic, number, shape.seed), panel.columns.len());
            let rows = &symbolic.rows[panel.rows.clone()];
            for (place, &row) in rows.iter().enumerate() {
                before[row].extend((0..width.min(place + 1)).map(|column| (number, place, column)));
            }
            for (right, column) in panel.columns.clone().enumerate() {
                for &(source, place, at) in before[column].iter().filter(|each| each.0 != number || each.2 <= right) {
                    let from = &symbolic.panels[source];
                    let (wide, theirs) = (from.columns.len(), &symbolic.rows[from.rows.clone()]);
                    let multiplier = value(source, place * wide + at);
                    for (further, &row) in theirs.iter().enumerate().skip(place) {
                        sums[row] += multiplier * value(source, further * wide + at);
                    }
                }
                for (place, &row) in rows.iter().enumerate().skip(right) {
                    let expected = matrix[place * width + right];
                    let twice = if row == column { 1.0 } else { 2.0 };
                    off += twice * (sums[row] - expected).powi(2);
                    norm += twice * expected * expected;
                }
                sums.fill(0.0);
            }
        }
        let what = || "the norm of what the factors' product is off, relative to the matrix,".into();
        Wrong::unless_close((off / norm).sqrt(), 0.0, ROUNDING, what)
    }
}
