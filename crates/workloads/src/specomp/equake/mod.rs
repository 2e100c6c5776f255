//! Waves of an earthquake: a symmetric sparse matrix times a vector, with partial sums of every thread.

mod mesh;

use mesh::{Block, Mesh};

use crate::parallel::{Array, Element, Share, Team, alone, cost, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// Elastic waves in a basin by finite elements, with the algorithm and the memory behaviour of equake of SpecOMP2001. In
    /// each time step the stiffness matrix, of which only one half is stored, is multiplied with the displacements: threads share by
    /// rows, and add what a row does to other rows to partial sums of their own, one for each node of the whole mesh, with
    /// markers that say which are in use. Clearing the markers (loop 1) and gathering the sums (loop 3) look at all
    /// nodes of all threads: work and misses grow with the number of threads, until they take as long as the
    /// product (loop 2) (FLASH dissertation, section 6.1, Figures 3.6 and 6.2).
    ///
    /// Repaired (Figure 6.3), the markers are cleared where they have been found set, while sums are gathered, thread by
    /// thread instead of node by node. Taken by the letter, the figure has threads add to the same sums; here the outer
    /// loop is every thread's, and the inner goes over its own nodes.
    ///
    /// In either form markers and partial sums are first touched in the order of nodes, not by the thread that fills them. What
    /// section 6.2.2 says could be done about that beyond the chapter's repairs, `tuned` 2 does. Making the mesh is not measured.
    Equake is "equake": "earthquake waves: sparse symmetric products with partial sums that every thread has of everything" {
        /// Nodes along an edge of the mesh.
        edge: 24, 2 to 256;
        /// Time steps.
        steps: 3, 0 to 10_000;
        /// Time steps of these that come before what is measured; the last is measured in any case.
        unmeasured: 0, 0 to 10_000;
        /// How partial sums are gathered: 0, in loops of their own, node by node; 1, in one, thread by thread; 2, from pages of who fills them.
        tuned: 0, 0 to 2;
    }
}

/// A time step: with distances, densities and moduli of 1, a tenth of the time in which a wave passes a tetrahedron.
const STEP: f64 = 0.05;
/// Tremor that is always there, along each axis.
const TREMOR: f64 = 1e-3;
/// The force of the source in its first and later steps: a wavelet of Ricker's shape that has just begun.
const FORCE: f64 = 1.0;
const FREQUENCY: f64 = 0.5;
/// How far rounding may take a displacement from where one thread alone brings it, relative to the largest.
const ROUNDING: f64 = 1e-11;

/// Instructions beside loads and stores. To clear or to look at a marker: an address, the loop.
const MARKER: u32 = 3;
/// To multiply a block with a vector: nine multiply-adds, addresses.
const PRODUCT: u32 = 12;
/// To add one vector to another.
const ADD: u32 = 5;
/// To begin a row.
const ROW: u32 = 6;
/// To advance a node: five for each axis, factors, addresses.
const ADVANCE: u32 = 24 + cost::DIVISION;
/// To compute a block of the matrix: a few tetrahedra.
const ASSEMBLE: u32 = 800;

/// Regions: what the team forks by; of the matrix, where each row starts, the column and the value of each block; markers and
/// partial sums, thread by thread; the product; displacements of three steps; mass and damping.
const TEAM: usize = 0;
const STARTS: usize = 1;
const COLUMNS: usize = 2;
const BLOCKS: usize = 3;
const MARKERS: usize = 4;
const SUMS: usize = 5;
const FORCES: usize = 6;
const PLACES: usize = 7;
const NODES: usize = 8;

type Vector = [f64; 3];

/// `sum` and what a displacement makes of a block.
fn add_product(sum: &mut Vector, block: &Block, by: &Vector) {
    (0..9).for_each(|at| sum[at / 3] += block[at] * by[at % 3]);
}

/// The same with the block mirrored at the diagonal.
fn add_mirrored(sum: &mut Vector, block: &Block, by: &Vector) {
    (0..9).for_each(|at| sum[at % 3] += block[at] * by[at / 3]);
}

/// A thread's part of the work.
struct Body<'r, R> {
    regions: &'r [R],
    nodes: usize,
    threads: usize,
    /// The node at the source.
    source: usize,
}

