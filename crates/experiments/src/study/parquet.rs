//! The records of a study as one Parquet table: the key of each run, the parameters of machines that the study varies, and the columns
//! of the records, of programs and of experiments.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use record::{ColumnType, Record, RecordColumn, SimulationRow, Work};
use serde_json::Value;
use thiserror::Error;
use trace::{Cell, CellType, TableColumn, TableError, TableWriter};

use super::Study;
use super::merged::Merged;
use crate::variant;

/// Rows that are written together.
const ROWS: usize = 65_536;

/// Why Parquet could not be written.
#[derive(Debug, Error)]
pub enum ParquetError {
    /// The destination or the format's own library failed.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A record is no JSON.
    #[error("cannot write Parquet: {0}")]
    Json(#[from] serde_json::Error),
}

/// The source of a column's cells.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    /// The key of the run.
    Key,
    /// A parameter of the machine that names of machines change.
    Varied(String),
    /// The suite of an experiment.
    Suite,
    /// A field of the record.
    Field(String),
    /// A key of a map of the record.
    Entry(String, String),
}

/// A column of the table.
struct Column {
    name: String,
    source: Source,
    of: ColumnType,
    is_list: bool,
}

/// A record, and the run that it is of.
struct Line {
    place: usize,
    fields: Value,
}

/// Writes the records as a table to `destination`. Equal records give equal bytes.
///
/// # Errors
/// When the destination fails.
pub fn write_parquet<W: Write + Send>(study: &Study, merged: &Merged, destination: W) -> Result<W, ParquetError> {
    let mut lines = Vec::new();
    for run in &merged.runs {
        for line in run.text.lines() {
            lines.push(Line { place: run.place, fields: serde_json::from_str(line)? });
        }
    }
    let columns = columns(study, &lines);
    let mut writer = TableWriter::new(destination, columns.iter().map(Column::of_table).collect())?;
    for lines in lines.chunks(ROWS) {
        writer.write(lines.len(), |row, column| columns[column].cell(study, &lines[row]))?;
    }
    Ok(writer.finish()?)
}

/// The columns of the study's table. They follow from the study and from the keys of maps in its records.
fn columns(study: &Study, lines: &[Line]) -> Vec<Column> {
    let mut columns = vec![Column::new("key", Source::Key, ColumnType::Text)];
    let mut varied: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for run in &study.runs {
        for (key, value) in variant::changes(&run.row.machine) {
            varied.entry(key).or_default().push(value);
        }
    }
    for (key, values) in varied {
        let source = Source::Varied(key.to_owned());
        columns.push(Column::new(&format!("vary.{key}"), source, type_of(&values)));
    }
    let has = |work| study.runs.iter().any(|run| run.row.work == work);
    let (programs, experiments) = (has(Work::Sim), has(Work::Bench));
    columns.extend(experiments.then(|| Column::new("suite", Source::Suite, ColumnType::Text)));
    let of_programs = if programs { record::columns::<SimulationRow>() } else { Vec::new() };
    let of_experiments = if experiments { record::columns::<Record>() } else { Vec::new() };
    for column in of_programs.into_iter().chain(of_experiments) {
        if columns.iter().all(|known| known.name != column.name) {
            add(&mut columns, column, lines);
        }
    }
    // Records of experiments do not tell the seed; their runs do.
    if experiments && !programs {
        columns.push(Column::new("seed", Source::Field("seed".to_owned()), ColumnType::Whole));
    }
    columns
}

fn add(columns: &mut Vec<Column>, RecordColumn { name, of, is_map, is_list }: RecordColumn, lines: &[Line]) {
    if !is_map {
        columns.push(Column { source: Source::Field(name.clone()), name, of, is_list });
        return;
    }
    let maps = lines.iter().filter_map(|line| line.fields[&name].as_object());
    let keys: BTreeSet<&String> = maps.flat_map(serde_json::Map::keys).collect();
    columns.extend(keys.into_iter().map(|key| Column {
        name: format!("{name}.{key}"),
        source: Source::Entry(name.clone(), key.clone()),
        of,
        is_list: false,
    }));
}

/// The type of the values of a parameter that is varied.
fn type_of(values: &[&str]) -> ColumnType {
    if values.iter().all(|value| value.parse::<u64>().is_ok()) {
        ColumnType::Whole
    } else if values.iter().all(|value| value.parse::<f64>().is_ok()) {
        ColumnType::Number
    } else if values.iter().all(|value| value.parse::<bool>().is_ok()) {
        ColumnType::Flag
    } else {
        ColumnType::Text
    }
}

impl Column {
    fn new(name: &str, source: Source, of: ColumnType) -> Self {
        Self { name: name.to_owned(), source, of, is_list: false }
    }

    fn of_table(&self) -> TableColumn {
        let of = match self.of {
            ColumnType::Whole => CellType::Whole,
            ColumnType::Number => CellType::Number,
            ColumnType::Flag => CellType::Flag,
            ColumnType::Text => CellType::Text,
        };
        TableColumn { name: self.name.clone(), of, is_list: self.is_list }
    }

    /// The value of a record in this column.
    fn value<'l>(&self, study: &Study, line: &'l Line) -> std::borrow::Cow<'l, Value> {
        use std::borrow::Cow::{Borrowed, Owned};
        let row = &study.runs[line.place].row;
        match &self.source {
            Source::Key => Owned(row.key.clone().into()),
            Source::Suite => Owned(row.suite.clone().into()),
            Source::Varied(key) => Owned(match (variant::changes(&row.machine).get(&**key), self.of) {
                (None, _) => Value::Null,
                (Some(value), ColumnType::Text) => (*value).into(),
                (Some(value), _) => serde_json::from_str(value).unwrap_or(Value::Null),
            }),
            Source::Field(name) if name == "seed" => Owned(row.seed.into()),
            Source::Field(name) => Borrowed(&line.fields[name]),
            Source::Entry(map, key) => Borrowed(&line.fields[map][key]),
        }
    }

    fn cell(&self, study: &Study, line: &Line) -> Cell<'static> {
        let value = self.value(study, line);
        if !self.is_list {
            return cell(self.of, &value);
        }
        match value.as_array() {
            Some(elements) => Cell::List(elements.iter().map(|element| cell(self.of, element)).collect()),
            None => Cell::Absent,
        }
    }
}

/// A value of a type. Texts are as they are, and in a column of texts, what is none is JSON.
fn cell(of: ColumnType, value: &Value) -> Cell<'static> {
    let found = match of {
        ColumnType::Whole => value.as_u64().map(Cell::Whole),
        ColumnType::Number => value.as_f64().map(Cell::Number),
        ColumnType::Flag => value.as_bool().map(Cell::Flag),
        ColumnType::Text => match value {
            Value::Null => None,
            Value::String(text) => Some(Cell::Text(text.clone().into())),
            other => Some(Cell::Text(other.to_string().into())),
        },
    };
    found.unwrap_or(Cell::Absent)
}
