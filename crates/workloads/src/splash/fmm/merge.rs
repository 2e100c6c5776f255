//! How a thread's own tree becomes part of the tree of all, under locks of boxes.

use super::boxes::{Link, PART_COUNT};
use super::grid::{Grid, ROOT_LOCK};
use super::squares::PARTS;
use crate::thread::Thread;

/// A place for a box in the tree of all: a part of a box, or the root.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    parent: Option<usize>,
    part: usize,
}

impl Slot {
    /// The place of the root.
    pub const ROOT: Self = Self { parent: None, part: 0 };

    fn of(parent: usize, part: usize) -> Self {
        Self { parent: Some(parent), part }
    }
}

impl<R> Grid<'_, R> {
    /// The box in a place of the tree of all at the moment.
    fn look<T: Thread<Region = R>>(&self, slot: Slot, thread: &mut T) -> Link {
        match slot.parent {
            Some(parent) => self.boxes.acquire_link(parent, slot.part, thread),
            None => Link::of_word(thread.load_acquire(self.root, 0)),
        }
    }

    /// Puts box `number` into a place, or takes it out, if the place holds what it did. Whether that is so.
    fn exchange<T: Thread<Region = R>>(
        &self,
        slot: Slot,
        number: usize,
        [was, then]: [Link; 2],
        thread: &mut T,
    ) -> bool {
        let lock = slot.parent.map_or(ROOT_LOCK, |parent| self.lock_of(parent));
        self.locks.critical(thread, lock, |thread| {
            if self.look(slot, thread) != was {
                return false;
            }
            let Some(parent) = slot.parent else {
                thread.store_release(self.root, 0, then.word());
                return true;
            };
            let (is_there, up) = if then == Link::Nothing { (None, -1) } else { (Some(parent), 1) };
            self.boxes.set_parent(number, is_there, thread);
            let count = self.boxes.half(parent, PART_COUNT, thread);
            self.boxes.set_half(parent, PART_COUNT, count.wrapping_add_signed(up), thread);
            self.boxes.release_link(parent, slot.part, then, thread);
            true
        })
    }

    /// Puts a box with all in it into a place, unless there is something by now.
    fn attach<T: Thread<Region = R>>(&mut self, number: usize, slot: Slot, thread: &mut T) -> bool {
        let before = self.put.len();
        let own = self.boxes.pools.of(thread.number());
        let link = self.boxes.link(number, thread);
        // Noted before others can see them, and change them.
        let mut open = vec![link];
        while let Some(link) = open.pop() {
            self.put.extend(link.number().filter(|number| own.contains(number)));
            if let Link::Divided(whole) = link {
                open.extend(self.boxes.parts(whole, thread));
            }
        }
        let done = self.exchange(slot, number, [Link::Nothing, link], thread);
        if !done {
            self.put.truncate(before);
        }
        done
    }

    /// Takes a leaf out of the tree of all, unless somebody else was first.
    fn detach<T: Thread<Region = R>>(&self, leaf: usize, slot: Slot, thread: &mut T) -> bool {
        self.exchange(slot, leaf, [Link::Leaf(leaf), Link::Nothing], thread)
    }

    /// Puts a box of the thread's own, with all in it, where it belongs: whole, if nothing is there; part by part, if both have parts;
    /// with the bodies of a leaf that is there and is taken out; or body by body, if it is a leaf and what is there has parts.
    pub fn merge<T: Thread<Region = R>>(&mut self, own: usize, slot: Slot, thread: &mut T) {
        loop {
            let there = self.look(slot, thread);
            let done = match (self.boxes.link(own, thread), there) {
                (Link::Divided(_), Link::Divided(there)) => {
                    for part in 0..PARTS {
                        if let Some(inner) = self.boxes.part_link(own, part, thread).number() {
                            self.merge(inner, Slot::of(there, part), thread);
                        }
                    }
                    true
                }
                (_, Link::Divided(there)) => {
                    let bodies = self.boxes.bodies(own, thread);
                    self.merge_bodies(&bodies, there, thread);
                    true
                }
                (_, Link::Nothing) => self.attach(own, slot, thread),
                (kind, Link::Leaf(there)) => {
                    self.detach(there, slot, thread) && {
                        let bodies = self.boxes.bodies(there, thread);
                        match kind {
                            Link::Divided(_) => self.insert(&bodies, own, thread),
                            _ => self.insert_in_leaf(&bodies, own, thread),
                        }
                        self.attach(own, slot, thread)
                    }
                }
            };
            if done {
                return;
            }
        }
    }

    /// Puts bodies into a box of the tree of all that has parts.
    fn merge_bodies<T: Thread<Region = R>>(&mut self, bodies: &[usize], whole: usize, thread: &mut T) {
        let square = self.boxes.square(whole, thread);
        let mut parts: [Vec<usize>; PARTS] = Default::default();
        for &body in bodies {
            parts[square.part_of(self.bodies.place(body, thread))].push(body);
        }
        for (part, bodies) in parts.iter().enumerate().filter(|(_, bodies)| !bodies.is_empty()) {
            let slot = Slot::of(whole, part);
            let leaf = match self.look(slot, thread) {
                Link::Divided(inner) => {
                    self.merge_bodies(bodies, inner, thread);
                    continue;
                }
                Link::Leaf(there) if self.detach(there, slot, thread) => {
                    self.insert_in_leaf(bodies, there, thread);
                    there
                }
                _ => match self.make_leaf(whole, part, bodies, thread) {
                    Some(leaf) => leaf,
                    None => continue,
                },
            };
            if !self.attach(leaf, slot, thread) {
                self.merge(leaf, slot, thread);
            }
        }
    }
}
