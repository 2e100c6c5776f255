//! Where descriptions come from: built-in texts and files, and the ancestors that each names.

use std::path::{Path, PathBuf};

use super::catalogue;
use super::error::DescriptionError;
use super::kind::Raw;
use super::layer::{Layer, Located, wrong_type};

/// The source of a description's text.
#[derive(Clone, PartialEq)]
pub(super) enum Source {
    BuiltIn { name: String, text: String },
    File(PathBuf),
}

impl Source {
    /// The source named `name`; a relative path is resolved in the folder of `from`.
    pub(super) fn named(name: &str, from: Option<&Source>) -> Option<Self> {
        if let Some(text) = catalogue::text(name) {
            return Some(Self::BuiltIn { name: name.into(), text });
        }
        if !name.contains('/') && !name.ends_with(".toml") {
            return None;
        }
        let folder = match from {
            Some(Self::File(path)) => path.parent().unwrap_or(Path::new("")),
            _ => Path::new(""),
        };
        Some(Self::File(folder.join(name)))
    }

    /// The file's name in messages.
    fn label(&self) -> String {
        match self {
            Self::BuiltIn { name, .. } if catalogue::is_stored(name) => format!("machines/{name}.toml"),
            Self::BuiltIn { name, .. } => name.clone(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The layer of its own keys.
    fn layer(&self, text: &str) -> Result<Layer, DescriptionError> {
        match self {
            Self::BuiltIn { name, .. } if !catalogue::is_stored(name) => Layer::of_name(name, text),
            _ => Layer::parse(&self.label(), text),
        }
    }

    /// The name of the machine, if the file sets none.
    pub(super) fn stem(&self) -> String {
        match self {
            Self::BuiltIn { name, .. } => name.clone(),
            Self::File(path) => path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        }
    }

    pub(super) fn text(&self) -> Result<String, DescriptionError> {
        match self {
            Self::BuiltIn { text, .. } => Ok(text.clone()),
            Self::File(path) => input::text(path, input::WRITTEN).map_err(|error| DescriptionError::Unreadable {
                path: path.display().to_string(),
                reason: error.to_string(),
            }),
        }
    }
}

/// The file and its ancestors, the file first.
pub(super) fn inheritance(source: Source, text: &str) -> Result<Vec<Layer>, DescriptionError> {
    let mut layers = vec![source.layer(text)?];
    let mut visited = vec![source];
    loop {
        let (layer, from) = (&layers[layers.len() - 1], &visited[visited.len() - 1]);
        let Some(located) = layer.get("inherit") else { return Ok(layers) };
        let parent = parent_of(located, from)?;
        if visited.iter().any(|seen| seen.label() == parent.label()) {
            let chain: Vec<_> = visited.iter().chain([&parent]).map(Source::label).collect();
            let entry = located.entry("inherit");
            return Err(DescriptionError::Circle { entry, chain: chain.join(" -> ") });
        }
        let text = parent.text().map_err(|error| match error {
            DescriptionError::Unreadable { path, reason } => {
                inherit_error(located, &format!("{path} cannot be read: {reason}"))
            }
            other => other,
        })?;
        layers.push(parent.layer(&text)?);
        visited.push(parent);
    }
}

fn parent_of(located: &Located, from: &Source) -> Result<Source, DescriptionError> {
    let accepted = "the name of a machine, or the path of a .toml file relative to this one";
    let Raw::Text(name) = &located.raw else { return Err(wrong_type("inherit", located, accepted)) };
    Source::named(name, Some(from)).ok_or_else(|| {
        let known = catalogue::all().map(|entry| entry.name);
        let reason = match input::nearest(name, known) {
            Some(near) => format!("unknown machine, did you mean {near}?"),
            None => "unknown machine".into(),
        };
        inherit_error(located, &reason)
    })
}

fn inherit_error(located: &Located, reason: &str) -> DescriptionError {
    let known: Vec<_> = catalogue::all().map(|entry| entry.name).collect();
    DescriptionError::Impossible {
        entry: located.entry("inherit"),
        reason: reason.into(),
        accepted: format!("{}, or the path of a .toml file relative to this one", known.join(" ")),
    }
}
