//! Fitting models to measurements: what to measure for each model, and what records of measurements say.
//!
//! Records are all that passes from one to the other, so that a fit of saved records and one of a fresh probe are the same.

mod against;
mod analysis;
mod announced;
mod confirmation;
mod findings;
mod levels;
mod list;
mod neighbours;
mod probe;
mod repeated;
mod server;
mod unloaded;

pub use against::{Against, Errors, Repetition, Skipped};
pub use analysis::{Analysis, analyse, doubtful};
pub use announced::{AnnouncedCache, beside_announced};
pub use confirmation::{Comparison, compare, disagreement};
pub use findings::{Identity, findings};
pub use levels::levels_in_words;
pub use probe::{Job, Surroundings, jobs};
pub use server::{Described, Mapping, describe_server, pairs_in_words};
pub use unloaded::unloaded;

use std::fmt;
use std::str::FromStr;

/// A model of the memory hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// Random windows: the step function of Seidl 1997; on a machine of which nothing is known, with as many levels as the
    /// data support.
    Seidl,
    /// Latency by distance (Prestor 2001 section 4.3.2).
    Remote,
    /// Caches and translation buffer from a P3 diagram (Prestor 2001 section 2.1).
    Caches,
}

impl Model {
    /// All models.
    pub const ALL: [Self; 3] = [Self::Caches, Self::Remote, Self::Seidl];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seidl => "seidl",
            Self::Remote => "remote",
            Self::Caches => "caches",
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no model has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("--model {name}: there is no such model; accepted: seidl remote caches all")]
pub struct UnknownModel {
    name: String,
}

impl FromStr for Model {
    type Err = UnknownModel;

    fn from_str(name: &str) -> Result<Self, UnknownModel> {
        let found = Self::ALL.into_iter().find(|model| model.name() == name);
        found.ok_or_else(|| UnknownModel { name: name.to_owned() })
    }
}
