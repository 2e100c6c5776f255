//! The forms of elements: whether and where a ray meets one, and how its surface faces there.

use super::layout::{ELEMENT_WORDS, FORM_WORDS, POLYGON, SMOOTH, SPHERE, VERTEX_WORDS};
use crate::parallel::{Array, cost};
use crate::splash::vector::{Vector, dot, minus, plus, square, times, unit};
use crate::thread::Thread;

/// Instructions to find whether a ray meets a sphere, and how far along, without the root.
const SPHERE_TEST: u32 = 30;
/// Instructions to find where a ray meets a plane, in which a division waits.
const PLANE_TEST: u32 = 24;
/// Instructions for each vertex of a polygon: it is projected and moved, and its edge compared.
const CORNER_TEST: u32 = 16;
/// Instructions for a triangle whose plane is met: three edges, and three products.
const TRIANGLE_TEST: u32 = 40;
/// Instructions of a call through a record of procedures.
const CALL: u32 = 12;
/// How far along a ray nothing is met: rounding keeps rays on the surface where they start. SPLASH-2's `RAYEPS`.
pub const LITTLE: f64 = 1e-7;

/// A half-line. Its direction has length 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ray {
    pub from: Vector,
    pub towards: Vector,
    /// One over the parts of its direction.
    pub inverse: Vector,
}

impl Ray {
    pub fn new(from: Vector, towards: Vector) -> Self {
        Self { from, towards, inverse: towards.map(|part| 1.0 / part) }
    }

    /// The place at a distance.
    pub fn at(&self, distance: f64) -> Vector {
        plus(self.from, times(self.towards, distance))
    }
}

/// Elements, their forms and vertices in shared memory.
pub struct Forms<'r, R> {
    pub elements: &'r R,
    pub forms: &'r R,
    pub vertices: &'r R,
    /// How many vertices there are: normals follow them.
    pub count: usize,
}

/// A plane: its normal, its distance from the origin, the axis along which it is projected, and how many vertices its form has.
struct Plane {
    normal: Vector,
    distance: f64,
    axis: usize,
    corners: usize,
}

