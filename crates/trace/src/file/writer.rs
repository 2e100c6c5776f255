//! Writing a trace, batch after batch, so that what was flushed is there whatever happens to the writer.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};

use super::{Event, columns};
use crate::{Counter, Object, ObjectKind, Preamble, Value};

/// Rows after which a batch is written even if nobody asks for it.
const ROWS: usize = 4096;
/// Room for the names of a batch, in bytes.
const NAME_ROOM: usize = 8;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The destination failed.
    #[error("cannot write the trace: {0}")]
    Io(#[from] io::Error),
    /// Arrow refuses it.
    #[error("cannot write the trace: {0}")]
    Arrow(ArrowError),
    /// JSON refuses the preamble or an event.
    #[error("cannot write the trace: {0}")]
    Json(#[from] serde_json::Error),
    /// Two counters have the same column, or a name that no counter may have.
    #[error("counter `{name}`: {problem}; accepted: {accepted}")]
    Counter {
        /// Its column.
        name: String,
        /// The problem with the name.
        problem: &'static str,
        /// Names that are accepted.
        accepted: &'static str,
    },
}

impl From<ArrowError> for WriteError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) => Self::Io(error),
            other => Self::Arrow(other),
        }
    }
}

/// The columns of one counter.
struct CounterColumn {
    values: UInt64Builder,
    /// Rows in it so far; rows of other kinds of objects are made up for when needed.
    rows: usize,
    counted: Option<Float32Builder>,
}

impl CounterColumn {
    /// Rows up to `row` hold nothing.
    fn pad(&mut self, row: usize) {
        if row > self.rows {
            self.values.append_nulls(row - self.rows);
            if let Some(counted) = &mut self.counted {
                counted.append_nulls(row - self.rows);
            }
            self.rows = row;
        }
    }

    fn append(&mut self, row: usize, value: Value) {
        self.pad(row);
        self.values.append_option(value.total);
        if let Some(counted) = &mut self.counted {
            counted.append_option(value.total.map(|_| value.counted));
        }
        self.rows = row + 1;
    }
}

/// Writes a trace. Rows gather in memory until [`flush`](Self::flush), which whoever samples calls at times; they are in the
/// hands of the operating system then, and survive the writer.
pub struct TraceWriter<W: Write> {
    stream: StreamWriter<W>,
    schema: SchemaRef,
    /// For each kind of object, the counters of that kind.
    of_kind: [Vec<usize>; ObjectKind::ALL.len()],
    time: UInt64Builder,
    object: UInt32Builder,
    name: StringBuilder,
    event: StringBuilder,
    detail: StringBuilder,
    counters: Vec<CounterColumn>,
    rows: usize,
    /// Name and kind of each object.
    objects: Vec<(String, ObjectKind)>,
}

impl<W: Write> TraceWriter<W> {
    /// Writes what stands before the samples.
    ///
    /// # Errors
    /// [`WriteError::Counter`] when counters have the same name, or one that formulas could not name; others when the
    /// destination fails.
    pub fn new(destination: W, preamble: &Preamble, counters: &[Counter]) -> Result<Self, WriteError> {
        check(counters)?;
        let schema = Arc::new(columns::schema(preamble, counters)?);
        let mut stream = StreamWriter::try_new(destination, &schema)?;
        stream.get_mut().flush()?;
        let of_kind = ObjectKind::ALL.map(|kind| (0..counters.len()).filter(|&i| counters[i].of == kind).collect());
        let column = |counter: &Counter| CounterColumn {
            values: UInt64Builder::with_capacity(ROWS),
            rows: 0,
            counted: counter.can_be_estimate().then(|| Float32Builder::with_capacity(ROWS)),
        };
        Ok(Self {
            stream,
            schema,
            of_kind,
            time: UInt64Builder::with_capacity(ROWS),
            object: UInt32Builder::with_capacity(ROWS),
            name: StringBuilder::with_capacity(ROWS, ROWS * NAME_ROOM),
            event: StringBuilder::new(),
            detail: StringBuilder::new(),
            counters: counters.iter().map(column).collect(),
            rows: 0,
            objects: Vec::new(),
        })
    }

    /// Makes an object known; the number by which rows name it.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn object(&mut self, time_ns: u64, object: &Object) -> Result<u32, WriteError> {
        let index = self.objects.len() as u32;
        self.objects.push((object.name.clone(), object.kind));
        self.event(time_ns, &Event::Object { index, object: object.clone() })?;
        Ok(index)
    }

    /// Tells an event. Objects are made known by [`object`](Self::object).
    ///
    /// # Errors
    /// When the destination fails.
    pub fn event(&mut self, time_ns: u64, event: &Event) -> Result<(), WriteError> {
        let index = match event {
            Event::Object { index, .. } | Event::Gone { index } | Event::Renamed { index, .. } => Some(*index),
            _ => None,
        };
        let detail = serde_json::to_string(event)?;
        self.begin_row(time_ns, index);
        self.event.append_value(event.name());
        self.detail.append_value(detail);
        self.end_row()
    }

    /// A sample of an object: its counters' values, in the order of the counters of its kind.
    ///
    /// # Errors
    /// When the destination fails.
    ///
    /// # Panics
    /// If there is no such object.
    pub fn sample(&mut self, time_ns: u64, index: u32, values: &[Value]) -> Result<(), WriteError> {
        let kind = self.objects[index as usize].1;
        self.begin_row(time_ns, Some(index));
        self.event.append_null();
        self.detail.append_null();
        for (&column, &value) in self.of_kind[kind as usize].iter().zip(values) {
            self.counters[column].append(self.rows, value);
        }
        self.end_row()
    }

    fn begin_row(&mut self, time_ns: u64, index: Option<u32>) {
        self.time.append_value(time_ns);
        self.object.append_option(index);
        self.name.append_option(index.and_then(|index| Some(&self.objects.get(index as usize)?.0)));
    }

    fn end_row(&mut self) -> Result<(), WriteError> {
        self.rows += 1;
        if self.rows >= ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes all rows so far.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(self.time.finish()),
            Arc::new(self.object.finish()),
            Arc::new(self.name.finish()),
            Arc::new(self.event.finish()),
            Arc::new(self.detail.finish()),
        ];
        for column in &mut self.counters {
            column.pad(self.rows);
            column.rows = 0;
            arrays.push(Arc::new(column.values.finish()));
            if let Some(counted) = &mut column.counted {
                arrays.push(Arc::new(counted.finish()));
            }
        }
        self.rows = 0;
        self.stream.write(&RecordBatch::try_new(self.schema.clone(), arrays)?)?;
        self.stream.get_mut().flush()?;
        Ok(())
    }

    /// Writes the rest and the mark that it was all.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush()?;
        self.stream.finish()?;
        Ok(self.stream.into_inner()?)
    }
}

/// Whether every counter has a name of its own that formulas can use.
fn check(counters: &[Counter]) -> Result<(), WriteError> {
    let mut names = std::collections::HashSet::new();
    for counter in counters {
        let name = counter.column();
        if Counter::name_from(&counter.name) != counter.name {
            let accepted = "lower-case letters, digits and underscores, a letter first";
            return Err(WriteError::Counter { name, problem: "formulas cannot name it", accepted });
        }
        if !names.insert(name.clone()) {
            let accepted = "a name of its own for each counter of a kind of objects";
            return Err(WriteError::Counter { name, problem: "there are two of this name", accepted });
        }
    }
    Ok(())
}
