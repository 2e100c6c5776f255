//! A bar hits a wall: explicit finite elements, whose forces their nodes gather.

mod element;

use std::ops::Range;

use element::{DENSITY, ELASTIC, ITERATION, State, Vector};

use crate::parallel::{Array, Element, Reduction, Team, alone, cost, element as element_of};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// Crash simulation by explicit finite elements, with the sharing and the memory behaviour of fma3d of SpecOMP2001: a copper
    /// bar hits a rigid wall (Taylor's test). In each time step every element looks at its eight nodes, and finds stresses and
    /// forces; every node gathers the forces of the elements around it, and moves; and the next step is as long as the least
    /// stable element allows. Threads share by elements and by nodes, numbered along the bar: what they touch is at home with
    /// them, but for the layers at which their parts meet (FLASH dissertation, Figure 3.5).
    ///
    /// Memory does not keep it from scaling (section 5.5.4 and Figure 5.22): elements near the wall yield, which takes time to
    /// compute, and belong to few threads. Chapter 6 finds no fault to mend in it.
    ///
    /// Making the bar is not measured.
    Fma3d is "fma3d": "explicit finite elements of a bar that hits a wall: local, and out of balance where metal yields" {
        /// Elements along both shorter edges of the bar.
        width: 8, 1 to 256;
        /// Elements along the bar.
        length: 252, 1 to 4096;
        /// Time steps.
        steps: 4, 1 to 100_000;
        /// Time steps of these that come before what is measured; the last is measured in any case.
        unmeasured: 0, 0 to 10_000;
    }
}

/// Millimetres of an edge of an element.
const EDGE: f64 = 0.4;
/// Its speed towards the wall, in millimetres a microsecond.
const SPEED: f64 = 0.227;
/// How much nodes' speeds may differ from that, as a fraction.
const UNEVEN: f64 = 0.01;
/// How much of all momentum rounding may take or give across the bar.
const ROUNDING: f64 = 1e-12;
/// Stands for an element that a node on the border has not got.
const NOBODY: u32 = u32::MAX;

/// Instructions beside loads and stores. To find out whether an element acts on a node, and how: three additions, addresses.
const ADD: u32 = 6;
/// To move a node.
const MOVE: u32 = 20 + 2 * cost::DIVISION;
/// To make an element or a node.
const MAKE: u32 = 60;

/// Regions: what the team forks by; of elements, the numbers of nodes two in a word, states, forces on nodes; of nodes, places,
/// velocities, which forces are on them two in a word, masses; parts of reductions.
const TEAM: usize = 0;
const CORNERS: usize = 1;
const STATES: usize = 2;
const ACTIONS: usize = 3;
const PLACES: usize = 4;
const VELOCITIES: usize = 5;
const AROUND: usize = 6;
const MASSES: usize = 7;
const PARTS: usize = 8;

/// Eight numbers as they are kept: the nodes of an element, or the forces on a node.
type Pairs = [(u32, u32); 4];