impl<R> Forms<'_, R> {
    /// The word of an element's form, and its object.
    fn element<T: Thread<Region = R>>(&self, element: usize, thread: &mut T) -> (usize, usize) {
        let first = element * ELEMENT_WORDS;
        let object = thread.load_dependent(self.elements, first + 1);
        (thread.load(self.elements, first) as usize, object as usize)
    }

    /// The object of an element.
    pub fn object<T: Thread<Region = R>>(&self, element: usize, thread: &mut T) -> usize {
        self.element(element, thread).1
    }

    fn plane<T: Thread<Region = R>>(&self, form: usize, thread: &mut T) -> Plane {
        let [x, y, z, distance]: [f64; 4] = Array::from(self.forms, form + 1).load(thread, 0);
        let last = thread.load(self.forms, form + 5);
        Plane { normal: [x, y, z], distance, axis: (last & 3) as usize, corners: (last >> 2) as usize }
    }

    /// Where a vertex of a form is; `normals` for how its surface faces there.
    fn vertex<T: Thread<Region = R>>(&self, form: usize, number: usize, normals: bool, thread: &mut T) -> Vector {
        let vertex = thread.load(self.forms, form + FORM_WORDS + number) as usize;
        let first = (vertex + if normals { self.count } else { 0 }) * VERTEX_WORDS;
        Array::from(self.vertices, first).load_dependent(thread, 0)
    }

    /// How far along a ray it meets an element first.
    pub fn meet<T: Thread<Region = R>>(&self, element: usize, ray: &Ray, thread: &mut T) -> Option<f64> {
        let (form, _) = self.element(element, thread);
        thread.instructions(CALL);
        let kind = thread.load_dependent(self.forms, form);
        if kind == SPHERE {
            return self.meet_sphere(form, ray, thread);
        }
        let plane = self.plane(form, thread);
        let facing = dot(plane.normal, ray.towards);
        thread.instructions(PLANE_TEST);
        if facing.abs() < LITTLE * square(plane.normal).sqrt() || facing == 0.0 {
            return None;
        }
        thread.instructions(cost::DIVISION);
        let distance = -(plane.distance + dot(plane.normal, ray.from)) / facing;
        if distance < LITTLE {
            return None;
        }
        let inside = match kind {
            POLYGON => self.is_in_polygon(form, &plane, ray.at(distance), thread),
            _ => self.parts_of_triangle(form, &plane, ray.at(distance), thread).is_some(),
        };
        inside.then_some(distance)
    }

    fn meet_sphere<T: Thread<Region = R>>(&self, form: usize, ray: &Ray, thread: &mut T) -> Option<f64> {
        let [x, y, z, radius]: [f64; 4] = Array::from(self.forms, form + 1).load(thread, 0);
        thread.instructions(SPHERE_TEST);
        let towards = minus([x, y, z], ray.from);
        let along = dot(towards, ray.towards);
        let under = radius * radius - square(towards) + along * along;
        if under < 0.0 {
            return None;
        }
        thread.instructions(cost::SQUARE_ROOT);
        let root = under.sqrt();
        [along - root, along + root].into_iter().find(|&distance| distance > LITTLE)
    }

    /// Whether a place on the plane of a polygon is in it: a line from there crosses its edges an odd number of times.
    fn is_in_polygon<T: Thread<Region = R>>(&self, form: usize, plane: &Plane, place: Vector, thread: &mut T) -> bool {
        let (across, up) = ((plane.axis + 1) % 3, (plane.axis + 2) % 3);
        let mut corner = |number: usize| {
            let vertex = self.vertex(form, number, false, thread);
            thread.instructions(CORNER_TEST);
            [vertex[across] - place[across], vertex[up] - place[up]]
        };
        let first = corner(0);
        let (mut before, mut crossings) = (first, 0);
        for number in 1..=plane.corners {
            let now = if number == plane.corners { first } else { corner(number) };
            if (before[1] < 0.0) != (now[1] < 0.0) {
                let at = before[0] - before[1] * (now[0] - before[0]) / (now[1] - before[1]);
                crossings += usize::from(at > 0.0);
            }
            before = now;
        }
        crossings % 2 == 1
    }

    /// The parts of its three vertices in a place on the plane of a triangle, if that is in it.
    fn parts_of_triangle<T: Thread<Region = R>>(
        &self,
        form: usize,
        plane: &Plane,
        place: Vector,
        thread: &mut T,
    ) -> Option<[f64; 3]> {
        let corners = [0, 1, 2].map(|number| self.vertex(form, number, false, thread));
        thread.instructions(TRIANGLE_TEST);
        let (across, up) = ((plane.axis + 1) % 3, (plane.axis + 2) % 3);
        let area = |one: Vector, other: Vector| {
            (one[across] - place[across]) * (other[up] - place[up])
                - (one[up] - place[up]) * (other[across] - place[across])
        };
        let [one, other, third] = corners;
        let whole = plane.normal[plane.axis];
        let parts = [area(other, third), area(third, one), area(one, other)].map(|part| part / whole);
        parts.iter().all(|&part| part >= 0.0).then_some(parts)
    }

    /// The direction in which an element faces at a place, of length 1, on the side from which a ray comes.
    pub fn normal<T: Thread<Region = R>>(&self, element: usize, place: Vector, ray: &Ray, thread: &mut T) -> Vector {
        let (form, _) = self.element(element, thread);
        let kind = thread.load_dependent(self.forms, form);
        thread.instructions(CALL + cost::SQUARE_ROOT);
        let normal = if kind == SPHERE {
            minus(place, Array::from(self.forms, form + 1).load(thread, 0))
        } else {
            let plane = self.plane(form, thread);
            let parts = if kind == SMOOTH { self.parts_of_triangle(form, &plane, place, thread) } else { None };
            parts.map_or(plane.normal, |parts| {
                (0..3).fold([0.0; 3], |sum, number| {
                    plus(sum, times(self.vertex(form, number, true, thread), parts[number]))
                })
            })
        };
        let normal = unit(normal);
        if dot(normal, ray.towards) > 0.0 { times(normal, -1.0) } else { normal }
    }
}