impl<'r, R> Body<'r, R> {
    fn array<E: Element>(&self, name: usize) -> Array<'r, R, E> {
        Array::new(&self.regions[name])
    }

    /// Where a thread's marker and sum of a node are.
    fn of(&self, number: usize, node: usize) -> usize {
        number * self.nodes + node
    }

    /// Stores its rows and what belongs to its nodes, and touches its nodes' markers and sums of all threads.
    fn initialise<T: Thread<Region = R>>(&self, thread: &mut T, mesh: &Mesh, share: Share, tremor: &Tremor) {
        let own = share.block(self.nodes);
        let starts = mesh.starts();
        for node in own.clone() {
            let row = mesh.row(node);
            self.array(STARTS).store(thread, node + 1, starts[node + 1]);
            for (number, (column, block)) in (starts[node] as usize..).zip(row.blocks) {
                thread.instructions(ASSEMBLE);
                self.array(COLUMNS).store(thread, number, column as u64);
                self.array(BLOCKS).store(thread, number, block);
            }
            self.array(NODES).store(thread, node, [row.mass, row.damping]);
            let at_rest = tremor.of(node);
            for place in 0..3 {
                self.array(PLACES).store(thread, place * self.nodes + node, at_rest);
            }
        }
        for number in 0..self.threads {
            own.clone().for_each(|node| self.touch(thread, number, node));
        }
    }

    /// Touches the markers and sums that its rows add to.
    fn touch_own<T: Thread<Region = R>>(&self, thread: &mut T, mesh: &Mesh, share: Share) {
        for row in share.block(self.nodes) {
            mesh.row(row).blocks.iter().for_each(|&(column, _)| self.touch(thread, share.number, column));
        }
    }

    /// Touches a thread's marker and sum of a node.
    fn touch<T: Thread<Region = R>>(&self, thread: &mut T, number: usize, node: usize) {
        self.array(MARKERS).store(thread, self.of(number, node), 0_u64);
        self.array(SUMS).store(thread, self.of(number, node), [0.0; 3]);
        thread.instructions(MARKER);
    }

    /// Adds to a partial sum of a thread, which begins with 0 when its marker is set.
    fn add<T: Thread<Region = R>>(&self, thread: &mut T, at: usize, change: impl FnOnce(&mut Vector)) {
        let mut sum = [0.0; 3];
        if self.array::<u64>(MARKERS).load_dependent(thread, at) == 0 {
            self.array(MARKERS).store(thread, at, 1_u64);
        } else {
            sum = self.array(SUMS).load_dependent(thread, at);
        }
        change(&mut sum);
        self.array(SUMS).store(thread, at, sum);
        thread.instructions(MARKER);
    }

    /// Loop 2: what its rows do.
    fn multiply<T: Thread<Region = R>>(&self, thread: &mut T, share: Share, places: usize) {
        let (starts, columns) = (self.array::<u64>(STARTS), self.array::<u64>(COLUMNS));
        let (blocks, places) = (self.array::<Block>(BLOCKS), Array::<R, Vector>::from(&self.regions[PLACES], places));
        for row in share.block(self.nodes) {
            let first = starts.load(thread, row) as usize;
            let end = starts.load(thread, row + 1) as usize;
            let own = places.load(thread, row);
            thread.instructions(ROW);
            let mut sum = [0.0; 3];
            add_product(&mut sum, &blocks.load_dependent(thread, first), &own);
            thread.instructions(PRODUCT);
            for number in first + 1..end {
                let block = blocks.load(thread, number);
                let column = columns.load(thread, number) as usize;
                add_product(&mut sum, &block, &places.load_dependent(thread, column));
                self.add(thread, self.of(share.number, column), |theirs| add_mirrored(theirs, &block, &own));
                thread.instructions(2 * PRODUCT);
            }
            self.add(thread, self.of(share.number, row), |mine| {
                mine.iter_mut().zip(sum).for_each(|(mine, more)| *mine += more);
            });
            thread.instructions(ADD);
        }
    }

    /// A thread's partial sum of a node, if it has one.
    fn part<T: Thread<Region = R>>(&self, thread: &mut T, number: usize, node: usize) -> Option<Vector> {
        let at = self.of(number, node);
        let is_set = self.array::<u64>(MARKERS).load(thread, at) != 0;
        thread.instructions(MARKER);
        is_set.then(|| {
            thread.instructions(ADD);
            self.array(SUMS).load(thread, at)
        })
    }

    /// Loops 1 to 3 in the manner of Figure 6.2: a parallel loop for each thread's markers.
    fn product<T: Thread<Region = R>>(&self, thread: &mut T, team: &mut Team<'_, R>, places: usize) {
        for number in 0..self.threads {
            team.parallel_for(thread, self.nodes, |thread, node| {
                self.array(MARKERS).store(thread, self.of(number, node), 0_u64);
                thread.instructions(MARKER);
            });
        }
        team.parallel(thread, |thread, share| self.multiply(thread, share, places));
        team.parallel_for(thread, self.nodes, |thread, node| {
            let mut sum = [0.0; 3];
            for number in 0..self.threads {
                if let Some(part) = self.part(thread, number, node) {
                    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                }
            }
            self.array(FORCES).store(thread, node, sum);
        });
    }

    /// Loops 2 and 3 in the manner of Figure 6.3. Sums are the same, to the last bit.
    fn tuned_product<T: Thread<Region = R>>(&self, thread: &mut T, team: &mut Team<'_, R>, places: usize) {
        let forces = self.array::<Vector>(FORCES);
        team.parallel(thread, |thread, share| self.multiply(thread, share, places));
        team.parallel(thread, |thread, share| {
            for node in share.block(self.nodes) {
                forces.store(thread, node, [0.0; 3]);
                thread.instructions(ADD);
            }
            for number in 0..self.threads {
                for node in share.block(self.nodes) {
                    if let Some(part) = self.part(thread, number, node) {
                        let sum = forces.load(thread, node);
                        forces.store(thread, node, std::array::from_fn(|axis| sum[axis] + part[axis]));
                        self.array(MARKERS).store(thread, self.of(number, node), 0_u64);
                    }
                }
            }
        });
    }

    /// Displacements of the next step, in place of those of the step before last.
    fn advance<T: Thread<Region = R>>(&self, thread: &mut T, team: &mut Team<'_, R>, step: usize) {
        let [last, now, next] = [0, 1, 2]
            .map(|ahead| Array::<R, Vector>::from(&self.regions[PLACES], Self::places(step + ahead, self.nodes)));
        let wave = std::f64::consts::PI * FREQUENCY * (step as f64 * STEP - 1.0 / FREQUENCY);
        let wavelet = FORCE * (1.0 - 2.0 * wave * wave) * (-wave * wave).exp();
        team.parallel_for(thread, self.nodes, |thread, node| {
            let [mass, damping] = self.array(NODES).load(thread, node);
            let resistance: Vector = self.array(FORCES).load(thread, node);
            let (before, here) = (last.load(thread, node), now.load(thread, node));
            let pull = if node == self.source { wavelet } else { 0.0 };
            let slowed = 0.5 * STEP * damping;
            let advanced = |axis: usize| {
                let driven = 2.0 * mass * here[axis] - (mass - slowed) * before[axis];
                (driven + STEP * STEP * (pull - resistance[axis])) / (mass + slowed)
            };
            next.store(thread, node, std::array::from_fn(advanced));
            thread.instructions(ADVANCE);
        });
    }

    /// The first word of the displacements of a step, of which step 0 is the one before the first.
    fn places(step: usize, nodes: usize) -> usize {
        step % 3 * nodes * Vector::WORDS
    }
}

