//! The cheapest paths between all pairs of vertices.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Blocks;
use crate::parallel::Share;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::number::{Number, Numbers, SINGLE, words};
use super::rows::Rows;
use super::{DRAW, ROW};

program! {
    /// Floyd and Warshall's algorithm on a random graph, as paths of Hexsel and Topham, section 2: in each stage one vertex is
    /// tried between all others. All read that vertex' row and lower elements of other rows, few in the end.
    ///
    /// With `schedule` 0 each thread has the same rows in all stages: a row is read by all in its stage, and its owner purges
    /// all other copies when it stores again. With 1 threads take rows from a counter in each stage, so that rows are read by
    /// changing threads. With 2 columns are dealt round the threads: all threads read all lines in each stage, and a store
    /// purges the copies of those that have come past it, about half: sharing as Hexsel and Topham state it (section 4,
    /// Sharing-list length; section 5). Their counts of references (Table 1) follow from code that loads the element between
    /// rows for each comparison, three loads in all (`reload` 1).
    Paths is "paths": "all-pairs shortest paths: in each stage all read one row and update others" {
        /// Vertices of the graph.
        vertices: 176, 1 to 8192;
        /// Edges that leave a vertex.
        degree: 6, 0 to 64;
        /// The cost of an edge, at most: edges cost from 1 on.
        dearest: 100, 1 to 1_000_000;
        /// 0: rows have owners. 1: threads take rows from a counter in each stage. 2: columns are dealt round the threads.
        schedule: 0, 0 to 2;
        /// 1: the cost of the way to the vertex between is loaded for each comparison. 0: once a row.
        reload: 0, 0 to 1;
        /// Bytes of a cost.
        element: 8, 4 to 8, powers of 2;
    }
}

/// No path: more than any path costs, and twice as much is still a number of four bytes.
const NONE: u64 = 1 << 30;
/// Instructions to compare a path with a way round, beside loads and a store: addition, comparison, branch, address, loop.
const COMPARE: u32 = 5;

/// Regions: the matrix, and two counters of rows, used in turn.
const COSTS: usize = 0;
const COUNTERS: usize = 1;

/// The part of a stage that a thread does.
enum Part<'r, R> {
    /// Its own rows.
    Rows,
    /// Rows from a counter, whose words are those of even and of odd stages.
    Counted { region: &'r R, words: [usize; 2] },
    /// Its own columns of all rows.
    Columns,
}

/// Values of `schedule`.
const COUNTED: u64 = 1;
const COLUMNS: u64 = 2;

impl Paths {
    fn rows(&self, shape: &Shape) -> Rows {
        let vertices = self.vertices as usize;
        let words = if self.element == SINGLE { words::<u32>(vertices) } else { words::<u64>(vertices) };
        Rows::new(shape, vertices, words, false)
    }

    fn counters(shape: &Shape) -> Blocks {
        Blocks::new(shape, 2)
    }

