//! The boxes of the tree: their words in memory, which are laid out as SPLASH-2's structure, and the pools that they come from.

use std::ops::Range;

use num_complex::Complex64;

use super::expansion::{MOST_TERMS, Series, ZERO};
use super::squares::{PARTS, Square};
use crate::parallel::{Array, half_of, with_half};
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// Bodies in a leaf, at most: SPLASH-2's structure has room for them and for one more.
pub const MOST_BODIES: usize = 40;

/// Words of a box: the 2608 bytes of SPLASH-2's structure with pointers and numbers of 32 bits beside doubles.
pub const BOX_WORDS: usize = 326;

/// Halves of words, by what they hold. A pointer is half a word.
const LEVEL: usize = 8;
const KIND: usize = 9;
const BODIES: usize = 10;
const BODY_COUNT: usize = 51;
const PARENT: usize = 52;
const PART: usize = 53;
const PART_LINKS: usize = 58;
pub const PART_COUNT: usize = 62;
/// A flag: the colleagues of the parent are known.
const CONSTRUCTED: usize = 638;
/// The number of parts that have told what is to be known of them; 1 in a leaf when that is known.
pub const TOLD: usize = 639;
pub const COST: usize = 641;
pub const TREE_COST: usize = 646;
/// The next box of a thread's. SPLASH-2's structure has it half a word earlier, beside costs that other threads read meanwhile.
const NEXT: usize = 648;

/// Whole words: the centre with the side, and the series.
const SQUARE: usize = 1;
pub const OUTER: usize = 78;
pub const INNER: usize = OUTER + 2 * MOST_TERMS;
/// The series of single bodies in larger boxes that do not touch it.
pub const SINGLE: usize = INNER + 2 * MOST_TERMS;

/// Links of a box to others: the first half of a word, how many there is room for, and where their number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct List {
    first: usize,
    pub room: usize,
    pub count: usize,
}

/// The other parts of the parent.
pub const SIBLINGS: List = List { first: 63, room: 3, count: 66 };
/// Boxes of the same size that touch it.
pub const COLLEAGUES: List = List { first: 67, room: 8, count: 75 };
/// The U list of a leaf: leaves that touch it.
pub const ADJACENT: List = List { first: 76, room: 20, count: 96 };
/// The V list: boxes of the same size that are far from it, although their parents touch its parent.
pub const APART: List = List { first: 97, room: 27, count: 124 };
/// The W list of a leaf: smaller boxes that do not touch it, although their parents do.
pub const FINER: List = List { first: 125, room: 30, count: 155 };

/// A link to a box: its number, and whether it has parts, which does not change while it is in the tree. SPLASH-2's program finds that
/// in the box, which another thread may just be dividing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    Nothing,
    Leaf(usize),
    Divided(usize),
}

impl Link {
    /// The link of a word.
    pub fn of_word(word: u64) -> Self {
        Self::of(word as u32)
    }

    pub fn word(self) -> u64 {
        self.half().into()
    }

    fn of(half: u32) -> Self {
        match (half, half % 2) {
            (0, _) => Self::Nothing,
            (_, 0) => Self::Leaf(half as usize / 2 - 1),
            _ => Self::Divided(half as usize / 2 - 1),
        }
    }

    fn half(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Leaf(number) => 2 * number as u32 + 2,
            Self::Divided(number) => 2 * number as u32 + 3,
        }
    }

    /// The number of the box.
    pub fn number(self) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Leaf(number) | Self::Divided(number) => Some(number),
        }
    }
}

/// The boxes that each thread may make, in memory of its own.
#[derive(Clone, Copy, Debug)]
pub struct Pools {
    /// Those of the first thread, and of any other.
    first: usize,
    each: usize,
    page_words: usize,
}

impl Pools {
    /// Room for trees of so many bodies, as much as SPLASH-2's program allocates: twice what there would be if leaves were full to
    /// three eighths. The first thread makes all boxes of the first time step, the others four or eight times an equal share. And a
    /// few more, for bodies that are close to each other.
    pub fn new(shape: &Shape, bodies: usize, most: usize) -> Self {
        const FEW: usize = 64;
        let all = 16 * bodies / (3 * most);
        let threads = shape.threads();
        let times = if bodies / threads > 128 { 4 } else { 8 };
        Self { first: all + FEW, each: all * times / threads + FEW, page_words: shape.page_words }
    }

    fn block(&self, boxes: usize) -> usize {
        (boxes * BOX_WORDS).next_multiple_of(self.page_words)
    }

