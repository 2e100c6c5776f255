//! Geometry files of SPLASH-2's raytrace (`.geo`): objects of spheres, polygons or triangles, each with a surface.

use super::words::{SceneError, Words};
use crate::splash::vector::{Vector, cross, minus, plus, square, times, unit};

/// The most elements of an object, and vertices.
const MOST: usize = 1 << 22;
/// The most vertices of a polygon, as SPLASH-2 has it.
const MOST_CORNERS: usize = 100;
/// Room that is made for elements before they are read.
const ROOM: usize = 1 << 16;

/// Optical properties of an object's surface.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Surface {
    pub(crate) colour: Vector,
    /// Parts of the light that are reflected to all sides, mirrored, and let through.
    pub(crate) diffuse: f64,
    pub(crate) specular: f64,
    pub(crate) transmission: f64,
    /// The index of refraction, and how sharply lights are mirrored.
    pub(crate) refraction: f64,
    pub(crate) sharpness: f64,
}

/// The form of an element.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Form {
    Sphere {
        centre: Vector,
        radius: f64,
    },
    /// A plane polygon, convex or not, by its vertices. Without a normal it is a line or a point, which no ray meets.
    Polygon {
        corners: Vec<u32>,
        normal: Option<Vector>,
    },
    /// A triangle by its vertices. With `smooth`, its normal at a place is between those of its vertices.
    Triangle {
        corners: [u32; 3],
        smooth: bool,
    },
}

/// An element of an object.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Element {
    /// The object, by its number.
    pub(crate) object: u32,
    pub(crate) form: Form,
}

/// The objects of a scene.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Geometry {
    /// By object.
    pub(crate) surfaces: Vec<Surface>,
    pub(crate) vertices: Vec<Vector>,
    /// By vertex; zero for one without a normal.
    pub(crate) normals: Vec<Vector>,
    pub(crate) elements: Vec<Element>,
}

/// A normal of what follows each other on a plane: twice its area as a vector (Newell).
pub(crate) fn plane(corners: impl Iterator<Item = Vector> + Clone) -> Option<Vector> {
    let first = corners.clone().next()?;
    let edges = corners.clone().zip(corners.skip(1));
    let sum = edges.fold([0.0; 3], |sum, (one, next)| plus(sum, cross(minus(one, first), minus(next, first))));
    let length = square(sum).sqrt();
    (length > 0.0 && length.is_finite()).then(|| times(sum, 1.0 / length))
}

