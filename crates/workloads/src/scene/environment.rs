//! Environment files of SPLASH-2's raytrace (`.env`): the view, lights, and how the scene is to be rendered.

use super::words::{SceneError, Words};
use crate::splash::vector::Vector;

/// The most pixels along a side, as SPLASH-2 has it.
const MOST_PIXELS: u32 = 4096;

/// A light.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Light {
    pub(crate) place: Vector,
    pub(crate) colour: Vector,
    /// Whether it throws shadows.
    pub(crate) shadow: bool,
}

/// The hierarchy of uniform grids in which elements are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grids {
    /// Cells along each axis of a grid.
    pub(crate) cells: usize,
    /// Elements of a cell that is not divided.
    pub(crate) elements: usize,
    /// Buckets of the table in which a grid's cells are found.
    pub(crate) buckets: usize,
    /// Grids below the first one in any cell.
    pub(crate) levels: usize,
}

/// The view of a scene, its lights, and how it is rendered. Places are those of a scene in a cube from 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Environment {
    pub(crate) eye: Vector,
    pub(crate) centre: Vector,
    pub(crate) background: Vector,
    pub(crate) ambient: Vector,
    /// The angle of view, in degrees.
    pub(crate) angle: f64,
    pub(crate) lights: Vec<Light>,
    /// Pixels in a row and in a column.
    pub(crate) resolution: [u32; 2],
    /// Generations of rays, and how little a ray may still show.
    pub(crate) levels: u32,
    pub(crate) weight: f64,
    pub(crate) shadows: bool,
    pub(crate) shading: bool,
    pub(crate) perspective: bool,
    pub(crate) model: [[f64; 4]; 4],
    pub(crate) grids: Grids,
    /// Pixels in a row and in a column of what a thread takes from a queue at once.
    pub(crate) bundle: [u32; 2],
    /// The geometry's file, and the line on which it is named.
    pub(crate) geometry: Option<(String, usize)>,
}

/// Every element in one cell: no hierarchy.
const LIST: Grids = Grids { cells: 1, elements: usize::MAX, buckets: 1, levels: 0 };
/// A hierarchy whose size is not given: SPLASH-2's.
const GRIDS: Grids = Grids { cells: 5, elements: 2, buckets: 23, levels: 1 };

/// SPLASH-2's defaults.
impl Default for Environment {
    fn default() -> Self {
        let identity = std::array::from_fn(|row| std::array::from_fn(|column| f64::from(u8::from(row == column))));
        Self {
            eye: [0.5, 0.5, -1.5],
            centre: [0.5; 3],
            background: [0.0, 0.0, 0.8],
            ambient: [0.1; 3],
            angle: 60.0,
            lights: Vec::new(),
            resolution: [100, 100],
            levels: 5,
            weight: 0.001,
            shadows: true,
            shading: true,
            perspective: true,
            model: identity,
            grids: GRIDS,
            bundle: [25, 25],
            geometry: None,
        }
    }
}

/// The light of a scene without any.
const LIGHT: Light = Light { place: [0.0, 0.0, -2000.0], colour: [1.0; 3], shadow: true };

/// The commands, for those who used another.
const COMMANDS: &str = "eye, center, light, resolution, shadows, background, viewangle, antilevel, minweight, project, \
    antitolerance, maxlevel, modelxform, shading, geometry, traversal, rlfile, ambient, hu_maxprims, hu_gridsize, \
    hu_numbuckets, hu_maxsubdiv, hu_lazy, bundle, block, normdata, datatype, bfcull, fill, spheretess";

/// Reader of an environment: word by word, until the text ends.
struct Reader<'a> {
    words: Words<'a>,
    own: Environment,
    grids: Grids,
    list: bool,
}

impl Environment {
    /// Reads the environment in `text`, which errors call `file`.
    ///
    /// # Errors
    /// When it is no environment of SPLASH-2's, or names no geometry.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, SceneError> {
        let words = Words::new(file, text);
        let mut reader = Reader { words, own: Self::default(), grids: GRIDS, list: true };
        while let Some(command) = reader.words.next() {
            reader.obey(command)?;
        }
        let Reader { words, mut own, grids, list } = reader;
        if own.geometry.is_none() {
            return Err(words.wrong("it names no geometry", "geometry FILE"));
        }
        own.grids = if list { LIST } else { grids };
        if own.lights.is_empty() {
            own.lights.push(LIGHT);
        }
        Ok(own)
    }
}