fn pairs(numbers: [u32; 8]) -> Pairs {
    std::array::from_fn(|pair| (numbers[2 * pair], numbers[2 * pair + 1]))
}

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

    /// The node with the least coordinates of an element, and its others: bits of their number say along which axes they are away.
    fn corners(self, element: usize) -> [usize; 8] {
        let across = self.width + 1;
        let [x, y, z] = [element % self.width, element / self.width % self.width, element / (self.width * self.width)];
        std::array::from_fn(|corner| ((z + (corner >> 2)) * across + y + (corner >> 1 & 1)) * across + x + (corner & 1))
    }

    /// The corners of elements that a node is, numbered element by element.
    fn around(self, node: usize) -> [u32; 8] {
        let [x, y, z] = self.coordinates(node);
        std::array::from_fn(|corner| {
            let [left, up, back] = [corner & 1, corner >> 1 & 1, corner >> 2];
            let inside = |at: usize, step: usize, count: usize| (step..count + step).contains(&at);
            if !(inside(x, left, self.width) && inside(y, up, self.width) && inside(z, back, self.length)) {
                return NOBODY;
            }
            let element = ((z - back) * self.width + y - up) * self.width + x - left;
            (8 * element + corner) as u32
        })
    }

    fn coordinates(self, node: usize) -> [usize; 3] {
        let across = self.width + 1;
        [node % across, node / across % across, node / (across * across)]
    }

    fn place(self, node: usize) -> Vector {
        self.coordinates(node).map(|at| at as f64 * EDGE)
    }

    /// The mass of a node: an eighth of each element that it is a corner of.
    fn mass(self, node: usize) -> f64 {
        let elements = self.around(node).into_iter().filter(|&corner| corner != NOBODY).count();
        DENSITY * EDGE.powi(3) / 8.0 * elements as f64
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
            self.store_pairs(thread, CORNERS, element, self.bar.corners(element).map(|node| node as u32));
            self.array(STATES).store(thread, element, state);
            (0..8).for_each(|corner| self.array(ACTIONS).store(thread, 8 * element + corner, [0.0; 3]));
            thread.instructions(MAKE);
        }
        for node in nodes {
            self.array(PLACES).store(thread, node, self.bar.place(node));
            self.array(VELOCITIES).store(thread, node, velocity(self.seed, node));
            self.store_pairs(thread, AROUND, node, self.bar.around(node));
            self.array(MASSES).store(thread, node, self.bar.mass(node));
            thread.instructions(MAKE);
        }
    }

    fn store_pairs<T: Thread<Region = R>>(&self, thread: &mut T, name: usize, of: usize, numbers: [u32; 8]) {
        for (pair, both) in pairs(numbers).into_iter().enumerate() {
            self.array(name).store(thread, 4 * of + pair, both);
        }
    }

    fn load_pairs<T: Thread<Region = R>>(&self, thread: &mut T, name: usize, of: usize) -> [usize; 8] {
        let kept = self.array::<(u32, u32)>(name);
        let pairs: Pairs = std::array::from_fn(|pair| kept.load(thread, 4 * of + pair));
        std::array::from_fn(|number| {
            let (even, odd) = pairs[number / 2];
            if number % 2 == 0 { even as usize } else { odd as usize }
        })
    }

    /// Advances its elements. Returns the longest step for which all of them stay stable.
    fn stress<T: Thread<Region = R>>(&self, thread: &mut T, own: Range<usize>, step: f64) -> f64 {
        let (places, velocities) = (self.array::<Vector>(PLACES), self.array::<Vector>(VELOCITIES));
        let mut stable = f64::INFINITY;
        for element in own {
            let corners = self.load_pairs(thread, CORNERS, element);
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

    /// Adds up the forces on a node.
    fn gather<T: Thread<Region = R>>(&self, thread: &mut T, node: usize) -> Vector {
        let mut sum = [0.0; 3];
        for corner in self.load_pairs(thread, AROUND, node) {
            if corner != NOBODY as usize {
                let force = self.array::<Vector>(ACTIONS).load_dependent(thread, corner);
                sum.iter_mut().zip(force).for_each(|(sum, force)| *sum += force);
            }
            thread.instructions(ADD);
        }
        sum
    }

    /// Moves its nodes. None gets through the wall at z = 0.
    fn advance<T: Thread<Region = R>>(&self, thread: &mut T, own: Range<usize>, step: f64) {
        let [places, velocities] = [PLACES, VELOCITIES].map(|name| self.array::<Vector>(name));
        for node in own {
            let (force, mass) = (self.gather(thread, node), self.array::<f64>(MASSES).load(thread, node));
            let (place, before) = (places.load(thread, node), velocities.load(thread, node));
            let mut velocity: Vector = std::array::from_fn(|axis| before[axis] + step / mass * force[axis]);
            velocity[2] = velocity[2].max(-place[2] / step);
            velocities.store(thread, node, velocity);
            places.store(thread, node, std::array::from_fn(|axis| place[axis] + step * velocity[axis]));
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
    const REGIONS: &'static [&'static str] = &[
        "fork",
        "corners",
        "states",
        "actions",
        "places",
        "velocities",
        "elements around nodes",
        "masses",
        "partial sums",
    ];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (elements, nodes) = (self.bar().elements(), self.bar().nodes());
        let words = [4 * elements, State::WORDS * elements, 24 * elements, 3 * nodes, 3 * nodes, 4 * nodes, nodes];
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
        for round in 0..self.steps {
            team.begin_round(round, self.steps, self.unmeasured);
            let next = team.parallel(thread, |thread, share| {
                let stable = body.stress(thread, share.block(bar.elements()), step);
                parts.combine(thread, stable, f64::min)
            });
            team.parallel(thread, |thread, share| body.advance(thread, share.block(bar.nodes()), step));
            step = next;
        }
        0
    }

    /// Everything is as one thread alone leaves it, and no momentum has come up across the bar.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let bar = self.bar();
        let (_, alone) = alone(self, shape);
        let equal = |name: usize, word: usize, what: &str| {
            Wrong::unless_equal(read(name, word), alone[name][word], || format!("bits of word {word} of {what}"))
        };
        for (name, count, what) in [
            (CORNERS, 4 * bar.elements(), "corners"),
            (STATES, State::WORDS * bar.elements(), "states"),
            (ACTIONS, 24 * bar.elements(), "forces"),
            (PLACES, 3 * bar.nodes(), "places"),
            (VELOCITIES, 3 * bar.nodes(), "velocities"),
        ] {
            (0..count).try_for_each(|word| equal(name, word, what))?;
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
    use super::*;
    use crate::parallel::shape_of_one;

    #[test]
    fn nodes_know_the_elements_that_know_them() {
        for bar in [Bar { width: 1, length: 1 }, Bar { width: 3, length: 5 }, Bar { width: 4, length: 2 }] {
            let mut known = vec![0; bar.nodes()];
            for element in 0..bar.elements() {
                for (corner, node) in bar.corners(element).into_iter().enumerate() {
                    assert_eq!(bar.around(node)[corner], (8 * element + corner) as u32);
                    known[node] += 1;
                }
            }
            for (node, known) in known.into_iter().enumerate() {
                assert_eq!(bar.around(node).into_iter().filter(|&corner| corner != NOBODY).count(), known);
            }
        }
    }

    /// The bar yields at the wall and not yet far from it, bulges, and has lost part of its energy of motion, and no more.
    #[test]
    fn a_bar_that_hits_a_wall_yields_there() {
        let fma3d = Fma3d { width: 4, length: 20, steps: 20, unmeasured: 0 };
        let bar = fma3d.bar();
        let (_, alone) = alone(&fma3d, &shape_of_one());
        let strain = |element: usize| element_of::<State>(|word| alone[STATES][word], element)[6];
        let layer = bar.width * bar.width;
        assert!((0..layer).all(|element| strain(element) > 0.01), "{}", strain(0));
        assert!((bar.elements() - layer..bar.elements()).all(|element| strain(element) == 0.0));
        let place = |node| element_of::<Vector>(|word| alone[PLACES][word], node);
        let (corner, across) = (place(0), place(bar.width));
        assert!(
            corner[0] < 0.0 && across[0] > bar.width as f64 * EDGE && (-1e-12..1e-2).contains(&corner[2]),
            "{corner:?} {across:?}"
        );
        assert!(place(bar.nodes() - 1)[2] < bar.length as f64 * EDGE - 0.1);
        let moving = |of: &dyn Fn(usize) -> Vector| -> f64 {
            (0..bar.nodes()).map(|node| bar.mass(node) * of(node).iter().map(|v| v * v).sum::<f64>()).sum()
        };
        let after = moving(&|node| element_of(|word| alone[VELOCITIES][word], node));
        let left = after / moving(&|node| velocity(3, node));
        assert!((0.5..0.95).contains(&left), "{left}");
    }
}
