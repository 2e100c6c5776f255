//! A vehicle on a chequered floor: a scene of the size of SPLASH-2's `car`, whose own geometry may not stand here.
//!
//! Grids are the program's own choice. The lights and the generations of rays are assumed; pixels and polygons, 35 thousand, are
//! calibrated, so that as many locks are taken (95 thousand, most of them for numbers of rays) and as many references made to shared
//! memory (186 million) as with `car` (94 thousand and 182 million: Woo, Ohara, Torrie, Singh, Gupta: "The SPLASH-2 programs", ISCA
//! 1995, Table 1). Instructions, of which a division counts as many as it takes time, come to 1800 million then (829).

use std::f64::consts::{PI, TAU};

use super::environment::{Environment, Light};
use super::geometry::{Element, Form, Geometry, Surface, plane};
use crate::splash::vector::Vector;

/// Panels along and around the body; along and around each tyre; tiles of the floor along a side.
const ALONG: usize = 223;
const AROUND: usize = 74;
const TYRE: [usize; 2] = [44, 23];
const TILES: usize = 119;

/// Surfaces, by number: paint, glass, tyres, and both kinds of tiles.
const SURFACES: [Surface; 5] = [
    surface([0.8, 0.1, 0.1], [0.6, 0.3, 0.0]),
    surface([0.2, 0.3, 0.35], [0.2, 0.3, 0.5]),
    surface([0.08, 0.08, 0.08], [0.8, 0.05, 0.0]),
    surface([0.9, 0.9, 0.85], [0.8, 0.1, 0.0]),
    surface([0.2, 0.25, 0.3], [0.8, 0.1, 0.0]),
];
const PAINT: u32 = 0;
const GLASS: u32 = 1;
const RUBBER: u32 = 2;
const LIGHT_TILE: u32 = 3;
const DARK_TILE: u32 = 4;

const fn surface(colour: Vector, [diffuse, specular, transmission]: [f64; 3]) -> Surface {
    Surface { colour, diffuse, specular, transmission, refraction: 1.1, sharpness: 20.0 }
}

/// Between two values, as a smooth step from one place to another.
fn step(from: f64, to: f64, at: f64) -> f64 {
    let part = ((at - from) / (to - from)).clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

/// Adds a mesh of quadrilaterals between the places of a grid of `rows` by `columns` steps, each with the surface of its step.
fn add_mesh(
    geometry: &mut Geometry,
    [rows, columns]: [usize; 2],
    place: impl Fn(f64, f64) -> Vector,
    surface: impl Fn(usize, usize) -> u32,
) {
    let first = geometry.vertices.len() as u32;
    for (row, column) in (0..=rows).flat_map(|row| (0..=columns).map(move |column| (row, column))) {
        geometry.vertices.push(place(row as f64 / rows as f64, column as f64 / columns as f64));
        geometry.normals.push([0.0; 3]);
    }
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let at = |row: usize, column: usize| first + (row * (columns + 1) + column) as u32;
        let corners = vec![at(row, column), at(row + 1, column), at(row + 1, column + 1), at(row, column + 1)];
        let normal = plane(corners.iter().map(|&corner| geometry.vertices[corner as usize]));
        geometry.elements.push(Element { object: surface(row, column), form: Form::Polygon { corners, normal } });
    }
}

/// A place on the body: `along` it from front to rear, and `around` it.
fn body(along: f64, around: f64) -> Vector {
    let cabin = step(0.3, 0.42, along) - step(0.72, 0.9, along);
    let ends = (PI * along).sin().max(0.0).powf(0.25);
    let height = (0.10 + 0.09 * cabin) * ends;
    let width = (0.13 - 0.03 * cabin * (TAU * around).sin().max(0.0)) * ends;
    let (sine, cosine) = (TAU * around).sin_cos();
    // A box with round edges.
    let round = |part: f64| part.signum() * part.abs().powf(0.5);
    [0.2 + 0.6 * along, 0.13 + height * round(sine).max(-0.6), 0.5 + width * round(cosine)]
}

/// The scene and the view of it.
pub(super) fn vehicle() -> (Environment, Geometry) {
    let mut geometry = Geometry { surfaces: SURFACES.into(), ..Geometry::default() };
    let glazed = |row: usize, column: usize| {
        let (along, around) = (row as f64 / ALONG as f64, column as f64 / AROUND as f64);
        let is_window =
            (0.36..0.8).contains(&along) && ((0.06..0.17).contains(&around) || (0.33..0.44).contains(&around));
        if is_window { GLASS } else { PAINT }
    };
    add_mesh(&mut geometry, [ALONG, AROUND], body, glazed);
    for (front, side) in [(0.32, 0.385), (0.32, 0.615), (0.68, 0.385), (0.68, 0.615)] {
        let tyre = |turn: f64, round: f64| {
            let ((sine, cosine), (deep, wide)) = ((TAU * turn).sin_cos(), (TAU * round).sin_cos());
            let radius = 0.045 + 0.02 * deep;
            [front + radius * cosine, 0.065 + radius * sine, side + 0.02 * wide]
        };
        add_mesh(&mut geometry, TYRE, tyre, |_, _| RUBBER);
    }
    let tile = |row, column| if (row + column) % 2 == 0 { LIGHT_TILE } else { DARK_TILE };
    add_mesh(&mut geometry, [TILES, TILES], |one, other| [one, 0.0, other], tile);
    let light = |place| Light { place, colour: [0.5; 3], shadow: true };
    let environment = Environment {
        eye: [0.05, 0.5, -0.5],
        centre: [0.5, 0.1, 0.5],
        background: [0.3, 0.5, 0.8],
        angle: 50.0,
        lights: vec![light([-2.0, 4.0, -3.0]), light([3.0, 5.0, -1.0])],
        resolution: [176, 176],
        levels: 3,
        weight: 0.01,
        bundle: [4, 4],
        ..Environment::default()
    };
    (environment, geometry)
}
