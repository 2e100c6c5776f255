//! A flake of spheres over hilly ground, drawn at random in details.

use std::f64::consts::TAU;

use super::environment::{Environment, Light};
use super::geometry::{Element, Form, Geometry, Surface};
use crate::random::Random;
use crate::splash::vector::{Vector, cross, plus, times, unit};

/// Squares of the ground along each side, of two triangles each; half its side, its height, and how hilly it is.
const SQUARES: usize = 8;
const REACH: f64 = 4.0;
const GROUND: f64 = -0.8;
const HILLS: f64 = 0.2;
/// Where the camera is; it looks at the largest sphere, as that of the spheres of SPD does (Haines 1987).
const CAMERA: Vector = [2.1, 1.7, 1.3];
/// Lights.
const LIGHTS: [Vector; 3] = [[4.0, 2.0, 3.0], [1.0, 4.0, -4.0], [-3.0, 5.0, 1.0]];

/// A surface that neither transmits nor refracts.
const fn surface(colour: Vector, diffuse: f64, specular: f64) -> Surface {
    Surface { colour, diffuse, specular, transmission: 0.0, refraction: 1.0, sharpness: 16.0 }
}

const SPHERES: Surface = surface([1.0, 0.9, 0.7], 0.5, 0.5);
const EARTH: Surface = surface([0.6, 0.45, 0.3], 0.9, 0.1);

/// Where a place is in the cube from 0 to 1 that holds all.
fn fitted(place: Vector) -> Vector {
    place.map(|part| (part + REACH) / (2.0 * REACH))
}

/// Any two directions at a right angle to one and to each other.
fn across(axis: Vector) -> [Vector; 2] {
    let other = if axis[0].abs() < 0.5 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let first = unit(cross(axis, other));
    [first, cross(axis, first)]
}

/// A sphere and, each a third as large, nine on it, six round its equator and three above: and so on for some generations.
fn add(geometry: &mut Geometry, centre: Vector, radius: f64, axis: Vector, generations: u64, seed: u64) {
    let turn = Random::new(seed, geometry.elements.len() as u64).unit();
    let form = Form::Sphere { centre: fitted(centre), radius: radius / (2.0 * REACH) };
    geometry.elements.push(Element { object: 0, form });
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
        add(geometry, theirs, radius / 3.0, outwards, generations - 1, seed);
    }
}

/// The flake of so many generations over its ground, and the view of it.
pub(crate) fn flake(generations: u64, seed: u64) -> (Environment, Geometry) {
    let mut geometry = Geometry { surfaces: vec![SPHERES, EARTH], ..Geometry::default() };
    add(&mut geometry, [0.0; 3], 0.5, [0.0, 1.0, 0.0], generations, seed);
    /// Apart from the streams of spheres.
    const STREAM: u64 = 1 << 32;
    let row = SQUARES + 1;
    for number in 0..row * row {
        let height = Random::new(seed, STREAM + number as u64).unit();
        let at = |number: usize| REACH * (2.0 * number as f64 / SQUARES as f64 - 1.0);
        geometry.vertices.push(fitted([at(number / row), GROUND - HILLS * height, at(number % row)]));
        geometry.normals.push([0.0; 3]);
    }
    let squares = (0..SQUARES).flat_map(|one| (0..SQUARES).map(move |other| (one * row + other) as u32));
    for corner in squares {
        let (far, near) = (corner + row as u32, corner + 1);
        for corners in [[corner, far, near], [far + 1, near, far]] {
            geometry.elements.push(Element { object: 1, form: Form::Triangle { corners, smooth: false } });
        }
    }
    let part = 1.0 / LIGHTS.len() as f64;
    let light = |place| Light { place: fitted(place), colour: [part; 3], shadow: true };
    let environment = Environment {
        eye: fitted(CAMERA),
        centre: fitted([0.0; 3]),
        background: [0.078, 0.361, 0.753],
        angle: 48.0,
        lights: LIGHTS.map(light).into(),
        resolution: [64, 64],
        weight: 0.01,
        bundle: [4, 4],
        ..Environment::default()
    };
    (environment, geometry)
}
