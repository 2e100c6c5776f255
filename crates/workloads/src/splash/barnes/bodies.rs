//! The bodies: their words in memory, and where they are to begin with.

use super::cells::Moment;
use crate::parallel::Array;
use crate::random::Random;
use crate::splash::plummer;
use crate::splash::vector::{Vector, times};
use crate::thread::Thread;

/// Where the words of bodies are. The place comes first, with the mass behind it.
#[derive(Clone, Copy, Debug)]
pub struct BodyLayout {
    /// Words from a body to the next.
    pub stride: usize,
    /// The first of the words that the others are counted from.
    first: usize,
    pub velocity: usize,
    pub acceleration: usize,
    pub potential: usize,
    /// How many forces the latest acceleration took.
    pub cost: usize,
    /// The leaf that it is in, if it has a word for that.
    leaf: Option<usize>,
}

impl BodyLayout {
    /// A line of 128 bytes for each body, as SPLASH's program pads them.
    pub const PADDED: Self =
        Self { stride: 16, first: 0, velocity: 4, acceleration: 7, potential: 10, cost: 11, leaf: None };
    /// The 112 bytes of SPLASH-2's structure with pointers of 32 bits: the kind of node before the mass, and next to the place what
    /// belongs to the tree.
    pub const CLOSE: Self =
        Self { stride: 14, first: 1, velocity: 6, acceleration: 9, potential: 12, cost: 4, leaf: Some(5) };

    /// The first word of a body.
    #[inline]
    pub const fn word(self, body: usize) -> usize {
        body * self.stride + self.first
    }

    /// The words of a body that do not depend on which thread did what.
    pub fn results(self) -> impl Iterator<Item = usize> {
        [0, self.velocity, self.acceleration].into_iter().flat_map(|field| field..field + 3).chain([
            3,
            self.potential,
            self.cost,
        ])
    }
}

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
        thread.load(self.region, self.layout.word(body) + self.layout.cost)
    }

    /// Its latest acceleration, and how many forces made it.
    pub fn pulled<T: Thread<Region = R>>(
        &self,
        body: usize,
        (acceleration, potential, count): (Vector, f64, u64),
        thread: &mut T,
    ) {
        let (layout, word) = (self.layout, self.layout.word(body));
        self.set(body, layout.acceleration, acceleration, thread);
        thread.store(self.region, word + layout.potential, potential.to_bits());
        thread.store(self.region, word + layout.cost, count.max(1));
    }

    /// Notes the leaf of a body, which SPLASH-2's structure has a pointer for.
    pub fn enter_leaf<T: Thread<Region = R>>(&self, body: usize, leaf: usize, thread: &mut T) {
        if let Some(word) = self.layout.leaf {
            thread.store(self.region, self.layout.word(body) + word, leaf as u64);
        }
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
        self.set(body, self.layout.velocity, velocity, thread);
        thread.store(self.region, self.layout.word(body) + self.layout.cost, 1);
    }
}

/// By how much SPLASH-2's clusters are wider than Plummer's in equilibrium.
const WIDER: f64 = 3.0;
/// Half of how far SPLASH-2's clusters are from each other, along each axis.
const OFFSET: f64 = 2.0;

/// Place and velocity of one of `count` bodies, in one cluster or in two: of SPLASH-2's two, the second is the first once more.
pub fn initial(body: usize, count: usize, clusters: u64, seed: u64) -> (Vector, Vector) {
    if clusters == 1 {
        return plummer(body, seed);
    }
    let first = count.div_ceil(2);
    let mut random = Random::new(seed, (body % first) as u64);
    let distance = plummer::near_distance(&mut random);
    let place = times(random.direction(), WIDER * plummer::RADIUS * distance);
    let speed = plummer::speed(distance, &mut random) / WIDER.sqrt();
    let offset = if body < first { -OFFSET } else { OFFSET };
    (place.map(|part| part + offset), times(random.direction(), speed))
}

/// Place and velocity of a body of Plummer's cluster.
fn plummer(body: usize, seed: u64) -> (Vector, Vector) {
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
    use crate::splash::vector::{minus, square};

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

    #[test]
    fn the_second_cluster_is_the_first_once_more() {
        let count = 1001;
        let bodies: Vec<_> = (0..count).map(|body| initial(body, count, 2, 1)).collect();
        for (one, other) in bodies.iter().zip(&bodies[501..]) {
            let apart = minus(other.0, one.0);
            assert!(apart.iter().all(|part| (part - 4.0).abs() < 1e-12) && one.1 == other.1);
        }
        // A body of a cluster three times as wide is bound by a third of the energy.
        let kinetic = bodies.iter().map(|body| square(body.1)).sum::<f64>() / count as f64 / 2.0;
        assert!((kinetic - 0.25 / 3.0).abs() < 0.01, "{kinetic}");
        let farthest =
            bodies[..501].iter().map(|body| square(body.0.map(|part| part + 2.0)).sqrt()).fold(0.0, f64::max);
        assert!(farthest <= 9.0 * 9.0 * PI / 16.0, "{farthest}");
    }
}
