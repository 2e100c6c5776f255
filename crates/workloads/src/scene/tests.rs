//! Files of scenes: what is read, what is refused and where, and that no text whatever does worse.

use proptest::prelude::*;

use super::*;

const ENVIRONMENT: &str = "eye 2 3 -4\ncenter 0.5 0.5 0.5\nlight 1 2 3 1 1 1 1\nlight -1 2 3 0.5 0.5 0.5 0\nbackground 0 0 0.8\n\
    viewangle 50\nresolution 30 20\nmaxlevel 3\nminweight 0.01\nshadows on\ntraversal huniform\nhu_maxprims 3\n\
    hu_gridsize 4\nhu_numbuckets 7\nhu_maxsubdiv 2\nhu_lazy 0\nbundle 5 4\nblock 2 2\nantilevel 0\nrlfile x.rl\n\
    geometry inputs/ball.geo\n";
const GEOMETRY: &str = "# a ball, a square with a notch, and a triangle #\nobject ball 1 0 0  1 0 0  0.5 0.5 0 1 20  0 0 0 0\ns 1\n\
    0 0 0 2\nobject notched\n0 1 0 0 1 0\n1 0 0 1 1\n0 0 0 0\np2\n5 pnn\n0 0 0 4 0 0 4 4 0 2 1 0 0 4 0\n5 0 1 2 3 4\n\
    3 0 1 2\nobject smooth 0 0 1 0 0 1 1 0 0 1 1 0 0 0 0\nt 1 3 pny vny\n0 0 1 0 0 1  1 0 1 0 1 1  0 1 1 1 0 1\n\
    0 0 1 0 1 2\n";

#[test]
fn an_environment_is_read_word_by_word() {
    let read = Environment::read("e", ENVIRONMENT).expect("an environment");
    assert_eq!((read.eye, read.lights.len(), read.lights[1].shadow), ([2.0, 3.0, -4.0], 2, false));
    assert_eq!((read.resolution, read.bundle, read.levels), ([30, 20], [5, 4], 3));
    assert_eq!(read.grids, Grids { cells: 4, elements: 3, buckets: 7, levels: 2 });
    assert_eq!(read.geometry, Some(("inputs/ball.geo".to_owned(), 21)));
    let list = Environment::read("e", "geometry g").expect("defaults");
    assert_eq!((list.grids.cells, list.lights.len(), list.ambient), (1, 1, [0.1; 3]));
}

#[test]
fn a_geometry_has_spheres_polygons_and_triangles() {
    let read = Geometry::read("g", GEOMETRY).expect("a geometry");
    assert_eq!((read.surfaces.len(), read.vertices.len(), read.elements.len()), (3, 8, 4));
    assert_eq!(read.elements[0].form, Form::Sphere { centre: [0.0; 3], radius: 2.0 });
    let Form::Polygon { corners, normal: Some(normal) } = &read.elements[1].form else { panic!("a polygon") };
    assert_eq!((corners.as_slice(), normal), ([0, 1, 2, 3, 4].as_slice(), &[0.0, 0.0, 1.0]));
    assert_eq!(read.elements[3].form, Form::Triangle { corners: [5, 6, 7], smooth: true });
    assert_eq!(read.elements[3].object, 2);
}

#[test]
fn a_scene_is_moved_into_a_cube() {
    let mut read = Geometry::read("g", GEOMETRY).expect("a geometry");
    let mut twice = Environment::default().model;
    (0..3).for_each(|axis| twice[axis][axis] = 2.0);
    twice[3][0] = 100.0;
    read.place(&twice);
    let bounds = read.elements.iter().map(|element| read.bounds(element)).collect::<Vec<_>>();
    let all = bounds.iter().flatten().flatten();
    let (least, most) = all.fold((1.0_f64, 0.0_f64), |(least, most), &part| (least.min(part), most.max(part)));
    assert!(least.abs() < 1e-12 && (most - 1.0).abs() < 1e-12, "{least} {most}");
    let Form::Sphere { radius, .. } = read.elements[0].form else { panic!("a sphere") };
    // From -4 to 108, and twice as large.
    assert!((radius - 4.0 / 112.0).abs() < 1e-12, "{radius}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let environment = |from: &str, to: &str| {
        Environment::read("e", &ENVIRONMENT.replace(from, to)).expect_err("it is wrong").to_string()
    };
    for (from, to, told) in [
        (
            "viewangle 50",
            "viewangle 500",
            "line 6: `500` is not an angle of view; accepted: an angle of view, 0 to 100",
        ),
        ("maxlevel 3", "maxlevels 3", "line 8: there is no command `maxlevels`; accepted: eye, "),
        ("shadows on", "shadows maybe", "line 10: `maybe` is not shadows; accepted: off or on"),
        ("0 0 0.8", "0 0 8", "line 5: `8` is not a part of the background"),
        ("geometry inputs/ball.geo\n", "geometry", "it ends before the geometry's file"),
        ("geometry inputs/ball.geo", "datatype binary", "binary geometry cannot be read"),
        ("geometry inputs/ball.geo\n", "", "it names no geometry"),
    ] {
        let error = environment(from, to);
        assert!(error.starts_with("--scene e, line ") && error.contains(told), "{error}");
    }
    let geometry =
        |from: &str, to: &str| Geometry::read("g", &GEOMETRY.replace(from, to)).expect_err("it is wrong").to_string();
    for (from, to, told) in [
        ("object ball", "objekt ball", "line 2: `objekt` is no object"),
        ("\ns 1", "\nq 1", "line 3: neither cylinders nor quadrics"),
        ("\ns 1", "\nx 1", "line 3: there are no elements `x`"),
        ("p2", "p-2", "line 9: `-2` elements; accepted: 1 to "),
        ("pnn", "p", "line 10: `p` is not whether polygons have normals"),
        (
            "3 0 1 2\nobject",
            "3 0 1 5\nobject",
            "line 13: `5` is not the number of a vertex; accepted: the number of a vertex, 0 to 4",
        ),
        ("3 0 1 2\nobject", "2 0 1\nobject", "line 13: `2` is not the number of vertices of a polygon"),
        ("0 0 0 2\n", "0 0 inf 2\n", "line 4: `inf` is not a coordinate of a centre"),
        ("0 0 1 0 1 2\n", "0 0 1 0 1\n", "it ends before the number of a vertex"),
        (" triangle #", " triangle", "line 1: the comment has no end"),
    ] {
        let error = geometry(from, to);
        assert!(error.contains(told), "{error}");
    }
    assert!(Geometry::read("g", "").is_err());
}

