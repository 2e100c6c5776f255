//! Trees of several threads, one after the other: what is in them, which boxes act on which, and whose they are.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use num_complex::Complex64;
use proptest::prelude::*;
use units::NodeId;

use super::bodies::{BODY_WORDS, Bodies, initial};
use super::boxes::{APART, Boxes, COLLEAGUES, COST, Link, PART_COUNT, Pools};
use super::grid::{Grid, LOCKS};
use super::lists::Links;
use super::squares::Square;
use crate::parallel::{Alone, Locks, shape_of_one};
use crate::program::Shape;
use crate::random::Random;
use crate::thread::Thread;

type Words = Vec<Cell<u64>>;

/// A thread of several, of which one runs at a time.
struct OneOf(usize);

impl Thread for OneOf {
    type Region = Words;

    fn number(&self) -> usize {
        self.0
    }

    fn load(&mut self, region: &Words, word: usize) -> u64 {
        Alone.load(region, word)
    }

    fn load_dependent(&mut self, region: &Words, word: usize) -> u64 {
        Alone.load(region, word)
    }

    fn store(&mut self, region: &Words, word: usize, value: u64) {
        Alone.store(region, word, value);
    }

    fn fetch_add(&mut self, region: &Words, word: usize, addend: u64) -> u64 {
        Alone.fetch_add(region, word, addend)
    }

    fn compare_and_swap(&mut self, region: &Words, word: usize, expected: u64, new: u64) -> u64 {
        Alone.compare_and_swap(region, word, expected, new)
    }

    fn load_acquire(&mut self, region: &Words, word: usize) -> u64 {
        Alone.load(region, word)
    }

    fn store_release(&mut self, region: &Words, word: usize, value: u64) {
        Alone.store(region, word, value);
    }

    fn prefetch_shared(&mut self, _: &Words, _: usize) {}

    fn prefetch_exclusive(&mut self, _: &Words, _: usize) {}

    fn instructions(&mut self, _: u32) {}

    fn work(&mut self, _: u32) {}

    fn barrier(&mut self) {}
}

/// Regions, and what they are for.
struct Memory {
    shape: Shape,
    count: usize,
    most: usize,
    words: [Words; 4],
}

impl Memory {
    /// Bodies as a program has them to begin with.
    fn new(count: usize, clusters: u64, most: usize, threads: usize, seed: u64) -> Self {
        let shape = Shape { homes: vec![NodeId(0); threads], ..shape_of_one() };
        let pools = Pools::new(&shape, count, most).plan(&shape).words();
        let sizes = [count * BODY_WORDS, pools, Locks::<()>::plan(&shape, LOCKS).words(), 1];
        let memory = Self { shape, count, most, words: sizes.map(|words| vec![Cell::new(0); words]) };
        for (number, each) in initial(count, clusters, seed).into_iter().enumerate() {
            memory.bodies().begin(number, each, 1.0, &mut OneOf(0));
        }
        memory
    }

    fn bodies(&self) -> Bodies<'_, Words> {
        Bodies { region: &self.words[0] }
    }

    fn grid(&self, thread: usize) -> Grid<'_, Words> {
        let pools = Pools::new(&self.shape, self.count, self.most);
        let first = pools.of(thread).start;
        Grid {
            boxes: Boxes { region: &self.words[1], pools },
            bodies: self.bodies(),
            locks: Locks::new(&self.shape, &self.words[2], LOCKS),
            root: &self.words[3],
            most: self.most,
            made: first..first,
            put: Vec::new(),
            lost: 0,
        }
    }

    /// Has each thread build a tree of some bodies, and put it into that of all. Returns the boxes of each in that.
    fn build(&self, seed: u64) -> Vec<Vec<Link>> {
        let (threads, mut random) = (self.shape.threads(), Random::new(seed, 0));
        let mut dealt = vec![Vec::new(); threads];
        (0..self.count).for_each(|body| dealt[random.below(threads)].push(body));
        let places = || (0..self.count).map(|body| self.bodies().place(body, &mut OneOf(0)));
        let (low, high) = (places().next().expect("a body"), places().next().expect("a body"));
        let least = |one: Complex64, other: Complex64| Complex64::new(one.re.min(other.re), one.im.min(other.im));
        let square = Square::around(places().fold(low, least), -places().map(|place| -place).fold(-high, least));
        let mut grids: Vec<_> = (0..threads).map(|thread| self.grid(thread)).collect();
        for (thread, (grid, bodies)) in grids.iter_mut().zip(&dealt).enumerate() {
            if !bodies.is_empty() {
                grid.build(bodies, square, &mut OneOf(thread));
            }
            assert_eq!(grid.lost, 0);
        }
        let own = |(thread, grid): (usize, &mut Grid<'_, _>)| grid.own(&mut OneOf(thread)).downwards().collect();
        grids.iter_mut().enumerate().map(own).collect()
    }
}

