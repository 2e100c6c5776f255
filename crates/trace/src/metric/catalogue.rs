//! The metrics that are declared: `counters/*.toml`, built in, and files of the user's own.

use serde::{Deserialize, Serialize};

use super::formula::{self, FormulaError};
use crate::ObjectKind;

/// A metric: a formula with a name and a meaning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name in flags and columns: `alocal`.
    pub name: String,
    /// The kind of the objects that have it.
    pub of: ObjectKind,
    /// Its unit: `%`, `MB/s`, `ns`, or nothing.
    #[serde(default)]
    pub unit: String,
    /// Its meaning, in one line.
    pub what: String,
    /// How it follows from counters.
    pub formula: String,
    /// Digits after the point.
    #[serde(default = "two")]
    pub digits: u8,
    /// Whether it is shown by default, without being asked for by name.
    #[serde(default)]
    pub main: bool,
    /// The group that declares it.
    #[serde(skip)]
    pub group: String,
}

fn two() -> u8 {
    2
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    group: String,
    /// The subject of the group; for readers of the file.
    #[serde(rename = "what")]
    _what: String,
    #[serde(default, rename = "metric")]
    metrics: Vec<Metric>,
}

/// Why a declaration of metrics is refused.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// It is no TOML, or has other keys.
    #[error("{file}: {source}")]
    Toml {
        /// The file.
        file: String,
        /// The error of the TOML.
        source: Box<toml::de::Error>,
    },
    /// A formula is none.
    #[error("{file}: metric {metric}: formula `{formula}`: {source}")]
    Formula {
        /// The file.
        file: String,
        /// The metric.
        metric: String,
        /// Its formula.
        formula: String,
        /// The problem with the formula.
        source: FormulaError,
    },
}

/// The metrics that a declaration has; `file` names it in errors.
///
/// # Errors
/// When it cannot be understood, with the place.
pub fn parse(file: &str, text: &str) -> Result<Vec<Metric>, CatalogueError> {
    let group: Group = toml::from_str(text)
        .map_err(|source| CatalogueError::Toml { file: file.to_owned(), source: Box::new(source) })?;
    let declared = |mut metric: Metric| {
        metric.group.clone_from(&group.group);
        match formula::check(&metric.formula) {
            Ok(()) => Ok(metric),
            Err(source) => {
                let (file, formula) = (file.to_owned(), metric.formula);
                Err(CatalogueError::Formula { file, metric: metric.name, formula, source })
            }
        }
    };
    group.metrics.into_iter().map(declared).collect()
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("counters/", $name, ".toml"), include_str!(concat!("../../../../counters/", $name, ".toml")))),*]
    };
}

/// The files that are built in; a new one is a name here. Of metrics with the same name the first that can be computed counts.
const FILES: &[(&str, &str)] = built_in![
    "linux-nodes",
    "linux-threads",
    "origin-nodes",
    "router-ports",
    "r10000-threads",
    "flash-nodes",
    "simulated",
];

/// The metrics that are built in.
///
/// # Panics
/// If a file that is built in is wrong, which a test would have found.
pub fn built_in() -> Vec<Metric> {
    let parsed = |(file, text): &(&str, &str)| parse(file, text).unwrap_or_else(|error| panic!("{error}"));
    FILES.iter().flat_map(parsed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_right_and_says_what_it_is() {
        let metrics = built_in();
        assert!(metrics.len() > 10);
        for metric in &metrics {
            assert!(!metric.what.is_empty() && !metric.what.contains('\n'), "{}", metric.name);
            assert_eq!(crate::Counter::name_from(&metric.name), metric.name);
        }
    }

    #[test]
    fn mistakes_name_file_and_metric() {
        let text =
            "group = \"g\"\nwhat = \"w\"\n[[metric]]\nname = \"m\"\nof = \"node\"\nwhat = \"x\"\nformula = \"1 +\"\n";
        let error = parse("f.toml", text).unwrap_err().to_string();
        assert!(error.starts_with("f.toml: metric m: formula `1 +`: at character 4"), "{error}");
        let error = parse("f.toml", &text.replace("of =", "off =")).unwrap_err().to_string();
        assert!(error.starts_with("f.toml: TOML parse error at line 5"), "{error}");
    }
}
