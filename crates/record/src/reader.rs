//! Records read back from JSON lines. Whatever is no record of this schema is refused with its line.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{ComputerRow, DescriptionRow, Provenance, Row, SCHEMA_VERSION};

/// Contents of a file of results.
#[derive(Clone, Debug)]
pub struct Contents<R> {
    /// Its records of one kind, each with its origin.
    pub rows: Vec<(R, Provenance)>,
    /// The line of each of these records, from 1.
    pub lines: Vec<usize>,
    /// The machines that it describes.
    pub machines: Vec<DescriptionRow>,
    /// The machines whose structure it lists.
    pub computers: Vec<ComputerRow>,
}

/// A line that is no record, or none of the kind that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {problem}")]
pub struct ReadError {
    /// Its number, from 1.
    pub line: usize,
    /// The problem with it.
    pub problem: String,
}

/// Fields that every record has.
#[derive(Deserialize)]
struct Kind {
    record: String,
    #[serde(flatten)]
    provenance: Provenance,
}

/// The schema's version, read first, so that records of another schema are named as such.
#[derive(Deserialize)]
struct Schema {
    schema: Option<u32>,
}

/// Reads the records of the kind of `R` in `text`, and the machines described beside them. Empty lines are skipped.
///
/// # Errors
/// When a line is no JSON, a record of another schema, or of another kind.
pub fn read<R: Row + DeserializeOwned>(text: &str) -> Result<Contents<R>, ReadError> {
    let mut contents = Contents { rows: Vec::new(), lines: Vec::new(), machines: Vec::new(), computers: Vec::new() };
    // Windows' editors begin a file with a mark of the order of bytes.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (number, line) in lines {
        line_into(line, &mut contents).map_err(|problem| ReadError { line: number + 1, problem })?;
        // The line may have been of a machine.
        contents.lines.resize(contents.rows.len(), number + 1);
    }
    Ok(contents)
}

fn possible<R: Row>(row: R) -> Result<R, String> {
    row.check().map_err(|problem| format!("is impossible: {problem}"))?;
    Ok(row)
}

fn line_into<R: Row + DeserializeOwned>(line: &str, contents: &mut Contents<R>) -> Result<(), String> {
    let no_record = |error: serde_json::Error| format!("is not a record: {error}");
    match serde_json::from_str::<Schema>(line).map_err(no_record)?.schema {
        None => return Err("is not a record: the field `schema` is missing".to_owned()),
        Some(SCHEMA_VERSION) => {}
        Some(other) => return Err(format!("is a record of schema {other}; accepted: schema {SCHEMA_VERSION}")),
    }
    let Kind { record, provenance } = serde_json::from_str(line).map_err(no_record)?;
    match record.as_str() {
        kind if kind == R::KIND => {
            contents.rows.push((possible(serde_json::from_str(line).map_err(no_record)?)?, provenance));
        }
        ComputerRow::KIND => contents.computers.push(possible(serde_json::from_str(line).map_err(no_record)?)?),
        DescriptionRow::KIND => contents.machines.push(serde_json::from_str(line).map_err(no_record)?),
        other => return Err(format!("is a record of the kind {other}; accepted: {}", R::KIND)),
    }
    Ok(())
}
