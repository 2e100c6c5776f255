//! The bodies: their words in memory, where they are to begin with, and how they move.

use std::f64::consts::PI;

use num_complex::Complex64;

use crate::parallel::Array;
use crate::random::Random;
use crate::splash::plummer;
use crate::thread::Thread;

/// Words of a body: the 104 bytes of SPLASH-2's structure with numbers of 32 bits beside doubles.
pub const BODY_WORDS: usize = 13;
/// The words: number, charge (what acts on others), mass, place, acceleration, velocity, field, and cost of the latest field. The last
/// one is not used.
pub const NUMBER: usize = 0;
pub const CHARGE: usize = 1;
pub const MASS: usize = 2;
pub const PLACE: usize = 3;
pub const ACCELERATION: usize = 5;
pub const VELOCITY: usize = 7;
pub const FIELD: usize = 9;
pub const COST: usize = 11;

/// The time step of SPLASH-2's inputs.
pub const TIME_STEP: f64 = 0.025;
/// Instructions to move a body, beside loads and stores.
const MOVE: u32 = 40;

/// All bodies, in shared memory.
pub struct Bodies<'r, R> {
    pub region: &'r R,
}

impl<R> Clone for Bodies<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Bodies<'_, R> {}

impl<R> Bodies<'_, R> {
    fn at(&self, body: usize, field: usize) -> Array<'_, R, Complex64> {
        Array::from(self.region, body * BODY_WORDS + field)
    }

    /// The place of a body whose number was loaded last.
    #[inline]
    pub fn place<T: Thread<Region = R>>(&self, body: usize, thread: &mut T) -> Complex64 {
        self.at(body, PLACE).load_dependent(thread, 0)
    }

    /// Its charge.
    #[inline]
    pub fn charge<T: Thread<Region = R>>(&self, body: usize, thread: &mut T) -> f64 {
        f64::from_bits(thread.load(self.region, body * BODY_WORDS + CHARGE))
    }

    /// A pair of words: velocity, acceleration or field.
    #[inline]
    pub fn pair<T: Thread<Region = R>>(&self, body: usize, field: usize, thread: &mut T) -> Complex64 {
        self.at(body, field).load(thread, 0)
    }

    /// Changes a pair of words.
    #[inline]
    pub fn set<T: Thread<Region = R>>(&self, body: usize, field: usize, pair: Complex64, thread: &mut T) {
        self.at(body, field).store(thread, 0, pair);
    }

    /// The cost of its latest field; 1 before there was any.
    pub fn cost<T: Thread<Region = R>>(&self, body: usize, thread: &mut T) -> u64 {
        thread.load(self.region, body * BODY_WORDS + COST)
    }

    pub fn set_cost<T: Thread<Region = R>>(&self, body: usize, cost: u64, thread: &mut T) {
        thread.store(self.region, body * BODY_WORDS + COST, cost);
    }

    /// Puts a body where it is to begin with.
    pub fn begin<T: Thread<Region = R>>(
        &self,
        body: usize,
        (place, velocity): (Complex64, Complex64),
        mass: f64,
        thread: &mut T,
    ) {
        let words = body * BODY_WORDS;
        thread.store(self.region, words + NUMBER, body as u64);
        thread.store(self.region, words + CHARGE, mass.to_bits());
        thread.store(self.region, words + MASS, mass.to_bits());
        self.set(body, PLACE, place, thread);
        self.set(body, VELOCITY, velocity, thread);
        for field in [ACCELERATION, FIELD] {
            self.set(body, field, Complex64::default(), thread);
        }
        self.set_cost(body, 1, thread);
    }

    /// Moves a body on. Velocities are half a time step behind accelerations, for which the next step makes up, as in SPLASH-2.
    pub fn advance<T: Thread<Region = R>>(&self, body: usize, is_first: bool, thread: &mut T) {
        let place = self.place(body, thread);
        let mut velocity = self.pair(body, VELOCITY, thread);
        let charge = self.charge(body, thread);
        let mass = f64::from_bits(thread.load(self.region, body * BODY_WORDS + MASS));
        let acceleration = self.pair(body, FIELD, thread) * (charge / mass);
        if !is_first {
            velocity += (acceleration - self.pair(body, ACCELERATION, thread)) * (TIME_STEP / 2.0);
        }
        let half = acceleration * (TIME_STEP / 2.0);
        self.set(body, ACCELERATION, acceleration, thread);
        self.set(body, VELOCITY, velocity + half + half, thread);
        self.set(body, PLACE, place + (velocity + half) * TIME_STEP, thread);
        thread.instructions(MOVE);
    }
}