/// The finished tree, as one thread sees it.
struct Tree {
    /// Each box, parents before parts: what it is, its parent and the bodies in it.
    boxes: BTreeMap<usize, (Link, Option<usize>, Vec<usize>)>,
    order: Vec<usize>,
}

fn number(link: Link) -> usize {
    link.number().expect("a box")
}

impl Tree {
    fn of(grid: &Grid<'_, Words>) -> Self {
        let mut tree = Self { boxes: BTreeMap::new(), order: Vec::new() };
        tree.walk(grid, grid.top(&mut OneOf(0)), None);
        tree.order.sort_by_key(|&number| grid.boxes.level(number, &mut OneOf(0)));
        tree
    }

    /// Notes a box and what is in it, and returns its bodies.
    fn walk(&mut self, grid: &Grid<'_, Words>, link: Link, parent: Option<usize>) -> Vec<usize> {
        let (thread, own) = (&mut OneOf(0), number(link));
        assert_eq!(grid.boxes.parent(own, thread), parent);
        assert_eq!(grid.boxes.link(own, thread), link);
        let square = grid.boxes.square(own, thread);
        let bodies = match link {
            Link::Divided(whole) => {
                assert_eq!(grid.boxes.body_count(whole, thread), 0);
                let parts: Vec<Link> = grid.boxes.parts(whole, thread).collect();
                assert_eq!(grid.boxes.half(whole, PART_COUNT, thread) as usize, parts.len());
                parts.into_iter().flat_map(|part| self.walk(grid, part, Some(whole))).collect()
            }
            _ => grid.boxes.bodies(own, thread),
        };
        let is_leaf = matches!(link, Link::Leaf(_));
        assert_eq!(is_leaf, bodies.len() <= grid.most, "{} bodies", bodies.len());
        assert!(!bodies.is_empty() && bodies.iter().all(|&body| square.contains(grid.bodies.place(body, thread))));
        assert!(self.boxes.insert(own, (link, parent, bodies.clone())).is_none(), "box {own} is in two places");
        self.order.push(own);
        bodies
    }

    fn leaves(&self) -> impl Iterator<Item = usize> {
        self.boxes.values().filter_map(|&(link, ..)| if let Link::Leaf(leaf) = link { Some(leaf) } else { None })
    }

    /// A box and all that it is in.
    fn up(&self, number: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(number), |number| self.boxes[number].1)
    }
}

/// Pairs of boxes of which the second is in a list of the first.
#[derive(Default)]
struct Pairs {
    colleagues: BTreeSet<(usize, usize)>,
    adjacent: BTreeSet<(usize, usize)>,
    apart: BTreeSet<(usize, usize)>,
    finer: BTreeSet<(usize, usize)>,
}

impl Pairs {
    fn of(grid: &Grid<'_, Words>, tree: &Tree) -> Self {
        let (thread, mut links, mut list, mut pairs) = (&mut OneOf(0), Links::default(), Vec::new(), Self::default());
        tree.order.iter().for_each(|number| grid.set_colleagues(tree.boxes[number].0, &mut links, thread));
        for &own in &tree.order {
            grid.set_lists(tree.boxes[&own].0, &mut links, thread);
            let add = |pairs: &mut BTreeSet<_>, list: &[Link]| {
                list.iter().for_each(|&link| assert!(pairs.insert((own, number(link))), "once alone"));
            };
            assert!(grid.boxes.list(own, COLLEAGUES, &mut list, thread));
            add(&mut pairs.colleagues, &list);
            assert!(grid.boxes.list(own, APART, &mut list, thread));
            add(&mut pairs.apart, &list);
            if let Link::Leaf(leaf) = tree.boxes[&own].0 {
                grid.noted_adjacent(leaf, &mut list, thread);
                add(&mut pairs.adjacent, &list);
                grid.noted_finer(leaf, &mut list, thread);
                add(&mut pairs.finer, &list);
            }
        }
        pairs
    }
}

