//! A picture of a scene: rays through shared memory, tiles from queues that others may empty.

mod forms;
mod grids;
mod layout;
mod view;

use forms::{Forms, LITTLE, Ray};
use grids::{Hierarchy, Visit};
use layout::{Layout, SURFACE_WORDS};
use view::View;

use crate::Blocks;
use crate::parallel::{Array, Locks, Share, alone, cost};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::scene::{Environment, Geometry, Surface, flake};
use crate::splash::vector::{Vector, dot, minus, plus, square, times, unit};
use crate::thread::Thread;

program! {
    /// Whitted's ray tracing (1980) after Raytrace of SPLASH-2: a ray for each pixel, from where it meets an element rays to all
    /// lights, one that is mirrored and one that is refracted, and so on. The scene lies in a hierarchy of uniform grids, is read
    /// by all, unpredictably, and never stored to; tiles of the picture are dealt to queues, and who has emptied its own takes
    /// tiles from others. Rays are numbered from one counter under a lock. The scene is one of SPLASH-2's files, or a flake of
    /// spheres like its "balls4" with less of them.
    Raytrace is "raytrace": "rays through a shared scene: a hierarchy of grids, queues of tiles, and stealing from them",
    of scene: Scene {
        /// Pixels along a side of the picture; 0: as many as the scene asks for.
        pixels: 0, 0 to 4096;
        /// Pixels along a side of a tile; 0: the bundles of the scene.
        tile: 0, 0 to 256;
        /// Generations of spheres on spheres, each of nine times as many, unless a scene is given.
        generations: 3, 0 to 6;
        /// 1: every ray has a number from a counter under a lock, as in SPLASH-2. 0: rays have none.
        numbered: 1, 0 to 1;
    }
}

/// Instructions to make a ray: its direction has a root and a division.
const RAY: u32 = 40 + cost::SQUARE_ROOT + cost::DIVISION;
/// Instructions to compute what a surface shows of a light: products, and a power as the mathematical library computes it.
const SHADE: u32 = 60;
const POWER: u32 = 120;
/// Instructions to take a tile, and a number.
const TAKE: u32 = 12;
const NUMBER: u32 = 4;
/// Instructions to compute a word of the scene.
const DRAW: u32 = 20;
/// Words of a pixel.
const PIXEL_WORDS: usize = 3;

/// Regions, as [`Program::REGIONS`] names them.
const ELEMENTS: usize = 0;
const FORMS: usize = 1;
const VERTICES: usize = 2;
const SURFACES: usize = 3;
const GRIDS: usize = 4;
const PICTURE: usize = 5;
const QUEUES: usize = 6;
const NUMBERS: usize = 7;
const LOCKS: usize = 8;

/// The queues of all threads: the tiles of each follow each other, from one number to another.
struct Queues<'r, R> {
    region: &'r R,
    locks: Locks<'r, R>,
    blocks: Blocks,
    share: Share,
}

impl<R> Queues<'_, R> {
    /// A tile, of one's own the first, of others the last. None if there is none anywhere: tiles become only fewer.
    fn take<T: Thread<Region = R>>(&self, thread: &mut T) -> Option<usize> {
        let Share { number, threads } = self.share;
        (0..threads).find_map(|ahead| {
            let queue = (number + ahead) % threads;
            self.locks.critical(thread, queue, |thread| {
                let first = self.blocks.word(queue, 0);
                let (from, to) = (thread.load(self.region, first), thread.load(self.region, first + 1));
                thread.instructions(TAKE);
                if from == to {
                    return None;
                }
                if ahead == 0 {
                    thread.store(self.region, first, from + 1);
                    Some(from as usize)
                } else {
                    thread.store(self.region, first + 1, to - 1);
                    Some(to as usize - 1)
                }
            })
        })
    }
}

/// The element that a ray meets first.
struct Nearest<'f, 'r, R> {
    forms: &'f Forms<'r, R>,
    found: Option<(f64, usize)>,
}

impl<T: Thread> Visit<T> for Nearest<'_, '_, T::Region> {
    fn element(&mut self, element: usize, ray: &Ray, thread: &mut T) {
        if let Some(distance) = self.forms.meet(element, ray, thread)
            && self.found.is_none_or(|(nearest, _)| distance < nearest)
        {
            self.found = Some((distance, element));
        }
    }

    fn is_done(&self, distance: f64) -> bool {
        self.found.is_some_and(|(nearest, _)| nearest <= distance)
    }
}

/// The part of a light that comes through the elements between it and a place.
struct Shadow<'f, 'r, R> {
    scene: &'f Body<'r, R>,
    /// The element on which the place is, and the distance of the light.
    own: usize,
    within: f64,
    part: f64,
    /// Elements that have been met: a cell may show one that another one has shown.
    met: Vec<usize>,
}

