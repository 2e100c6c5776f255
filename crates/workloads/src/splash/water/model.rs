//! Flexible water molecules of three charged atoms, and their forces.
//!
//! Units are nanometres, picoseconds, atomic mass units and kilojoules per mole, which belong together. Charges and the
//! attraction and repulsion of oxygens are those of SPC (Berendsen and others, 1981).

use crate::parallel::cost;

/// Three coordinates of three atoms: oxygen and two hydrogens.
pub type Atoms = [f64; 9];

/// Masses of the atoms.
pub const MASSES: [f64; 3] = [15.9994, 1.008, 1.008];
const CHARGES: [f64; 3] = [-0.82, 0.41, 0.41];
/// Energy of two elementary charges a nanometre apart.
const COULOMB: f64 = 138.935_458;
/// Attraction of oxygens, over the sixth power of their distance, and repulsion, over the twelfth.
const ATTRACTION: f64 = 2.617_3e-3;
const REPULSION: f64 = 2.634_1e-6;
/// Springs between the oxygen and a hydrogen, and between the hydrogens: lengths at rest, and stiffness in kJ/mol/nm^2.
const BOND: f64 = 0.1;
const BOND_SPRING: f64 = 345_000.0;
const ACROSS: f64 = 0.163_3;
const ACROSS_SPRING: f64 = 150_000.0;
/// Molecules in a cubic nanometre of water.
const DENSITY: f64 = 33.3;
/// Mean energy of a degree of freedom at 300 K, twice.
pub const TEMPERATURE: f64 = 2.494;

/// Instructions within reach of each other: nine roots one after the other, under which divisions and products are hidden, and
/// a division for the oxygens.
pub const PAIR: u32 = 9 * cost::SQUARE_ROOT + cost::DIVISION;
/// Instructions to find that two molecules are out of reach.
pub const FAR: u32 = 22;
/// Instructions for a molecule's own three springs: a root and a division each, that depend on each other.
pub const SPRINGS: u32 = 3 * (cost::SQUARE_ROOT + cost::DIVISION);

/// The side of the box of so many molecules.
pub fn side(molecules: u64) -> f64 {
    (molecules as f64 / DENSITY).cbrt()
}

/// A molecule at rest whose oxygen is at the origin, turned so that its hydrogens are along and across two given directions of
/// length 1 at a right angle.
pub fn at_rest(along: [f64; 3], across: [f64; 3]) -> Atoms {
    let half = ACROSS / 2.0;
    let height = (BOND * BOND - half * half).sqrt();
    std::array::from_fn(|number| match number / 3 {
        0 => 0.0,
        1 => height * along[number % 3] + half * across[number % 3],
        _ => height * along[number % 3] - half * across[number % 3],
    })
}

fn atom(atoms: &Atoms, number: usize) -> [f64; 3] {
    std::array::from_fn(|axis| atoms[3 * number + axis])
}

fn minus(one: [f64; 3], other: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| one[axis] - other[axis])
}

fn square(vector: [f64; 3]) -> f64 {
    vector.iter().map(|part| part * part).sum()
}

/// Adds a force along `direction` to an atom of `forces`.
fn push(forces: &mut Atoms, number: usize, direction: [f64; 3], factor: f64) {
    direction.into_iter().enumerate().for_each(|(axis, part)| forces[3 * number + axis] += factor * part);
}

/// Energy and forces of a molecule's springs.
pub fn springs(atoms: &Atoms) -> (f64, Atoms) {
    let (mut energy, mut forces) = (0.0, [0.0; 9]);
    for (one, other, rest, spring) in
        [(0, 1, BOND, BOND_SPRING), (0, 2, BOND, BOND_SPRING), (1, 2, ACROSS, ACROSS_SPRING)]
    {
        let apart = minus(atom(atoms, one), atom(atoms, other));
        let length = square(apart).sqrt();
        energy += 0.5 * spring * (length - rest) * (length - rest);
        let factor = -spring * (length - rest) / length;
        push(&mut forces, one, apart, factor);
        push(&mut forces, other, apart, -factor);
    }
    (energy, forces)
}