impl Geometry {
    /// Reads the geometry in `text`, which errors call `file`.
    ///
    /// # Errors
    /// When it is no geometry of SPLASH-2's, or has elements that it does not render.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, SceneError> {
        let mut words = Words::new(file, text);
        words.skip_comment()?;
        let mut geometry = Self::default();
        while let Some(word) = words.next() {
            if word != "object" {
                return Err(words.wrong(format!("`{}` is no object", word.escape_debug()), "object NAME"));
            }
            words.word("the name of the object")?;
            geometry.read_object(&mut words)?;
        }
        if geometry.elements.is_empty() {
            return Err(words.wrong("it has no object", "object NAME, and what is in it"));
        }
        Ok(geometry)
    }

    fn read_object(&mut self, words: &mut Words<'_>) -> Result<(), SceneError> {
        let [red, green, blue, ..] = words.numbers::<6>("a colour of the front or the back")?;
        let [diffuse, specular, transmission, refraction, sharpness] = words.numbers("a coefficient of the surface")?;
        let colour = [red, green, blue];
        self.surfaces.push(Surface { colour, diffuse, specular, transmission, refraction, sharpness });
        for _ in 0..4 {
            words.number("a flag of textures", i64::MIN..=i64::MAX)?;
        }
        let kinds = "s for spheres, p for polygons, t for triangles";
        let word = words.word("the kind of its elements")?;
        let kind = word.chars().next().unwrap_or_default();
        let count =
            match &word[kind.len_utf8()..] {
                "" => words.number("the number of elements", 1..=MOST)?,
                number => number.parse().ok().filter(|count| (1..=MOST).contains(count)).ok_or_else(|| {
                    words.wrong(format!("`{}` elements", number.escape_debug()), format!("1 to {MOST}"))
                })?,
            };
        match kind {
            's' => self.read_spheres(count, words),
            'p' => self.read_polygons(count, words),
            't' => self.read_triangles(count, words),
            'c' | 'q' => Err(words.wrong("neither cylinders nor quadrics can be rendered", kinds)),
            _ => Err(words.wrong(format!("there are no elements `{}`", kind.escape_debug()), kinds)),
        }
    }

    fn add(&mut self, form: Form) {
        self.elements.push(Element { object: self.surfaces.len() as u32 - 1, form });
    }

    fn read_spheres(&mut self, count: usize, words: &mut Words<'_>) -> Result<(), SceneError> {
        self.elements.reserve(count.min(ROOM));
        for _ in 0..count {
            let centre = words.numbers("a coordinate of a centre")?;
            let radius = words.number("a radius", 0.0..=1e30)?;
            self.add(Form::Sphere { centre, radius });
        }
        Ok(())
    }

    /// Whether normals are given: the third letter of a word such as `pny` says so.
    fn read_flag(words: &mut Words<'_>, what: &str) -> Result<bool, SceneError> {
        let word = words.word(what)?;
        match word.as_bytes() {
            [_, _, b'y', ..] => Ok(true),
            [_, _, b'n', ..] => Ok(false),
            _ => Err(words.wrong(format!("`{}` is not {what}", word.escape_debug()), "pny or pnn, vny or vnn")),
        }
    }

    /// Reads vertices. Returns the number of the first one.
    fn read_vertices(&mut self, count: usize, normals: bool, words: &mut Words<'_>) -> Result<u32, SceneError> {
        let first = self.vertices.len();
        if first + count > MOST {
            return Err(words.wrong(format!("there are {} vertices", first + count), format!("{MOST} at most")));
        }
        for _ in 0..count {
            self.vertices.push(words.numbers("a coordinate of a vertex")?);
            self.normals.push(if normals { words.numbers("a normal of a vertex")? } else { [0.0; 3] });
        }
        Ok(first as u32)
    }

    fn read_polygons(&mut self, count: usize, words: &mut Words<'_>) -> Result<(), SceneError> {
        let vertices = words.number("the number of vertices", 1..=MOST)?;
        let normals = Self::read_flag(words, "whether polygons have normals")?;
        let first = self.read_vertices(vertices, false, words)?;
        for _ in 0..count {
            let corners = words.number("the number of vertices of a polygon", 3..=MOST_CORNERS)?;
            let given = if normals { Some(words.numbers::<3>("a normal of a polygon")?) } else { None };
            let corners = (0..corners)
                .map(|_| Ok(first + words.number("the number of a vertex", 0..=vertices as u32 - 1)?))
                .collect::<Result<Vec<u32>, SceneError>>()?;
            let given = given.filter(|&given| square(given) > 0.0).map(unit);
            let normal = given.or_else(|| plane(corners.iter().map(|&corner| self.vertices[corner as usize])));
            self.add(Form::Polygon { corners, normal });
        }
        Ok(())
    }

    fn read_triangles(&mut self, count: usize, words: &mut Words<'_>) -> Result<(), SceneError> {
        let vertices = words.number("the number of vertices", 1..=MOST)?;
        let faces = Self::read_flag(words, "whether triangles have normals")?;
        let smooth = Self::read_flag(words, "whether vertices have normals")?;
        let first = self.read_vertices(vertices, smooth, words)?;
        for _ in 0..count {
            if faces {
                // It follows from the vertices.
                words.numbers::<3>("a normal of a triangle")?;
            }
            let mut corners = [0; 3];
            for corner in &mut corners {
                *corner = first + words.number("the number of a vertex", 0..=vertices as u32 - 1)?;
            }
            self.add(Form::Triangle { corners, smooth });
        }
        Ok(())
    }

    /// The smallest and the largest coordinates of an element.
    pub(crate) fn bounds(&self, element: &Element) -> [Vector; 2] {
        let of = |corners: &[u32]| {
            let none = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
            corners.iter().fold(none, |[low, high], &corner| {
                let place = self.vertices[corner as usize];
                let low = std::array::from_fn(|axis| low[axis].min(place[axis]));
                [low, std::array::from_fn(|axis| high[axis].max(place[axis]))]
            })
        };
        match &element.form {
            Form::Sphere { centre, radius } => [centre.map(|part| part - radius), centre.map(|part| part + radius)],
            Form::Polygon { corners, .. } => of(corners),
            Form::Triangle { corners, .. } => of(corners),
        }
    }

    /// Moves all by a matrix, whose last row is what is added (rows as SPLASH-2 has them), and then into a cube from 0 to 1.
    pub(crate) fn place(&mut self, matrix: &[[f64; 4]; 4]) {
        let moved = |place: Vector, last: f64| -> Vector {
            std::array::from_fn(|column| {
                let sum: f64 = (0..3).map(|row| place[row] * matrix[row][column]).sum();
                sum + last * matrix[3][column]
            })
        };
        for element in &mut self.elements {
            if let Form::Sphere { centre, radius } = &mut element.form {
                let surface = moved(plus(*centre, [*radius, 0.0, 0.0]), 1.0);
                *centre = moved(*centre, 1.0);
                *radius = square(minus(surface, *centre)).sqrt();
            }
        }
        self.vertices.iter_mut().for_each(|place| *place = moved(*place, 1.0));
        // Normals turn as the inverse of the transpose does: by the matrix of cofactors, whose rows are vector products of rows.
        let row = |number: usize| -> Vector { std::array::from_fn(|column| matrix[number][column]) };
        let rows = [cross(row(1), row(2)), cross(row(2), row(0)), cross(row(0), row(1))];
        let turned = |normal: Vector| {
            let sum: Vector = std::array::from_fn(|column| (0..3).map(|part| normal[part] * rows[part][column]).sum());
            let length = square(sum).sqrt();
            if length > 0.0 { times(sum, 1.0 / length) } else { [0.0; 3] }
        };
        self.normals.iter_mut().for_each(|normal| *normal = turned(*normal));
        for element in &mut self.elements {
            if let Form::Polygon { normal: Some(normal), .. } = &mut element.form {
                *normal = turned(*normal);
            }
        }
        self.fit();
    }

    /// Moves all into a cube from 0 to 1.
    fn fit(&mut self) {
        let all = self.elements.iter().flat_map(|element| self.bounds(element)).flatten();
        let (least, most) =
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), part| (least.min(part), most.max(part)));
        let scale = if most > least { 1.0 / (most - least) } else { 1.0 };
        let fitted = |place: Vector| place.map(|part| (part - least) * scale);
        for element in &mut self.elements {
            if let Form::Sphere { centre, radius } = &mut element.form {
                (*centre, *radius) = (fitted(*centre), *radius * scale);
            }
        }
        self.vertices.iter_mut().for_each(|place| *place = fitted(*place));
    }
}
