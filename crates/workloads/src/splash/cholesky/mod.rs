//! A sparse matrix is factored: panels change each other, in an order that comes of itself.

mod amalgamation;
mod block_fan_out;
mod blocks;
mod descriptors;
mod domains;
mod fan_out;
mod mesh;
mod owners;
mod panels;
mod pool;
mod products;
mod symbolic;
mod system;
mod task_lists;
mod updates;

use std::sync::{Arc, Mutex, PoisonError};

use block_fan_out::{BlockQueues, Parts};
use blocks::Blocks;
use descriptors::Descriptors;
use domains::{Domains, Rule};
use fan_out::Tasks;
use mesh::Mesh;
use owners::Queues;
use panels::{Layout, Panels};
use products::Factor;
use symbolic::{Cutting, Fit, Symbolic};
use system::System;
use task_lists::TaskLists;
use updates::Updates;

use crate::parallel::{Locks, Share};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::thread::Thread;

program! {
    /// A supernodal Cholesky factorisation after that of SPLASH (Rothberg and Gupta 1991): columns of equal structure that follow
    /// each other are supernodes, cut into panels, dealt to the threads. A thread that has completed a panel puts a task into the
    /// queue of the owner of each panel that this one changes, under the queue's lock; owners take tasks as they come, and
    /// complete a panel when all changes to it are made. Nobody else stores to it; whoever needs it reads it. In the schedule of
    /// the first SPLASH, any thread completes a panel and makes its changes to others, under their locks. Threads may first complete
    /// subtrees of their own, whose panels are in private memory until they are complete. In the schedule of SPLASH-2, they send the
    /// updates of these subtrees to the owners of blocks above; a grid of threads owns these blocks, which fan out (Rothberg and
    /// Gupta 1993).
    ///
    /// Matrices are those of meshes of bricks with three displacements at each node. The default has the 1806 rows of BCSSTK14;
    /// a length of 37, width of 11 and height of 4 the 4884 rows of BCSSTK16 (tk16 of SPLASH), 62 numbers a row instead of 59.
    /// Ordering, by minimum degree, and structure are found before the program begins: SPLASH reads ordered matrices from files.
    /// A matrix from a file takes the place of the mesh ([`Matrix`](crate::Matrix)), with its rows in the order of the file.
    Cholesky is "cholesky": "supernodal factorisation of a finite-element matrix: panels, and queues of tasks under locks",
        of matrix: Matrix {
        /// Nodes along the mesh.
        length: 43, 1 to 512;
        /// Nodes across it.
        width: 14, 1 to 128;
        /// Nodes upwards.
        height: 1, 1 to 64;
        /// Columns of a panel, at most; where blocks fan out and supernodes are merged, a third more.
        panel: 8, 1 to 4096;
        /// KiB of a panel, at most, as SPLASH cuts supernodes; where blocks fan out, of the cache that they are merged for. 0: any.
        fit: 0, 0 to 1048576;
        /// 1: the rows of a file's matrix are ordered by minimum degree. 0: they are in order already.
        reorder: 0, 0 to 1;
        /// 0: owners change their panels. 1: panels fan out through one queue of tasks. 2: and threads have subtrees. 3: blocks fan out.
        schedule: 0, 0 to 3;
    }
}

/// Instructions to compute a number of the matrix and its place.
const DRAW: u32 = 60;
/// Instructions to take a task from a queue, or to put it in.
const TASK: u32 = 12;

/// Regions: numbers, rows of all supernodes, queues, locks, numbers of subtrees; where blocks fan out, updates of subtrees, room for
/// products, and descriptors of blocks.
const VALUES: usize = 0;
const ROWS: usize = 1;
const QUEUES: usize = 2;
const LOCKS: usize = 3;
const OWN: usize = 4;
const UPDATES: usize = 5;
const PRODUCTS: usize = 6;
const DESCRIPTORS: usize = 7;

