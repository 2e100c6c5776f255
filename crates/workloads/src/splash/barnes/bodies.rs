//! The bodies: their words in memory, and where they are to begin with.

use super::cells::Moment;
use crate::parallel::Array;
use crate::random::Random;
use crate::splash::plummer;
use crate::splash::vector::{Vector, times};
use crate::thread::Thread;

/// Where the words of bodies are.
#[derive(Clone, Copy, Debug)]
pub struct BodyLayout {
    /// Words from a body to the next.
    pub stride: usize,
    /// The first of the words below.
    first: usize,
}

impl BodyLayout {
    /// A line of 128 bytes for each body, as SPLASH's program pads them.
    pub const PADDED: Self = Self { stride: 16, first: 0 };
    /// The 112 bytes of SPLASH-2's structure with pointers of 32 bits: the kind of node before the mass, and next to the place what
    /// belongs to the tree.
    pub const CLOSE: Self = Self { stride: 14, first: 1 };

    /// The first word of a body.
    #[inline]
    pub const fn word(self, body: usize) -> usize {
        body * self.stride + self.first
    }
}

/// The words of a body: place and mass, velocity, acceleration, potential, and how many forces the latest of these took.
pub const VELOCITY: usize = 4;
pub const ACCELERATION: usize = 7;
pub const POTENTIAL: usize = 10;
pub const COST: usize = 11;

/// All bodies, in shared memory.
pub struct Bodies<'r, R> {
    pub region: &'r R,
    pub layout: BodyLayout,
}

impl<R> Clone for Bodies<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Bodies<'_, R> {}

impl<R> Bodies<'_, R> {
    /// Place and mass of a body whose number was loaded last.
    #[inline]
    pub fn moment<T: Thread<Region = R>>(&self, body: usize, thread: &mut T) -> Moment {
        Array::from(self.region, self.layout.word(body)).load_dependent(thread, 0)
    }

    /// Its place.
    #[inline]
    pub fn place<T: Thread<Region = R>>(&self, body: usize, thread: &mut T) -> Vector {
        Array::from(self.region, self.layout.word(body)).load_dependent(thread, 0)
    }

    /// Its velocity or acceleration.
    pub fn vector<T: Thread<Region = R>>(&self, body: usize, field: usize, thread: &mut T) -> Vector {
        Array::from(self.region, self.layout.word(body) + field).load(thread, 0)
    }

    /// Changes place, velocity or acceleration; the place's is field 0.
    pub fn set<T: Thread<Region = R>>(&self, body: usize, field: usize, vector: Vector, thread: &mut T) {
        Array::from(self.region, self.layout.word(body) + field).store(thread, 0, vector);
    }

    /// How many forces made its latest acceleration; 1 before there was any.
    pub fn cost<T: Thread<Region = R>>(&self, body: usize, thread: &mut T) -> u64 {
        thread.load(self.region, self.layout.word(body) + COST)
    }

    /// Puts a body where it is to begin with.
    pub fn begin<T: Thread<Region = R>>(
        &self,
        body: usize,
        (place, velocity): (Vector, Vector),
        mass: f64,
        thread: &mut T,
    ) {
        let [x, y, z] = place;
        Array::from(self.region, self.layout.word(body)).store(thread, 0, [x, y, z, mass]);
        self.set(body, VELOCITY, velocity, thread);
        thread.store(self.region, self.layout.word(body) + COST, 1);
    }
}

/// Place and velocity of a body of Plummer's cluster.
pub fn plummer(body: usize, seed: u64) -> (Vector, Vector) {
    let mut random = Random::new(seed, body as u64);
    let distance = plummer::distance(&mut random);
    let place = times(random.direction(), plummer::RADIUS * distance);
    let speed = plummer::speed(distance, &mut random);
    (place, times(random.direction(), speed))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::splash::vector::square;

    /// Virial theorem: twice the kinetic energy, 1/4, is what the cluster is bound with.
    #[test]
    fn the_cluster_is_in_equilibrium() {
        let count = 20_000;
        let kinetic = (0..count).map(|body| square(plummer(body, 1).1)).sum::<f64>() / count as f64 / 2.0;
        assert!((kinetic - 0.25).abs() < 0.01, "{kinetic}");
        // Half the mass is within 1.305 of Plummer's radius.
        let near = |body: &usize| square(plummer(*body, 1).0).sqrt() < 1.3048 * 3.0 * PI / 16.0;
        let inside = (0..count).filter(near).count() as f64 / count as f64;
        assert!((inside - 0.5).abs() < 0.02, "{inside}");
    }
}