fn is_symmetric(pairs: &BTreeSet<(usize, usize)>) -> bool {
    pairs.iter().all(|&(one, other)| one != other && pairs.contains(&(other, one)))
}

/// The number of times that the bodies of a leaf act on those of another.
fn times(pairs: &Pairs, tree: &Tree, [to, from]: [usize; 2]) -> usize {
    let apart = tree.up(to).flat_map(|to| tree.up(from).map(move |from| (to, from)));
    usize::from(pairs.adjacent.contains(&(to, from)))
        + apart.filter(|pair| pairs.apart.contains(pair)).count()
        + tree.up(from).filter(|&from| pairs.finer.contains(&(to, from))).count()
        + tree.up(to).filter(|&to| pairs.finer.contains(&(from, to))).count()
}

fn check_tree(count: usize, clusters: u64, most: usize, threads: usize, seed: u64) {
    let memory = Memory::new(count, clusters, most, threads, seed);
    let own = memory.build(seed);
    let (grid, thread) = (memory.grid(0), &mut OneOf(0));
    let tree = Tree::of(&grid);
    let mut bodies: Vec<usize> = tree.leaves().flat_map(|leaf| tree.boxes[&leaf].2.clone()).collect();
    bodies.sort_unstable();
    assert!(bodies.into_iter().eq(0..count), "every body is in one leaf");
    let all: Vec<usize> = tree.boxes.keys().copied().collect();
    let mut listed: Vec<usize> = own.into_iter().flatten().map(number).collect();
    listed.sort_unstable();
    assert_eq!(listed, all, "every box is one thread's");

    let pairs = Pairs::of(&grid, &tree);
    assert!(is_symmetric(&pairs.colleagues) && is_symmetric(&pairs.adjacent) && is_symmetric(&pairs.apart));
    for to in tree.leaves() {
        for from in tree.leaves() {
            assert_eq!(times(&pairs, &tree, [to, from]), usize::from(to != from), "leaf {from} on leaf {to}");
        }
    }

    for &number in tree.order.iter().rev() {
        grid.sum_up(tree.boxes[&number].0, 23, thread);
    }
    let (mut zones, mut costs) = (Vec::new(), Vec::new());
    for number in 0..threads {
        let mut cost = 0;
        grid.zone(number, threads, thread, |thread, link| {
            let number = link.number().expect("a box");
            cost += grid.boxes.half(number, COST, thread);
            zones.push(number);
        });
        costs.push(cost as usize);
    }
    zones.sort_unstable();
    assert_eq!(zones, all, "every box is in one zone");
    let most = all.iter().map(|&number| grid.boxes.half(number, COST, thread)).max().unwrap_or(0) as usize;
    let share = costs.iter().sum::<usize>() / threads;
    assert!(costs.iter().all(|cost| cost.abs_diff(share) <= most + 1), "{costs:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The tree of all is that of one thread, every leaf acts on every other one once, and every box is in one zone.
    #[test]
    fn trees_hold_what_they_should(
        count in 1_usize..200,
        clusters in 0_u64..3,
        most in 1_usize..12,
        threads in 1_usize..6,
        seed in 0_u64..1000,
    ) {
        check_tree(count, clusters, most, threads, seed);
    }
}

/// Beside leaves of one body there may be more smaller ones than lists have room for.
#[test]
fn trees_of_single_bodies_hold_what_they_should() {
    for clusters in 0..3 {
        check_tree(400, clusters, 1, 3, 5);
    }
}

/// Boxes that are used up are an error that is counted, and none that stops the program.
#[test]
fn bodies_in_one_place_get_no_box_of_their_own() {
    let memory = Memory::new(3, 0, 1, 1, 0);
    for body in 0..2 {
        memory.bodies().begin(body, (Complex64::new(0.25, 0.5), Default::default()), 1.0, &mut OneOf(0));
    }
    let mut grid = memory.grid(0);
    let square = Square { centre: Default::default(), side: 2.0 };
    grid.build(&[0, 1, 2], square, &mut OneOf(0));
    assert!(grid.lost > 0);
}
