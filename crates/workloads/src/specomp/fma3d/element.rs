//! A hexahedron of metal: what it does to its eight nodes when they move. In millimetres, microseconds and grams: stresses are
//! in terapascals.

use std::array;

use crate::parallel::cost;

pub type Vector = [f64; 3];
type Matrix = [[f64; 3]; 3];

/// Stress (xx, yy, zz, xy, yz, zx), plastic strain so far, and the volume at the start.
pub type State = [f64; 8];
const STRAIN: usize = 6;
const VOLUME: usize = 7;

/// Copper: density, the modulus of shear, and Lame's first (elastic modulus 124 GPa, Poisson's ratio 0.34).
pub const DENSITY: f64 = 8.96e-3;
const SHEAR: f64 = 0.0463;
const LAME: f64 = 0.0983;
/// Its yield stress: YIELD + HARDENING * strain ^ EXPONENT (Johnson and Cook, 1983).
const YIELD: f64 = 9e-5;
const HARDENING: f64 = 2.92e-4;
const EXPONENT: f64 = 0.31;
/// How exact plastic strain is found, relative to itself, and in how many steps at most.
const EXACT: f64 = 1e-10;
const ITERATIONS: u32 = 50;

/// Viscosity against shocks, linear and quadratic (von Neumann and Richtmyer), and against hourglass modes.
const LINEAR: f64 = 0.06;
const QUADRATIC: f64 = 1.2;
const HOURGLASS: f64 = 0.1;
/// Fraction of the longest stable step that is taken: viscosity shortens it.
const SAFETY: f64 = 0.8;

/// Instructions for an element beside loads and stores, as long as it is elastic: shape, velocity gradient, and stress some 600,
/// hourglass modes and forces some 900.
pub const ELASTIC: u32 = 1500 + 4 * cost::DIVISION + 3 * cost::SQUARE_ROOT;
/// Instructions for a step of the search for plastic strain: a power, a division.
pub const ITERATION: u32 = 150 + cost::DIVISION;

/// Outcome of an element's step.
pub struct Outcome {
    pub state: State,
    /// On each node.
    pub forces: [Vector; 8],
    /// The longest time step for which it stays stable.
    pub stable: f64,
    /// How many steps it took to find the plastic strain.
    pub iterations: u32,
}

/// On which side of the middle a node is along an axis: its number's bits say.
fn side(node: usize, axis: usize) -> f64 {
    if node >> axis & 1 == 0 { -1.0 } else { 1.0 }
}

/// The four ways in which nodes can move without changing the middle of the element.
fn hourglass(mode: usize, node: usize) -> f64 {
    let [x, y, z] = array::from_fn(|axis| side(node, axis));
    [x * y, y * z, z * x, x * y * z][mode]
}

/// The speed of sound.
fn sound() -> f64 {
    ((LAME + 2.0 * SHEAR) / DENSITY).sqrt()
}

fn matrix(entry: impl Fn(usize, usize) -> f64) -> Matrix {
    array::from_fn(|row| array::from_fn(|column| entry(row, column)))
}

/// The volume of an element, and the gradients of its shape functions in its middle (Flanagan and Belytschko, 1981, with one
/// point of integration).
fn gradients(places: &[Vector; 8]) -> (f64, [Vector; 8]) {
    let jacobian = matrix(|row, column| (0..8).map(|node| places[node][row] * side(node, column)).sum::<f64>() / 8.0);
    let minor = |row: usize, column: usize| {
        let [a, b] = [(row + 1) % 3, (row + 2) % 3];
        let [c, d] = [(column + 1) % 3, (column + 2) % 3];
        jacobian[a][c] * jacobian[b][d] - jacobian[a][d] * jacobian[b][c]
    };
    let determinant: f64 = (0..3).map(|column| jacobian[0][column] * minor(0, column)).sum();
    let gradient =
        |node: usize, axis| (0..3).map(|of| minor(axis, of) * side(node, of)).sum::<f64>() / (8.0 * determinant);
    (8.0 * determinant, array::from_fn(|node| array::from_fn(|axis| gradient(node, axis))))
}

