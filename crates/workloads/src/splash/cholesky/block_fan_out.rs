//! The schedule of SPLASH-2's program: blocks fan out. Each thread completes its subtrees, and sends their updates to the owners of the
//! blocks above. A completed block is sent to the threads in its row and its column of their grid; each makes the products of its own
//! blocks as their factors come, and completes a block when all products are subtracted and the diagonal block of its panel is there.

use super::blocks::{Blocks, Name};
use super::descriptors::Descriptors;
use super::panels::Panels;
use super::products::Factor;
use super::symbolic::Symbolic;
use super::task_lists::{Own, TaskLists};
use super::updates::{Update, Updates};
use crate::parallel::{half_of, with_half};
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// A message to a thread: a block of the factor is there, or a part of a subtree's update.
#[derive(Clone, Copy)]
enum Message {
    Block(Name),
    /// The subtree, and the changes of its root whose rows the part has.
    Part(usize, (usize, usize)),
}

/// The mark of a part in the first half of a message.
const PART: u32 = 1 << 31;

impl Message {
    fn packed(self) -> u64 {
        let (first, second) = match self {
            Self::Block((panel, block)) => (panel as u32, block as u32),
            Self::Part(subtree, (lower, upper)) => (PART | subtree as u32, (lower as u32) << 16 | upper as u32),
        };
        with_half(u64::from(first), 1, second)
    }

    fn from(word: u64) -> Self {
        let (first, second) = (half_of(word, 0), half_of(word, 1));
        if first & PART == 0 {
            Self::Block((first as usize, second as usize))
        } else {
            Self::Part((first ^ PART) as usize, ((second >> 16) as usize, (second & 0xffff) as usize))
        }
    }
}

/// The queues of all threads.
pub struct BlockQueues<'r, R> {
    lists: TaskLists<'r, R>,
    /// How many messages each thread receives.
    received: Vec<usize>,
}

/// The regions of the program besides queues, as threads use them.
pub struct Parts<'r, R> {
    pub panels: Panels<'r, R>,
    pub factor: Factor<'r, R>,
    pub descriptors: Descriptors<'r, R>,
    pub updates: &'r Updates,
    /// The region of the updates.
    pub contributed: &'r R,
}

/// How many messages each thread sends, and how many it receives.
fn counts(shape: &Shape, symbolic: &Symbolic, blocks: &Blocks, updates: &Updates) -> [Vec<usize>; 2] {
    let (mut sent, mut received) = (vec![0; shape.threads()], vec![0; shape.threads()]);
    let mut count = |from: usize, to: usize| {
        sent[from] += 1;
        received[to] += 1;
    };
    for name in blocks.names() {
        blocks.receivers(name).for_each(|thread| count(blocks.owner(name), thread));
    }
    for update in &updates.of {
        let parts = blocks.parts(&symbolic.panels[update.root].changes);
        parts.for_each(|(_, _, target)| count(update.owner, blocks.owner(target)));
    }
    [sent, received]
}

/// Blocks of a panel of the factor that a thread has received.
#[derive(Clone, Default)]
struct Here {
    diagonal: bool,
    /// Its other blocks, by number.
    blocks: Vec<usize>,
}

/// A thread with what it works on.
struct Worker<'w, 'r, T: Thread> {
    queues: &'w BlockQueues<'r, T::Region>,
    parts: &'w Parts<'r, T::Region>,
    number: usize,
    here: Vec<Here>,
    own: Own,
    thread: &'w mut T,
}

impl<'r, R> BlockQueues<'r, R> {
    /// The region of the queues.
    pub fn plan(shape: &Shape, symbolic: &Symbolic, blocks: &Blocks, updates: &Updates) -> RegionPlan {
        TaskLists::<R>::plan(shape, &counts(shape, symbolic, blocks, updates)[0])
    }

    /// The queues in `region`, whose locks draw tickets in `tickets`.
    pub fn new(shape: &Shape, parts: &Parts<'r, R>, region: &'r R, tickets: &'r R) -> Self {
        let Parts { panels, factor, updates, .. } = parts;
        let [sent, received] = counts(shape, panels.symbolic, factor.blocks, updates);
        Self { lists: TaskLists::new(shape, &sent, region, tickets), received }
    }

    /// Does a thread's part: its subtrees, and what its messages ask for, until it has received all.
    pub fn factor<T: Thread<Region = R>>(&self, parts: &Parts<'r, R>, thread: &mut T) {
        let number = thread.number();
        let here = vec![Here::default(); parts.factor.blocks.of.len()];
        let mut worker = Worker { queues: self, parts, number, here, own: Own::default(), thread };
        worker.complete_subtrees();
        worker.complete_first();
        for _ in 0..self.received[number] {
            match Message::from(self.lists.take(&mut worker.own, worker.thread)) {
                Message::Block(name) => worker.receive(name),
                Message::Part(subtree, changes) => worker.receive_part(subtree, changes),
            }
        }
    }
}

