//! The schedule of SPLASH-2's program: blocks fan out. Whoever has completed a block puts it into the queues of those who need it; each
//! makes the products of its own blocks as their factors come, and completes a block when all products are subtracted and the
//! diagonal block of its panel is there.

use super::TASK;
use super::blocks::{Blocks, Factor, Name};
use crate::Blocks as Lines;
use crate::parallel::{Array, Locks};
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// The queues of all threads: of each, how many blocks were put in, in a line of its own, and their names. None is taken out of
/// memory: there is room for all that will ever come.
pub struct BlockQueues<'r, R> {
    region: &'r R,
    lines: Lines,
    locks: Locks<'r, R>,
}

/// Room for the blocks of the thread that needs most.
fn lines(shape: &Shape, blocks: &Blocks) -> Lines {
    let mut tasks = vec![0_usize; shape.threads()];
    for name in blocks.names() {
        blocks.needed_by(name).into_iter().for_each(|thread| tasks[thread] += 1);
    }
    let most = tasks.into_iter().max().unwrap_or(0);
    Lines::new(shape, 1 + most.div_ceil(shape.line_words))
}

/// What a thread has of a panel of the factor.
#[derive(Clone, Default)]
struct Here {
    diagonal: bool,
    /// Its other blocks, by number.
    blocks: Vec<usize>,
}

/// What a thread still has to do.
struct Left {
    number: usize,
    /// By panel and block, the products that its own wait for.
    products: Vec<Vec<usize>>,
    here: Vec<Here>,
    /// Its blocks that are no part of the factor yet.
    blocks: usize,
}

impl<'r, R> BlockQueues<'r, R> {
    /// The region of the queues, each on the node of its thread.
    pub fn plan(shape: &Shape, blocks: &Blocks) -> RegionPlan {
        lines(shape, blocks).plan(shape.homes.iter().copied())
    }

    /// The queues in `region`, with locks in `locks`.
    pub fn new(shape: &Shape, blocks: &Blocks, region: &'r R, locks: &'r R) -> Self {
        Self { region, lines: lines(shape, blocks), locks: Locks::new(shape, locks, shape.threads()) }
    }

    fn count_at(&self, owner: usize) -> usize {
        self.lines.word(owner, 0)
    }

    fn tasks(&self, owner: usize) -> Array<'r, R, (u32, u32)> {
        Array::from(self.region, self.lines.word(owner, 1))
    }

    fn put<T: Thread<Region = R>>(&self, owner: usize, (panel, block): Name, thread: &mut T) {
        self.locks.critical(thread, owner, |thread| {
            let count = thread.load(self.region, self.count_at(owner));
            self.tasks(owner).store(thread, count as usize, (panel as u32, block as u32));
            thread.instructions(TASK);
            thread.store_release(self.region, self.count_at(owner), count + 1);
        });
    }

    /// Does a thread's part, until its blocks are complete.
    pub fn factor<T: Thread<Region = R>>(&self, number: usize, factor: &Factor<'_, R>, thread: &mut T) {
        let blocks = factor.blocks;
        let own: Vec<Name> = blocks.names().into_iter().filter(|&name| blocks.owner(name) == number).collect();
        let mut left = Left {
            number,
            products: blocks.of.iter().map(|of| of.iter().map(|block| block.products).collect()).collect(),
            here: vec![Here::default(); blocks.of.len()],
            blocks: own.len(),
        };
        for name in own {
            self.complete(name, factor, &mut left, thread);
        }
        let (mut taken, mut count) = (0, 0);
        while left.blocks > 0 {
            if taken == count {
                count = thread.load_acquire(self.region, self.count_at(number));
            }
            if taken == count {
                count = thread.await_change(self.region, self.count_at(number), count);
                continue;
            }
            let (panel, block) = self.tasks(number).load(thread, taken as usize);
            taken += 1;
            thread.instructions(TASK);
            self.arrive((panel as usize, block as usize), factor, &mut left, thread);
        }
    }

    /// A block of the factor has come.
    fn arrive<T: Thread<Region = R>>(&self, name: Name, factor: &Factor<'_, R>, left: &mut Left, thread: &mut T) {
        let ((panel, number), blocks) = (name, factor.blocks);
        if number == 0 {
            left.here[panel].diagonal = true;
            for other in 1..blocks.of[panel].len() {
                if blocks.owner((panel, other)) == left.number {
                    self.complete((panel, other), factor, left, thread);
                }
            }
            return;
        }
        left.here[panel].blocks.push(number);
        for other in left.here[panel].blocks.clone() {
            let (lower, upper) = (number.max(other), number.min(other));
            let target = blocks.target(panel, lower, upper);
            if blocks.owner(target) != left.number {
                continue;
            }
            factor.subtract_product(panel, lower, upper, thread);
            left.products[target.0][target.1] -= 1;
            self.complete(target, factor, left, thread);
        }
    }

    /// Completes an own block, if all is there that it waits for, and tells those who need it.
    fn complete<T: Thread<Region = R>>(&self, name: Name, factor: &Factor<'_, R>, left: &mut Left, thread: &mut T) {
        let (panel, number) = name;
        if left.products[panel][number] > 0 || number > 0 && !left.here[panel].diagonal {
            return;
        }
        match number {
            0 => factor.factor(panel, thread),
            _ => factor.solve(name, thread),
        }
        left.blocks -= 1;
        for owner in factor.blocks.needed_by(name) {
            self.put(owner, name, thread);
        }
    }
}
