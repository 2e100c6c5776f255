//! Kinds of traces: a file of ours, or one of another tool.

use std::path::Path;

use crate::file::{FAMILY, ReferenceFile};
use crate::import::{DrMemTrace, Lackey};
use crate::source::{ReferenceError, Source, beginning};

/// The trace at `path`, of whichever kind it is.
///
/// # Errors
/// It cannot be read, or is no trace.
pub fn open(path: &Path) -> Result<Box<dyn Source>, ReferenceError> {
    if path.is_dir() || DrMemTrace::is_one(path)? {
        return Ok(Box::new(DrMemTrace::open(path)?));
    }
    let start = beginning(path, 256)?;
    if start.starts_with(FAMILY) {
        return Ok(Box::new(ReferenceFile::open(path)?));
    }
    if Lackey::is_one(&start) {
        return Ok(Box::new(Lackey::open(path)?));
    }
    Err(ReferenceError::Unknown { path: path.to_owned() })
}