/// Place and velocity of a body of Plummer's cluster, in the plane: distances and speeds are those of the cluster in space, and directions
/// those of a circle.
fn in_plane(random: &mut Random) -> (Complex64, Complex64) {
    let distance = plummer::near_distance(random);
    let mut direction = || Complex64::cis(2.0 * PI * random.unit());
    let (towards, along) = (direction(), direction());
    (towards * plummer::RADIUS * distance, along * plummer::speed(distance, random))
}

/// Distance of the second cluster from the first, along both axes.
const OFFSET: Complex64 = Complex64::new(2.0, 2.0);

/// Places and velocities of `count` bodies: in one cluster; in two, of which the second is the first once more, as SPLASH-2's is; or
/// evenly spread over a square, and at rest. Their centre is at rest in the middle.
pub fn initial(count: usize, clusters: u64, seed: u64) -> Vec<(Complex64, Complex64)> {
    let first = if clusters == 2 { count.div_ceil(2) } else { count };
    let each = |body: usize| {
        let mut random = Random::new(seed, (body % first) as u64);
        if clusters == 0 {
            return (Complex64::new(random.unit(), random.unit()), Complex64::default());
        }
        let (place, velocity) = in_plane(&mut random);
        (if body < first { place } else { place + OFFSET }, velocity)
    };
    let bodies: Vec<_> = (0..count).map(each).collect();
    let sum = |sum: (Complex64, Complex64), each: &(Complex64, Complex64)| (sum.0 + each.0, sum.1 + each.1);
    let (places, velocities) = bodies.iter().fold(Default::default(), sum);
    let (place, velocity) = (places / count as f64, velocities / count as f64);
    bodies.into_iter().map(|each| (each.0 - place, each.1 - velocity)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_as_dense_as_they_should_be_and_at_rest() {
        let count = 20_000;
        for clusters in [1, 2] {
            let bodies = initial(count, clusters, 1);
            let middle = if clusters == 2 { -OFFSET / 2.0 } else { Complex64::default() };
            // Half the mass is within 1.305 of Plummer's radius.
            let near = |each: &&(Complex64, Complex64)| (each.0 - middle).norm() < 1.3048 * 3.0 * PI / 16.0;
            let inside = bodies[..count / clusters as usize].iter().filter(near).count() as f64;
            assert!((inside / (count as f64 / clusters as f64) - 0.5).abs() < 0.02, "{inside}");
            let drift: Complex64 = bodies.iter().map(|each| each.1).sum();
            assert!(drift.norm() < 1e-6, "{drift}");
        }
    }

    #[test]
    fn the_second_cluster_is_the_first_once_more() {
        let bodies = initial(11, 2, 3);
        for body in 6..11 {
            let twin = bodies[body - 6];
            assert!((bodies[body].0 - twin.0 - OFFSET).norm() < 1e-12);
            assert_eq!(bodies[body].1, twin.1);
        }
    }

    #[test]
    fn what_is_spread_evenly_is_in_a_square_at_rest() {
        let bodies = initial(4000, 0, 3);
        assert!(bodies.iter().all(|each| each.0.re.abs() < 0.55 && each.0.im.abs() < 0.55 && each.1.norm() == 0.0));
        let right = bodies.iter().filter(|each| each.0.re > 0.0).count();
        assert!(right.abs_diff(2000) < 150, "{right}");
    }
}
