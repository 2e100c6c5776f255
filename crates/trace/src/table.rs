//! Tables as Parquet files: columns of values of four types, or of lists of them, each of which may be absent.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use thiserror::Error;

/// The format's own library failed, or the destination did.
#[derive(Debug, Error)]
#[error("cannot write Parquet: {0}")]
pub struct TableError(#[from] ParquetError);

/// The type of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellType {
    /// A whole number that is not negative.
    Whole,
    /// Any other number.
    Number,
    /// True or false.
    Flag,
    /// A text.
    Text,
}

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// The type of its values, or of the elements of its lists.
    pub of: CellType,
    /// Whether it has lists.
    pub is_list: bool,
}

/// Value of a row in a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell<'c> {
    /// Nothing. A value of another type than the column's counts as nothing, too.
    Absent,
    /// A value of [`CellType::Whole`].
    Whole(u64),
    /// A value of [`CellType::Number`].
    Number(f64),
    /// A value of [`CellType::Flag`].
    Flag(bool),
    /// A value of [`CellType::Text`].
    Text(Cow<'c, str>),
    /// A list of values.
    List(Vec<Self>),
}

/// Writes a table. Equal cells in equal groups give equal bytes.
pub struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<TableColumn>,
}

impl<W: Write + Send> TableWriter<W> {
    /// A writer to `destination`.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn new(destination: W, columns: Vec<TableColumn>) -> Result<Self, TableError> {
        let fields = columns.iter().map(TableColumn::field).collect::<Result<_, _>>()?;
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
        let creator = concat!("ccnuma ", env!("CARGO_PKG_VERSION")).to_owned();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by(creator);
        let writer = SerializedFileWriter::new(destination, schema, Arc::new(properties.build()))?;
        Ok(Self { writer, columns })
    }

    /// Adds rows as a group, which readers read as one: ten thousands of rows are usual. `cell` gives the value of a row, counted
    /// from 0, in a column.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn write<'c>(&mut self, rows: usize, cell: impl Fn(usize, usize) -> Cell<'c>) -> Result<(), TableError> {
        let mut group = self.writer.next_row_group()?;
        for (place, column) in self.columns.iter().enumerate() {
            let mut chunk = Chunk::default();
            (0..rows).for_each(|row| chunk.add(column, cell(row, place)));
            if let Some(mut writer) = group.next_column()? {
                chunk.write(column, &mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }

    /// Writes the footer, without which nothing can be read.
    ///
    /// # Errors
    /// When the destination fails.
    pub fn finish(self) -> Result<W, TableError> {
        Ok(self.writer.into_inner()?)
    }
}

impl TableColumn {
    /// The column in the format's schema; lists have the three levels that it asks for.
    fn field(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self.of {
            CellType::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
            CellType::Number => (Physical::DOUBLE, None),
            CellType::Flag => (Physical::BOOLEAN, None),
            CellType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let value = |name| {
            let builder = Type::primitive_type_builder(name, physical).with_logical_type(logical.clone());
            builder.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
        };
        if !self.is_list {
            return value(&self.name);
        }
        let group = |name, repetition, logical, inside| {
            let builder = Type::group_type_builder(name).with_repetition(repetition).with_logical_type(logical);
            builder.with_fields(vec![inside]).build().map(Arc::new)
        };
        let repeated = group("list", Repetition::REPEATED, None, value("element")?)?;
        group(&self.name, Repetition::OPTIONAL, Some(LogicalType::List), repeated)
    }
}

/// The values of a column in a group of rows, and the levels that tell which are absent and where lists begin: of definition, how
/// much of the column's path a row has; of repetition, 1 in all but the first element of a list.
#[derive(Default)]
struct Chunk {
    whole: Vec<i64>,
    numbers: Vec<f64>,
    flags: Vec<bool>,
    texts: Vec<ByteArray>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Chunk {
    fn add(&mut self, column: &TableColumn, cell: Cell<'_>) {
        if !column.is_list {
            let is_there = self.push(column.of, cell);
            return self.level(i16::from(is_there), 0);
        }
        let Cell::List(elements) = cell else { return self.level(0, 0) };
        if elements.is_empty() {
            return self.level(1, 0);
        }
        for (place, element) in elements.into_iter().enumerate() {
            let is_there = self.push(column.of, element);
            self.level(2 + i16::from(is_there), i16::from(place > 0));
        }
    }

    fn level(&mut self, definition: i16, repetition: i16) {
        self.definitions.push(definition);
        self.repetitions.push(repetition);
    }

    /// Adds a value. Whether there is one, of the column's type.
    fn push(&mut self, of: CellType, cell: Cell<'_>) -> bool {
        match (of, cell) {
            // The format keeps unsigned numbers in signed ones of the same bits.
            (CellType::Whole, Cell::Whole(value)) => self.whole.push(value.cast_signed()),
            (CellType::Number, Cell::Number(value)) => self.numbers.push(value),
            (CellType::Flag, Cell::Flag(value)) => self.flags.push(value),
            (CellType::Text, Cell::Text(value)) => self.texts.push(value.into_owned().into_bytes().into()),
            _ => return false,
        }
        true
    }

    fn write(&self, column: &TableColumn, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let definitions = Some(&self.definitions[..]);
        let repetitions = column.is_list.then_some(&self.repetitions[..]);
        match column.of {
            CellType::Whole => writer.typed::<Int64Type>().write_batch(&self.whole, definitions, repetitions),
            CellType::Number => writer.typed::<DoubleType>().write_batch(&self.numbers, definitions, repetitions),
            CellType::Flag => writer.typed::<BoolType>().write_batch(&self.flags, definitions, repetitions),
            CellType::Text => writer.typed::<ByteArrayType>().write_batch(&self.texts, definitions, repetitions),
        }
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    fn column(name: &str, of: CellType, is_list: bool) -> TableColumn {
        TableColumn { name: name.to_owned(), of, is_list }
    }

    /// Every type, present, absent, of another type, in lists that are absent, empty and not, in two groups.
    #[test]
    fn what_is_written_is_read() {
        let columns = vec![
            column("whole", CellType::Whole, false),
            column("number", CellType::Number, false),
            column("flag", CellType::Flag, false),
            column("text", CellType::Text, false),
            column("lists", CellType::Whole, true),
        ];
        let rows = [
            [
                Cell::Whole(u64::MAX),
                Cell::Number(0.1),
                Cell::Flag(true),
                Cell::Text("a".into()),
                Cell::List(vec![Cell::Whole(1), Cell::Absent, Cell::Whole(3)]),
            ],
            [Cell::Absent, Cell::Absent, Cell::Absent, Cell::Absent, Cell::Absent],
            [Cell::Number(1.0), Cell::Number(-2.5), Cell::Flag(false), Cell::Text("".into()), Cell::List(vec![])],
        ];
        let mut writer = TableWriter::new(Vec::new(), columns).expect("memory takes everything");
        writer.write(2, |row, column| rows[row][column].clone()).expect("memory takes everything");
        writer.write(1, |_, column| rows[2][column].clone()).expect("memory takes everything");
        let file = writer.finish().expect("memory takes everything");
        let reader = SerializedFileReader::new(Bytes::from(file)).expect("a file");
        assert_eq!(reader.num_row_groups(), 2);
        let read: Vec<String> =
            reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_string()).collect();
        assert_eq!(
            read,
            [
                "{whole: 18446744073709551615, number: 0.1, flag: true, text: \"a\", lists: [1, null, 3]}",
                "{whole: null, number: null, flag: null, text: null, lists: null}",
                "{whole: null, number: -2.5E0, flag: false, text: \"\", lists: []}",
            ]
        );
    }

    #[test]
    fn equal_cells_give_equal_bytes() {
        let bytes = || {
            let mut writer = TableWriter::new(Vec::new(), vec![column("n", CellType::Number, false)]).expect("a file");
            writer.write(1000, |row, _| Cell::Number(row as f64)).expect("memory takes everything");
            writer.finish().expect("memory takes everything")
        };
        assert_eq!(bytes(), bytes());
    }
}