impl<T: Thread> Visit<T> for Shadow<'_, '_, T::Region> {
    fn element(&mut self, element: usize, ray: &Ray, thread: &mut T) {
        if element == self.own || self.part == 0.0 || self.met.contains(&element) {
            return;
        }
        let forms = &self.scene.hierarchy.forms;
        if forms.meet(element, ray, thread).is_some_and(|distance| distance < self.within) {
            let object = forms.object(element, thread);
            self.part *= self.scene.surface(object, thread).transmission;
            self.met.push(element);
        }
    }

    fn is_done(&self, distance: f64) -> bool {
        self.part == 0.0 || distance >= self.within
    }
}

/// A ray on its way to a pixel: how much of what it shows goes there, and its generation.
type Traced = (Ray, f64, u32);

/// A thread's view of the scene and the picture.
struct Body<'r, R> {
    hierarchy: Hierarchy<'r, R>,
    surfaces: &'r R,
    picture: &'r R,
    numbers: &'r R,
    /// All locks, and which of them is that of the numbers, if rays have any.
    locks: Locks<'r, R>,
    numbered: Option<usize>,
    environment: Environment,
    view: View,
}

impl<R> Body<'_, R> {
    fn surface<T: Thread<Region = R>>(&self, object: usize, thread: &mut T) -> Surface {
        let words: [f64; 8] = Array::from(self.surfaces, object * SURFACE_WORDS).load_dependent(thread, 0);
        let [red, green, blue, diffuse, specular, transmission, refraction, sharpness] = words;
        Surface { colour: [red, green, blue], diffuse, specular, transmission, refraction, sharpness }
    }

    /// Takes a number for a ray.
    fn number<T: Thread<Region = R>>(&self, thread: &mut T) {
        if let Some(lock) = self.numbered {
            self.locks.critical(thread, lock, |thread| {
                let number = thread.load(self.numbers, 0);
                thread.instructions(NUMBER);
                thread.store(self.numbers, 0, number + 1);
            });
        }
    }

    /// Adds to a pixel.
    fn add<T: Thread<Region = R>>(&self, pixel: usize, colour: Vector, thread: &mut T) {
        let place = Array::<_, Vector>::from(self.picture, pixel * PIXEL_WORDS);
        let before = place.load(thread, 0);
        place.store(thread, 0, plus(before, colour));
        thread.instructions(2 * PIXEL_WORDS as u32);
    }

    /// Traces the rays of a pixel.
    fn draw<T: Thread<Region = R>>(&self, row: usize, column: usize, thread: &mut T) {
        let pixel = row * self.view.pixels[0] as usize + column;
        thread.instructions(RAY);
        self.number(thread);
        let mut rays: Vec<Traced> = vec![(self.view.ray(row, column), 1.0, 0)];
        while let Some((ray, weight, level)) = rays.pop() {
            let mut nearest = Nearest { forms: &self.hierarchy.forms, found: None };
            self.hierarchy.walk(&ray, &mut nearest, thread);
            let Some(hit) = nearest.found else {
                self.add(pixel, times(self.environment.background, weight), thread);
                continue;
            };
            let colour = self.shade((ray, weight, level), hit, &mut rays, thread);
            self.add(pixel, times(colour, weight), thread);
        }
    }

    /// Colour seen where a ray meets an element. The rays that go on from there are added.
    fn shade<T: Thread<Region = R>>(
        &self,
        (ray, weight, level): Traced,
        (distance, element): (f64, usize),
        rays: &mut Vec<Traced>,
        thread: &mut T,
    ) -> Vector {
        let (environment, forms) = (&self.environment, &self.hierarchy.forms);
        let place = ray.at(distance);
        let surface = self.surface(forms.object(element, thread), thread);
        if !environment.shading {
            return surface.colour;
        }
        let normal = forms.normal(element, place, &ray, thread);
        let mut sum: Vector = std::array::from_fn(|part| environment.ambient[part] * surface.colour[part]);
        for light in &environment.lights {
            let apart = minus(light.place, place);
            let direction = unit(apart);
            thread.instructions(RAY);
            self.number(thread);
            let facing = dot(direction, normal);
            if facing <= 0.0 {
                continue;
            }
            let mut shadow =
                Shadow { scene: self, own: element, within: square(apart).sqrt(), part: 1.0, met: Vec::new() };
            if environment.shadows && light.shadow {
                self.hierarchy.walk(&Ray::new(place, direction), &mut shadow, thread);
            }
            if shadow.part > 0.0 {
                let lit = surface.diffuse * facing * shadow.part;
                sum = std::array::from_fn(|part| sum[part] + surface.colour[part] * light.colour[part] * lit);
                let half = dot(normal, unit(minus(direction, ray.towards)));
                if surface.specular > 0.0 && half > 0.0 {
                    sum = plus(sum, times(light.colour, surface.specular * half.powf(surface.sharpness)));
                    thread.instructions(POWER);
                }
                thread.instructions(SHADE);
            }
        }
        if level + 1 < environment.levels {
            let mirrored = view::mirrored(normal, ray.towards);
            let refracted = |_: ()| view::refracted(normal, ray.towards, surface.refraction);
            let on = [(surface.specular, Some(mirrored)), (surface.transmission, None)];
            for (part, direction) in on {
                if weight * part <= environment.weight {
                    continue;
                }
                thread.instructions(RAY);
                let Some(direction) = direction.or_else(|| refracted(())) else { continue };
                self.number(thread);
                rays.push((Ray::new(place, direction), weight * part, level + 1));
            }
        }
        sum
    }
}

