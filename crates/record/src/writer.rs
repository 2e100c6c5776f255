//! Streaming writers: JSON lines and CSV, a record a line, flushed as it is written.

use std::io::{self, Write};
use std::marker::PhantomData;

use serde_json::Value;

use crate::provenance::Line;
use crate::{Provenance, Row};

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    JsonLines,
    /// A header line, then one line a record. The elements of a list are joined by spaces, every key of a map has a column of its
    /// own, an absent value is empty. Lists of parts are left out.
    Csv,
}

/// Why a record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The destination failed.
    #[error("cannot write a record: {0}")]
    Io(#[from] io::Error),
    /// The record cannot be expressed in the format.
    #[error("cannot serialise a record: {0}")]
    Serialise(#[from] serde_json::Error),
    /// The CSV writer failed.
    #[error("cannot write a record as CSV: {0}")]
    Csv(csv::Error),
    /// A map has a key that the header has no column for.
    #[error("cannot write a record as CSV: the header has no column {0}")]
    NoColumn(String),
}

impl From<csv::Error> for WriteError {
    fn from(error: csv::Error) -> Self {
        match error.kind() {
            // An error of input or output is the destination's, whatever the format.
            csv::ErrorKind::Io(_) => Self::Io(error.into()),
            _ => Self::Csv(error),
        }
    }
}

enum Sink<W: Write> {
    JsonLines(W),
    Csv(Box<csv::Writer<W>>),
}

/// A column of CSV: a field, or what a map has for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CsvColumn {
    Field(&'static str),
    Entry(&'static str, String),
}

impl CsvColumn {
    fn heading(&self) -> String {
        match self {
            Self::Field(name) => (*name).to_owned(),
            Self::Entry(map, key) => format!("{map}.{key}"),
        }
    }

    fn cell(&self, line: &Value) -> String {
        match self {
            Self::Field(name) => cell(&line[*name]),
            Self::Entry(map, key) => cell(&line[*map][key]),
        }
    }
}

/// Writes records of one type to `W`, flushing after each.
///
/// ```
/// use record::{Format, Provenance, RecordWriter, VerificationResult, VerificationRow};
///
/// let mut out = Vec::new();
/// let mut writer = RecordWriter::new(Format::Csv, &mut out, Provenance::of_software("1.0", None));
/// writer.write(&VerificationRow {
///     protocol: "origin".into(), caches: 2, lines: 1, states: 10, depth: 4,
///     result: VerificationResult::Ok, seconds: 0.5,
/// })?;
/// drop(writer);
/// let text = String::from_utf8_lossy(&out);
/// assert!(text.starts_with("protocol,caches,lines,states,depth,result,seconds,record,schema,"));
/// assert!(text.ends_with("\norigin,2,1,10,4,ok,0.5,verification,1,1.0,,,,,,\n"));
/// # Ok::<(), record::WriteError>(())
/// ```
pub struct RecordWriter<W: Write, R: Row> {
    sink: Sink<W>,
    provenance: Provenance,
    /// Keys of maps that have columns of CSV even if the first record has them not.
    keys: Vec<(&'static str, String)>,
    /// The columns of CSV, once the first record is there.
    columns: Option<Vec<CsvColumn>>,
    rows: PhantomData<fn(&R)>,
}

impl<W: Write, R: Row> RecordWriter<W, R> {
    /// A writer to `destination` of records with this origin; a CSV header is written with the first record.
    pub fn new(format: Format, destination: W, provenance: Provenance) -> Self {
        let sink = match format {
            Format::JsonLines => Sink::JsonLines(destination),
            Format::Csv => Sink::Csv(Box::new(csv::Writer::from_writer(destination))),
        };
        Self { sink, provenance, keys: Vec::new(), columns: None, rows: PhantomData }
    }

    /// Changes the origin of the records that follow.
    pub fn set_provenance(&mut self, provenance: Provenance) {
        self.provenance = provenance;
    }

    /// Has CSV provide columns for these keys of a map, for records that do not all have the same: to be called before the first.
    pub fn expect_keys(&mut self, map: &'static str, keys: impl IntoIterator<Item = String>) {
        self.keys.extend(keys.into_iter().map(|key| (map, key)));
    }

    /// Writes one record and flushes.
    ///
    /// # Errors
    /// When the destination fails, or the record holds something that the format cannot express.
    pub fn write(&mut self, row: &R) -> Result<(), WriteError> {
        let line = Line::new(row, &self.provenance);
        match &mut self.sink {
            Sink::JsonLines(destination) => write_line(destination, &line),
            Sink::Csv(writer) => {
                let line = serde_json::to_value(&line)?;
                let columns = match &mut self.columns {
                    Some(columns) => columns,
                    columns => {
                        let columns = columns.insert(csv_columns::<R>(&line, &self.keys));
                        writer.write_record(columns.iter().map(CsvColumn::heading))?;
                        columns
                    }
                };
                if let Some(missing) = entries::<R>(&line).find(|entry| !columns.contains(entry)) {
                    return Err(WriteError::NoColumn(missing.heading()));
                }
                writer.write_record(columns.iter().map(|column| column.cell(&line)))?;
                Ok(writer.flush()?)
            }
        }
    }

    /// All records are written: CSV without any has a header nevertheless.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        if let (Sink::Csv(writer), None) = (&mut self.sink, &self.columns) {
            let columns = self.columns.insert(csv_columns::<R>(&Value::Null, &self.keys));
            writer.write_record(columns.iter().map(CsvColumn::heading))?;
            writer.flush()?;
        }
        Ok(())
    }

    /// Writes the description or the structure of a machine that the records are about, where the format can hold records of several kinds.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn describe<D: Row>(&mut self, machine: &D) -> Result<(), WriteError> {
        match &mut self.sink {
            Sink::JsonLines(destination) => write_line(destination, &Line::new(machine, &self.provenance)),
            Sink::Csv(_) => Ok(()),
        }
    }
}

/// One write a line: a reader of the file never sees half a record.
fn write_line<R: Row>(destination: &mut impl Write, line: &Line<'_, R>) -> Result<(), WriteError> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    destination.write_all(&text)?;
    Ok(destination.flush()?)
}

/// The columns of CSV, where `line` is the first.
fn csv_columns<R: Row>(line: &Value, keys: &[(&'static str, String)]) -> Vec<CsvColumn> {
    let mut columns = Vec::new();
    let fields = R::COLUMNS.iter().chain(&Line::<'_, R>::COLUMNS);
    for field in fields.filter(|field| !R::PARTS.contains(field)) {
        if !R::MAPS.contains(field) {
            columns.push(CsvColumn::Field(field));
            continue;
        }
        let expected = keys.iter().filter(|(map, _)| map == field).map(|(_, key)| CsvColumn::Entry(field, key.clone()));
        let mut of_map: Vec<CsvColumn> =
            entries::<R>(line).filter(|entry| matches!(entry, CsvColumn::Entry(map, _) if map == field)).collect();
        of_map.extend(expected);
        of_map.sort_by_key(CsvColumn::heading);
        of_map.dedup();
        columns.append(&mut of_map);
    }
    columns
}

/// The entries of the maps of a record.
fn entries<R: Row>(line: &Value) -> impl Iterator<Item = CsvColumn> {
    let maps = R::MAPS.iter().filter_map(|map| Some((*map, line[*map].as_object()?)));
    maps.flat_map(|(map, entries)| entries.keys().map(move |key| CsvColumn::Entry(map, key.clone())))
}

/// A value as the text of a CSV cell.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(" "),
        // No column holds an object: maps and lists of parts are named by their rows.
        Value::Object(_) | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
