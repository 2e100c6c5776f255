//! A bar hits a wall: explicit finite elements, with forces of elements gathered by their nodes colour by colour.

mod element;

use std::ops::Range;

use element::{DENSITY, ELASTIC, ITERATION, State, Vector};

use crate::parallel::{Array, Element, Reduction, Share, Team, alone, cost, element as element_of};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// Crash simulation by explicit finite elements, with the sharing and the memory behaviour of fma3d of SpecOMP2001: a copper bar hits
    /// a rigid wall (Taylor's test). In each time step every element looks at its eight nodes, and finds stresses and
    /// forces; the forces are added to those of the nodes, elements of one of eight colours after those of another, so that
    /// no two of one colour have a node in common; the nodes move; and the next step is as long as the least stable
    /// element allows. Threads share by elements and by nodes, numbered along the bar: almost all misses are local (FLASH
    /// dissertation, Figure 3.5).
    ///
    /// What keeps it from scaling is not in memory (section 5.5.4 and Figure 5.22): elements near the wall yield, which takes time to
    /// compute, and belong to few threads; colours and nodes are short loops with a barrier each. Chapter 6 finds no fault to
    /// mend in it.
    ///
    /// Making the bar is not measured.
    Fma3d is "fma3d": "explicit finite elements of a bar that hits a wall: local, and out of balance where metal yields" {
        /// Elements along both shorter edges of the bar.
        width: 16, 1 to 256;
        /// Elements along the bar.
        length: 40, 1 to 4096;
        /// Time steps.
        steps: 5, 1 to 100_000;
    }
}

/// Millimetres of the bar's shorter and longer edges.
const WIDTH: f64 = 6.4;
const LENGTH: f64 = 32.4;
/// Its speed towards the wall, in millimetres a microsecond.
const SPEED: f64 = 0.227;
/// How much nodes' speeds may differ from that, as a fraction.
const UNEVEN: f64 = 0.01;
/// How much of all momentum rounding may take or give across the bar.
const ROUNDING: f64 = 1e-12;
/// Colours: elements of one are two apart along each axis.
const COLOURS: usize = 8;

/// Instructions beside loads and stores. To add a force to that of a node: three additions, addresses.
const ADD: u32 = 6;
/// To move a node.
const MOVE: u32 = 20 + 2 * cost::DIVISION;
/// To find the next element of a colour.
const NEXT: u32 = 8;
/// To make an element or a node.
const MAKE: u32 = 60;

/// Regions: what the team forks by; of elements, the numbers of nodes two in a word, states, forces on nodes; of nodes, places,
/// velocities, forces, masses; parts of reductions.
const TEAM: usize = 0;
const CORNERS: usize = 1;
const STATES: usize = 2;
const ACTIONS: usize = 3;
const PLACES: usize = 4;
const VELOCITIES: usize = 5;
const FORCES: usize = 6;
const MASSES: usize = 7;
const PARTS: usize = 8;

/// The nodes of an element, as they are kept.
type Corners = [(u32, u32); 4];

/// A bar of hexahedra.
#[derive(Clone, Copy)]
struct Bar {
    width: usize,
    length: usize,
}

impl Bar {
    fn elements(self) -> usize {
        self.width * self.width * self.length
    }

    fn nodes(self) -> usize {
        (self.width + 1) * (self.width + 1) * (self.length + 1)
    }

