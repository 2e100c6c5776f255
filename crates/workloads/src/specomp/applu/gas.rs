//! A compressible, viscous gas: fluxes between points and their derivatives, as blocks of five by five.

/// Density, momentum along three axes, energy; all in a volume.
pub type State = [f64; 5];
/// Matrix of the derivatives by a state, by rows.
pub type Block = [[f64; 5]; 5];
/// Words of a block.
pub const BLOCK: usize = 25;

/// The ratio of specific heats of air.
const GAMMA: f64 = 1.4;
/// Viscosity, conduction of heat and diffusion, in units of the distance between points: enough that central differences do
/// not oscillate where a wave moves two distances in a unit of time.
const VISCOSITY: f64 = 1.0;

/// Where the momentum along each axis stands in a state.
const MOMENTUM: usize = 1;
const ENERGY: usize = 4;

/// Velocity and, as the square of a velocity, pressure over the density's unit.
fn motion(state: &State) -> ([f64; 3], f64) {
    let velocity: [f64; 3] = std::array::from_fn(|axis| state[MOMENTUM + axis] / state[0]);
    let kinetic = 0.5 * state[0] * velocity.iter().map(|each| each * each).sum::<f64>();
    (velocity, (GAMMA - 1.0) * (state[ENERGY] - kinetic))
}

/// Flux along an axis.
pub fn flux(state: &State, axis: usize) -> State {
    let (velocity, pressure) = motion(state);
    let mut flux = state.map(|each| each * velocity[axis]);
    flux[MOMENTUM + axis] += pressure;
    flux[ENERGY] += pressure * velocity[axis];
    flux
}

/// How [`flux`] changes with the state.
pub fn flux_derivative(state: &State, axis: usize) -> Block {
    let (velocity, pressure) = motion(state);
    let half_square = 0.5 * velocity.iter().map(|each| each * each).sum::<f64>();
    let (along, heat) = (velocity[axis], GAMMA - 1.0);
    let enthalpy = (state[ENERGY] + pressure) / state[0];
    let mut rows = [[0.0; 5]; 5];
    rows[0][MOMENTUM + axis] = 1.0;
    for (each, row) in rows[MOMENTUM..ENERGY].iter_mut().enumerate() {
        row[0] = -velocity[each] * along;
        row[MOMENTUM + each] += along;
        row[MOMENTUM + axis] += velocity[each];
        if each == axis {
            row[0] += heat * half_square;
            (0..3).for_each(|other| row[MOMENTUM + other] -= heat * velocity[other]);
            row[ENERGY] = heat;
        }
    }
    let row = &mut rows[ENERGY];
    row[0] = along * (heat * half_square - enthalpy);
    (0..3).for_each(|other| row[MOMENTUM + other] = -heat * velocity[other] * along);
    row[MOMENTUM + axis] += enthalpy;
    row[ENERGY] = GAMMA * along;
    rows
}

/// Quantities that diffuse: density, velocity, heat.
pub fn diffusing(state: &State) -> State {
    let (velocity, _) = motion(state);
    let [x, y, z] = velocity;
    [state[0], x, y, z, state[ENERGY] / state[0] - 0.5 * (x * x + y * y + z * z)]
}

/// How [`diffusing`] changes with the state.
pub fn diffusing_derivative(state: &State) -> Block {
    let (velocity, _) = motion(state);
    let mut rows = [[0.0; 5]; 5];
    rows[0][0] = 1.0;
    for (each, row) in rows[MOMENTUM..ENERGY].iter_mut().enumerate() {
        row[0] = -velocity[each] / state[0];
        row[MOMENTUM + each] = 1.0 / state[0];
    }
    let square: f64 = velocity.iter().map(|each| each * each).sum();
    rows[ENERGY][0] = (square - state[ENERGY] / state[0]) / state[0];
    (0..3).for_each(|each| rows[ENERGY][MOMENTUM + each] = -velocity[each] / state[0]);
    rows[ENERGY][ENERGY] = 1.0 / state[0];
    rows
}

/// Rate of change at a point by flux and diffusion, `distance` from the points before and after it along each axis.
pub fn change(here: &State, around: &[[State; 2]; 3], distance: f64) -> State {
    let mut change = [0.0; 5];
    let middle = diffusing(here);
    for (axis, [before, after]) in around.iter().enumerate() {
        let (into, out) = (flux(before, axis), flux(after, axis));
        let (one, other) = (diffusing(before), diffusing(after));
        for part in 0..5 {
            let spread = VISCOSITY * (one[part] - 2.0 * middle[part] + other[part]);
            change[part] += (0.5 * (into[part] - out[part]) + spread) / distance;
        }
    }
    change
}