    /// The region, whose pages are with who touches them first.
    pub fn plan(&self, shape: &Shape) -> RegionPlan {
        RegionPlan::unplaced(shape, self.block(self.first) + (shape.threads() - 1) * self.block(self.each))
    }

    /// The first word of a box.
    #[inline]
    pub fn word(&self, number: usize) -> usize {
        match number.checked_sub(self.first) {
            None => number * BOX_WORDS,
            Some(beyond) => {
                self.block(self.first) + beyond / self.each * self.block(self.each) + beyond % self.each * BOX_WORDS
            }
        }
    }

    /// The numbers of a thread's own.
    pub fn of(&self, thread: usize) -> Range<usize> {
        let start = |thread: usize| if thread == 0 { 0 } else { self.first + (thread - 1) * self.each };
        start(thread)..start(thread + 1)
    }

    /// The place of a box in its pool.
    pub fn place(&self, number: usize) -> usize {
        number.checked_sub(self.first).map_or(number, |beyond| beyond % self.each)
    }
}

/// All boxes, in shared memory.
pub struct Boxes<'r, R> {
    pub region: &'r R,
    pub pools: Pools,
}

impl<R> Clone for Boxes<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Boxes<'_, R> {}

impl<R> Boxes<'_, R> {
    #[inline]
    fn word(&self, number: usize, half: usize) -> usize {
        self.pools.word(number) + half / 2
    }

    /// Half a word, whose address comes from the latest load.
    #[inline]
    pub fn half<T: Thread<Region = R>>(&self, number: usize, half: usize, thread: &mut T) -> u32 {
        half_of(thread.load_dependent(self.region, self.word(number, half)), half)
    }

    /// Half a word that other threads may be changing.
    #[inline]
    pub fn acquire_half<T: Thread<Region = R>>(&self, number: usize, half: usize, thread: &mut T) -> u32 {
        half_of(thread.load_acquire(self.region, self.word(number, half)), half)
    }

    /// Changes half a word, of which nobody else changes either half meanwhile.
    #[inline]
    pub fn set_half<T: Thread<Region = R>>(&self, number: usize, half: usize, value: u32, thread: &mut T) {
        let word = self.word(number, half);
        let held = thread.load(self.region, word);
        thread.store(self.region, word, with_half(held, half, value));
    }

    /// Changes half a word as [`Self::set_half`] does, for those who acquire it.
    #[inline]
    pub fn release_half<T: Thread<Region = R>>(&self, number: usize, half: usize, value: u32, thread: &mut T) {
        let word = self.word(number, half);
        let held = thread.load(self.region, word);
        thread.store_release(self.region, word, with_half(held, half, value));
    }

    /// Waits until half a word has a value.
    pub fn await_half<T: Thread<Region = R>>(&self, number: usize, half: usize, wanted: u32, thread: &mut T) {
        let word = self.word(number, half);
        let mut held = thread.load_acquire(self.region, word);
        while half_of(held, half) != wanted {
            held = thread.await_change(self.region, word, held);
        }
    }

    /// Adds to a cost of a box.
    pub fn add<T: Thread<Region = R>>(&self, number: usize, half: usize, cost: u64, thread: &mut T) {
        let sum = u64::from(self.half(number, half, thread)) + cost;
        self.set_half(number, half, sum.min(u64::from(u32::MAX)) as u32, thread);
    }

    /// Makes a box of the pool as if it had never been used. SPLASH-2's program does so with all boxes in the beginning, and with
    /// those that were used after each time step.
    pub fn clear<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) {
        let words = self.pools.word(number);
        let mut clear = |halves: Range<usize>| {
            for word in halves.start / 2..halves.end.div_ceil(2) {
                thread.store(self.region, words + word, 0);
            }
        };
        clear(LEVEL..LEVEL + 1);
        clear(BODIES..PARENT);
        clear(PARENT..PART_COUNT + 1);
        clear(CONSTRUCTED..COST + 1);
        clear(TREE_COST..NEXT + 1);
    }

    /// Gives a box its square, its level, its place among the parts of another one, and that one as a parent if it is known by then.
    pub fn begin<T: Thread<Region = R>>(
        &self,
        number: usize,
        square: Square,
        (level, part): (u32, usize),
        parent: Option<usize>,
        thread: &mut T,
    ) {
        let Square { centre, side } = square;
        let words = self.pools.word(number);
        Array::from(self.region, words + SQUARE).store(thread, 0, [centre.re, centre.im, side]);
        thread.store(self.region, words + LEVEL / 2, u64::from(level));
        thread.store(self.region, words + PARENT / 2, with_half(parent_half(parent).into(), PART, part as u32));
    }

    /// The square of a box, whose number was loaded last.
    #[inline]
    pub fn square<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) -> Square {
        let [x, y, side] = Array::from(self.region, self.pools.word(number) + SQUARE).load_dependent(thread, 0);
        Square { centre: Complex64::new(x, y), side }
    }

    pub fn level<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) -> u32 {
        self.half(number, LEVEL, thread)
    }

    /// A link to a box, which nobody else changes.
    pub fn link<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) -> Link {
        if self.half(number, KIND, thread) == 0 { Link::Leaf(number) } else { Link::Divided(number) }
    }

    /// Makes a leaf a box with parts.
    pub fn set_divided<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) {
        self.set_half(number, KIND, 1, thread);
    }

    pub fn parent<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) -> Option<usize> {
        (self.half(number, PARENT, thread) as usize).checked_sub(1)
    }

    pub fn set_parent<T: Thread<Region = R>>(&self, number: usize, parent: Option<usize>, thread: &mut T) {
        self.set_half(number, PARENT, parent_half(parent), thread);
    }

    /// Its place among the parts of its parent.
    pub fn part<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) -> usize {
        self.half(number, PART, thread) as usize
    }

    /// A part of a box that nobody changes meanwhile.
    #[inline]
    pub fn part_link<T: Thread<Region = R>>(&self, number: usize, part: usize, thread: &mut T) -> Link {
        Link::of(self.half(number, PART_LINKS + part, thread))
    }

    /// A part of a box that others may be changing.
    pub fn acquire_link<T: Thread<Region = R>>(&self, number: usize, part: usize, thread: &mut T) -> Link {
        Link::of(self.acquire_half(number, PART_LINKS + part, thread))
    }

    /// Changes a part of a box in a thread's own tree.
    pub fn set_link<T: Thread<Region = R>>(&self, number: usize, part: usize, link: Link, thread: &mut T) {
        self.set_half(number, PART_LINKS + part, link.half(), thread);
    }

    /// Changes a part of a box in the tree of all, under its lock.
    pub fn release_link<T: Thread<Region = R>>(&self, number: usize, part: usize, link: Link, thread: &mut T) {
        self.release_half(number, PART_LINKS + part, link.half(), thread);
    }

    /// The parts of a box that there are.
    pub fn parts<T: Thread<Region = R>>(
        &self,
        number: usize,
        thread: &mut T,
    ) -> impl Iterator<Item = Link> + use<R, T> {
        let links: [Link; PARTS] = std::array::from_fn(|part| self.part_link(number, part, thread));
        links.into_iter().filter(|link| *link != Link::Nothing)
    }

    /// The number of bodies of a leaf.
    #[inline]
    pub fn body_count<T: Thread<Region = R>>(&self, leaf: usize, thread: &mut T) -> usize {
        self.half(leaf, BODY_COUNT, thread) as usize
    }

    /// A body of a leaf.
    #[inline]
    pub fn body<T: Thread<Region = R>>(&self, leaf: usize, place: usize, thread: &mut T) -> usize {
        (half_of(thread.load(self.region, self.word(leaf, BODIES + place)), place) as usize).wrapping_sub(1)
    }

    /// The bodies of a leaf.
    pub fn bodies<T: Thread<Region = R>>(&self, leaf: usize, thread: &mut T) -> Vec<usize> {
        let count = self.body_count(leaf, thread);
        (0..count).map(|place| self.body(leaf, place, thread)).collect()
    }

    /// Adds a body to a leaf, which has room. Returns how many there are then.
    pub fn push_body<T: Thread<Region = R>>(&self, leaf: usize, body: usize, thread: &mut T) -> usize {
        let count = self.body_count(leaf, thread);
        self.set_half(leaf, BODIES + count, body as u32 + 1, thread);
        self.set_half(leaf, BODY_COUNT, count as u32 + 1, thread);
        count + 1
    }

    /// Takes all bodies out of a leaf.
    pub fn take_bodies<T: Thread<Region = R>>(&self, leaf: usize, thread: &mut T) -> Vec<usize> {
        let bodies = self.bodies(leaf, thread);
        for pair in 0..bodies.len().div_ceil(2) {
            thread.store(self.region, self.word(leaf, BODIES + 2 * pair), 0);
        }
        self.set_half(leaf, BODY_COUNT, 0, thread);
        bodies
    }

    /// Notes links. Those beyond the room there is are counted, but not kept.
    pub fn set_list<T: Thread<Region = R>>(&self, number: usize, list: List, links: &[Link], thread: &mut T) {
        let kept = &links[..links.len().min(list.room)];
        for (place, link) in kept.iter().enumerate() {
            self.set_half(number, list.first + place, link.half(), thread);
        }
        self.set_half(number, list.count, links.len() as u32, thread);
    }

    /// Reads links that were noted. Returns whether all were kept.
    pub fn list<T: Thread<Region = R>>(
        &self,
        number: usize,
        list: List,
        links: &mut Vec<Link>,
        thread: &mut T,
    ) -> bool {
        links.clear();
        let count = self.half(number, list.count, thread) as usize;
        let kept = 0..count.min(list.room);
        links.extend(kept.map(|place| Link::of(self.half(number, list.first + place, thread))));
        count <= list.room
    }

    /// Waits until the parent of a box says that its colleagues are known.
    pub fn await_constructed<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) {
        self.await_half(number, CONSTRUCTED, 1, thread);
        thread.store_release(self.region, self.word(number, CONSTRUCTED), 0);
    }

    /// Tells a part that the colleagues of its parent are known.
    pub fn set_constructed<T: Thread<Region = R>>(&self, part: usize, thread: &mut T) {
        thread.store_release(self.region, self.word(part, CONSTRUCTED), 1);
    }

    /// Puts a box before another one of a thread's.
    pub fn set_next<T: Thread<Region = R>>(&self, number: usize, next: Option<usize>, thread: &mut T) {
        thread.store(self.region, self.word(number, NEXT), parent_half(next).into());
    }

    /// Goes on from a box to the next one of a thread's, which is known without.
    pub fn follow<T: Thread<Region = R>>(&self, link: Link, thread: &mut T) {
        if let Some(number) = link.number() {
            thread.load_dependent_unused(self.region, self.word(number, NEXT));
        }
    }

    /// A series of a box.
    pub fn series<T: Thread<Region = R>>(&self, number: usize, which: usize, terms: usize, thread: &mut T) -> Series {
        let words = Array::from(self.region, self.pools.word(number) + which);
        let mut series = ZERO;
        for (term, value) in series[..terms].iter_mut().enumerate() {
            *value = words.load(thread, term);
        }
        series
    }

    /// Changes a series of a box.
    pub fn set_series<T: Thread<Region = R>>(&self, number: usize, which: usize, series: &[Complex64], thread: &mut T) {
        let words = Array::from(self.region, self.pools.word(number) + which);
        for (term, &value) in series.iter().enumerate() {
            words.store(thread, term, value);
        }
    }
}

