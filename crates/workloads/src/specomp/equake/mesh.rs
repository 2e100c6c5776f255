//! A mesh of tetrahedra over a basin, and the stiffness of what it is made of.

use std::array;
use std::collections::BTreeMap;

use crate::random::Random;
use crate::splash::vector::{Vector, dot, minus};

/// Three by three, row by row.
pub type Block = [f64; 9];

/// How far a point may be from its place in the grid along an axis, in distances of the grid.
const JITTER: f64 = 0.15;
/// The moduli of rock (both of Lame's), with densities and distances of 1; and of the sediment above it, of equal density.
const ROCK: f64 = 1.0;
const SEDIMENT: f64 = 0.25;
/// Damping of the points on the border, by their mass: it takes away what else would come back.
const BORDER: f64 = 0.5;

/// Vertices of the six tetrahedra of a cube, all with the diagonal from corner 0 to corner 7 (Kuhn). Bits of a corner's number say
/// along which axes it is away from corner 0.
const TETRAHEDRA: [[usize; 4]; 6] =
    [[0, 1, 3, 7], [0, 1, 5, 7], [0, 2, 3, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 4, 6, 7]];

/// The nodes of a mesh: a jittered grid of places, numbered nearly, but not quite, in order: neighbours' numbers are as
/// irregular as those of a mesh that follows the ground.
pub struct Mesh {
    edge: usize,
    seed: u64,
    places: Vec<usize>,
    numbers: Vec<usize>,
}

/// Matrix row of a node, from the diagonal on as the matrix is symmetric, with mass and damping.
pub struct Row {
    /// Its share of the mass around.
    pub mass: f64,
    /// Force against velocity.
    pub damping: f64,
    /// Columns in order, the diagonal first, with the force on the node by a displacement of that node.
    pub blocks: Vec<(usize, Block)>,
}

fn cross([a, b, c]: Vector, [d, e, f]: Vector) -> Vector {
    [b * f - c * e, c * d - a * f, a * e - b * d]
}

/// The volume of a tetrahedron, and the gradients of its four linear shape functions.
fn shape_functions(vertices: [Vector; 4]) -> (f64, [Vector; 4]) {
    let [a, b, c] = array::from_fn(|side| minus(vertices[side + 1], vertices[0]));
    let six_volumes = dot(a, cross(b, c));
    let [along_a, along_b, along_c] = [cross(b, c), cross(c, a), cross(a, b)].map(|area| area.map(|x| x / six_volumes));
    let first = array::from_fn(|axis| -along_a[axis] - along_b[axis] - along_c[axis]);
    (six_volumes.abs() / 6.0, [first, along_a, along_b, along_c])
}

impl Mesh {
    /// A mesh of `edge` nodes along each edge of a cube.
    pub fn new(edge: usize, seed: u64) -> Self {
        let mut random = Random::new(seed, u64::MAX);
        // Nobody gets farther from its turn than a plane of the grid.
        let keys: Vec<f64> =
            (0..edge.pow(3)).map(|place| place as f64 + random.unit() * (edge * edge) as f64).collect();
        let mut places: Vec<usize> = (0..edge.pow(3)).collect();
        places.sort_by(|&one, &other| keys[one].total_cmp(&keys[other]));
        let mut numbers = vec![0; places.len()];
        places.iter().enumerate().for_each(|(number, &place)| numbers[place] = number);
        Self { edge, seed, places, numbers }
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        self.places.len()
    }

    fn coordinates(&self, place: usize) -> [usize; 3] {
        [place % self.edge, place / self.edge % self.edge, place / (self.edge * self.edge)]
    }

    fn point(&self, place: usize) -> Vector {
        let mut random = Random::new(self.seed, place as u64);
        self.coordinates(place).map(|at| at as f64 + JITTER * (2.0 * random.unit() - 1.0))
    }

    /// The way to a corner of a cube from its corner 0.
    fn step(&self, corner: usize) -> usize {
        (corner & 1) + (corner >> 1 & 1) * self.edge + (corner >> 2) * self.edge * self.edge
    }

    /// Whether there is a place so many places from another as `corner` is from a cube's corner 0, ahead or back.
    fn has(&self, place: usize, corner: usize, ahead: bool) -> bool {
        let last = if ahead { self.edge - 1 } else { 0 };
        self.coordinates(place).into_iter().enumerate().all(|(axis, at)| corner >> axis & 1 == 0 || at != last)
    }

