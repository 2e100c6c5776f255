//! The wind tunnel: what a particle meets on its way, and what happens when two meet.
//!
//! Lengths are sides of cells, times are steps, and every particle has mass 1.

use crate::random::Random;
use crate::splash::vector::{Vector, minus, plus, square, times};

/// Cells along the tunnel, across it and upwards.
pub const TUNNEL: [usize; 3] = [24, 14, 7];
/// A block stands in the stream.
const BLOCK: [[f64; 2]; 3] = [[8.0, 10.0], [5.0, 9.0], [2.0, 5.0]];
/// The stream's speed, and the mean square of what particles have besides along each axis: about three times that of sound.
pub const STREAM: f64 = 0.4;
const THERMAL: f64 = 0.1;

/// How many cells there are.
pub fn cells() -> usize {
    TUNNEL.into_iter().product()
}

/// Volume that particles can be in.
pub fn volume() -> f64 {
    cells() as f64 - BLOCK.into_iter().map(|[from, to]| to - from).product::<f64>()
}

/// The cell of a place.
pub fn cell(place: Vector) -> usize {
    (0..3).fold(0, |cell, axis| cell * TUNNEL[axis] + (place[axis] as usize).min(TUNNEL[axis] - 1))
}

/// Whether a place is in the tunnel: not in the block, and nowhere beyond a wall or an end.
pub fn is_free(place: Vector) -> bool {
    let tunnel = place.into_iter().zip(TUNNEL).all(|(at, length)| (0.0..=length as f64).contains(&at));
    tunnel && !is_block(place)
}

fn is_block(place: Vector) -> bool {
    place.into_iter().zip(BLOCK).all(|(at, [from, to])| from < at && at < to)
}

/// A place in the tunnel, any as likely as any other.
pub fn anywhere(random: &mut Random) -> Vector {
    loop {
        let place = TUNNEL.map(|length| length as f64 * random.unit());
        if is_free(place) {
            return place;
        }
    }
}

/// A velocity of gas that is in equilibrium, beside the stream's.
pub fn thermal(random: &mut Random) -> Vector {
    std::array::from_fn(|_| THERMAL * random.normal())
}

/// A velocity with the mean square of [`thermal`] that is drawn quickly: collisions make the rest of it.
pub fn rough(random: &mut Random) -> Vector {
    std::array::from_fn(|_| THERMAL * 12.0_f64.sqrt() * (random.unit() - 0.5))
}

/// Place and velocity after a step; no place if the particle left through an end of the tunnel. Walls and the block throw it
/// back as mirrors do.
pub fn advance(place: Vector, velocity: Vector) -> (Option<Vector>, Vector) {
    let (mut to, mut velocity) = (plus(place, velocity), velocity);
    if is_block(to) {
        // Faces before which it was: it enters the block through the one that it meets last.
        let faces = (0..3).filter_map(|axis| {
            let [low, high] = BLOCK[axis];
            let face = if place[axis] <= low { low } else { high };
            let before = place[axis] <= low || place[axis] >= high;
            before.then(|| (axis, face, (face - place[axis]) / velocity[axis]))
        });
        if let Some((axis, face, _)) = faces.max_by(|one, other| one.2.total_cmp(&other.2)) {
            to[axis] = 2.0 * face - to[axis];
            velocity[axis] = -velocity[axis];
        }
    }
    for axis in 1..3 {
        let wall = TUNNEL[axis] as f64;
        let mirrored = if to[axis] < 0.0 { -to[axis] } else { 2.0 * wall - to[axis] };
        if !(0.0..=wall).contains(&to[axis]) {
            to[axis] = mirrored;
            velocity[axis] = -velocity[axis];
        }
    }
    if !(0.0..TUNNEL[0] as f64).contains(&to[0]) {
        return (None, velocity);
    }
    // Too fast for one mirror: back where it came from.
    if is_free(to) { (Some(to), velocity) } else { (Some(place), times(velocity, -1.0)) }
}

/// Velocities of two hard spheres after they met: the relative one points anywhere.
pub fn collide(one: Vector, other: Vector, random: &mut Random) -> (Vector, Vector) {
    let half = square(minus(one, other)).sqrt() / 2.0;
    let (middle, apart) = (times(plus(one, other), 0.5), times(random.direction(), half));
    (plus(middle, apart), minus(middle, apart))
}

/// Momentum and energy of a particle.
pub fn moments(velocity: Vector) -> [f64; 4] {
    let [x, y, z] = velocity;
    [x, y, z, square(velocity) / 2.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_throw_particles_back() {
        let stays = |place, velocity| advance(place, velocity);
        // Front of the block, its side, a wall, and no obstacle.
        assert_eq!(stays([7.75, 7.0, 3.0], [0.5, 0.0, 0.0]), (Some([7.75, 7.0, 3.0]), [-0.5, 0.0, 0.0]));
        assert_eq!(stays([9.0, 9.25, 3.0], [0.0, -0.5, 0.25]), (Some([9.0, 9.25, 3.25]), [0.0, 0.5, 0.25]));
        assert_eq!(stays([3.0, 13.75, 3.0], [0.0, 0.5, 0.0]), (Some([3.0, 13.75, 3.0]), [0.0, -0.5, 0.0]));
        assert_eq!(stays([3.0, 3.0, 0.25], [0.0, 0.0, -0.5]), (Some([3.0, 3.0, 0.25]), [0.0, 0.0, 0.5]));
        assert_eq!(stays([3.0, 3.0, 3.0], [0.5, 0.25, 0.0]), (Some([3.5, 3.25, 3.0]), [0.5, 0.25, 0.0]));
        // At an edge, the face that it meets: it is beside the block when it passes the front.
        assert_eq!(stays([7.75, 4.5, 3.0], [0.5, 1.0, 0.0]), (Some([8.25, 4.5, 3.0]), [0.5, -1.0, 0.0]));
        // Out at either end.
        assert_eq!(stays([23.75, 3.0, 3.0], [0.5, 0.0, 0.0]).0, None);
        assert_eq!(stays([0.25, 3.0, 3.0], [-0.5, 0.0, 0.0]).0, None);
        // Into the block by way of a wall: so fast is nobody.
        assert_eq!(stays([9.0, 7.0, 1.0], [0.0, 0.0, -5.0]), (Some([9.0, 7.0, 1.0]), [0.0, 0.0, -5.0]));
    }

    #[test]
    fn particles_stay_free_and_keep_their_energy() {
        let mut random = Random::new(3, 0);
        for _ in 0..20_000 {
            let (place, velocity) = (anywhere(&mut random), times(thermal(&mut random), 10.0));
            let (to, after) = advance(place, velocity);
            assert!(to.is_none_or(is_free), "{place:?} {velocity:?}");
            assert_eq!(square(after), square(velocity));
        }
    }

    #[test]
    fn collisions_keep_momentum_and_energy() {
        let mut random = Random::new(4, 0);
        let (one, other) = ([0.5, -0.25, 0.1], [0.1, 0.3, -0.2]);
        let (first, second) = collide(one, other, &mut random);
        let sum = |one, other| -> [f64; 4] {
            let (one, other) = (moments(one), moments(other));
            std::array::from_fn(|number| one[number] + other[number])
        };
        assert!(sum(one, other).iter().zip(sum(first, second)).all(|(before, after)| (before - after).abs() < 1e-15));
        assert_ne!(one, first);
    }
}