/// Half a word for a box that there may be.
fn parent_half(number: Option<usize>) -> u32 {
    number.map_or(0, |number| number as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::shape_of_one;
    use units::NodeId;

    #[test]
    fn words_are_where_the_structure_has_them() {
        // Bytes of the structure: doubles, numbers and pointers add up to these.
        assert_eq!([BODIES * 4, PARENT * 4, SIBLINGS.first * 4, OUTER * 8], [40, 208, 252, 624]);
        for (list, next) in [(SIBLINGS, COLLEAGUES), (COLLEAGUES, ADJACENT), (ADJACENT, APART), (APART, FINER)] {
            assert_eq!((list.first + list.room, list.count + 1), (list.count, next.first));
        }
        assert_eq!((FINER.first + FINER.room, FINER.count + 1), (FINER.count, 2 * OUTER));
        // Two locks are named before what threads wait for, and the structure ends three halves after the next box and fills its word.
        assert_eq!((2 * (SINGLE + 2 * MOST_TERMS), 2 * BOX_WORDS), (CONSTRUCTED - 2, NEXT + 3 + 1));
        assert_eq!(BODIES + MOST_BODIES + 1, BODY_COUNT);
    }

    #[test]
    fn links_come_back_as_they_were_stored() {
        for link in [Link::Nothing, Link::Leaf(0), Link::Divided(0), Link::Leaf(1_000_000), Link::Divided(7)] {
            assert_eq!(Link::of(link.half()), link);
        }
    }

    #[test]
    fn pools_follow_each_other_and_begin_on_pages() {
        let shape = Shape { homes: vec![NodeId(0); 3], ..shape_of_one() };
        let pools = Pools::new(&shape, 500, 10);
        let mut end = 0;
        for thread in 0..3 {
            let own = pools.of(thread);
            assert!(pools.word(own.start) >= end && pools.word(own.start).is_multiple_of(shape.page_words));
            assert!(
                own.clone().zip(own.clone().skip(1)).all(|(one, next)| pools.word(next) - pools.word(one) == BOX_WORDS)
            );
            assert_eq!(pools.place(own.start), 0);
            end = pools.word(own.end - 1) + BOX_WORDS;
        }
        assert!(end <= pools.plan(&shape).words());
    }
}
