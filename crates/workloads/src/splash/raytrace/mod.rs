//! A picture of mirroring spheres: rays through a shared scene, tiles from queues that others may empty.

mod hierarchy;
mod scene;

use hierarchy::{BOX_WORDS, Bound, Hierarchy, SURFACE_WORDS};
use scene::{LIGHTS, Ray, SKY, Surface};

use crate::Blocks;
use crate::parallel::{Array, Locks, Share, alone, cost};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::splash::vector::{Vector, dot, minus, plus, square, times, unit};
use crate::thread::Thread;

program! {
    /// Whitted's ray tracing (1980) after Raytrace of SPLASH-2: a ray for each pixel, from where it meets a surface rays to all
    /// lights, and one that is mirrored, and so on. The scene is read by all, unpredictably, and never stored to; tiles of the
    /// picture are dealt to queues, and who has emptied its own takes tiles from others. In place of SPLASH-2's hierarchy of
    /// grids, surfaces are in a hierarchy of boxes; the scene is like its "balls4", drawn at random in details, with less spheres.
    Raytrace is "raytrace": "rays through a shared scene of mirroring spheres: queues of tiles, and stealing from them" {
        /// Pixels along a side of the picture.
        pixels: 64, 1 to 4096;
        /// Pixels along a side of a tile.
        tile: 4, 1 to 256;
        /// Generations of spheres on spheres, each of nine times as many.
        generations: 3, 0 to 6;
    }
}

/// Instructions to make a ray: its direction has a root and a division.
const RAY: u32 = 40 + cost::SQUARE_ROOT + cost::DIVISION;
/// Instructions to compute what a surface shows of a light: a power and products.
const SHADE: u32 = 60;
/// Instructions to take a tile.
const TAKE: u32 = 12;
/// Instructions to compute a word of the scene.
const DRAW: u32 = 20;
/// Light from nowhere, and how sharp lights are mirrored: the exponent is 2 to this power.
const AMBIENT: f64 = 0.1;
const SHARP: i32 = 4;
/// How often a ray is mirrored, at most, and how little it may still show.
const MIRRORED: u32 = 5;
const SHOWS: f64 = 0.01;

/// Regions: boxes, surfaces, the picture, queues, locks.
const BOXES: usize = 0;
const SURFACES: usize = 1;
const PICTURE: usize = 2;
const QUEUES: usize = 3;
const LOCKS: usize = 4;

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

impl Raytrace {
    /// Tiles along a side of the picture.
    fn tiles(&self) -> usize {
        self.pixels.div_ceil(self.tile) as usize
    }

    /// How many surfaces there are.
    fn surfaces(&self, seed: u64) -> (Vec<Surface>, Vec<Bound>) {
        let (mut surfaces, mut boxes) = (scene::surfaces(self.generations, seed), Vec::new());
        hierarchy::build(&mut surfaces, 0, &mut boxes);
        (surfaces, boxes)
    }

    fn queues(shape: &Shape) -> Blocks {
        Blocks::new(shape, 1)
    }

    /// Draws a tile.
    fn draw<T: Thread>(&self, tile: usize, scene: &Hierarchy<'_, T::Region>, picture: &T::Region, thread: &mut T) {
        let (side, across, pixels) = (self.tile as usize, self.tiles(), self.pixels as usize);
        let range = |number: usize| number * side..pixels.min((number + 1) * side);
        for row in range(tile / across) {
            for column in range(tile % across) {
                let at = |number: usize| (2 * number + 1) as f64 / pixels as f64 - 1.0;
                thread.instructions(RAY);
                let colour = show(scene, scene::view(at(column), -at(row)), 1.0, MIRRORED, thread);
                Array::from(picture, 0).store(thread, row * pixels + column, colour);
            }
        }
    }
}

