//! Matrices as finite elements make them: a block of bricks, three displacements at each corner.

use crate::random::Random;
use crate::splash::vector::{Vector, minus, square, times};

/// Displacements of a node.
pub const FREEDOMS: usize = 3;
/// How far nodes are from where they would be in a regular mesh, at most, of the side of a brick.
const JITTER: f64 = 0.2;
/// The part of a spring's stiffness that acts whatever the direction.
const ISOTROPIC: f64 = 0.1;

/// Stiffness between the displacements of two nodes.
pub type Block = [[f64; FREEDOMS]; FREEDOMS];

/// A mesh of bricks, of plates if it is one node thick: any two nodes of an element are joined by a spring of random stiffness,
/// which gives the couplings that an element of eight, or four, nodes has. One end is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mesh {
    /// Nodes along each axis.
    pub nodes: [usize; 3],
}

impl Mesh {
    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.nodes.into_iter().product()
    }

    fn at(&self, node: usize) -> [usize; 3] {
        let [_, width, height] = self.nodes;
        [node / (width * height), node / height % width, node % height]
    }

    /// The nodes that share an element with one, in ascending order, without itself.
    pub fn neighbours(&self, node: usize) -> Vec<usize> {
        let around = |axis: usize| {
            let at = self.at(node)[axis];
            at.saturating_sub(1)..(at + 2).min(self.nodes[axis])
        };
        let [_, width, height] = self.nodes;
        let planes = around(0).flat_map(|x| around(1).map(move |y| x * width + y));
        let all = planes.flat_map(|row| around(2).map(move |z| row * height + z));
        all.filter(|&other| other != node).collect()
    }

    fn place(&self, node: usize, seed: u64) -> Vector {
        let mut random = Random::new(seed, node as u64);
        self.at(node).map(|at| at as f64 + JITTER * (2.0 * random.unit() - 1.0))
    }

    /// Stiffness of the spring between two nodes.
    fn spring(&self, one: usize, other: usize, seed: u64) -> Block {
        let (low, high) = (one.min(other), one.max(other));
        let stream = (self.count() * (low + 1) + high) as u64;
        let stiffness = 0.5 + Random::new(seed, stream).unit();
        let along = minus(self.place(high, seed), self.place(low, seed));
        let along = times(along, 1.0 / square(along).sqrt());
        let part = |row: usize, column: usize| {
            let isotropic = if row == column { ISOTROPIC } else { 0.0 };
            stiffness * (isotropic + (1.0 - ISOTROPIC) * (along[row] * along[column]))
        };
        std::array::from_fn(|row| std::array::from_fn(|column| part(row, column)))
    }

    /// The block of the matrix between two nodes that are equal or neighbours.
    pub fn block(&self, one: usize, other: usize, seed: u64) -> Block {
        if one != other {
            return self.spring(one, other, seed).map(|row| row.map(|part| -part));
        }
        // Stiffness that holds the end.
        let held = if self.at(one)[0] == 0 { 1.0 } else { 0.0 };
        let mut sum: Block =
            std::array::from_fn(|row| std::array::from_fn(|column| if row == column { held } else { 0.0 }));
        for neighbour in self.neighbours(one) {
            let spring = self.spring(one, neighbour, seed);
            sum.iter_mut().flatten().zip(spring.iter().flatten()).for_each(|(sum, part)| *sum += part);
        }
        sum
    }
}

/// The product of a block's form with a displacement: what the energy is twice.
#[cfg(test)]
pub fn energy(block: Block, one: Vector, other: Vector) -> f64 {
    crate::splash::vector::dot(one, block.map(|row| crate::splash::vector::dot(row, other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_an_element_are_neighbours() {
        let mesh = Mesh { nodes: [3, 4, 5] };
        // A corner, the middle of the bricks, and both ways.
        assert_eq!(mesh.neighbours(0), [1, 5, 6, 20, 21, 25, 26]);
        assert_eq!(mesh.neighbours(27).len(), 26);
        for node in 0..mesh.count() {
            assert!(mesh.neighbours(node).iter().all(|&other| mesh.neighbours(other).contains(&node)));
        }
    }

    /// Only the held end resists when all moves alike, and blocks are symmetrical.
    #[test]
    fn the_matrix_is_symmetrical_and_resists_all_movement() {
        let mesh = Mesh { nodes: [3, 2, 2] };
        let together = [1.0, -2.0, 0.5];
        let mut sum = 0.0;
        for node in 0..mesh.count() {
            sum += energy(mesh.block(node, node, 9), together, together);
            for other in mesh.neighbours(node) {
                let block = mesh.block(node, other, 9);
                sum += energy(block, together, together);
                let (transposed, parts) = (mesh.block(other, node, 9), [[0, 1], [0, 2], [1, 2], [1, 1]]);
                assert!(parts.iter().all(|&[row, column]| block[row][column] == transposed[column][row]));
            }
        }
        let held = 4.0 * square(together);
        assert!((sum - held).abs() < 1e-12 * held, "{sum} {held}");
    }
}