impl Reader<'_> {
    /// Reads what belongs to a command.
    fn obey(&mut self, command: &str) -> Result<(), SceneError> {
        let Self { words, own, grids, list } = self;
        match command {
            "eye" => own.eye = words.numbers("a coordinate of the eye")?,
            "center" => own.centre = words.numbers("a coordinate of the centre")?,
            "background" => own.background = words.colour("a part of the background")?,
            "ambient" => own.ambient = words.colour("a part of the ambient light")?,
            "viewangle" => own.angle = words.number("an angle of view", 0.0..=100.0)?,
            "light" => {
                let (place, colour) =
                    (words.numbers("a coordinate of a light")?, words.colour("a part of a light's colour")?);
                let shadow = words.number("whether a light throws shadows", 0..=i64::MAX)? != 0;
                own.lights.push(Light { place, colour, shadow });
            }
            "resolution" => own.resolution = Self::pair(words, "a number of pixels", MOST_PIXELS)?,
            "maxlevel" => own.levels = words.number("the generations of rays", 0..=5)?,
            "minweight" => own.weight = words.number("the least weight of a ray", 0.0..=1.0)?,
            "shadows" => own.shadows = Self::choice(words, "shadows", ["off", "on"])?,
            "shading" => own.shading = Self::choice(words, "shading", ["off", "on"])?,
            "project" => own.perspective = Self::choice(words, "a projection", ["orthographic", "perspective"])?,
            "modelxform" => {
                for row in &mut own.model {
                    *row = words.numbers("a number of the matrix")?;
                }
            }
            "traversal" => *list = Self::choice(words, "a traversal", ["huniform", "list"])?,
            "hu_maxprims" => grids.elements = words.number("elements of a cell", 1..=1 << 20)?,
            "hu_gridsize" => grids.cells = words.number("cells along an axis of a grid", 1..=256)?,
            "hu_numbuckets" => grids.buckets = words.number("buckets of a grid", 1..=1 << 20)?,
            "hu_maxsubdiv" => grids.levels = words.number("levels of grids", 0..=3)?,
            "bundle" => own.bundle = Self::pair(words, "pixels of a bundle", MOST_PIXELS)?,
            "geometry" => own.geometry = Some((words.word("the geometry's file")?.to_owned(), words.line())),
            _ => self.ignore(command)?,
        }
        Ok(())
    }

    /// Reads what belongs to a command that changes nothing here: pictures go to no file, the hierarchy is whole before rays are
    /// traced, blocks are what threads make of them, and pixels have one ray each.
    fn ignore(&mut self, command: &str) -> Result<(), SceneError> {
        let words = &mut self.words;
        match command {
            "rlfile" | "spheretess" => drop(words.word("a word")?),
            "bfcull" | "fill" | "hu_lazy" => drop(words.number("a number", i64::MIN..=i64::MAX)?),
            "block" => drop(Self::pair(words, "blocks", u32::MAX)?),
            "antilevel" => drop(words.number("a level", 0..=3)?),
            "antitolerance" => drop(words.number("a tolerance", 0.0..=1.0)?),
            "normdata" => drop(Self::choice(words, "whether data are normalised", ["no", "yes"])?),
            "datatype" => {
                if !Self::choice(words, "a type of data", ["binary", "ascii"])? {
                    return Err(words.wrong("binary geometry cannot be read", "datatype ascii"));
                }
            }
            _ => return Err(words.wrong(format!("there is no command `{}`", command.escape_debug()), COMMANDS)),
        }
        Ok(())
    }

    fn pair(words: &mut Words<'_>, what: &str, most: u32) -> Result<[u32; 2], SceneError> {
        Ok([words.number(what, 1..=most)?, words.number(what, 1..=most)?])
    }

    /// Whether the next word is the second of two.
    fn choice(words: &mut Words<'_>, what: &str, [first, second]: [&str; 2]) -> Result<bool, SceneError> {
        match words.word(what)? {
            word if word == first => Ok(false),
            word if word == second => Ok(true),
            other => {
                Err(words.wrong(format!("`{}` is not {what}", other.escape_debug()), format!("{first} or {second}")))
            }
        }
    }
}
