//! What is seen: a flake of spheres over hilly ground, a camera, lights.

use std::f64::consts::TAU;

use crate::parallel::cost;
use crate::random::Random;
use crate::splash::vector::{Vector, cross, dot, minus, plus, square, times, unit};

/// Instructions to find whether and where a ray meets a sphere.
pub const MEET_SPHERE: u32 = 24 + cost::SQUARE_ROOT;
/// The same for a triangle.
pub const MEET_TRIANGLE: u32 = 44 + cost::DIVISION;

/// Squares of the ground along each side, of two triangles each; half its side, its height, and how hilly it is.
const SQUARES: usize = 8;
const REACH: f64 = 4.0;
const GROUND: f64 = -0.8;
const HILLS: f64 = 0.2;
/// Where the camera is; it looks at the largest sphere, as that of the spheres of SPD does (Haines 1987).
const CAMERA: Vector = [2.1, 1.3, 1.7];
/// Half of what the camera sees, at distance 1.
const VIEW: f64 = 0.45;
/// Lights, each of a third of all.
pub const LIGHTS: [Vector; 3] = [[4.0, 3.0, 2.0], [1.0, -4.0, 4.0], [-3.0, 1.0, 5.0]];
/// What is seen where nothing is.
pub const SKY: Vector = [0.078, 0.361, 0.753];

/// A half-line. Its direction has length 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ray {
    pub from: Vector,
    pub towards: Vector,
}

impl Ray {
    /// The place at a distance.
    pub fn at(&self, distance: f64) -> Vector {
        plus(self.from, times(self.towards, distance))
    }
}

/// A surface.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Surface {
    Sphere { centre: Vector, radius: f64 },
    Triangle([Vector; 3]),
}

impl Surface {
    /// The smallest and the largest coordinates.
    pub fn bounds(&self) -> [Vector; 2] {
        match *self {
            Self::Sphere { centre, radius } => [centre.map(|part| part - radius), centre.map(|part| part + radius)],
            Self::Triangle([one, other, third]) => {
                let of = |choose: fn(f64, f64) -> f64| {
                    std::array::from_fn(|axis| choose(choose(one[axis], other[axis]), third[axis]))
                };
                [of(f64::min), of(f64::max)]
            }
        }
    }

    /// How far along a ray it is met first, beyond a little that keeps rays off the surface where they start.
    pub fn meet(&self, ray: &Ray) -> Option<f64> {
        const LITTLE: f64 = 1e-9;
        let distance = match *self {
            Self::Sphere { centre, radius } => {
                let towards = minus(centre, ray.from);
                let along = dot(towards, ray.towards);
                let root = (radius * radius - square(towards) + along * along).sqrt();
                // Without an intersection, neither is a number.
                if along - root > LITTLE { along - root } else { along + root }
            }
            // Moeller and Trumbore (1997).
            Self::Triangle([corner, one, other]) => {
                let (one, other) = (minus(one, corner), minus(other, corner));
                let across = cross(ray.towards, other);
                let inverse = 1.0 / dot(one, across);
                let start = minus(ray.from, corner);
                let first = inverse * dot(start, across);
                let turned = cross(start, one);
                let second = inverse * dot(ray.towards, turned);
                let inside = first >= 0.0 && second >= 0.0 && first + second <= 1.0;
                if inside { inverse * dot(other, turned) } else { f64::NAN }
            }
        };
        (distance > LITTLE).then_some(distance)
    }

    /// The direction in which the surface faces at a place, of length 1, on the side from which a ray comes.
    pub fn normal(&self, place: Vector, ray: &Ray) -> Vector {
        let normal = match *self {
            Self::Sphere { centre, .. } => minus(place, centre),
            Self::Triangle([corner, one, other]) => cross(minus(one, corner), minus(other, corner)),
        };
        let normal = unit(normal);
        if dot(normal, ray.towards) > 0.0 { times(normal, -1.0) } else { normal }
    }

    /// Its colour in light, and how much it mirrors.
    pub fn material(&self) -> (Vector, f64) {
        match self {
            Self::Sphere { .. } => ([1.0, 0.9, 0.7], 0.5),
            Self::Triangle(_) => ([0.6, 0.45, 0.3], 0.1),
        }
    }
}

/// Any two directions at a right angle to one and to each other.
fn across(axis: Vector) -> [Vector; 2] {
    let other = if axis[0].abs() < 0.5 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let first = unit(cross(axis, other));
    [first, cross(axis, first)]
}

