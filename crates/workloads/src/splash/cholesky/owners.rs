//! The schedule by owners: a panel is changed and completed by one thread, which has a queue of the changes that are due.

use super::TASK;
use super::panels::{Layout, Panels};
use super::symbolic::Symbolic;
use crate::Blocks;
use crate::parallel::{Array, Locks, Share};
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// A change to be made: a completed panel, and the change's number at it.
type Task = (u32, u32);

/// The queues of all threads: of each, how many tasks were put in, in a line of its own, and the tasks. None is taken out of
/// memory: there is room for all that will ever come.
pub struct Queues<'r, R> {
    region: &'r R,
    blocks: Blocks,
    locks: Locks<'r, R>,
}

/// Room for the tasks of the thread that has most.
fn blocks(shape: &Shape, symbolic: &Symbolic, layout: &Layout) -> Blocks {
    let mut tasks = vec![0; shape.threads()];
    for (number, panel) in symbolic.panels.iter().enumerate() {
        tasks[layout.owner(number)] += panel.sources;
    }
    let most = tasks.into_iter().max().unwrap_or(0);
    Blocks::new(shape, 1 + most.div_ceil(shape.line_words))
}

impl<'r, R> Queues<'r, R> {
    /// The region of the queues, each on the node of its thread.
    pub fn plan(shape: &Shape, symbolic: &Symbolic, layout: &Layout) -> RegionPlan {
        blocks(shape, symbolic, layout).plan(shape.homes.iter().copied())
    }

    /// The queues for `panels` in `region`, with locks in `locks`.
    pub fn new(shape: &Shape, panels: &Panels<'_, R>, region: &'r R, locks: &'r R) -> Self {
        let blocks = blocks(shape, panels.symbolic, panels.layout);
        Self { region, blocks, locks: Locks::new(shape, locks, shape.threads()) }
    }

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

    /// Does a thread's part: changes of its panels as they come, and in between those panels that nobody changes.
    pub fn factor<T: Thread<Region = R>>(&self, share: Share, panels: &Panels<'_, R>, thread: &mut T) {
        let (all, number) = (&panels.symbolic.panels, share.number);
        let mut waiting: Vec<usize> = all.iter().map(|panel| panel.sources).collect();
        let mut missing = share.cyclic(all.len()).count();
        let mut free = share.cyclic(all.len()).filter(|&panel| all[panel].sources == 0);
        let (mut taken, mut count) = (0, 0);
        while missing > 0 {
            if taken == count {
                count = thread.load_acquire(self.region, self.count_at(number));
            }
            let complete = if taken < count {
                let (source, change) = self.tasks(number).load(thread, taken as usize);
                taken += 1;
                thread.instructions(TASK);
                panels.change(source as usize, change as usize, thread);
                let (target, _) = all[source as usize].changes[change as usize];
                waiting[target] -= 1;
                (waiting[target] == 0).then_some(target)
            } else if let Some(panel) = free.next() {
                Some(panel)
            } else {
                count = thread.await_change(self.region, self.count_at(number), count);
                None
            };
            if let Some(panel) = complete {
                panels.complete(panel, thread);
                missing -= 1;
                for (change, &(target, _)) in all[panel].changes.iter().enumerate() {
                    self.put(panels.layout.owner(target), (panel as u32, change as u32), thread);
                }
            }
        }
    }
}