/// How the ground trembles to begin with.
struct Tremor {
    seed: u64,
}

impl Tremor {
    fn of(&self, node: usize) -> Vector {
        let mut random = Random::new(!self.seed, node as u64);
        std::array::from_fn(|_| TREMOR * (random.unit() - 0.5))
    }
}

impl Equake {
    fn mesh(&self, shape: &Shape) -> Mesh {
        Mesh::new(self.edge as usize, shape.seed)
    }

    fn nodes(&self) -> usize {
        self.edge.pow(3) as usize
    }

    fn displacement(&self, read: impl Fn(usize) -> u64, node: usize) -> Vector {
        let places = Body::<()>::places(self.steps as usize + 1, self.nodes());
        element(|word| read(places + word), node)
    }

    /// Whether rows of a thread add to a node, its own or another.
    fn marked(&self, mesh: &Mesh, shape: &Shape) -> Vec<Vec<bool>> {
        let mut marked = vec![vec![false; self.nodes()]; shape.threads()];
        for (number, of_thread) in marked.iter_mut().enumerate() {
            for row in Share::new(shape, number).block(self.nodes()) {
                mesh.row(row).blocks.iter().for_each(|&(column, _)| of_thread[column] = true);
            }
        }
        marked
    }

    fn check_matrix(&self, mesh: &Mesh, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let starts = mesh.starts();
        (0..mesh.nodes()).try_for_each(|node| {
            let row = mesh.row(node);
            Wrong::unless_equal(read(STARTS, node), starts[node], || format!("the start of row {node}"))?;
            let found: [f64; 2] = element(|word| read(NODES, word), node);
            for (found, (expected, what)) in found.into_iter().zip([(row.mass, "mass"), (row.damping, "damping")]) {
                Wrong::unless_close(found, expected, 0.0, || format!("{what} of node {node}"))?;
            }
            (starts[node] as usize..).zip(row.blocks).try_for_each(|(number, (column, block))| {
                let what = || format!("the column of block {number}");
                Wrong::unless_equal(read(COLUMNS, number), column as u64, what)?;
                let found: Block = element(|word| read(BLOCKS, word), number);
                found.into_iter().zip(block).try_for_each(|(found, expected)| {
                    Wrong::unless_close(found, expected, 0.0, || format!("a value of block {number}"))
                })
            })
        })
    }
}