impl Raytrace {
    /// Environment and geometry of the scene.
    fn seen(&self, seed: u64) -> (Environment, Geometry) {
        match self.scene {
            Some(scene) => (scene.environment.clone(), scene.geometry.clone()),
            None => flake(self.generations, seed),
        }
    }

    /// Pixels in a row and in a column of the picture, and of a tile.
    fn pixels(&self, environment: &Environment) -> [[usize; 2]; 2] {
        let or =
            |own: u64, theirs: [u32; 2]| if own == 0 { theirs.map(|side| side as usize) } else { [own as usize; 2] };
        [or(self.pixels, environment.resolution), or(self.tile, environment.bundle)]
    }

    fn queues(shape: &Shape) -> Blocks {
        Blocks::new(shape, 1)
    }
}

impl Program for Raytrace {
    const REGIONS: &'static [&'static str] =
        &["elements", "forms", "vertices", "surfaces", "grids", "picture", "queues", "ray numbers", "locks"];
    const DYNAMIC: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (environment, geometry) = self.seen(shape.seed);
        let layout = Layout::new(&geometry, &environment.grids);
        let [[columns, rows], _] = self.pixels(&environment);
        let of_scene = [&layout.elements, &layout.forms, &layout.vertices, &layout.surfaces, &layout.grids];
        let words = of_scene.map(Vec::len).into_iter().chain([columns * rows * PIXEL_WORDS]);
        let mut plans: Vec<_> = words.map(|words| RegionPlan::unplaced(shape, words.max(1))).collect();
        plans.push(Self::queues(shape).plan(shape.homes.iter().copied()));
        plans.push(RegionPlan::unplaced(shape, 1));
        plans.push(Locks::<()>::plan(shape, shape.threads() + 1));
        plans
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let share = Share::new(shape, thread.number());
        let (environment, geometry) = self.seen(shape.seed);
        let [pixels, tile] = self.pixels(&environment);
        let across = [0, 1].map(|axis| pixels[axis].div_ceil(tile[axis]));
        let own = share.block(across[0] * across[1]);
        initialise(share, &Layout::new(&geometry, &environment.grids), regions, thread);
        let first = Self::queues(shape).word(share.number, 0);
        thread.store(&regions[QUEUES], first, own.start as u64);
        thread.store(&regions[QUEUES], first + 1, own.end as u64);
        let locks = Locks::new(shape, &regions[LOCKS], shape.threads() + 1);
        let forms = Forms {
            elements: &regions[ELEMENTS],
            forms: &regions[FORMS],
            vertices: &regions[VERTICES],
            count: geometry.vertices.len(),
        };
        let body = Body {
            hierarchy: Hierarchy { grids: &regions[GRIDS], forms },
            surfaces: &regions[SURFACES],
            picture: &regions[PICTURE],
            numbers: &regions[NUMBERS],
            locks,
            numbered: (self.numbered == 1).then_some(shape.threads()),
            view: View::new(&environment, pixels.map(|side| side as u32)),
            environment,
        };
        drop(geometry);
        let queues = Queues { region: &regions[QUEUES], locks, blocks: Self::queues(shape), share };
        thread.barrier();
        thread.measure(true);
        while let Some(number) = queues.take(thread) {
            let range = |number: usize, axis: usize| number * tile[axis]..pixels[axis].min((number + 1) * tile[axis]);
            for row in range(number / across[0], 1) {
                range(number % across[0], 0).for_each(|column| body.draw(row, column, thread));
            }
        }
        thread.barrier();
        thread.measure(false);
        0
    }

    /// Scene and picture are those that one thread alone makes, from as many rays.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (_, alone) = alone(self, shape);
        [ELEMENTS, FORMS, VERTICES, SURFACES, GRIDS, PICTURE, NUMBERS].into_iter().try_for_each(|region| {
            let mut words = alone[region].iter().enumerate();
            words.try_for_each(|(word, &right)| {
                Wrong::unless_equal(read(region, word), right, || format!("word {word} of {}", Self::REGIONS[region]))
            })
        })
    }
}

/// Stores a thread's share of the scene.
fn initialise<T: Thread>(share: Share, layout: &Layout, regions: &[T::Region], thread: &mut T) {
    let of_scene = [&layout.elements, &layout.forms, &layout.vertices, &layout.surfaces, &layout.grids];
    for (region, words) in of_scene.into_iter().enumerate() {
        for word in share.block(words.len()) {
            thread.store(&regions[region], word, words[word]);
            thread.instructions(DRAW);
        }
    }
}

#[cfg(test)]
mod tests;
