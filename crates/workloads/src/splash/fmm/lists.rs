//! The lists of a box: its siblings and colleagues, and the boxes that act on it (Carrier, Greengard and Rokhlin 1988).

use super::boxes::{ADJACENT, APART, COLLEAGUES, FINER, Link, SIBLINGS};
use super::grid::Grid;
use super::squares::Square;
use crate::thread::Thread;

/// Instructions to see whether boxes touch, or how far they are from each other.
const COMPARE: u32 = 16;

/// Lists that are being made, or read.
#[derive(Default)]
pub struct Links {
    siblings: Vec<Link>,
    colleagues: Vec<Link>,
    found: Vec<Link>,
}

impl<R> Grid<'_, R> {
    /// The square of a box, to be compared with another one.
    fn square<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) -> Square {
        thread.instructions(COMPARE);
        self.boxes.square(number, thread)
    }

    /// Gives `take` each part of each colleague of a box, with its square.
    fn cousins<T: Thread<Region = R>>(
        &self,
        parent: usize,
        links: &mut Vec<Link>,
        thread: &mut T,
        mut take: impl FnMut(Link, Square),
    ) {
        self.boxes.list(parent, COLLEAGUES, links, thread);
        for colleague in links.iter().filter_map(|link| link.number()) {
            for cousin in self.boxes.parts(colleague, thread) {
                if let Some(number) = cousin.number() {
                    take(cousin, self.square(number, thread));
                }
            }
        }
    }

    /// Finds siblings and colleagues, when the parent's colleagues are known: a parent tells its parts, as in SPLASH-2.
    pub fn set_colleagues<T: Thread<Region = R>>(&self, link: Link, links: &mut Links, thread: &mut T) {
        let Some(number) = link.number() else { return };
        links.siblings.clear();
        if let Some(parent) = self.boxes.parent(number, thread) {
            let others = self.boxes.parts(parent, thread).filter(|part| part.number() != Some(number));
            links.siblings.extend(others);
            links.colleagues.clone_from(&links.siblings);
            self.boxes.set_list(number, SIBLINGS, &links.siblings, thread);
            self.boxes.await_constructed(number, thread);
            let (own, colleagues) = (self.square(number, thread), &mut links.colleagues);
            self.cousins(parent, &mut links.found, thread, |cousin, square| {
                colleagues.extend(own.touches(square).then_some(cousin));
            });
            self.boxes.set_list(number, COLLEAGUES, &links.colleagues, thread);
        } else {
            self.boxes.set_list(number, SIBLINGS, &[], thread);
            self.boxes.set_list(number, COLLEAGUES, &[], thread);
        }
        for part in self.boxes.parts(number, thread).filter_map(Link::number) {
            self.boxes.set_constructed(part, thread);
        }
    }

    /// Finds the boxes that act on a box.
    pub fn set_lists<T: Thread<Region = R>>(&self, link: Link, links: &mut Links, thread: &mut T) {
        let Some(number) = link.number() else { return };
        let (own, found) = (self.square(number, thread), &mut links.siblings);
        found.clear();
        if let Some(parent) = self.boxes.parent(number, thread) {
            self.cousins(parent, &mut links.found, thread, |cousin, square| {
                found.extend(own.is_far_from(square).then_some(cousin));
            });
        }
        self.boxes.set_list(number, APART, found, thread);
        if let Link::Leaf(_) = link {
            self.adjacent(number, found, thread);
            self.boxes.set_list(number, ADJACENT, found, thread);
            self.finer(number, found, thread);
            self.boxes.set_list(number, FINER, found, thread);
        }
    }

    /// The leaves that touch a leaf: those in the boxes that touch it or are around it.
    fn adjacent<T: Thread<Region = R>>(&self, leaf: usize, found: &mut Vec<Link>, thread: &mut T) {
        found.clear();
        let own = self.square(leaf, thread);
        let mut open = Vec::from_iter(self.top(thread).number());
        while let Some(whole) = open.pop() {
            for part in self.boxes.parts(whole, thread) {
                let Some(number) = part.number() else { continue };
                let square = self.square(number, thread);
                match part {
                    Link::Leaf(_) if own.touches(square) => found.push(part),
                    Link::Divided(_) if own.touches(square) || square.is_around(own) => open.push(number),
                    _ => (),
                }
            }
        }
    }

    /// The boxes in colleagues of a leaf that do not touch it, whereas what they are parts of does.
    fn finer<T: Thread<Region = R>>(&self, leaf: usize, found: &mut Vec<Link>, thread: &mut T) {
        let own = self.square(leaf, thread);
        self.boxes.list(leaf, COLLEAGUES, found, thread);
        let mut open: Vec<Link> = std::mem::take(found);
        while let Some(link) = open.pop() {
            let Link::Divided(whole) = link else { continue };
            for part in self.boxes.parts(whole, thread) {
                let Some(number) = part.number() else { continue };
                let touches = own.touches(self.square(number, thread));
                if touches { open.push(part) } else { found.push(part) }
            }
        }
    }

    /// The leaves that touch a leaf, as they were noted. SPLASH-2's program has no more than there is room for; where there are more, they
    /// are found once more.
    pub fn noted_adjacent<T: Thread<Region = R>>(&self, leaf: usize, links: &mut Vec<Link>, thread: &mut T) {
        if !self.boxes.list(leaf, ADJACENT, links, thread) {
            self.adjacent(leaf, links, thread);
        }
    }

    /// The smaller boxes that act on a leaf, as they were noted.
    pub fn noted_finer<T: Thread<Region = R>>(&self, leaf: usize, links: &mut Vec<Link>, thread: &mut T) {
        if !self.boxes.list(leaf, FINER, links, thread) {
            self.finer(leaf, links, thread);
        }
    }
}