#[test]
fn a_scene_is_read_from_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(at("ball.env"), ENVIRONMENT).expect("it can be written");
    let error = Scene::named(&at("ball.env")).expect_err("there is no geometry").to_string();
    assert!(error.contains("line 21: there is no file inputs/ball.geo"), "{error}");
    // SPLASH-2's names are from where it is started: the last part is looked for beside the environment.
    std::fs::write(at("ball.geo"), GEOMETRY).expect("it can be written");
    let scene = Scene::named(&at("ball.env")).expect("a scene");
    assert_eq!(scene.elements(), 4);
    let plain = Scene::named(&at("ball.geo")).expect("a scene");
    assert!(plain != scene && plain.elements() == 4);
    std::fs::write(at("ball.geo"), "object").expect("it can be written");
    assert!(Scene::named(&at("ball.env")).expect_err("no geometry").to_string().contains("ball.geo, line 1"));
    let none = Scene::named("there-is-none").expect_err("no file").to_string();
    assert!(none.contains("accepted: vehicle, or a file"), "{none}");
    std::fs::write(at("blind.env"), "eye 1 1 1 center 1 1 1 geometry ball.geo").expect("it can be written");
    std::fs::write(at("ball.geo"), GEOMETRY).expect("it can be written");
    assert!(Scene::named(&at("blind.env")).expect_err("blind").to_string().contains("the eye is where it looks"));
}

#[test]
fn the_built_in_scene_has_the_size_that_is_calibrated_for_car() {
    let scene = Scene::named("vehicle").expect("it is built in");
    assert_eq!(scene.elements(), 34_711);
    assert!(std::ptr::eq(scene, Scene::named("vehicle").expect("it still is")));
    assert!(
        scene
            .geometry
            .elements
            .iter()
            .flat_map(|element| scene.geometry.bounds(element))
            .flatten()
            .all(|part| { (-1e-9..=1.0 + 1e-9).contains(&part) })
    );
}

/// A text of words that may belong together.
fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => (-3_i32..9).prop_map(|number| number.to_string()),
        2 => prop::sample::select(vec![
            "object", "s", "p", "t", "pnn", "pny", "vny", "eye", "center", "light", "geometry", "modelxform", "#", "\n",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ];
    prop::collection::vec(word, 0..80).prop_map(|words| words.join(" "))
}

proptest! {
    /// Any text is a scene, or is refused with a line that there is.
    #[test]
    fn texts_are_read_or_refused(text in prop_oneof![words(), "\\PC*"]) {
        let lines = text.matches('\n').count() + 1;
        for error in [Environment::read("f", &text).err(), Geometry::read("f", &text).err()].into_iter().flatten() {
            prop_assert!(error.line.is_some_and(|line| line <= lines), "{}", error);
            prop_assert!(!error.accepted.is_empty());
        }
    }

    /// A file that is cut off is refused, never read as a shorter one, unless whole objects are left.
    #[test]
    fn a_file_that_is_cut_is_told_from_a_whole_one(end in 0..GEOMETRY.len()) {
        let whole = Geometry::read("g", GEOMETRY).expect("a geometry");
        if let Ok(read) = Geometry::read("g", &GEOMETRY[..end]) {
            prop_assert!(whole.elements.len() >= read.elements.len());
            prop_assert_eq!(&whole.elements[..read.elements.len().saturating_sub(1)],
                &read.elements[..read.elements.len().saturating_sub(1)]);
        }
    }
}
