//! The schedule of the first SPLASH's program: panels fan out through one queue of tasks (Rothberg and Gupta 1991; Singh, Weber and
//! Gupta 1992).
//!
//! A panel to which all changes are made is a task. Whoever takes it completes it, makes its changes to other panels one after the
//! other, each under the lock of the panel that it changes, and puts a panel into the queue whose last change that was. Before, each
//! thread has completed its subtrees, if it has any ([`Domains`]).

use super::TASK;
use super::domains::Domains;
use super::panels::Panels;
use super::symbolic::Symbolic;
use crate::Blocks;
use crate::parallel::{Array, Locks};
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// The lines of the queue's region: tasks taken out, tasks put in, and from the third on the tasks, then the changes that each panel
/// waits for.
const TAKEN: usize = 0;
const PUT: usize = 1;
const TASKS: usize = 2;

/// The queue of tasks, with what each panel waits for, and the locks of the panels.
pub struct Tasks<'r, R> {
    region: &'r R,
    taken: usize,
    put: usize,
    tasks: Array<'r, R, u64>,
    waiting: Array<'r, R, u64>,
    /// A lock of each panel, and the queue's behind them.
    locks: Locks<'r, R>,
    panels: usize,
    /// Tasks that there will be.
    shared: usize,
}

/// The lines that a word for each panel takes.
fn lines(shape: &Shape, panels: usize) -> usize {
    panels.div_ceil(shape.line_words)
}

/// The lines of the queue's region, all in one block.
fn block(shape: &Shape, panels: usize) -> Blocks {
    Blocks::new(shape, TASKS + 2 * lines(shape, panels))
}

impl<'r, R> Tasks<'r, R> {
    /// The queue's region: on the node of the first thread, which initialises it.
    pub fn plan(shape: &Shape, symbolic: &Symbolic) -> RegionPlan {
        block(shape, symbolic.panels.len()).plan(shape.homes.iter().copied().take(1))
    }

    /// How many locks there are.
    pub fn locks(symbolic: &Symbolic) -> usize {
        symbolic.panels.len() + 1
    }

    /// The queue in `region`, with locks in `locks`.
    pub fn new(shape: &Shape, symbolic: &Symbolic, domains: &Domains, region: &'r R, locks: &'r R) -> Self {
        let panels = symbolic.panels.len();
        let word = |line| block(shape, panels).word(0, line);
        Self {
            region,
            taken: word(TAKEN),
            put: word(PUT),
            tasks: Array::from(region, word(TASKS)),
            waiting: Array::from(region, word(TASKS + lines(shape, panels))),
            locks: Locks::new(shape, locks, Self::locks(symbolic)),
            panels,
            shared: domains.shared(),
        }
    }

    /// The first thread puts those shared panels into the queue that nobody changes, and notes how many change the others.
    pub fn initialise<T: Thread<Region = R>>(&self, symbolic: &Symbolic, domains: &Domains, thread: &mut T) {
        let mut put = 0;
        for (number, panel) in symbolic.panels.iter().enumerate() {
            self.waiting.store(thread, number, panel.sources as u64);
            if panel.sources == 0 && domains.owner(number).is_none() {
                self.tasks.store(thread, put, number as u64);
                put += 1;
            }
            thread.instructions(TASK);
        }
        thread.store(self.region, self.taken, 0);
        thread.store(self.region, self.put, put as u64);
    }

    /// The next task; none if no more will come.
    fn take<T: Thread<Region = R>>(&self, thread: &mut T) -> Option<usize> {
        loop {
            let (taken, put, task) = self.locks.critical(thread, self.panels, |thread| {
                let taken = thread.load(self.region, self.taken);
                let put = thread.load(self.region, self.put);
                thread.instructions(TASK);
                let task = (taken < put).then(|| {
                    thread.store(self.region, self.taken, taken + 1);
                    self.tasks.load(thread, taken as usize)
                });
                (taken, put, task)
            });
            match task {
                Some(panel) => return Some(panel as usize),
                None if taken as usize == self.shared => return None,
                None => thread.await_change(self.region, self.put, put),
            };
        }
    }

    fn put<T: Thread<Region = R>>(&self, panel: usize, thread: &mut T) {
        self.locks.critical(thread, self.panels, |thread| {
            let put = thread.load(self.region, self.put);
            self.tasks.store(thread, put as usize, panel as u64);
            thread.instructions(TASK);
            thread.store_release(self.region, self.put, put + 1);
        });
    }

    /// Completes the panels of the thread's subtrees, then takes tasks until all others are complete.
    pub fn factor<T: Thread<Region = R>>(&self, panels: &Panels<'_, R>, thread: &mut T) {
        let number = thread.number();
        for panel in (0..self.panels).filter(|&panel| panels.domains.owner(panel) == Some(number)) {
            self.complete(panel, panels, thread);
        }
        while let Some(panel) = self.take(thread) {
            self.complete(panel, panels, thread);
        }
    }

    /// Completes a panel, and makes its changes to others.
    fn complete<T: Thread<Region = R>>(&self, panel: usize, panels: &Panels<'_, R>, thread: &mut T) {
        panels.complete(panel, thread);
        for (change, &(target, _)) in panels.symbolic.panels[panel].changes.iter().enumerate() {
            // All that changes a panel of a subtree is in the same subtree.
            if panels.domains.owner(target).is_some() {
                panels.change(panel, change, thread);
                continue;
            }
            let left = self.locks.critical(thread, target, |thread| {
                panels.change(panel, change, thread);
                let left = self.waiting.load(thread, target) - 1;
                self.waiting.store(thread, target, left);
                left
            });
            if left == 0 {
                self.put(target, thread);
            }
        }
    }
}
