//! Reading a trace, whole or cut, written by whomever.

use std::io::{self, BufReader, Read};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, UInt32Type, UInt64Type};
use arrow_array::{Array, Float32Array, PrimitiveArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::Schema;

use super::frames::{Frames, Stop};
use super::{Event, columns};
use crate::{Counter, Object, ObjectKind, Preamble, Value};

/// Why something is not read as a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read at all.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else, or was cut before its first sample's columns were named.
    #[error("not a trace: {problem}; accepted: a file that `ccnuma run -o FILE` or `ccnuma sar -o FILE` wrote")]
    Foreign {
        /// The problem with the file.
        problem: String,
    },
}

/// Problems of a trace of which a part could be read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceWarning {
    /// The file ends between two batches without the mark of the end: it is still being written, or its writer was killed.
    Unfinished,
    /// The file ends within a batch, which is lost.
    Cut {
        /// Bytes of the file up to which it was read.
        read: u64,
        /// Bytes of the file.
        length: u64,
    },
    /// From here on the bytes are not those of a trace; what follows is lost.
    Damaged {
        /// Bytes of the file up to which it was read.
        read: u64,
        /// The problem with the bytes that follow.
        problem: String,
    },
    /// A row that makes no sense was left out.
    Row {
        /// The problem with the row.
        problem: String,
    },
}

impl std::fmt::Display for TraceWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unfinished => f.write_str("incomplete trace: still being written, or the writer was killed"),
            Self::Cut { read, length } => {
                write!(f, "truncated trace: the last {} of {length} bytes are an incomplete batch", length - read)
            }
            Self::Damaged { read, problem } => {
                write!(f, "damaged trace after byte {read} ({problem}): the rest is not read")
            }
            Self::Row { problem } => write!(f, "one row of the trace is skipped: {problem}"),
        }
    }
}

/// A trace in memory.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The preamble of the samples.
    pub preamble: Preamble,
    /// The counters, in the order of their columns.
    pub counters: Vec<Counter>,
    /// The objects, by their numbers in the file.
    pub objects: Vec<Object>,
    /// Events, with the time in nanoseconds, in the order of the file. Objects that came are in `objects`, too.
    pub events: Vec<(u64, Event)>,
    /// Problems of the file.
    pub warnings: Vec<TraceWarning>,
    ticks: Vec<(u64, usize)>,
    rows: Vec<(u32, usize)>,
    values: Vec<Value>,
}

/// The samples of one moment.
#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    /// When, in nanoseconds since the trace began.
    pub time_ns: u64,
    rows: &'a [(u32, usize)],
    /// Where the values of the row after the last begin.
    end: usize,
    values: &'a [Value],
}

impl<'a> Tick<'a> {
    /// The objects that were sampled, by their index in [`Trace::objects`], each with the values of the counters of its kind.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &'a [Value])> + use<'a> {
        let (rows, values, last) = (self.rows, self.values, self.end);
        rows.iter().enumerate().map(move |(i, &(object, start))| {
            let end = rows.get(i + 1).map_or(last, |&(_, next)| next);
            (object as usize, &values[start..end])
        })
    }
}