/// The longest stable step of an element of such gradients, some way below the limit.
fn stable(gradients: &[Vector; 8]) -> f64 {
    let squares: f64 = gradients.iter().flatten().map(|each| each * each).sum();
    SAFETY * 2.0 / (sound() * (8.0 * squares).sqrt())
}

/// The state of an undeformed element, and its longest stable step.
pub fn at_rest(places: &[Vector; 8]) -> (State, f64) {
    let (volume, gradients) = gradients(places);
    (array::from_fn(|number| if number == VOLUME { volume } else { 0.0 }), stable(&gradients))
}

/// How much plastic strain brings a stress beyond the yield surface back to it, and how many steps of Newton's it took.
fn plastic_strain(stress: f64, before: f64) -> (f64, u32) {
    let mut strain = (stress - YIELD) / (3.0 * SHEAR);
    for iteration in 1..=ITERATIONS {
        let power = HARDENING * (before + strain).powf(EXPONENT);
        let excess = stress - 3.0 * SHEAR * strain - YIELD - power;
        let slope = 3.0 * SHEAR + EXPONENT * power / (before + strain);
        // The excess is convex: only the first steps can go too far.
        let next = (strain + excess / slope).max(0.1 * strain);
        let change = (next - strain).abs();
        strain = next;
        if change <= EXACT * strain {
            return (strain, iteration);
        }
    }
    (strain, ITERATIONS)
}

/// The stress after a step with a velocity gradient: it turns with the material, and is brought back to the yield surface.
fn advance_stress(state: &State, gradient: &Matrix, step: f64) -> (State, u32) {
    let [xx, yy, zz, xy, yz, zx, before, _] = *state;
    let old = [[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]];
    let rate = matrix(|i, j| 0.5 * (gradient[i][j] + gradient[j][i]));
    let spin = matrix(|i, j| 0.5 * (gradient[i][j] - gradient[j][i]));
    let expansion = rate[0][0] + rate[1][1] + rate[2][2];
    let mut stress = matrix(|i, j| {
        let turned: f64 = (0..3).map(|k| spin[i][k] * old[k][j] - old[i][k] * spin[k][j]).sum();
        let pressed = if i == j { LAME * expansion } else { 0.0 };
        old[i][j] + step * (turned + pressed + 2.0 * SHEAR * rate[i][j])
    });
    let mean = (stress[0][0] + stress[1][1] + stress[2][2]) / 3.0;
    let deviator = matrix(|i, j| stress[i][j] - if i == j { mean } else { 0.0 });
    let equivalent = (1.5 * deviator.iter().flatten().map(|part| part * part).sum::<f64>()).sqrt();
    let mut result = *state;
    let mut iterations = 0;
    if equivalent > YIELD + HARDENING * before.powf(EXPONENT) {
        let (strain, took) = plastic_strain(equivalent, before);
        iterations = took;
        result[STRAIN] = before + strain;
        let kept = 1.0 - 3.0 * SHEAR * strain / equivalent;
        stress = matrix(|i, j| kept * deviator[i][j] + if i == j { mean } else { 0.0 });
    }
    let [[xx, xy, _], [_, yy, yz], [zx, _, zz]] = stress;
    result[..STRAIN].copy_from_slice(&[xx, yy, zz, xy, yz, zx]);
    (result, iterations)
}

/// The pressure of viscosity against being compressed.
fn shock(gradient: &Matrix, volume: f64, density: f64) -> f64 {
    let compression = -(gradient[0][0] + gradient[1][1] + gradient[2][2]);
    let length = volume.cbrt();
    let linear = LINEAR * sound() + QUADRATIC * length * compression;
    if compression > 0.0 { density * length * compression * linear } else { 0.0 }
}