impl Program for Equake {
    const REGIONS: &'static [&'static str] =
        &["fork", "row starts", "columns", "matrix blocks", "markers", "partial sums", "forces", "places", "nodes"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (nodes, edge) = (self.nodes(), self.edge as usize);
        let inner = edge - 1;
        // Each edge of the mesh once: along axes, across faces, through cubes.
        let blocks = nodes + 3 * inner * edge * edge + 3 * inner * inner * edge + inner.pow(3);
        let of_all = nodes * shape.threads();
        let words = [
            nodes + 1,
            blocks,
            blocks * Block::WORDS,
            of_all,
            of_all * Vector::WORDS,
            nodes * Vector::WORDS,
            3 * nodes * Vector::WORDS,
            nodes * 2,
        ];
        let unplaced = words.map(|words| RegionPlan::unplaced(shape, words));
        [Team::<()>::plan(shape)].into_iter().chain(unplaced).collect()
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let mut team = Team::new(shape, &regions[TEAM], thread.number());
        let nodes = self.nodes();
        let body = Body { regions, nodes, threads: shape.threads(), source: nodes / 2 };
        if self.tuned == 2 {
            team.prepare(thread, |thread, share| body.touch_own(thread, &self.mesh(shape), share));
        }
        team.prepare(thread, |thread, share| {
            body.initialise(thread, &self.mesh(shape), share, &Tremor { seed: shape.seed });
        });
        for step in 0..self.steps as usize {
            team.begin_round(step as u64, self.steps, self.unmeasured);
            let places = Body::<T::Region>::places(step + 1, nodes);
            match self.tuned {
                0 => body.product(thread, &mut team, places),
                _ => body.tuned_product(thread, &mut team, places),
            }
            body.advance(thread, &mut team, step);
        }
        0
    }

    /// The matrix is as it was, markers are where rows add, and the ground is where one thread alone brings it, but for rounding.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let mesh = self.mesh(shape);
        self.check_matrix(&mesh, read)?;
        let left_set = self.tuned == 0 && self.steps > 0;
        self.marked(&mesh, shape).iter().flatten().enumerate().try_for_each(|(at, &marked)| {
            let what = || format!("marker of thread {} at node {}", at / self.nodes(), at % self.nodes());
            Wrong::unless_equal(read(MARKERS, at), u64::from(left_set && marked), what)
        })?;
        let (_, alone) = alone(self, shape);
        let expected = |node| self.displacement(|word| alone[PLACES][word], node);
        let largest = (0..self.nodes()).flat_map(expected).map(f64::abs).fold(0.0, f64::max);
        (0..self.nodes()).try_for_each(|node| {
            let found = self.displacement(|word| read(PLACES, word), node);
            found.into_iter().zip(expected(node)).try_for_each(|(found, expected)| {
                Wrong::unless_close(found, expected, ROUNDING * largest, || format!("displacement of node {node}"))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::shape_of_one;

    /// A step that is too long would blow up; without a source, tremor would die down.
    #[test]
    fn waves_reach_the_border_and_stay_small() {
        let equake = Equake { edge: 7, steps: 400, unmeasured: 0, tuned: 1 };
        let (_, alone) = alone(&equake, &shape_of_one());
        let amount =
            |node| equake.displacement(|word| alone[PLACES][word], node).into_iter().map(f64::abs).sum::<f64>();
        let largest = (0..equake.nodes()).map(amount).fold(0.0, f64::max);
        assert!((10.0 * TREMOR..10.0 * FORCE).contains(&largest), "{largest}");
        assert!(amount(0) > TREMOR && amount(equake.nodes() - 1) > TREMOR, "{} {}", amount(0), amount(342));
    }
}
