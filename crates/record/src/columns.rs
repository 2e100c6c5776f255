//! The columns of records with their types, for formats whose columns have one.

use serde_json::Value;

use crate::provenance::Line;
use crate::{Row, schema};

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers from zero on.
    Whole,
    /// Numbers.
    Number,
    /// Truth values.
    Flag,
    /// Words, as which values of no other type are written, too.
    Text,
}

/// A column, as a format has it whose columns have a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordColumn {
    /// The field.
    pub name: String,
    /// The type of its values; of a map's or a list's, that of its entries.
    pub of: ColumnType,
    /// Whether it is a map, of which every key is a column, `COLUMN.KEY`.
    pub is_map: bool,
    /// Whether it is a list.
    pub is_list: bool,
}

/// The columns of lines that hold an `R`, in order, without those that are lists of parts.
pub fn columns<R: Row>() -> Vec<RecordColumn> {
    let schema = schema();
    let properties = &schema["$defs"][R::KIND]["properties"];
    let names = R::COLUMNS.iter().chain(&Line::<'_, R>::COLUMNS).filter(|name| !R::PARTS.contains(name));
    names.map(|name| column(&schema, name, &properties[*name], R::MAPS.contains(name))).collect()
}

fn column(schema: &Value, name: &str, property: &Value, is_map: bool) -> RecordColumn {
    let is_list = is_of(property, "array");
    let entries = match (is_map, is_list) {
        (true, _) => entries_of(property, "additionalProperties"),
        (_, true) => entries_of(property, "items"),
        _ => property,
    };
    RecordColumn { name: name.to_owned(), of: type_of(schema, entries), is_map, is_list }
}

/// Whether a property is of a type, or absent.
fn is_of(property: &Value, name: &str) -> bool {
    match &property["type"] {
        Value::Array(types) => types.iter().any(|each| each == name),
        one => one == name,
    }
}

/// The schema of the entries of a map or list.
fn entries_of<'a>(property: &'a Value, key: &str) -> &'a Value {
    let alternatives = property["anyOf"].as_array().into_iter().flatten();
    std::iter::once(property)
        .chain(alternatives)
        .map(|each| &each[key])
        .find(|each| !each.is_null())
        .unwrap_or(property)
}

fn type_of(schema: &Value, property: &Value) -> ColumnType {
    let alternatives = property["anyOf"].as_array().into_iter().flatten();
    let reference = std::iter::once(property).chain(alternatives).find_map(|each| each["$ref"].as_str());
    let property = reference.and_then(|path| schema.pointer(path.trim_start_matches('#'))).unwrap_or(property);
    if is_of(property, "integer") || property["const"].is_u64() {
        ColumnType::Whole
    } else if is_of(property, "number") {
        ColumnType::Number
    } else if is_of(property, "boolean") {
        ColumnType::Flag
    } else {
        ColumnType::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Record, SimulationRow};

    #[test]
    fn types_are_those_of_the_schema() {
        let all = columns::<SimulationRow>();
        let of = |name: &str| {
            let found = all.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("{name} is no column"));
            (found.of, found.is_map, found.is_list)
        };
        assert_eq!(of("program"), (ColumnType::Text, false, false));
        assert_eq!(of("result"), (ColumnType::Text, false, false));
        assert_eq!(of("cpus"), (ColumnType::Whole, false, false));
        assert_eq!(of("schema"), (ColumnType::Whole, false, false));
        assert_eq!(of("time_ns"), (ColumnType::Number, false, false));
        assert_eq!(of("miss_latency_ns"), (ColumnType::Number, false, false));
        assert_eq!(of("data_misses"), (ColumnType::Whole, false, false));
        assert_eq!(of("parameters"), (ColumnType::Whole, true, false));
        assert_eq!(of("spent_ns"), (ColumnType::Number, true, false));
        assert_eq!(of("causes"), (ColumnType::Whole, true, false));
        assert_eq!(of("invalidations"), (ColumnType::Whole, false, true));
        assert_eq!(of("commit"), (ColumnType::Text, false, false));
        assert!(!all.iter().any(|column| SimulationRow::PARTS.contains(&column.name.as_str())));
        let measured = columns::<Record>();
        let of =
            |name: &str| measured.iter().find(|column| column.name == name).map(|column| (column.of, column.is_list));
        assert_eq!(of("locals"), Some((ColumnType::Whole, true)));
        assert_eq!(of("array"), Some((ColumnType::Whole, false)));
        assert_eq!(of("unit"), Some((ColumnType::Text, false)));
    }
}