/// What is seen along a ray, of which a part is shown that is not less than [`SHOWS`].
fn show<T: Thread>(scene: &Hierarchy<'_, T::Region>, ray: Ray, part: f64, mirrored: u32, thread: &mut T) -> Vector {
    let Some((surface, distance)) = scene.meet(&ray, f64::INFINITY, false, thread) else {
        return SKY;
    };
    let place = ray.at(distance);
    let normal = surface.normal(place, &ray);
    let (colour, mirrors) = surface.material();
    let towards = minus(ray.towards, times(normal, 2.0 * dot(ray.towards, normal)));
    let mut sum = times(colour, AMBIENT);
    for light in LIGHTS {
        let apart = minus(light, place);
        let direction = unit(apart);
        let facing = dot(direction, normal);
        thread.instructions(RAY);
        if facing <= 0.0 {
            continue;
        }
        let to_light = Ray { from: place, towards: direction };
        if scene.meet(&to_light, square(apart).sqrt(), true, thread).is_none() {
            let gleam = (0..SHARP).fold(dot(direction, towards).max(0.0), |power, _| power * power);
            let each = 1.0 / LIGHTS.len() as f64;
            sum = plus(sum, times(plus(times(colour, (1.0 - mirrors) * facing), [mirrors * gleam; 3]), each));
            thread.instructions(SHADE);
        }
    }
    if mirrored == 0 || part * mirrors < SHOWS {
        return sum;
    }
    thread.instructions(RAY);
    let seen = show(scene, Ray { from: place, towards: unit(towards) }, part * mirrors, mirrored - 1, thread);
    plus(sum, times(seen, mirrors))
}

impl Program for Raytrace {
    const REGIONS: &'static [&'static str] = &["boxes", "surfaces", "picture", "queues", "locks"];
    const DYNAMIC: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (surfaces, boxes) = self.surfaces(shape.seed);
        vec![
            RegionPlan::unplaced(shape, boxes.len() * BOX_WORDS),
            RegionPlan::unplaced(shape, surfaces.len() * SURFACE_WORDS),
            RegionPlan::unplaced(shape, (self.pixels * self.pixels) as usize * 3),
            Self::queues(shape).plan(shape.homes.iter().copied()),
            Locks::<()>::plan(shape, shape.threads()),
        ]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (share, (surfaces, boxes)) = (Share::new(shape, thread.number()), self.surfaces(shape.seed));
        let mut put = |region: usize, first: usize, words: &[u64]| {
            for (number, &word) in words.iter().enumerate() {
                thread.store(&regions[region], first + number, word);
                thread.instructions(DRAW);
            }
        };
        share.block(boxes.len()).for_each(|number| put(BOXES, number * BOX_WORDS, &boxes[number].words()));
        for number in share.block(surfaces.len()) {
            put(SURFACES, number * SURFACE_WORDS, &hierarchy::surface_words(&surfaces[number]));
        }
        let own = share.block(self.tiles() * self.tiles());
        put(QUEUES, Self::queues(shape).word(share.number, 0), &[own.start as u64, own.end as u64]);
        let scene = Hierarchy { boxes: &regions[BOXES], surfaces: &regions[SURFACES] };
        let queues = Queues {
            region: &regions[QUEUES],
            locks: Locks::new(shape, &regions[LOCKS], shape.threads()),
            blocks: Self::queues(shape),
            share,
        };
        thread.barrier();
        thread.measure(true);
        while let Some(tile) = queues.take(thread) {
            self.draw(tile, &scene, &regions[PICTURE], thread);
        }
        thread.barrier();
        thread.measure(false);
        0
    }

    /// Scene and picture are those that one thread alone makes.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (_, alone) = alone(self, shape);
        [(BOXES, "boxes"), (SURFACES, "surfaces"), (PICTURE, "the picture")].into_iter().try_for_each(
            |(region, name)| {
                let mut words = alone[region].iter().enumerate();
                words.try_for_each(|(word, &right)| {
                    Wrong::unless_equal(read(region, word), right, || format!("word {word} of {name}"))
                })
            },
        )
    }
}