/// How large what is left of the matrix may be when the product of the factors is taken away, relative to it.
const ROUNDING: f64 = 1e-13;

impl Cholesky {
    fn system(&self) -> System {
        let mesh = || Mesh { nodes: [self.length, self.width, self.height].map(|nodes| nodes as usize) };
        self.matrix.map_or_else(|| System::Mesh(mesh()), System::Matrix)
    }

    fn cutting(&self) -> Cutting {
        let numbers = (self.fit << 10) as usize / size_of::<f64>();
        let fit = match (self.fit, self.schedule) {
            (0, _) => Fit::Any,
            (_, 3) => Fit::Merged((numbers as f64).sqrt().round()),
            _ => Fit::Panels(numbers),
        };
        Cutting { reorder: self.reorder == 1 || self.matrix.is_none(), width: self.panel as usize, fit }
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

    /// Whether panels fan out through one queue of tasks.
    fn fans_out(&self) -> bool {
        matches!(self.schedule, 1 | 2)
    }

    /// Whose the parts of the factor are, and where.
    fn structure(&self, shape: &Shape) -> Structure {
        let symbolic = self.symbolic();
        let domains = match self.schedule {
            2 => Domains::new(shape, &symbolic, Rule::Part),
            3 => Domains::new(shape, &symbolic, Rule::Even),
            _ => Domains::none(&symbolic, shape.threads()),
        };
        let in_blocks = self.schedule == 3;
        let layout = Layout::new(shape, &symbolic, &domains, in_blocks);
        let blocks = in_blocks.then(|| {
            let updates = Updates::new(shape, &symbolic, &domains);
            (Blocks::new(shape, &symbolic, &domains, &updates, layout.words), updates)
        });
        Structure { symbolic, domains, layout, blocks }
    }

    /// Stores the numbers of the matrix in those blocks that a thread owns.
    fn initialise_blocks<T: Thread>(
        &self,
        (symbolic, blocks): (&Symbolic, &Blocks),
        seed: u64,
        values: &T::Region,
        thread: &mut T,
    ) {
        for (number, of) in blocks.of.iter().enumerate() {
            let own = |block: &usize| blocks.owner((number, *block)) == thread.number();
            let own: Vec<usize> = (0..of.len()).filter(own).collect();
            if own.is_empty() {
                continue;
            }
            let (panel, width) = (self.panel(symbolic, number, seed), symbolic.panels[number].columns.len());
            for block in own.into_iter().map(|block| &of[block]) {
                let numbers = (0..width).flat_map(|column| block.places.clone().map(move |place| (place, column)));
                for (word, (place, column)) in numbers.enumerate() {
                    thread.store(values, block.first + word, panel[place * width + column].to_bits());
                    thread.instructions(DRAW);
                }
            }
        }
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

/// Whose the parts of a factor are, and where.
struct Structure {
    symbolic: Arc<Symbolic>,
    domains: Domains,
    layout: Layout,
    /// The blocks that fan out, if it is they that do, and the updates of subtrees.
    blocks: Option<(Blocks, Updates)>,
}

impl Program for Cholesky {
    const REGIONS: &'static [&'static str] =
        &["values", "rows", "queues", "locks", "subtrees", "updates", "products", "descriptors"];
    const DYNAMIC: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let Structure { symbolic, domains, layout, blocks } = self.structure(shape);
        let (words, queues, locks) = match (&blocks, self.fans_out()) {
            (Some((blocks, updates)), _) => {
                let queues = BlockQueues::<()>::plan(shape, &symbolic, blocks, updates);
                (blocks.end, queues, TaskLists::<()>::ticket_plan(shape))
            }
            (None, true) => {
                let locks = Locks::<()>::plan(shape, Tasks::<()>::locks(&symbolic));
                (layout.words, Tasks::<()>::plan(shape, &symbolic), locks)
            }
            (None, false) => {
                let locks = Locks::<()>::plan(shape, shape.threads());
                (layout.words, Queues::<()>::plan(shape, &symbolic, &layout), locks)
            }
        };
        let mut regions =
            vec![RegionPlan::unplaced(shape, words), RegionPlan::unplaced(shape, symbolic.rows.len()), queues, locks];
        if self.schedule >= 2 {
            regions.push(domains.plan(shape));
        }
        if let Some((blocks, updates)) = &blocks {
            regions.push(updates.plan(shape));
            regions.push(products::plan(shape, blocks));
            regions.push(Descriptors::<()>::plan(shape, &symbolic, blocks));
        }
        regions
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let share = Share::new(shape, thread.number());
        let structure = self.structure(shape);
        let Structure { symbolic, domains, layout, blocks } = &structure;
        let own = regions.get(OWN).unwrap_or(&regions[VALUES]);
        let owned = |panel: &usize| {
            layout.owner(*panel) == share.number && (blocks.is_none() || domains.owner(*panel).is_some())
        };
        for panel in (0..symbolic.panels.len()).filter(owned) {
            let first = domains.first(panel);
            for (word, value) in self.panel(symbolic, panel, shape.seed).into_iter().enumerate() {
                match first {
                    Some(first) => thread.store_own(own, first + word, value.to_bits()),
                    None => thread.store(&regions[VALUES], layout.firsts[panel] + word, value.to_bits()),
                }
                thread.instructions(DRAW);
            }
        }
        for row in share.block(symbolic.rows.len()) {
            thread.store(&regions[ROWS], row, symbolic.rows[row] as u64);
        }
        let (values, rows) = (&regions[VALUES], &regions[ROWS]);
        let (queues, locks) = (&regions[QUEUES], &regions[LOCKS]);
        let panels = Panels { symbolic, layout, domains, values, rows, own };
        if let Some((blocks, updates)) = blocks {
            self.initialise_blocks((symbolic, blocks), shape.seed, values, thread);
            let products = &regions[PRODUCTS];
            let factor = Factor { symbolic, blocks, values, rows, products };
            let descriptors = Descriptors::new(&regions[DESCRIPTORS], symbolic, blocks);
            descriptors.initialise(share, thread);
            let parts = Parts { panels, factor, descriptors, updates, contributed: &regions[UPDATES] };
            let queues = BlockQueues::new(shape, &parts, queues, locks);
            measured(thread, |thread| queues.factor(&parts, thread));
        } else if self.fans_out() {
            let tasks = Tasks::new(shape, symbolic, domains, queues, locks);
            if share.number == 0 {
                tasks.initialise(symbolic, domains, thread);
            }
            measured(thread, |thread| tasks.factor(&panels, thread));
        } else {
            let queues = Queues::new(shape, &panels, queues, locks);
            measured(thread, |thread| queues.factor(share, &panels, thread));
        }
        0
    }

    /// The factor times its transpose is the matrix.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let Structure { symbolic, domains, layout, blocks } = self.structure(shape);
        let count = symbolic.order.len() * symbolic.freedoms;
        let value = |panel: usize, place: usize, column: usize| {
            let word = match &blocks {
                Some((blocks, _)) if domains.owner(panel).is_none() => blocks.word(panel, place, column),
                _ => layout.firsts[panel] + place * symbolic.panels[panel].columns.len() + column,
            };
            f64::from_bits(read(VALUES, word))
        };
        // Numbers before the diagonal, for each row of the factor, each with its panel, its place among the rows there, and
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
                    let theirs = &symbolic.rows[symbolic.panels[source].rows.clone()];
                    let multiplier = value(source, place, at);
                    for (further, &row) in theirs.iter().enumerate().skip(place) {
                        sums[row] += multiplier * value(source, further, at);
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

/// The measured part of a program, between barriers.
fn measured<T: Thread>(thread: &mut T, body: impl FnOnce(&mut T)) {
    thread.barrier();
    thread.measure(true);
    body(thread);
    thread.barrier();
    thread.measure(false);
}
