//! Samples as Parquet, a row a value, with the columns of their records.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use record::{Row, SampleRow};

/// Rows that are encoded together.
const ROWS: usize = 8192;

/// Why Parquet could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ParquetError {
    /// The format's own library failed.
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The rows do not fit the columns.
    #[error("cannot write Parquet: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
}

/// Writes samples.
pub struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    rows: Vec<SampleRow>,
}

impl<W: Write + Send> Parquet<W> {
    /// A writer to `destination`.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn new(destination: W) -> Result<Self, ParquetError> {
        let kind = |column: &str| match column {
            "time" | "value" => DataType::Float64,
            "estimate" => DataType::Boolean,
            _ => DataType::Utf8,
        };
        let field = |column: &&str| Field::new(*column, kind(column), false);
        let schema = Arc::new(Schema::new(SampleRow::COLUMNS.iter().map(field).collect::<Vec<_>>()));
        let creator = concat!("ccnuma ", env!("CARGO_PKG_VERSION")).to_owned();
        let properties =
            WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by(creator).build();
        let writer = ArrowWriter::try_new(destination, schema.clone(), Some(properties))?;
        Ok(Self { writer, schema, rows: Vec::with_capacity(ROWS) })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn write(&mut self, row: &SampleRow) -> Result<(), ParquetError> {
        self.rows.push(row.clone());
        if self.rows.len() < ROWS { Ok(()) } else { self.encode() }
    }

    fn encode(&mut self) -> Result<(), ParquetError> {
        fn text(rows: &[SampleRow], of: impl Fn(&SampleRow) -> &str) -> ArrayRef {
            let mut column = StringBuilder::new();
            rows.iter().for_each(|row| column.append_value(of(row)));
            Arc::new(column.finish())
        }
        fn number(rows: &[SampleRow], of: impl Fn(&SampleRow) -> f64) -> ArrayRef {
            let mut column = Float64Builder::new();
            rows.iter().for_each(|row| column.append_value(of(row)));
            Arc::new(column.finish())
        }
        let rows = &self.rows[..];
        let mut estimate = BooleanBuilder::new();
        rows.iter().for_each(|row| estimate.append_value(row.estimate));
        let columns: Vec<ArrayRef> = vec![
            number(rows, |row| row.time),
            text(rows, |row| &row.kind),
            text(rows, |row| &row.object),
            text(rows, |row| &row.title),
            text(rows, |row| &row.metric),
            number(rows, |row| row.value),
            text(rows, |row| &row.unit),
            Arc::new(estimate.finish()),
        ];
        self.writer.write(&RecordBatch::try_new(self.schema.clone(), columns)?)?;
        self.rows.clear();
        Ok(())
    }

    /// Writes the rest and the footer, without which nothing can be read.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn finish(mut self) -> Result<W, ParquetError> {
        if !self.rows.is_empty() {
            self.encode()?;
        }
        Ok(self.writer.into_inner()?)
    }
}
