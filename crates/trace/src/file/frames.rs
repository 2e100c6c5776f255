//! The messages of an Arrow stream, one at a time, with nothing believed that has not been checked.
//!
//! Arrow's reader trusts a batch to describe its own buffers truly. A damaged file's need not, so what a batch says of itself
//! is held against the bytes that are there before it is read.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::root_as_message;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

/// Bytes that begin a message, before its length in as many bytes.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Bytes of both.
const HEAD: u64 = 8;

/// Why there is no further batch.
#[derive(Debug)]
pub(super) enum Stop {
    /// The mark of the end was read.
    End,
    /// The bytes end after a whole message.
    NoMore,
    /// The bytes end within a message; so many of it are there.
    Cut(u64),
    /// It is no message, or one that lies.
    Damaged(String),
    /// The source failed.
    Io(io::Error),
}

/// Reads batch after batch.
pub(super) struct Frames<R> {
    source: R,
    schema: SchemaRef,
    /// Bytes of whole messages so far.
    pub(super) read: u64,
}

impl<R: Read> Frames<R> {
    /// Reads what columns there are.
    pub(super) fn new(source: R) -> Result<Self, Stop> {
        let mut frames = Self { source, schema: Arc::new(Schema::empty()), read: 0 };
        let head = frames.head()?;
        let message = root_as_message(&head).map_err(|error| Stop::Damaged(error.to_string()))?;
        let schema = message.header_as_schema().ok_or_else(|| damaged("it does not begin with a schema"))?;
        frames.schema = Arc::new(try_fb_to_schema(schema).map_err(of_arrow)?);
        Ok(frames)
    }

    /// The columns.
    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next batch.
    pub(super) fn batch(&mut self) -> Result<RecordBatch, Stop> {
        let head = self.head()?;
        let message = root_as_message(&head).map_err(|error| Stop::Damaged(error.to_string()))?;
        let batch = message.header_as_record_batch().ok_or_else(|| damaged("something else than a batch comes"))?;
        let length = u64::try_from(message.bodyLength()).map_err(|_| damaged("a length is negative"))?;
        check(&self.schema, &batch, length).map_err(damaged)?;
        let mut body = Vec::new();
        self.take(&mut body, length, HEAD + head.len() as u64)?;
        let schema = self.schema.clone();
        let body = Buffer::from(body);
        let batch = read_record_batch(&body, batch, schema, &HashMap::new(), None, &message.version());
        let batch = batch.map_err(of_arrow)?;
        self.read += HEAD + head.len() as u64 + length;
        Ok(batch)
    }

    /// The head of the next message, before its body.
    fn head(&mut self) -> Result<Vec<u8>, Stop> {
        let mut begin = Vec::new();
        match self.take(&mut begin, HEAD, 0) {
            Err(Stop::Cut(_)) if begin.is_empty() => return Err(Stop::NoMore),
            other => other?,
        }
        let Some(length) = begin.strip_prefix(&CONTINUATION).and_then(|length| length.try_into().ok()) else {
            return Err(damaged("no message begins there"));
        };
        let length = u32::from_le_bytes(length);
        if length == 0 {
            return Err(Stop::End);
        }
        let mut head = Vec::new();
        self.take(&mut head, u64::from(length), HEAD)?;
        Ok(head)
    }

    /// Takes so many bytes, `before` bytes into the message, no matter how many are promised: room is made as they come.
    fn take(&mut self, bytes: &mut Vec<u8>, count: u64, before: u64) -> Result<(), Stop> {
        let got = self.source.by_ref().take(count).read_to_end(bytes).map_err(Stop::Io)? as u64;
        if got == count { Ok(()) } else { Err(Stop::Cut(before + got)) }
    }
}

fn damaged(problem: &str) -> Stop {
    Stop::Damaged(problem.to_owned())
}

fn of_arrow(error: ArrowError) -> Stop {
    Stop::Damaged(error.to_string().replace('\n', "; "))
}

/// Whether a batch has the columns of the schema, all of them as long as it says, in `body` bytes.
fn check(schema: &SchemaRef, batch: &arrow_ipc::RecordBatch<'_>, body: u64) -> Result<(), &'static str> {
    if batch.compression().is_some() {
        return Err("a batch is compressed");
    }
    let rows = u64::try_from(batch.length()).map_err(|_| "a batch has less than no rows")?;
    let nodes = batch.nodes().ok_or("a batch has no columns")?;
    let mut buffers = batch.buffers().ok_or("a batch has no buffers")?.iter();
    if nodes.len() != schema.fields().len() {
        return Err("a batch has other columns than the schema says");
    }
    // Bytes of the next buffer, which lies where it says.
    let mut next = || {
        let buffer = buffers.next().ok_or("a batch has too few buffers")?;
        let offset = u64::try_from(buffer.offset()).map_err(|_| "a buffer begins before the body")?;
        let length = u64::try_from(buffer.length()).map_err(|_| "a buffer has less than no bytes")?;
        let end = offset.checked_add(length).filter(|&end| end <= body);
        end.map(|_| length).ok_or("a buffer is not within its message")
    };
    for (node, field) in nodes.iter().zip(schema.fields()) {
        if node.length() != batch.length() || !(0..=batch.length()).contains(&node.null_count()) {
            return Err("a column has another length than its batch");
        }
        let validity = next()?;
        if node.null_count() > 0 && validity < rows.div_ceil(8) {
            return Err("a column does not say which of its rows are empty");
        }
        let (each, least) = match field.data_type() {
            DataType::UInt64 => (8, rows.checked_mul(8)),
            DataType::UInt32 | DataType::Float32 => (4, rows.checked_mul(4)),
            DataType::Utf8 if rows == 0 => (4, Some(0)),
            DataType::Utf8 => (4, rows.checked_add(1).and_then(|offsets| offsets.checked_mul(4))),
            _ => return Err("a column has a type that traces do not have"),
        };
        let length = next()?;
        if length < least.ok_or("a batch has too many rows")? {
            return Err("a column is shorter than it says");
        }
        if length % each != 0 {
            return Err("a column ends within a value");
        }
        if *field.data_type() == DataType::Utf8 {
            next()?;
        }
    }
    Ok(())
}