    /// Where each row starts in the list of all blocks, and where the last ends.
    pub fn starts(&self) -> Vec<u64> {
        let count = |&place: &usize| {
            let number = |ahead, corner| {
                let step = self.step(corner);
                self.has(place, corner, ahead).then(|| self.numbers[if ahead { place + step } else { place - step }])
            };
            let neighbours = (1..8).flat_map(|corner| [number(true, corner), number(false, corner)]).flatten();
            1 + neighbours.filter(|&number| number > self.numbers[place]).count() as u64
        };
        let ends = self.places.iter().scan(0, |end, place| {
            *end += count(place);
            Some(*end)
        });
        [0].into_iter().chain(ends).collect()
    }

    /// The row of a node: what the tetrahedra around it add up to.
    pub fn row(&self, number: usize) -> Row {
        let place = self.places[number];
        let mut mass = 0.0;
        let mut blocks = BTreeMap::new();
        for own in (0..8).filter(|&own| self.has(place, own, false)) {
            let corner = place - self.step(own);
            if !self.has(corner, 7, true) {
                continue;
            }
            let modulus = if self.coordinates(corner)[2] * 4 < self.edge { SEDIMENT } else { ROCK };
            for vertices in TETRAHEDRA.iter().filter(|vertices| vertices.contains(&own)) {
                let (volume, gradients) = shape_functions(vertices.map(|each| self.point(corner + self.step(each))));
                mass += volume / 4.0;
                for (vertex, other) in vertices.iter().zip(gradients) {
                    let mine = gradients[vertices.iter().position(|each| *each == own).unwrap_or(0)];
                    let column = self.numbers[corner + self.step(*vertex)];
                    let block: &mut Block = blocks.entry(column).or_insert([0.0; 9]);
                    let both = dot(mine, other);
                    for (at, value) in block.iter_mut().enumerate() {
                        let (row, column) = (at / 3, at % 3);
                        let shear = if row == column { both } else { 0.0 };
                        *value += volume * modulus * (mine[row] * other[column] + other[row] * mine[column] + shear);
                    }
                }
            }
        }
        let is_border = self.coordinates(place).iter().any(|&at| at == 0 || at == self.edge - 1);
        let damping = if is_border { BORDER * mass } else { 0.0 };
        let blocks = blocks.into_iter().filter(|&(column, _)| column >= number).collect();
        Row { mass, damping, blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(mesh: &Mesh) -> Vec<Vec<f64>> {
        let mut dense = vec![vec![0.0; 3 * mesh.nodes()]; 3 * mesh.nodes()];
        for number in 0..mesh.nodes() {
            for (column, block) in mesh.row(number).blocks {
                for (at, value) in block.into_iter().enumerate() {
                    dense[3 * number + at / 3][3 * column + at % 3] = value;
                    dense[3 * column + at % 3][3 * number + at / 3] = value;
                }
            }
        }
        dense
    }

    /// Moved as a whole, or turned a little, the ground resists nothing; bent, it does.
    #[test]
    fn only_deformation_meets_resistance() {
        let mesh = Mesh::new(4, 1);
        let dense = dense(&mesh);
        let force = |field: fn(Vector) -> Vector| {
            let moved: Vec<f64> = mesh.places.iter().flat_map(|&place| field(mesh.point(place))).collect();
            let forces = dense.iter().map(|row| row.iter().zip(&moved).map(|(value, by)| value * by).sum::<f64>());
            forces.map(f64::abs).fold(0.0, f64::max)
        };
        for rigid in [|_| [1.0, -2.0, 0.5], |[x, y, z]: Vector| [y - z, z - x, x - y]] {
            assert!(force(rigid) < 1e-12, "{}", force(rigid));
        }
        assert!(force(|[x, ..]| [x, 0.0, 0.0]) > 0.1);
    }

    #[test]
    fn mass_is_volume_and_rows_are_as_long_as_announced() {
        let mesh = Mesh::new(5, 2);
        let starts = mesh.starts();
        let rows: Vec<Row> = (0..mesh.nodes()).map(|number| mesh.row(number)).collect();
        for (number, row) in rows.iter().enumerate() {
            assert_eq!(row.blocks.len() as u64, starts[number + 1] - starts[number]);
            assert_eq!(row.blocks[0].0, number);
        }
        let mass: f64 = rows.iter().map(|row| row.mass).sum();
        // The border is uneven, so that the volume is only nearly that of the grid.
        assert!((mass - 64.0).abs() < 4.0, "{mass}");
        // A grid of 5 has 4 * 25 edges along each axis, 16 * 5 face diagonals of each of three kinds, and 64 of space.
        assert_eq!(starts[125] as usize, 125 + 3 * 100 + 3 * 80 + 64);
    }
}
