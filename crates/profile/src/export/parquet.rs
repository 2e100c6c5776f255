//! Samples as Parquet, a row a value, with the columns of their records.

use std::io::Write;

use record::{Row, SampleRow};
use trace::{Cell, CellType, TableColumn, TableError, TableWriter};

/// Rows that are written together.
const ROWS: usize = 65_536;

/// Writes samples.
pub struct Parquet<W: Write + Send> {
    writer: TableWriter<W>,
    rows: Vec<SampleRow>,
}

impl<W: Write + Send> Parquet<W> {
    /// A writer to `destination`.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn new(destination: W) -> Result<Self, TableError> {
        let of = |column: &str| match column {
            "time" | "value" => CellType::Number,
            "estimate" => CellType::Flag,
            _ => CellType::Text,
        };
        let columns =
            SampleRow::COLUMNS.iter().map(|&name| TableColumn { name: name.to_owned(), of: of(name), is_list: false });
        Ok(Self { writer: TableWriter::new(destination, columns.collect())?, rows: Vec::new() })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn write(&mut self, row: &SampleRow) -> Result<(), TableError> {
        self.rows.push(row.clone());
        if self.rows.len() < ROWS { Ok(()) } else { self.encode() }
    }

    fn encode(&mut self) -> Result<(), TableError> {
        let rows = &self.rows[..];
        self.writer.write(rows.len(), |row, column| {
            let row = &rows[row];
            match SampleRow::COLUMNS[column] {
                "time" => Cell::Number(row.time),
                "kind" => Cell::Text((&*row.kind).into()),
                "object" => Cell::Text((&*row.object).into()),
                "title" => Cell::Text((&*row.title).into()),
                "metric" => Cell::Text((&*row.metric).into()),
                "value" => Cell::Number(row.value),
                "unit" => Cell::Text((&*row.unit).into()),
                "estimate" => Cell::Flag(row.estimate),
                _ => Cell::Absent,
            }
        })?;
        self.rows.clear();
        Ok(())
    }

    /// Writes the rest and the footer, without which nothing can be read.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn finish(mut self) -> Result<W, TableError> {
        if !self.rows.is_empty() {
            self.encode()?;
        }
        self.writer.finish()
    }
}