    /// The element whose place in the grid this is: numbers grow along the bar.
    fn element(self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.width + y) * self.width + x
    }

    /// The node with the least coordinates of an element, and its others: bits of their number say along which axes they are away.
    fn corners(self, element: usize) -> [usize; 8] {
        let across = self.width + 1;
        let [x, y, z] = [element % self.width, element / self.width % self.width, element / (self.width * self.width)];
        std::array::from_fn(|corner| ((z + (corner >> 2)) * across + y + (corner >> 1 & 1)) * across + x + (corner & 1))
    }

    fn pairs(self, element: usize) -> Corners {
        let corners = self.corners(element);
        std::array::from_fn(|pair| (corners[2 * pair] as u32, corners[2 * pair + 1] as u32))
    }

    fn place(self, node: usize) -> Vector {
        let across = self.width + 1;
        let [x, y, z] = [node % across, node / across % across, node / (across * across)].map(|at| at as f64);
        let width = WIDTH / self.width as f64;
        [x * width, y * width, z * LENGTH / self.length as f64]
    }

    /// The mass of a node: an eighth of each element that it is a corner of.
    fn mass(self, node: usize) -> f64 {
        let across = self.width + 1;
        let inside = |at: usize, last: usize| if at == 0 || at == last { 1.0 } else { 2.0 };
        let [x, y, z] = [node % across, node / across % across, node / (across * across)];
        let elements = inside(x, self.width) * inside(y, self.width) * inside(z, self.length);
        let volume = WIDTH * WIDTH * LENGTH / self.elements() as f64;
        DENSITY * volume / 8.0 * elements
    }

    /// The elements of a colour: its bits say along which axes they begin with the second.
    fn colour(self, colour: usize) -> Colour {
        let first = std::array::from_fn(|axis| colour >> axis & 1);
        let count = |axis: usize, of: usize| (of - first[axis].min(of)).div_ceil(2);
        Colour { bar: self, first, counts: [count(0, self.width), count(1, self.width), count(2, self.length)] }
    }
}

/// Elements of one colour, numbered along the bar as all are.
struct Colour {
    bar: Bar,
    first: [usize; 3],
    counts: [usize; 3],
}

impl Colour {
    fn count(&self) -> usize {
        self.counts.iter().product()
    }

    fn element(&self, number: usize) -> usize {
        let [x, y, _] = self.counts;
        let at = [number % x, number / x % y, number / (x * y)];
        self.bar.element(std::array::from_fn(|axis| self.first[axis] + 2 * at[axis]))
    }
}

/// How fast a node is to begin with.
fn velocity(seed: u64, node: usize) -> Vector {
    let uneven = 1.0 + UNEVEN * (Random::new(seed, node as u64).unit() - 0.5);
    [0.0, 0.0, -SPEED * uneven]
}

/// A thread's part of the work.
struct Body<'r, R> {
    bar: Bar,
    regions: &'r [R],
    seed: u64,
}