impl Trace {
    /// Reads a file.
    ///
    /// # Errors
    /// When there is no such file, or it is no trace. What is wrong further on becomes a [warning](Self::warnings).
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = input::open(path)?;
        Self::read(BufReader::with_capacity(1 << 16, file))
    }

    /// Reads a stream to its end.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn read(source: impl Read) -> Result<Self, TraceError> {
        let foreign = |problem: String| TraceError::Foreign { problem };
        let mut frames = Frames::new(source).map_err(|stop| match stop {
            Stop::Io(error) => TraceError::Io(error),
            Stop::Damaged(problem) => foreign(problem),
            Stop::End | Stop::NoMore | Stop::Cut(_) => foreign("it ends before it says what it holds".to_owned()),
        })?;
        let schema = frames.schema();
        let mut trace = Self::of_schema(&schema).map_err(foreign)?;
        let columns = Columns::of(&schema, &trace.counters).map_err(foreign)?;
        let stop = loop {
            match frames.batch() {
                Ok(batch) => trace.add(&batch, &columns),
                Err(stop) => break stop,
            }
        };
        let read = frames.read;
        match stop {
            Stop::End => {}
            Stop::NoMore => trace.warnings.push(TraceWarning::Unfinished),
            Stop::Cut(more) => trace.warnings.push(TraceWarning::Cut { read, length: read + more }),
            Stop::Damaged(problem) => trace.warnings.push(TraceWarning::Damaged { read, problem }),
            Stop::Io(error) => return Err(TraceError::Io(error)),
        }
        Ok(trace)
    }

    fn of_schema(schema: &Schema) -> Result<Self, String> {
        match schema.metadata.get(columns::VERSION_KEY).map(String::as_str) {
            Some(columns::VERSION) => {}
            Some(other) => return Err(format!("format version {other}; this program reads version 1")),
            None => return Err("an Arrow stream without trace metadata".to_owned()),
        }
        let preamble = schema.metadata.get(columns::PREAMBLE_KEY).ok_or("no preamble")?;
        let preamble = serde_json::from_str(preamble).map_err(|error| format!("preamble: {error}"))?;
        let counters = schema.fields.iter().filter_map(|field| columns::counter_of(field)).collect();
        Ok(Self { preamble, counters, ..Self::default() })
    }

    /// The counters of a kind of objects, in the order of their values.
    pub fn counters_of(&self, kind: ObjectKind) -> impl Iterator<Item = &Counter> {
        self.counters.iter().filter(move |counter| counter.of == kind)
    }

    /// The samples in the order of time.
    pub fn ticks(&self) -> impl ExactSizeIterator<Item = Tick<'_>> + DoubleEndedIterator {
        (0..self.ticks.len()).map(|tick| {
            let (time_ns, first) = self.ticks[tick];
            let last = self.ticks.get(tick + 1).map_or(self.rows.len(), |&(_, row)| row);
            let end = self.rows.get(last).map_or(self.values.len(), |&(_, value)| value);
            Tick { time_ns, rows: &self.rows[first..last], end, values: &self.values }
        })
    }

    fn add(&mut self, batch: &RecordBatch, columns: &Columns) {
        let taken = columns.take(batch);
        for row in 0..batch.num_rows() {
            if let Err(problem) = self.add_row(&taken, row) {
                self.warnings.push(TraceWarning::Row { problem });
            }
        }
    }

    fn add_row(&mut self, batch: &Batch, row: usize) -> Result<(), String> {
        let time = batch.time.value(row);
        if batch.event.is_valid(row) {
            let event = serde_json::from_str(batch.detail.value(row)).map_err(|error| format!("event: {error}"))?;
            if let Event::Object { index, object } = &event {
                if *index as usize != self.objects.len() {
                    return Err(format!("object {index} comes where {} is expected", self.objects.len()));
                }
                self.objects.push(object.clone());
            }
            if let Event::Gone { index } | Event::Renamed { index, .. } = &event
                && *index as usize >= self.objects.len()
            {
                return Err(format!("there is no object {index}"));
            }
            self.events.push((time, event));
            return Ok(());
        }
        let index = if batch.object.is_valid(row) { batch.object.value(row) } else { u32::MAX };
        let object = self.objects.get(index as usize).ok_or_else(|| format!("there is no object {index}"))?;
        match self.ticks.last() {
            Some(&(last, _)) if time < last => return Err(format!("time goes back from {last} to {time} ns")),
            Some(&(last, _)) if time == last => {}
            _ => self.ticks.push((time, self.rows.len())),
        }
        self.rows.push((index, self.values.len()));
        for (values, counted) in &batch.of_kind[object.kind as usize] {
            let total = values.is_valid(row).then(|| values.value(row));
            let counted = counted.map_or(1.0, |counted| if counted.is_valid(row) { counted.value(row) } else { 0.0 });
            self.values.push(if total.is_some() { Value { total, counted } } else { Value::MISSING });
        }
        Ok(())
    }
}

/// Where the columns are in a batch.
struct Columns {
    fixed: [usize; columns::FIXED],
    /// For each kind of object its counters' columns, and those of the time in which they were counted.
    of_kind: [Vec<(usize, Option<usize>)>; ObjectKind::ALL.len()],
}

/// A batch's columns.
struct Batch<'a> {
    time: &'a UInt64Array,
    object: &'a UInt32Array,
    event: &'a StringArray,
    detail: &'a StringArray,
    of_kind: [Vec<(&'a UInt64Array, Option<&'a Float32Array>)>; ObjectKind::ALL.len()],
}

impl Columns {
    fn of(schema: &Schema, counters: &[Counter]) -> Result<Self, String> {
        use arrow_schema::DataType::{Float32, UInt32, UInt64, Utf8};
        let find = |name: &str, data_type| {
            let (index, field) = schema.column_with_name(name).ok_or_else(|| format!("no column {name}"))?;
            if *field.data_type() == data_type { Ok(index) } else { Err(format!("column {name} has another type")) }
        };
        let fixed = [
            find(columns::TIME, UInt64)?,
            find(columns::OBJECT, UInt32)?,
            find(columns::NAME, Utf8)?,
            find(columns::EVENT, Utf8)?,
            find(columns::DETAIL, Utf8)?,
        ];
        let mut of_kind = ObjectKind::ALL.map(|_| Vec::new());
        for counter in counters {
            let counted = find(&columns::counted_column(counter), Float32).ok();
            of_kind[counter.of as usize].push((find(&counter.column(), UInt64)?, counted));
        }
        Ok(Self { fixed, of_kind })
    }

    fn take<'a>(&self, batch: &'a RecordBatch) -> Batch<'a> {
        fn primitive<T: arrow_array::ArrowPrimitiveType>(batch: &RecordBatch, column: usize) -> &PrimitiveArray<T> {
            batch.column(column).as_primitive()
        }
        let [time, object, _, event, detail] = self.fixed;
        let pair = |&(values, counted): &(usize, Option<usize>)| {
            (primitive::<UInt64Type>(batch, values), counted.map(|column| primitive::<Float32Type>(batch, column)))
        };
        Batch {
            time: primitive::<UInt64Type>(batch, time),
            object: primitive::<UInt32Type>(batch, object),
            event: batch.column(event).as_string(),
            detail: batch.column(detail).as_string(),
            of_kind: std::array::from_fn(|kind| self.of_kind[kind].iter().map(pair).collect()),
        }
    }
}