/// The part that the state of a neighbour along an axis has in an implicit step of `time`: it is before (`side` -1) or after
/// (1) the point.
pub fn neighbour_block(state: &State, axis: usize, side: f64, time: f64, distance: f64) -> Block {
    let (flows, spreads) = (flux_derivative(state, axis), diffusing_derivative(state));
    let of = |row: usize, column: usize| {
        (0.5 * side * flows[row][column] - VISCOSITY * spreads[row][column]) * time / distance
    };
    std::array::from_fn(|row| std::array::from_fn(|column| of(row, column)))
}

/// The part that the state of the point itself has in an implicit step of `time`.
pub fn own_block(state: &State, time: f64, distance: f64) -> Block {
    let spreads = diffusing_derivative(state);
    let of = |row: usize, column: usize| {
        f64::from(u8::from(row == column)) + 6.0 * VISCOSITY * spreads[row][column] * time / distance
    };
    std::array::from_fn(|row| std::array::from_fn(|column| of(row, column)))
}

/// Takes a block's product with a state, times `factor`, from another.
pub fn subtract_product(from: &mut State, factor: f64, block: &Block, state: &State) {
    for (part, row) in from.iter_mut().zip(block) {
        *part -= factor * row.iter().zip(state).map(|(one, other)| one * other).sum::<f64>();
    }
}

/// Solves a block's equations by elimination without pivots: blocks are near multiples of unity.
pub fn solve(mut block: Block, mut right: State) -> State {
    for pivot in 0..5 {
        let inverse = 1.0 / block[pivot][pivot];
        for row in pivot + 1..5 {
            let factor = block[row][pivot] * inverse;
            let pivots = block[pivot];
            (pivot + 1..5).for_each(|column| block[row][column] -= factor * pivots[column]);
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..5).rev() {
        let known: f64 = (row + 1..5).map(|column| block[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / block[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIR: State = [1.1, 0.3, -0.2, 0.4, 3.0];

    /// The derivative of a function of states by differences.
    fn differences(function: impl Fn(&State) -> State) -> Block {
        const STEP: f64 = 1e-6;
        let mut rows = [[0.0; 5]; 5];
        for column in 0..5 {
            let [less, more] = [-STEP, STEP].map(|step| {
                let mut state = AIR;
                state[column] += step;
                function(&state)
            });
            (0..5).for_each(|row| rows[row][column] = (more[row] - less[row]) / (2.0 * STEP));
        }
        rows
    }

    fn assert_close(one: &Block, other: &Block) {
        for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
            assert!((one - other).abs() < 1e-8, "{one} {other}");
        }
    }

    #[test]
    fn derivatives_are_those_of_the_fluxes() {
        for axis in 0..3 {
            assert_close(&flux_derivative(&AIR, axis), &differences(|state| flux(state, axis)));
        }
        assert_close(&diffusing_derivative(&AIR), &differences(diffusing));
    }

    /// Implicit blocks of a step are the derivatives of the change at a point by its own state and by each neighbour's.
    #[test]
    fn blocks_are_the_derivatives_of_the_change() {
        let (time, distance) = (0.5, 0.1);
        let given = |moved: usize, state: &State| {
            let mut states = [[1.0, 0.1, 0.2, 0.3, 2.5]; 7];
            states[moved] = *state;
            let [here, west, east, south, north, below, above] = states;
            change(&here, &[[west, east], [south, north], [below, above]], distance).map(|part| -time * part)
        };
        for (moved, axis, side) in [(1, 0, -1.0), (2, 0, 1.0), (3, 1, -1.0), (6, 2, 1.0)] {
            let expected = differences(|state| given(moved, state));
            assert_close(&neighbour_block(&AIR, axis, side, time, distance), &expected);
        }
        let expected = differences(|state| {
            let explicit = given(0, state);
            std::array::from_fn(|part| state[part] + explicit[part])
        });
        assert_close(&own_block(&AIR, time, distance), &expected);
    }

    #[test]
    fn blocks_are_solved() {
        let block = own_block(&AIR, 0.5, 0.1);
        let mut left = [1.0, -2.0, 3.0, 0.5, 0.25];
        let solution = solve(block, left);
        subtract_product(&mut left, 1.0, &block, &solution);
        assert!(left.iter().all(|part| part.abs() < 1e-12), "{left:?}");
    }
}