impl<'r, R> Body<'r, R> {
    fn array<E: Element>(&self, name: usize) -> Array<'r, R, E> {
        Array::new(&self.regions[name])
    }

    /// Makes its elements and nodes.
    fn initialise<T: Thread<Region = R>>(&self, thread: &mut T, elements: Range<usize>, nodes: Range<usize>) {
        for element in elements {
            let (state, _) = element::at_rest(&self.bar.corners(element).map(|node| self.bar.place(node)));
            for (pair, corners) in self.bar.pairs(element).into_iter().enumerate() {
                self.array(CORNERS).store(thread, 4 * element + pair, corners);
            }
            self.array(STATES).store(thread, element, state);
            (0..8).for_each(|corner| self.array(ACTIONS).store(thread, 8 * element + corner, [0.0; 3]));
            thread.instructions(MAKE);
        }
        for node in nodes {
            self.array(PLACES).store(thread, node, self.bar.place(node));
            self.array(VELOCITIES).store(thread, node, velocity(self.seed, node));
            self.array(FORCES).store(thread, node, [0.0; 3]);
            self.array(MASSES).store(thread, node, self.bar.mass(node));
            thread.instructions(MAKE);
        }
    }

    fn corners<T: Thread<Region = R>>(&self, thread: &mut T, element: usize) -> [usize; 8] {
        let corners = self.array::<(u32, u32)>(CORNERS);
        let pairs: Corners = std::array::from_fn(|pair| corners.load(thread, 4 * element + pair));
        std::array::from_fn(|corner| {
            let (even, odd) = pairs[corner / 2];
            if corner % 2 == 0 { even as usize } else { odd as usize }
        })
    }

    /// Advances its elements. Returns the longest step for which all of them stay stable.
    fn stress<T: Thread<Region = R>>(&self, thread: &mut T, own: Range<usize>, step: f64) -> f64 {
        let (places, velocities) = (self.array::<Vector>(PLACES), self.array::<Vector>(VELOCITIES));
        let mut stable = f64::INFINITY;
        for element in own {
            let corners = self.corners(thread, element);
            let at = corners.map(|node| places.load_dependent(thread, node));
            let moving = corners.map(|node| velocities.load_dependent(thread, node));
            let state: State = self.array(STATES).load(thread, element);
            let outcome = element::advance(&at, &moving, &state, step);
            thread.instructions(ELASTIC + outcome.iterations * ITERATION);
            self.array(STATES).store(thread, element, outcome.state);
            for (corner, force) in outcome.forces.into_iter().enumerate() {
                self.array(ACTIONS).store(thread, 8 * element + corner, force);
            }
            stable = stable.min(outcome.stable);
        }
        stable
    }

    /// Adds forces of its elements of a colour to those of their nodes.
    fn gather<T: Thread<Region = R>>(&self, thread: &mut T, share: Share, colour: &Colour) {
        let (forces, actions) = (self.array::<Vector>(FORCES), self.array::<Vector>(ACTIONS));
        for number in share.block(colour.count()) {
            let element = colour.element(number);
            thread.instructions(NEXT);
            for (corner, node) in self.corners(thread, element).into_iter().enumerate() {
                let action = actions.load(thread, 8 * element + corner);
                let force = forces.load_dependent(thread, node);
                forces.store(thread, node, std::array::from_fn(|axis| force[axis] + action[axis]));
                thread.instructions(ADD);
            }
        }
    }

    /// Moves its nodes. None gets through the wall at z = 0.
    fn advance<T: Thread<Region = R>>(&self, thread: &mut T, own: Range<usize>, step: f64) {
        let [places, velocities, forces] = [PLACES, VELOCITIES, FORCES].map(|name| self.array::<Vector>(name));
        for node in own {
            let (force, mass) = (forces.load(thread, node), self.array::<f64>(MASSES).load(thread, node));
            let (place, before) = (places.load(thread, node), velocities.load(thread, node));
            let mut velocity: Vector = std::array::from_fn(|axis| before[axis] + step / mass * force[axis]);
            velocity[2] = velocity[2].max(-place[2] / step);
            velocities.store(thread, node, velocity);
            places.store(thread, node, std::array::from_fn(|axis| place[axis] + step * velocity[axis]));
            forces.store(thread, node, [0.0; 3]);
            thread.instructions(MOVE);
        }
    }
}

impl Fma3d {
    fn bar(&self) -> Bar {
        Bar { width: self.width as usize, length: self.length as usize }
    }
}