/// Step of an element whose nodes have such places and velocities.
pub fn advance(places: &[Vector; 8], velocities: &[Vector; 8], state: &State, step: f64) -> Outcome {
    let (volume, gradients) = gradients(places);
    let gradient = matrix(|i, j| (0..8).map(|node| velocities[node][i] * gradients[node][j]).sum());
    let (state, iterations) = advance_stress(state, &gradient, step);
    let density = DENSITY * state[VOLUME] / volume;
    let pressure = shock(&gradient, volume, density);
    let [xx, yy, zz, xy, yz, zx, ..] = state;
    let stress = [[xx - pressure, xy, zx], [xy, yy - pressure, yz], [zx, yz, zz - pressure]];
    let resistance = HOURGLASS * density * volume.powf(2.0 / 3.0) * sound() / 4.0;
    // Modes without their linear parts, which are motions of the whole; and how fast each is.
    let modes: [([f64; 8], Vector); 4] = array::from_fn(|mode| {
        let tilt: Vector = array::from_fn(|axis| (0..8).map(|node| hourglass(mode, node) * places[node][axis]).sum());
        let shape: [f64; 8] = array::from_fn(|node| {
            let linear: f64 = (0..3).map(|axis| tilt[axis] * gradients[node][axis]).sum();
            hourglass(mode, node) - linear
        });
        (shape, array::from_fn(|axis| (0..8).map(|node| shape[node] * velocities[node][axis]).sum()))
    });
    let force = |node: usize, axis: usize| {
        let stressed: f64 = (0..3).map(|other| stress[axis][other] * gradients[node][other]).sum();
        let bent: f64 = modes.iter().map(|(shape, speed)| shape[node] * speed[axis]).sum();
        -volume * stressed - resistance * bent
    };
    let forces = array::from_fn(|node| array::from_fn(|axis| force(node, axis)));
    Outcome { state, forces, stable: stable(&gradients), iterations }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cube that has lost its shape a little.
    fn cube() -> [Vector; 8] {
        array::from_fn(|node| {
            array::from_fn(|axis| 0.5 * side(node, axis) + 0.03 * ((node * 7 + axis * 5) % 11) as f64)
        })
    }

    fn moved(gradient: Matrix) -> Outcome {
        let places = cube();
        let velocity = |place: Vector| {
            array::from_fn(|row| (0..3).map(|column| gradient[row][column] * place[column]).sum::<f64>())
        };
        advance(&places, &places.map(velocity), &at_rest(&places).0, 1e-3)
    }

    #[test]
    fn only_deformation_is_resisted() {
        let turning = moved([[0.0, 0.2, -0.1], [-0.2, 0.0, 0.3], [0.1, -0.3, 0.0]]);
        assert!(turning.forces.iter().flatten().all(|force| force.abs() < 1e-12), "{:?}", turning.forces);
        let stretched = moved([[0.2, 0.0, 0.0], [0.0; 3], [0.0; 3]]);
        let expected = [LAME + 2.0 * SHEAR, LAME, LAME, 0.0, 0.0, 0.0].map(|modulus| modulus * 2e-4);
        assert_eq!(stretched.iterations, 0);
        for (found, expected) in stretched.state.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
        assert!(stretched.forces.iter().flatten().any(|force| force.abs() > 1e-6));
    }

    /// Whatever it is, it acts between the nodes.
    #[test]
    fn forces_of_an_element_add_up_to_nothing() {
        let places = cube();
        let velocities = array::from_fn(|node| array::from_fn(|axis| ((node * 3 + axis) % 5) as f64 - 2.0));
        let outcome = advance(&places, &velocities, &at_rest(&places).0, 1e-2);
        for axis in 0..3 {
            let sum: f64 = outcome.forces.iter().map(|force| force[axis]).sum();
            assert!(sum.abs() < 1e-12, "{sum}");
        }
        assert!(outcome.iterations > 0);
    }

    #[test]
    fn yielding_metal_ends_on_its_yield_surface() {
        let sheared = moved([[0.0, 30.0, 0.0], [0.0; 3], [0.0; 3]]);
        let [xx, yy, zz, xy, yz, zx, strain, _] = sheared.state;
        let mean = (xx + yy + zz) / 3.0;
        let normal: f64 = [xx, yy, zz].map(|part| (part - mean).powi(2)).iter().sum();
        let equivalent = (1.5 * (normal + 2.0 * (xy * xy + yz * yz + zx * zx))).sqrt();
        let surface = YIELD + HARDENING * strain.powf(EXPONENT);
        assert!(strain > 0.01 && (equivalent - surface).abs() < 1e-6 * surface, "{equivalent} {surface}");
        assert!((2..12).contains(&sheared.iterations), "{}", sheared.iterations);
    }
}
