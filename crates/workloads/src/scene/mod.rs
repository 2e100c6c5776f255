//! Scenes for programs that render them: from files of SPLASH-2's raytrace, or made here.

mod environment;
mod flake;
mod geometry;
mod vehicle;
mod words;

use std::fmt;
use std::hash::Hasher;
use std::path::Path;
use std::sync::OnceLock;

use rustc_hash::FxHasher;
use units::Bytes;

pub(crate) use environment::{Environment, Grids};
pub(crate) use flake::flake;
pub(crate) use geometry::{Element, Form, Geometry, Surface};
pub use words::SceneError;

/// The most of a scene's file.
const MOST: Bytes = Bytes::from_mib(1 << 9);
/// Bits of a digest: numbers of records are exact up to 2^53.
const DIGEST_BITS: u32 = 53;
/// The extension of a file of geometry, which is looked at as SPLASH-2 does by default.
const GEOMETRY: &str = "geo";

/// A scene: what is in it, in a cube from 0 to 1, and how it is seen.
pub struct Scene {
    name: String,
    pub(crate) environment: Environment,
    pub(crate) geometry: Geometry,
    digest: u64,
}

/// Scenes are equal if their digests are.
impl PartialEq for Scene {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Scene {}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scene({}, {} elements)", self.name, self.elements())
    }
}

/// Makes a built-in scene.
type Make = fn() -> (Environment, Geometry);

/// The scenes that are built in, by name.
static BUILT_IN: [(&str, Make, OnceLock<Scene>); 1] = [("vehicle", vehicle::vehicle, OnceLock::new())];

impl Scene {
    /// The built-in scene called `name`, or else the one in the file of that name: an environment, or a geometry. It is kept
    /// as long as the process runs.
    ///
    /// # Errors
    /// When there is neither, or a file is not what SPLASH-2's raytrace reads.
    pub fn named(name: &str) -> Result<&'static Self, SceneError> {
        if let Some((known, make, scene)) = BUILT_IN.iter().find(|(known, ..)| *known == name) {
            return Ok(scene.get_or_init(|| {
                let (environment, geometry) = make();
                Self::new(known, environment, geometry)
            }));
        }
        let accepted = format!("{}, or a file of SPLASH-2's raytrace: an environment or a geometry", Self::names());
        let text = read(name, &accepted)?;
        let scene = if Path::new(name).extension().is_some_and(|extension| extension == GEOMETRY) {
            Self::seen(name, Environment::default(), Geometry::read(name, &text)?)?
        } else {
            Self::read(name, &text)?
        };
        Ok(Box::leak(Box::new(scene)))
    }

    /// The names of the built-in scenes.
    pub fn names() -> String {
        BUILT_IN.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
    }

    /// The scene of the environment in `text`, which was read from the file called `name`.
    ///
    /// # Errors
    /// As [`Self::named`].
    fn read(name: &str, text: &str) -> Result<Self, SceneError> {
        let environment = Environment::read(name, text)?;
        let Some((file, line)) = &environment.geometry else { unreachable!("an environment names a geometry") };
        let found = candidates(name, file).into_iter().find(|candidate| Path::new(candidate).exists());
        let Some(found) = found else {
            return Err(SceneError {
                file: name.to_owned(),
                line: Some(*line),
                problem: format!("there is no file {file}"),
                accepted: "the geometry's file, from where the command runs or beside the environment's file"
                    .to_owned(),
            });
        };
        let text = read(&found, "a geometry of SPLASH-2's raytrace")?;
        let geometry = Geometry::read(&found, &text)?;
        Self::seen(name, environment, geometry)
    }

    /// The scene with its geometry where the environment puts it.
    fn seen(name: &str, environment: Environment, mut geometry: Geometry) -> Result<Self, SceneError> {
        if environment.eye == environment.centre {
            return Err(SceneError {
                file: name.to_owned(),
                line: None,
                problem: "the eye is where it looks".to_owned(),
                accepted: "eye and center in two places".to_owned(),
            });
        }
        geometry.place(&environment.model);
        Ok(Self::new(name, environment, geometry))
    }

    pub(crate) fn new(name: &str, environment: Environment, geometry: Geometry) -> Self {
        let mut hasher = FxHasher::default();
        // Both are plain data, whose text has every number.
        hasher.write(format!("{environment:?}{geometry:?}").as_bytes());
        let digest = (hasher.finish() >> (u64::BITS - DIGEST_BITS)).max(1);
        Self { name: name.to_owned(), environment, geometry, digest }
    }

    /// A number that tells it from others in records.
    pub(crate) fn number(&self) -> u64 {
        self.digest
    }

    /// Its name, or that of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many spheres, polygons and triangles are in it.
    pub fn elements(&self) -> usize {
        self.geometry.elements.len()
    }
}

/// Files that the name of a geometry in the environment `name` may stand for: SPLASH-2 means one from where it is started.
fn candidates(name: &str, file: &str) -> Vec<String> {
    let beside = |file: &Path| Path::new(name).with_file_name("").join(file).to_string_lossy().into_owned();
    let last = Path::new(file).file_name().map(|last| beside(Path::new(last)));
    [file.to_owned(), beside(Path::new(file))].into_iter().chain(last).collect()
}

/// The text of a file.
fn read(name: &str, accepted: &str) -> Result<String, SceneError> {
    input::text(Path::new(name), MOST).map_err(|error| SceneError {
        file: name.to_owned(),
        line: None,
        problem: format!("cannot be read: {error}"),
        accepted: accepted.to_owned(),
    })
}

#[cfg(test)]
mod tests;
