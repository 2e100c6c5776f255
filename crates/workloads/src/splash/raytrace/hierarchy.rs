//! A hierarchy of boxes around surfaces, in shared memory: what makes a ray meet few of them.

use super::scene::{MEET_SPHERE, MEET_TRIANGLE, Ray, Surface};
use crate::parallel::{Array, cost};
use crate::splash::vector::Vector;
use crate::thread::Thread;

/// Instructions to see whether a ray meets a box: six differences and products, twelve comparisons, the walk.
const MEET_BOX: u32 = 32;
/// Instructions to begin a walk: three inverses, of which two divisions wait for the first.
const BEGIN: u32 = 3 * cost::DIVISION;

/// Words of a box: its bounds, and below what it contains.
pub const BOX_WORDS: usize = 8;
const CONTENTS: usize = 6;
/// Words of a surface: which kind it is, and four or nine coordinates.
pub const SURFACE_WORDS: usize = 10;
const SPHERE: u64 = 1;
const TRIANGLE: u64 = 2;
/// Surfaces in a box that is not divided, at most.
const FEW: usize = 2;

/// A box: its bounds, and either how many surfaces it contains, from which on, or no surface and the number of its second part;
/// the first part is the next box.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    pub bounds: [Vector; 2],
    pub contents: (u32, u32),
}

impl Bound {
    /// Its words.
    pub fn words(&self) -> [u64; BOX_WORDS] {
        let [low, high] = self.bounds.map(|corner| corner.map(f64::to_bits));
        let (count, at) = self.contents;
        [low[0], low[1], low[2], high[0], high[1], high[2], u64::from(count) | u64::from(at) << 32, 0]
    }
}

fn around(surfaces: &[Surface]) -> [Vector; 2] {
    let none = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    surfaces.iter().map(Surface::bounds).fold(none, |[low, high], [from, to]| {
        let low = std::array::from_fn(|axis| low[axis].min(from[axis]));
        [low, std::array::from_fn(|axis| high[axis].max(to[axis]))]
    })
}

/// Puts surfaces into boxes, halves of equal numbers along the longest side of what is around them. Their order changes.
pub fn build(surfaces: &mut [Surface], first: usize, boxes: &mut Vec<Bound>) {
    let number = boxes.len();
    let bounds = around(surfaces);
    boxes.push(Bound { bounds, contents: (surfaces.len() as u32, first as u32) });
    if surfaces.len() <= FEW {
        return;
    }
    let [low, high] = bounds;
    let length = |axis: &usize| high[*axis] - low[*axis];
    let axis = (0..3).max_by(|one, other| length(one).total_cmp(&length(other))).unwrap_or(0);
    let middle = |surface: &Surface| {
        let [low, high] = surface.bounds();
        low[axis] + high[axis]
    };
    surfaces.sort_by(|one, other| middle(one).total_cmp(&middle(other)));
    let (left, right) = surfaces.split_at_mut(surfaces.len() / 2);
    build(left, first, boxes);
    boxes[number].contents = (0, boxes.len() as u32);
    build(right, first + left.len(), boxes);
}

/// The words of a surface.
pub fn surface_words(surface: &Surface) -> [u64; SURFACE_WORDS] {
    let mut words = [0; SURFACE_WORDS];
    let (kind, coordinates) = match surface {
        Surface::Sphere { centre, radius } => (SPHERE, [centre.as_slice(), &[*radius]].concat()),
        Surface::Triangle(corners) => (TRIANGLE, corners.concat()),
    };
    words[0] = kind;
    words[1..].iter_mut().zip(coordinates).for_each(|(word, part)| *word = part.to_bits());
    words
}

/// Boxes and surfaces in shared memory.
pub struct Hierarchy<'r, R> {
    pub boxes: &'r R,
    pub surfaces: &'r R,
}

impl<R> Hierarchy<'_, R> {
    fn surface<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) -> Surface {
        let first = number * SURFACE_WORDS;
        if thread.load_dependent(self.surfaces, first) == SPHERE {
            let [x, y, z, radius]: [f64; 4] = Array::from(self.surfaces, first + 1).load(thread, 0);
            return Surface::Sphere { centre: [x, y, z], radius };
        }
        let parts: [f64; 9] = Array::from(self.surfaces, first + 1).load(thread, 0);
        Surface::Triangle(std::array::from_fn(|corner| std::array::from_fn(|axis| parts[3 * corner + axis])))
    }

    /// The surface that a ray meets first, nearer than `within`, with its distance. With `any`, one that it meets.
    pub fn meet<T: Thread<Region = R>>(
        &self,
        ray: &Ray,
        within: f64,
        any: bool,
        thread: &mut T,
    ) -> Option<(Surface, f64)> {
        let inverse = ray.towards.map(|part| 1.0 / part);
        thread.instructions(BEGIN);
        let (mut nearest, mut found) = (within, None);
        let mut boxes = vec![0];
        while let Some(number) = boxes.pop() {
            let first = number * BOX_WORDS;
            let bounds: [f64; 6] = Array::from(self.boxes, first).load_dependent(thread, 0);
            thread.instructions(MEET_BOX);
            let (mut enter, mut leave) = (0.0_f64, nearest);
            for axis in 0..3 {
                let to = |bound: f64| (bound - ray.from[axis]) * inverse[axis];
                let (one, other) = (to(bounds[axis]), to(bounds[3 + axis]));
                // What is not a number, along a wall, bounds nothing.
                enter = enter.max(one.min(other));
                leave = leave.min(one.max(other));
            }
            if enter > leave {
                continue;
            }
            let (count, at): (u32, u32) = Array::from(self.boxes, first + CONTENTS).load(thread, 0);
            if count == 0 {
                boxes.extend([at as usize, number + 1]);
            }
            for number in at as usize..(at + count) as usize {
                let surface = self.surface(number, thread);
                thread.instructions(if matches!(surface, Surface::Sphere { .. }) {
                    MEET_SPHERE
                } else {
                    MEET_TRIANGLE
                });
                if let Some(distance) = surface.meet(ray).filter(|&distance| distance < nearest) {
                    (nearest, found) = (distance, Some((surface, distance)));
                    if any {
                        return found;
                    }
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::parallel::Alone;
    use crate::random::Random;
    use crate::splash::raytrace::scene;

    /// Any ray, from anywhere: the hierarchy leaves nothing out.
    #[test]
    fn rays_meet_first_what_is_first_of_all() {
        let mut surfaces = scene::surfaces(2, 1);
        let mut boxes = Vec::new();
        build(&mut surfaces, 0, &mut boxes);
        let cells = |words: Vec<u64>| words.into_iter().map(Cell::new).collect::<Vec<_>>();
        let region = cells(boxes.iter().flat_map(Bound::words).collect());
        let words = cells(surfaces.iter().flat_map(surface_words).collect());
        let hierarchy = Hierarchy { boxes: &region, surfaces: &words };
        let (mut random, mut met) = (Random::new(2, 0), 0);
        for _ in 0..2000 {
            let ray = Ray { from: random.direction(), towards: random.direction() };
            let within = 3.0 * random.unit();
            let distances = surfaces.iter().filter_map(|surface| surface.meet(&ray));
            let nearest = distances.fold(within, f64::min);
            let found = hierarchy.meet(&ray, within, false, &mut Alone);
            assert_eq!(found.map_or(within, |(_, distance)| distance), nearest);
            assert_eq!(hierarchy.meet(&ray, within, true, &mut Alone).is_some(), found.is_some());
            met += usize::from(found.is_some());
        }
        assert!((400..1600).contains(&met), "{met}");
    }
}
