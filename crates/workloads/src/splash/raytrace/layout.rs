//! A scene as words of shared memory, in the structures of SPLASH-2's raytrace: records of elements that point to their form, lists
//! of vertices, and a hierarchy of uniform grids whose cells are found in tables.

use super::grids;
use crate::scene::{Element, Form, Geometry, Grids, Surface};
use crate::splash::vector::{Vector, cross, dot, minus};

/// Words of an element: the word of its form, its object, and its bounds, as SPLASH-2's `ELEMENT`.
pub const ELEMENT_WORDS: usize = 9;
/// Words of a surface: the kind of its elements is not in it; `SURF` of SPLASH-2 has the colour of the back, too.
pub const SURFACE_WORDS: usize = 11;
/// Words of a vertex or a normal.
pub const VERTEX_WORDS: usize = 3;

/// The kinds of forms, the first word of each.
pub const SPHERE: u64 = 1;
pub const POLYGON: u64 = 2;
pub const TRIANGLE: u64 = 3;
pub const SMOOTH: u64 = 4;

/// Words of a form before its vertices: kind, normal, distance of its plane from the origin, the axis along which it is projected
/// with the number of its vertices.
pub const FORM_WORDS: usize = 6;

/// The words of a scene, by region.
pub struct Layout {
    pub elements: Vec<u64>,
    pub forms: Vec<u64>,
    /// All vertices, and behind them their normals.
    pub vertices: Vec<u64>,
    pub surfaces: Vec<u64>,
    pub grids: Vec<u64>,
}

fn words(vector: Vector) -> [u64; 3] {
    vector.map(f64::to_bits)
}

/// The axis along which a plane is projected: that of the largest part of its normal.
fn axis(normal: Vector) -> u64 {
    (0..3).max_by(|&one, &other| normal[one].abs().total_cmp(&normal[other].abs())).unwrap_or(0) as u64
}

impl Layout {
    /// The words of a scene.
    pub fn new(geometry: &Geometry, shape: &Grids) -> Self {
        let (mut elements, mut forms) = (Vec::new(), Vec::new());
        for element in &geometry.elements {
            let [low, high] = geometry.bounds(element);
            elements.extend([forms.len() as u64, u64::from(element.object)]);
            elements.extend(words(low).into_iter().chain(words(high)));
            elements.resize(elements.len().next_multiple_of(ELEMENT_WORDS), 0);
            put_form(geometry, element, &mut forms);
        }
        let bounds: Vec<_> = geometry.elements.iter().map(|element| geometry.bounds(element)).collect();
        Self {
            elements,
            forms,
            vertices: geometry.vertices.iter().chain(&geometry.normals).flat_map(|&place| words(place)).collect(),
            surfaces: geometry.surfaces.iter().flat_map(surface_words).collect(),
            grids: grids::build(&bounds, shape),
        }
    }
}

fn surface_words(surface: &Surface) -> [u64; SURFACE_WORDS] {
    let Surface { colour: [red, green, blue], diffuse, specular, transmission, refraction, sharpness } = *surface;
    [red, green, blue, diffuse, specular, transmission, refraction, sharpness, 0.0, 0.0, 0.0].map(f64::to_bits)
}

fn put_form(geometry: &Geometry, element: &Element, forms: &mut Vec<u64>) {
    let mut put_plane = |kind: u64, normal: Vector, corners: &[u32]| {
        let distance = -dot(normal, geometry.vertices[corners[0] as usize]);
        forms.push(kind);
        forms.extend(words(normal));
        forms.extend([distance.to_bits(), axis(normal) | (corners.len() as u64) << 2]);
        forms.extend(corners.iter().map(|&corner| u64::from(corner)));
    };
    match &element.form {
        Form::Sphere { centre, radius } => {
            forms.push(SPHERE);
            forms.extend(words(*centre));
            forms.push(radius.to_bits());
        }
        Form::Polygon { corners, normal } => put_plane(POLYGON, normal.unwrap_or_default(), corners),
        Form::Triangle { corners, smooth } => {
            let [one, other, third] = corners.map(|corner| geometry.vertices[corner as usize]);
            // Its length is twice the area, by which places in the triangle are told.
            let normal = cross(minus(other, one), minus(third, one));
            put_plane(if *smooth { SMOOTH } else { TRIANGLE }, normal, corners);
        }
    }
}