impl Program for Fma3d {
    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (elements, nodes) = (self.bar().elements(), self.bar().nodes());
        let words = [4 * elements, State::WORDS * elements, 24 * elements, 3 * nodes, 3 * nodes, 3 * nodes, nodes];
        let unplaced = words.map(|words| RegionPlan::unplaced(shape, words));
        [Team::<()>::plan(shape)].into_iter().chain(unplaced).chain([Reduction::<()>::plan(shape)]).collect()
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let bar = self.bar();
        let mut team = Team::new(shape, &regions[TEAM], thread.number());
        let mut parts = Reduction::new(shape, &regions[PARTS]);
        let body = Body { bar, regions, seed: shape.seed };
        team.prepare(thread, |thread, share| {
            body.initialise(thread, share.block(bar.elements()), share.block(bar.nodes()));
        });
        let (_, mut step) = element::at_rest(&bar.corners(0).map(|node| bar.place(node)));
        for _ in 0..self.steps {
            let next = team.parallel(thread, |thread, share| {
                let stable = body.stress(thread, share.block(bar.elements()), step);
                parts.combine(thread, stable, f64::min)
            });
            for colour in 0..COLOURS {
                let colour = bar.colour(colour);
                team.parallel(thread, |thread, share| body.gather(thread, share, &colour));
            }
            team.parallel(thread, |thread, share| body.advance(thread, share.block(bar.nodes()), step));
            step = next;
        }
        0
    }

    /// Elements have their nodes, everything is as one thread alone leaves it, and no momentum has come up across the bar.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let bar = self.bar();
        let (_, alone) = alone(self, shape);
        let equal = |name: usize, word: usize, what: &str| {
            Wrong::unless_equal(read(name, word), alone[name][word], || format!("bits of word {word} of {what}"))
        };
        (0..bar.elements()).try_for_each(|element| {
            bar.pairs(element).into_iter().enumerate().try_for_each(|(pair, expected)| {
                let found: (u32, u32) = element_of(|word| read(CORNERS, word), 4 * element + pair);
                let what = || format!("a corner of element {element}");
                Wrong::unless_equal(found.0.into(), expected.0.into(), what)?;
                Wrong::unless_equal(found.1.into(), expected.1.into(), what)
            })?;
            (0..State::WORDS).try_for_each(|word| equal(STATES, State::WORDS * element + word, "states"))
        })?;
        for (name, what) in [(PLACES, "places"), (VELOCITIES, "velocities"), (FORCES, "forces")] {
            (0..3 * bar.nodes()).try_for_each(|word| equal(name, word, what))?;
        }
        let momentum = |node: usize| {
            let mass: f64 = element_of(|word| read(MASSES, word), node);
            element_of::<Vector>(|word| read(VELOCITIES, word), node).map(|speed| mass * speed)
        };
        let all: f64 = (0..bar.nodes()).map(|node| SPEED * bar.mass(node)).sum();
        (0..2).try_for_each(|axis| {
            let sum: f64 = (0..bar.nodes()).map(|node| momentum(node)[axis]).sum();
            Wrong::unless_close(sum, 0.0, ROUNDING * all, || format!("momentum along axis {axis}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use units::NodeId;

    use super::*;

    #[test]
    fn every_element_has_one_colour_and_none_shares_a_node_with_another_of_its() {
        for bar in [Bar { width: 1, length: 1 }, Bar { width: 3, length: 5 }, Bar { width: 4, length: 2 }] {
            let mut seen = vec![0; bar.elements()];
            for colour in (0..COLOURS).map(|colour| bar.colour(colour)) {
                let mut nodes = Vec::new();
                for element in (0..colour.count()).map(|number| colour.element(number)) {
                    seen[element] += 1;
                    nodes.extend(bar.corners(element));
                }
                let count = nodes.len();
                nodes.sort_unstable();
                nodes.dedup();
                assert_eq!(nodes.len(), count);
            }
            assert!(seen.iter().all(|&times| times == 1));
        }
    }

    /// The bar yields at the wall and not yet far from it, bulges, and has lost part of its energy of motion, and no more.
    #[test]
    fn a_bar_that_hits_a_wall_yields_there() {
        let fma3d = Fma3d { width: 4, length: 20, steps: 20 };
        let bar = fma3d.bar();
        let shape = Shape { homes: vec![NodeId(0)], nodes: 1, line_words: 16, page_words: 2048, seed: 3 };
        let (_, alone) = alone(&fma3d, &shape);
        let strain = |element: usize| element_of::<State>(|word| alone[STATES][word], element)[6];
        let layer = bar.width * bar.width;
        assert!((0..layer).all(|element| strain(element) > 0.01), "{}", strain(0));
        assert!((bar.elements() - layer..bar.elements()).all(|element| strain(element) == 0.0));
        let place = |node| element_of::<Vector>(|word| alone[PLACES][word], node);
        let (corner, across) = (place(0), place(bar.width));
        assert!(corner[0] < 0.0 && across[0] > WIDTH && (-1e-12..1e-2).contains(&corner[2]), "{corner:?} {across:?}");
        assert!(place(bar.nodes() - 1)[2] < LENGTH - 0.1);
        let moving = |of: &dyn Fn(usize) -> Vector| -> f64 {
            (0..bar.nodes()).map(|node| bar.mass(node) * of(node).iter().map(|v| v * v).sum::<f64>()).sum()
        };
        let after = moving(&|node| element_of(|word| alone[VELOCITIES][word], node));
        let left = after / moving(&|node| velocity(3, node));
        assert!((0.5..0.95).contains(&left), "{left}");
    }
}
