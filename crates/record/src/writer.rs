//! Streaming writers: JSON lines and CSV, a record a line, flushed as it is written.

use std::io::{self, Write};
use std::marker::PhantomData;

use serde_json::Value;

use crate::Row;

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    JsonLines,
    /// A header line, then one line a record; the elements of a list are joined by spaces, named values as `name=value`, an
    /// absent value is empty. A list of parts is JSON.
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
}

impl From<csv::Error> for WriteError {
    fn from(error: csv::Error) -> Self {
        match error.kind() {
            // What went wrong is the destination's, whatever the format.
            csv::ErrorKind::Io(_) => Self::Io(error.into()),
            _ => Self::Csv(error),
        }
    }
}

enum Sink<W: Write> {
    JsonLines(W),
    Csv { writer: Box<csv::Writer<W>>, header_written: bool },
}

/// Writes records of one type to `W`, flushing after each.
///
/// ```
/// use record::{Format, RecordWriter, VerificationResult, VerificationRow};
///
/// let mut out = Vec::new();
/// let mut writer = RecordWriter::new(Format::Csv, &mut out);
/// writer.write(&VerificationRow {
///     protocol: "origin".into(), caches: 2, lines: 1, states: 10, depth: 4,
///     result: VerificationResult::Ok, seconds: 0.5,
/// })?;
/// drop(writer);
/// assert_eq!(String::from_utf8_lossy(&out), "protocol,caches,lines,states,depth,result,seconds\norigin,2,1,10,4,ok,0.5\n");
/// # Ok::<(), record::WriteError>(())
/// ```
pub struct RecordWriter<W: Write, R: Row> {
    sink: Sink<W>,
    rows: PhantomData<fn(&R)>,
}

impl<W: Write, R: Row> RecordWriter<W, R> {
    /// A writer to `destination`; a CSV header is written with the first record.
    pub fn new(format: Format, destination: W) -> Self {
        let sink = match format {
            Format::JsonLines => Sink::JsonLines(destination),
            Format::Csv => Sink::Csv { writer: Box::new(csv::Writer::from_writer(destination)), header_written: false },
        };
        Self { sink, rows: PhantomData }
    }

    /// Writes one record and flushes.
    ///
    /// # Errors
    /// When the destination fails, or the record holds something that JSON cannot express.
    pub fn write(&mut self, row: &R) -> Result<(), WriteError> {
        match &mut self.sink {
            Sink::JsonLines(destination) => {
                // One write a line: a reader of the file never sees half a record.
                let mut line = serde_json::to_vec(row)?;
                line.push(b'\n');
                destination.write_all(&line)?;
                destination.flush()?;
            }
            Sink::Csv { writer, header_written } => {
                let value = serde_json::to_value(row)?;
                if !*header_written {
                    writer.write_record(R::COLUMNS)?;
                    *header_written = true;
                }
                writer.write_record(R::COLUMNS.iter().map(|column| cell(&value[*column])))?;
                writer.flush()?;
            }
        }
        Ok(())
    }
}

/// A value as the text of a CSV cell.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) if parts.iter().any(Value::is_object) => value.to_string(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(" "),
        Value::Object(named) => {
            named.iter().map(|(name, value)| format!("{name}={}", cell(value))).collect::<Vec<_>>().join(" ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