/// A sphere and, each a third as large, nine on it, six round its equator and three above: and so on for some generations.
fn add_flake(surfaces: &mut Vec<Surface>, centre: Vector, radius: f64, axis: Vector, generations: u64, seed: u64) {
    let turn = Random::new(seed, surfaces.len() as u64).unit();
    surfaces.push(Surface::Sphere { centre, radius });
    if generations == 0 {
        return;
    }
    let [first, second] = across(axis);
    for number in 0..9 {
        let (turns, height) = if number < 6 { (f64::from(number) / 6.0, 0.0) } else { (f64::from(number) / 3.0, 0.8) };
        let (sine, cosine) = (TAU * (turn + turns)).sin_cos();
        let flat = plus(times(first, cosine), times(second, sine));
        let outwards = unit(plus(times(flat, 1.0 - height), times(axis, height)));
        let theirs = plus(centre, times(outwards, radius * 4.0 / 3.0));
        add_flake(surfaces, theirs, radius / 3.0, outwards, generations - 1, seed);
    }
}

/// All surfaces.
pub fn surfaces(generations: u64, seed: u64) -> Vec<Surface> {
    let mut surfaces = Vec::new();
    add_flake(&mut surfaces, [0.0; 3], 0.5, [0.0, 0.0, 1.0], generations, seed);
    /// Apart from the streams of spheres.
    const STREAM: u64 = 1 << 32;
    let corner = |row: usize, column: usize| {
        let height = Random::new(seed, STREAM + (row * (SQUARES + 1) + column) as u64).unit();
        let at = |number: usize| REACH * (2.0 * number as f64 / SQUARES as f64 - 1.0);
        [at(row), at(column), GROUND - HILLS * height]
    };
    for (row, column) in (0..SQUARES).flat_map(|row| (0..SQUARES).map(move |column| (row, column))) {
        let (far, near) = (corner(row + 1, column), corner(row, column + 1));
        surfaces.push(Surface::Triangle([corner(row, column), far, near]));
        surfaces.push(Surface::Triangle([corner(row + 1, column + 1), near, far]));
    }
    surfaces
}

/// The ray from the camera through a place in the picture, from -1 to 1 to the right and upwards.
pub fn view(right: f64, up: f64) -> Ray {
    let ahead = unit(times(CAMERA, -1.0));
    let side = unit(cross(ahead, [0.0, 0.0, 1.0]));
    let over = cross(side, ahead);
    let towards = plus(ahead, plus(times(side, VIEW * right), times(over, VIEW * up)));
    Ray { from: CAMERA, towards: unit(towards) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_meet_what_is_in_their_way() {
        let ray = Ray { from: [3.0, 0.0, 0.0], towards: [-1.0, 0.0, 0.0] };
        let sphere = |y| Surface::Sphere { centre: [0.0, y, 0.0], radius: 1.0 };
        assert_eq!((sphere(0.0).meet(&ray), sphere(1.5).meet(&ray)), (Some(2.0), None));
        // From inside, and away.
        assert_eq!(sphere(0.0).meet(&Ray { from: [0.5, 0.0, 0.0], ..ray }), Some(1.5));
        assert_eq!(sphere(0.0).meet(&Ray { towards: [1.0, 0.0, 0.0], ..ray }), None);
        let triangle = |y| Surface::Triangle([[1.0, y, -1.0], [1.0, y + 2.0, -1.0], [1.0, y, 3.0]]);
        assert_eq!((triangle(-0.5).meet(&ray), triangle(0.5).meet(&ray)), (Some(2.0), None));
        assert_eq!(triangle(-0.5).meet(&Ray { towards: [1.0, 0.0, 0.0], ..ray }), None);
        assert_eq!(triangle(-0.5).normal([1.0, 0.0, 0.0], &ray), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn spheres_of_a_flake_touch_and_are_nine_on_each() {
        let surfaces = surfaces(2, 5);
        assert_eq!(surfaces.len(), 1 + 9 + 81 + 2 * SQUARES * SQUARES);
        let [Surface::Sphere { centre, radius }, Surface::Sphere { centre: on, radius: small }] = surfaces[..2] else {
            panic!("spheres come first");
        };
        assert!((square(minus(on, centre)).sqrt() - radius - small).abs() < 1e-12);
    }
}