impl<T: Thread> Worker<'_, '_, T> {
    /// Completes the thread's subtrees, and sends their updates.
    fn complete_subtrees(&mut self) {
        let Parts { panels, updates, contributed, factor, .. } = self.parts;
        let number = self.number;
        let own = |panel: &usize| panels.domains.owner(*panel) == Some(number);
        let mut own = (0..panels.symbolic.panels.len()).filter(own).peekable();
        for (subtree, update) in updates.of.iter().enumerate().filter(|(_, update)| update.owner == number) {
            for word in update.words() {
                self.thread.store(contributed, word, 0.0_f64.to_bits());
            }
            // The panels of a subtree follow each other up to its root.
            while let Some(panel) = own.next_if(|&panel| panel <= update.root) {
                self.complete_own(panel, update);
            }
            for (lower, upper, target) in factor.blocks.parts(&panels.symbolic.panels[update.root].changes) {
                let owner = factor.blocks.owner(target);
                self.send(owner, Message::Part(subtree, (lower, upper)));
            }
        }
    }

    /// Completes a panel of an own subtree, and subtracts its products from those above it there, and from the subtree's update.
    fn complete_own(&mut self, panel: usize, update: &Update) {
        let Parts { panels, contributed, .. } = self.parts;
        panels.complete(panel, self.thread);
        for (change, (target, places)) in panels.symbolic.panels[panel].changes.iter().enumerate() {
            if panels.domains.owner(*target).is_none() {
                let result = (update.rows.clone(), *contributed);
                panels.contribute(panel, places.start, result, |row, column| update.word(row, column), self.thread);
                break;
            }
            panels.change(panel, change, self.thread);
        }
    }

    /// Completes those diagonal blocks that nothing is subtracted from.
    fn complete_first(&mut self) {
        for name in (0..self.here.len()).map(|panel| (panel, 0)) {
            let blocks = self.parts.factor.blocks;
            if !blocks.of[name.0].is_empty()
                && blocks.owner(name) == self.number
                && self.parts.descriptors.left(name, self.thread) == 0
            {
                self.complete(name);
            }
        }
    }

    /// A part of a subtree's update has come.
    fn receive_part(&mut self, subtree: usize, (lower, upper): (usize, usize)) {
        let Parts { panels, factor, descriptors, updates, contributed } = self.parts;
        let update = &updates.of[subtree];
        let changes = &panels.symbolic.panels[update.root].changes;
        let target = descriptors.find(changes[lower].0, changes[upper].0, self.thread);
        factor.add_update((update, contributed), (lower, upper), target, self.thread);
        self.count_down(target);
    }

    /// A block of the factor has come.
    fn receive(&mut self, name: Name) {
        let ((panel, number), Parts { factor, descriptors, .. }) = (name, self.parts);
        descriptors.look_up(name, self.thread);
        if number == 0 {
            self.here[panel].diagonal = true;
            for other in (1..factor.blocks.of[panel].len()).map(|other| (panel, other)) {
                if descriptors.owner(other, self.thread) == self.number && descriptors.left(other, self.thread) == 0 {
                    self.complete(other);
                }
            }
            return;
        }
        // The latest comes first, and the block by itself last.
        let others: Vec<usize> = self.here[panel].blocks.iter().copied().rev().chain([number]).collect();
        self.here[panel].blocks.push(number);
        for other in others {
            let (lower, upper) = (number.max(other), number.min(other));
            let row = |number: usize| factor.blocks.block((panel, number)).row;
            let target = descriptors.find(row(lower), row(upper), self.thread);
            if descriptors.owner(target, self.thread) == self.number {
                factor.subtract_product(panel, lower, upper, self.thread);
                self.count_down(target);
            }
        }
    }

    /// An own block waits for one product less.
    fn count_down(&mut self, name: Name) {
        let left = self.parts.descriptors.count_down(name, self.thread);
        if left == 0 && (name.1 == 0 || self.here[name.0].diagonal) {
            self.complete(name);
        }
    }

    /// Completes an own block, and sends it.
    fn complete(&mut self, name: Name) {
        match name {
            (panel, 0) => self.parts.factor.factor(panel, self.thread),
            _ => self.parts.factor.solve(name, self.thread),
        }
        for receiver in self.parts.factor.blocks.receivers(name) {
            self.send(receiver, Message::Block(name));
        }
    }

    fn send(&mut self, to: usize, message: Message) {
        self.queues.lists.put(to, message.packed(), &mut self.own, self.thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fit_a_word() {
        for (subtree, changes) in [(0, (0, 0)), (70_000, (65_535, 1))] {
            let Message::Part(also, same) = Message::from(Message::Part(subtree, changes).packed()) else {
                panic!("a part");
            };
            assert_eq!((also, same), (subtree, changes));
        }
        let Message::Block(name) = Message::from(Message::Block((1 << 30, 77)).packed()) else { panic!("a block") };
        assert_eq!(name, (1 << 30, 77));
    }
}
