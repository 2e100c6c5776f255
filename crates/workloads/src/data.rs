//! Data on which a program works in place of its own: a matrix or a scene, from a file or built in.

use crate::matrix::Matrix;
use crate::parameter::Parameter;
use crate::scene::Scene;

/// Data for a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data {
    /// A matrix to factor.
    Matrix(&'static Matrix),
    /// A scene to render.
    Scene(&'static Scene),
}

/// A kind of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataKind {
    /// [`Data::Matrix`].
    Matrix,
    /// [`Data::Scene`].
    Scene,
}

/// Data among the parameters of a program, by their digest.
const fn parameter(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, default: 0, least: 0, most: u64::MAX, powers_of: None, below_threads: None }
}

static MATRIX: Parameter = parameter("matrix", "Digest of the matrix that is factored in place of the mesh's");
static SCENE: Parameter = parameter("scene", "Digest of the scene that is rendered in place of the flake");

impl DataKind {
    /// The parameter that records have of it, whose name is the flag.
    pub(crate) fn parameter(self) -> &'static Parameter {
        match self {
            Self::Matrix => &MATRIX,
            Self::Scene => &SCENE,
        }
    }

    /// The refusal of a program that takes no such data, in words, and a program that takes it.
    pub(crate) const fn use_of(self) -> (&'static str, &'static str) {
        match self {
            Self::Matrix => ("factors no matrix", "cholesky"),
            Self::Scene => ("renders no scene", "raytrace"),
        }
    }
}

impl Data {
    /// Its kind.
    pub const fn kind(&self) -> DataKind {
        match self {
            Self::Matrix(_) => DataKind::Matrix,
            Self::Scene(_) => DataKind::Scene,
        }
    }

    /// A number that tells it from others in records.
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Matrix(matrix) => matrix.number(),
            Self::Scene(scene) => scene.number(),
        }
    }

    /// Its name, or that of its file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Matrix(matrix) => matrix.name(),
            Self::Scene(scene) => scene.name(),
        }
    }
}

impl From<&'static Matrix> for Data {
    fn from(matrix: &'static Matrix) -> Self {
        Self::Matrix(matrix)
    }
}

impl From<&'static Scene> for Data {
    fn from(scene: &'static Scene) -> Self {
        Self::Scene(scene)
    }
}