/// Energy of two molecules in a box of a given side, whose opposite walls are one, and the forces on each; none if their
/// oxygens are farther apart than half the side.
///
/// All their energy is tapered with the distance of the oxygens, so that nothing jumps at the end of the reach. (SPLASH-2
/// breaks off.)
pub fn pair(one: &Atoms, other: &Atoms, side: f64) -> Option<(f64, Atoms, Atoms)> {
    let reach = side * side / 4.0;
    // To the nearest of the other's images, the same for all three of its atoms.
    let straight = minus(atom(one, 0), atom(other, 0));
    let shift = straight.map(|part| side * (part / side).round());
    let oxygens = minus(straight, shift);
    let far = square(oxygens);
    if far >= reach {
        return None;
    }
    let (mut energy, mut forces) = (0.0, [[0.0; 9]; 2]);
    let sixth = 1.0 / (far * far * far);
    energy += (REPULSION * sixth - ATTRACTION) * sixth;
    let factor = (12.0 * REPULSION * sixth - 6.0 * ATTRACTION) * sixth / far;
    push(&mut forces[0], 0, oxygens, factor);
    push(&mut forces[1], 0, oxygens, -factor);
    for (first, second) in (0..3).flat_map(|first| (0..3).map(move |second| (first, second))) {
        let apart = minus(minus(atom(one, first), atom(other, second)), shift);
        let squared = square(apart);
        let part = COULOMB * CHARGES[first] * CHARGES[second] / squared.sqrt();
        energy += part;
        push(&mut forces[0], first, apart, part / squared);
        push(&mut forces[1], second, apart, -part / squared);
    }
    let left = 1.0 - far / reach;
    let taper = left * left;
    let [mut on_one, mut on_other] = forces.map(|forces| forces.map(|force| force * taper));
    let slope = energy * 4.0 * left / reach;
    push(&mut on_one, 0, oxygens, slope);
    push(&mut on_other, 0, oxygens, -slope);
    Some((energy * taper, on_one, on_other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: f64 = 1.5;

    /// Moved by a vector, and a little out of rest.
    fn molecule(by: [f64; 3]) -> Atoms {
        let atoms = at_rest([0.6, 0.8, 0.0], [0.0, 0.0, 1.0]);
        std::array::from_fn(|number| atoms[number] + by[number % 3] + 0.001 * (number * number % 7) as f64)
    }

    fn assert_forces(forces: &Atoms, energy: impl Fn(&Atoms) -> f64, atoms: &Atoms) {
        const STEP: f64 = 1e-6;
        for (number, force) in forces.iter().enumerate() {
            let moved =
                |by: f64| energy(&std::array::from_fn(|each| atoms[each] + if each == number { by } else { 0.0 }));
            let slope = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            assert!((force + slope).abs() < 1e-4 * (1.0 + slope.abs()), "{number}: {force} {slope}");
        }
    }

    #[test]
    fn forces_are_slopes_of_energy() {
        let one = molecule([0.0; 3]);
        assert_forces(&springs(&one).1, |atoms| springs(atoms).0, &one);
        // Near, tapered, and through a wall.
        for by in [[0.3, 0.05, 0.02], [0.5, 0.3, 0.1], [-1.2, 0.1, 0.0]] {
            let other = molecule(by);
            let (_, on_one, on_other) = pair(&one, &other, SIDE).expect("within reach");
            let energy = |one: &Atoms, other: &Atoms| pair(one, other, SIDE).expect("within reach").0;
            assert_forces(&on_one, |moved| energy(moved, &other), &one);
            assert_forces(&on_other, |moved| energy(&one, moved), &other);
        }
    }

    #[test]
    fn molecules_out_of_reach_have_no_forces_and_rest_has_no_energy() {
        assert!(pair(&molecule([0.0; 3]), &molecule([0.6, 0.4, 0.3]), SIDE).is_none());
        assert!(springs(&at_rest([0.0, 1.0, 0.0], [1.0, 0.0, 0.0])).0 < 1e-20);
    }
}