    /// The edges that leave a vertex: where to, at which cost. Some may be in vain.
    fn edges(&self, seed: u64, vertex: usize) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (vertices, dearest) = (self.vertices as usize, self.dearest as usize);
        let mut random = Random::new(seed, vertex as u64);
        (0..self.degree).map(move |_| (random.below(vertices), random.below(dearest) as u64 + 1))
    }

    /// Cost of the cheapest path from a vertex to each (Dijkstra).
    fn cheapest(&self, graph: &[Vec<(usize, u64)>], from: usize) -> Vec<u64> {
        let mut costs = vec![NONE; graph.len()];
        let mut next = BinaryHeap::from([(Reverse(0), from)]);
        while let Some((Reverse(cost), vertex)) = next.pop() {
            if cost < costs[vertex] {
                costs[vertex] = cost;
                next.extend(graph[vertex].iter().map(|&(to, more)| (Reverse(cost + more), to)));
            }
        }
        costs
    }

    /// The row that a thread does next in a stage, if there is any left; `rows` are those that it has without a counter.
    fn next<T: Thread>(
        &self,
        stage: usize,
        part: &Part<'_, T::Region>,
        rows: &mut impl Iterator<Item = usize>,
        thread: &mut T,
    ) -> Option<usize> {
        match part {
            Part::Rows | Part::Columns => rows.next(),
            Part::Counted { region, words } => {
                let row = thread.fetch_add(region, words[stage % 2], 1) as usize;
                (row < self.vertices as usize).then_some(row)
            }
        }
    }

    /// Lowers the costs of paths from one vertex, by way of another, to some.
    fn lower<N: Number, T: Thread>(
        &self,
        [costs, onward]: [Numbers<'_, T::Region, N>; 2],
        between: usize,
        to: impl Iterator<Item = usize>,
        thread: &mut T,
    ) {
        thread.instructions(ROW);
        let mut there = costs.load(thread, between).bits();
        for (number, to) in to.enumerate() {
            if self.reload == 1 && number > 0 {
                there = costs.load(thread, between).bits();
            }
            let round = there + onward.load(thread, to).bits();
            let direct = costs.load(thread, to).bits();
            thread.instructions(COMPARE);
            if round < direct {
                costs.store(thread, to, N::of(round));
            }
        }
    }

    /// The body of one thread, with elements of type `N`.
    fn run_with<N: Number, T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) {
        let (rows, vertices) = (self.rows(shape), self.vertices as usize);
        let row = |number| rows.numbers::<_, N>(&regions[COSTS], number);
        let own = rows.own(thread.number());
        for from in own.clone() {
            let mut costs = vec![NONE; vertices];
            self.edges(shape.seed, from).for_each(|(to, cost)| costs[to] = cost.min(costs[to]));
            costs[from] = 0;
            thread.instructions(self.degree as u32 * DRAW);
            row(from).fill(thread, costs.into_iter().map(N::of), |_| ());
        }
        let part = match self.schedule {
            COUNTED => {
                let counters = Self::counters(shape);
                Part::Counted { region: &regions[COUNTERS], words: [counters.word(0, 0), counters.word(0, 1)] }
            }
            COLUMNS => Part::Columns,
            _ => Part::Rows,
        };
        let share = Share::new(shape, thread.number());
        thread.barrier();
        thread.measure(true);
        for between in 0..vertices {
            // Nobody takes a row from the other stages' counter before the next barrier.
            if let (Part::Counted { region, words }, 0) = (&part, thread.number()) {
                thread.store(region, words[(between + 1) % 2], 0);
            }
            let mut rows = if self.schedule == COLUMNS { (0..vertices).step_by(1) } else { own.clone() };
            while let Some(from) = self.next(between, &part, &mut rows, thread) {
                // Its own row is not made cheaper by itself.
                if from == between {
                    continue;
                }
                match part {
                    Part::Columns => {
                        let columns = share.cyclic(vertices);
                        self.lower([row(from), row(between)], between, columns, thread);
                    }
                    _ => self.lower([row(from), row(between)], between, 0..vertices, thread),
                }
            }
            thread.barrier();
        }
        thread.measure(false);
    }
}

impl Program for Paths {
    const REGIONS: &'static [&'static str] = &["costs", "counters of rows"];

    fn dynamic(&self) -> bool {
        self.schedule == COUNTED
    }

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let counters =
            (self.schedule == COUNTED).then(|| Self::counters(shape).plan(shape.homes.iter().copied().take(1)));
        [self.rows(shape).plan(shape)].into_iter().chain(counters).collect()
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        match self.element {
            SINGLE => self.run_with::<u32, T>(shape, regions, thread),
            _ => self.run_with::<u64, T>(shape, regions, thread),
        }
        0
    }

    /// Another algorithm finds the same costs.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (rows, vertices) = (self.rows(shape), self.vertices as usize);
        let graph: Vec<Vec<_>> = (0..vertices).map(|vertex| self.edges(shape.seed, vertex).collect()).collect();
        let found = |row, column| match self.element {
            SINGLE => u64::from(rows.number::<u32>(|word| read(COSTS, word), row, column)),
            _ => rows.number::<u64>(|word| read(COSTS, word), row, column),
        };
        (0..vertices).try_for_each(|from| {
            self.cheapest(&graph, from).into_iter().enumerate().try_for_each(|(to, cost)| {
                Wrong::unless_equal(found(from, to), cost, || format!("cost of the path from {from} to {to}"))
            })
        })
    }
}
