//! The composite coherence states that can be prepared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::PlanError;

/// The state of the lines as the requester finds them: directory, owner's or sharers' caches, and the transaction that
/// results (Prestor 2001 Table 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// No other cache has the line.
    Uown,
    /// Caches share the line; the requester's own copy is kept only for upgrades.
    Shrd,
    /// A remote cache owns the line and holds it clean.
    Cexh,
    /// A remote cache owns the line according to the directory, but has dropped it.
    Cexm,
    /// A remote cache owns the line modified; the request downgrades it.
    Dexd,
    /// A remote cache owns the line modified; the request transfers it.
    Dext,
}

impl State {
    /// All states, in the order of the thesis.
    pub const ALL: [Self; 6] = [Self::Uown, Self::Shrd, Self::Cexh, Self::Cexm, Self::Dexd, Self::Dext];

    /// The name in the thesis.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uown => "UOWN",
            Self::Shrd => "SHRD",
            Self::Cexh => "CEXH",
            Self::Cexm => "CEXM",
            Self::Dexd => "DEXD",
            Self::Dext => "DEXT",
        }
    }

    /// Whether a remote processor must own the lines.
    pub fn needs_owner(self) -> bool {
        matches!(self, Self::Cexh | Self::Cexm | Self::Dexd | Self::Dext)
    }
}

/// States by name, as an error message lists them.
pub(crate) fn names(states: impl IntoIterator<Item = State>) -> String {
    states.into_iter().map(State::name).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for State {
    type Err = PlanError;

    /// By name, in any case.
    fn from_str(name: &str) -> Result<Self, PlanError> {
        let found = Self::ALL.into_iter().find(|state| state.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| PlanError::new("--state", name, "unknown coherence state", names(Self::ALL)))
    }
}
