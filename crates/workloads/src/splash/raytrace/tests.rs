//! Rays against every element of a scene, without its grids.

use std::cell::Cell;

use super::*;
use crate::parallel::Alone;
use crate::random::Random;
use crate::scene::{Grids, Scene};

type Cells = Vec<Cell<u64>>;

fn cells(words: Vec<u64>) -> Cells {
    words.into_iter().map(Cell::new).collect()
}

/// The regions of a scene.
struct Held {
    elements: Cells,
    forms: Cells,
    vertices: Cells,
    grids: Cells,
    count: usize,
}

impl Held {
    fn new(geometry: &Geometry, grids: &Grids) -> Self {
        let Layout { elements, forms, vertices, grids, .. } = Layout::new(geometry, grids);
        let [elements, forms, vertices, grids] = [elements, forms, vertices, grids].map(cells);
        Self { elements, forms, vertices, grids, count: geometry.vertices.len() }
    }

    fn hierarchy(&self) -> Hierarchy<'_, Cells> {
        let Self { elements, forms, vertices, grids, count } = self;
        Hierarchy { grids, forms: Forms { elements, forms, vertices, count: *count } }
    }
}

/// Any ray, from anywhere: the grids leave nothing out that is met before.
fn rays_meet_first_what_is_first_of_all(geometry: &Geometry, grids: &Grids, rays: usize) {
    let held = Held::new(geometry, grids);
    let hierarchy = held.hierarchy();
    let (mut random, mut met) = (Random::new(2, 0), 0);
    for _ in 0..rays {
        let from = plus([0.5; 3], times(random.direction(), 0.9 * random.unit()));
        let ray = Ray::new(from, random.direction());
        let mut alone = Alone;
        let distances =
            (0..geometry.elements.len()).filter_map(|element| hierarchy.forms.meet(element, &ray, &mut alone));
        let first = distances.min_by(f64::total_cmp);
        let mut nearest = Nearest { forms: &hierarchy.forms, found: None };
        hierarchy.walk(&ray, &mut nearest, &mut alone);
        assert_eq!(nearest.found.map(|(distance, _)| distance), first, "{ray:?}");
        met += usize::from(first.is_some());
    }
    assert!(met > rays / 10, "{met}");
}

#[test]
fn grids_leave_nothing_out() {
    let (environment, geometry) = flake(2, 1);
    rays_meet_first_what_is_first_of_all(&geometry, &environment.grids, 400);
    let list = Grids { cells: 1, elements: usize::MAX, buckets: 1, levels: 0 };
    rays_meet_first_what_is_first_of_all(&geometry, &list, 400);
    let fine = Grids { cells: 7, elements: 1, buckets: 11, levels: 3 };
    rays_meet_first_what_is_first_of_all(&geometry, &fine, 400);
    let vehicle = Scene::named("vehicle").expect("it is built in");
    rays_meet_first_what_is_first_of_all(&vehicle.geometry, &vehicle.environment.grids, 100);
}

fn met(form: &str, ray: Ray) -> Option<f64> {
    let text = format!("object o 1 1 1 1 1 1 1 0 0 1 1 0 0 0 0 {form}");
    let geometry = Geometry::read("g", &text).expect("a geometry");
    Held::new(&geometry, &Grids { cells: 1, elements: 9, buckets: 1, levels: 0 })
        .hierarchy()
        .forms
        .meet(0, &ray, &mut Alone)
}

#[test]
fn rays_meet_what_is_in_their_way() {
    let ray = Ray::new([3.0, 0.0, 0.0], [-1.0, 0.0, 0.0]);
    assert_eq!((met("s 1 0 0 0 1", ray), met("s 1 0 1.5 0 1", ray)), (Some(2.0), None));
    // From inside, and away.
    assert_eq!(met("s 1 0 0 0 1", Ray::new([0.5, 0.0, 0.0], ray.towards)), Some(1.5));
    assert_eq!(met("s 1 0 0 0 1", Ray::new(ray.from, [1.0, 0.0, 0.0])), None);
    let triangle = |y: f64| format!("t 1 3 pnn vnn 1 {y} -1 1 {} -1 1 {y} 3 0 1 2", y + 2.0);
    assert_eq!((met(&triangle(-0.5), ray), met(&triangle(0.5), ray)), (Some(2.0), None));
    assert_eq!(met(&triangle(-0.5), Ray::new(ray.from, [1.0, 0.0, 0.0])), None);
    // A square with a notch: in its arms, not between them.
    let notched = "p 1 5 pnn 1 -2 -2 1 2 -2 1 2 2 1 0 -1 1 -2 2 5 0 1 2 3 4";
    let at = |y: f64, z: f64| Ray::new([3.0, y, z], ray.towards);
    assert_eq!(
        (met(notched, at(0.1, 0.0)), met(notched, at(1.8, 0.0)), met(notched, at(0.1, -1.5))),
        (None, Some(2.0), Some(2.0))
    );
    // A line has no surface.
    assert_eq!(met("p 1 3 pnn 1 -1 0 1 0 0 1 1 0 3 0 1 2", ray), None);
}

#[test]
fn light_is_mirrored_and_refracted() {
    let normal = [0.0, 1.0, 0.0];
    let slanted = unit([1.0, -1.0, 0.0]);
    assert!(square(minus(view::mirrored(normal, slanted), unit([1.0, 1.0, 0.0]))) < 1e-24);
    // Nothing is bent between equals; the law of Snellius; and total reflection.
    let straight = view::refracted(normal, slanted, 1.0).expect("it goes through");
    assert!(square(minus(straight, slanted)) < 1e-20);
    let bent = view::refracted(normal, slanted, 2.0).expect("it goes through");
    assert!((bent[0] - slanted[0] / 2.0).abs() < 1e-12, "{bent:?}");
    assert_eq!(view::refracted(normal, slanted, 0.5), None);
}

#[test]
fn the_camera_sees_what_it_looks_at_in_the_middle() {
    let environment = Environment { eye: [2.0, 1.0, -3.0], centre: [0.2, 0.3, 0.4], ..Environment::default() };
    let view = View::new(&environment, [40, 20]);
    let ahead = unit(minus(environment.centre, environment.eye));
    assert!(square(minus(view.ray(10, 20).towards, ahead)) < 1e-24);
    // Upwards is up.
    assert!(view.ray(0, 20).towards[1] > ahead[1] && view.ray(19, 20).towards[1] < ahead[1]);
    let parallel = View::new(&Environment { perspective: false, ..environment }, [40, 20]);
    assert!(square(minus(parallel.ray(3, 4).towards, ahead)) < 1e-24);
}
