//! The cheapest paths between all pairs of vertices.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::rows::Rows;
use super::{DRAW, ROW};

program! {
    /// Floyd and Warshall's algorithm on a random graph, as paths of Hexsel and Topham, section 2: in each stage one vertex is
    /// tried between all others. All read that vertex' row and lower elements of their own, few in the end: much is shared to
    /// read, and what is stored has many copies.
    Paths is "paths": "cheapest paths of all pairs: in each stage all read one row and lower their own" {
        /// Vertices of the graph.
        vertices: 176, 1 to 8192;
        /// Edges that leave a vertex.
        degree: 6, 0 to 64;
    }
}

/// The cost of an edge, at most.
const DEAREST: usize = 100;
/// No path: more than any path costs, and twice as much is still a number.
const NONE: u64 = 1 << 32;
/// Instructions to compare a path with a way round, beside loads and a store: addition, comparison, branch, address, loop.
const COMPARE: u32 = 5;

impl Paths {
    fn rows(&self, shape: &Shape) -> Rows {
        Rows::new(shape, self.vertices as usize, self.vertices as usize, false)
    }

    /// The edges that leave a vertex: where to, at which cost. Some may be in vain.
    fn edges(&self, seed: u64, vertex: usize) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (mut random, vertices) = (Random::new(seed, vertex as u64), self.vertices as usize);
        (0..self.degree).map(move |_| (random.below(vertices), random.below(DEAREST) as u64 + 1))
    }

    /// What the cheapest path from a vertex to each costs (Dijkstra).
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
}

impl Program for Paths {
    const REGIONS: &'static [&'static str] = &["costs"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.rows(shape).plan(shape)]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (rows, vertices) = (self.rows(shape), self.vertices as usize);
        let row = |number| rows.row::<_, u64>(&regions[0], number);
        let own = rows.own(thread.number());
        for from in own.clone() {
            let mut costs = vec![NONE; vertices];
            self.edges(shape.seed, from).for_each(|(to, cost)| costs[to] = cost.min(costs[to]));
            costs[from] = 0;
            thread.instructions(self.degree as u32 * DRAW);
            costs.into_iter().enumerate().for_each(|(to, cost)| row(from).store(thread, to, cost));
        }
        thread.barrier();
        thread.measure(true);
        for between in 0..vertices {
            let onward = row(between);
            // Its own row is not made cheaper by itself.
            for from in own.clone().filter(|&from| from != between) {
                thread.instructions(ROW);
                let costs = row(from);
                let there = costs.load(thread, between);
                for to in 0..vertices {
                    let round = there + onward.load(thread, to);
                    let direct = costs.load(thread, to);
                    thread.instructions(COMPARE);
                    if round < direct {
                        costs.store(thread, to, round);
                    }
                }
            }
            thread.barrier();
        }
        thread.measure(false);
        0
    }

    /// Another algorithm finds the same costs.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (rows, vertices) = (self.rows(shape), self.vertices as usize);
        let graph: Vec<Vec<_>> = (0..vertices).map(|vertex| self.edges(shape.seed, vertex).collect()).collect();
        (0..vertices).try_for_each(|from| {
            self.cheapest(&graph, from).into_iter().enumerate().try_for_each(|(to, cost)| {
                let found = rows.element(|word| read(0, word), from, to);
                Wrong::unless_equal(found, cost, || format!("cost of the path from {from} to {to}"))
            })
        })
    }
}
