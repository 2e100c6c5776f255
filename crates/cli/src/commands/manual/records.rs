//! The page of records: the schema of what `--json` writes, as tables.

use serde_json::Value;

use super::Page;
use super::markdown::{Rows, code, prose};

/// The page.
pub fn page() -> Page {
    let schema = record::schema();
    let mut text = String::from("# Records\n\n");
    text.push_str(
        "Every line that `--json` writes is one record. `ccnuma schema` prints the JSON schema that this page is made ",
    );
    text.push_str("from; the Python package has a dataclass for each kind ([Python](../python.md)).\n\n");
    let kinds: Vec<&str> = schema["oneOf"].as_array().into_iter().flatten().filter_map(target).collect();
    let Some(parts) = schema["$defs"].as_object() else { return Page::markdown("records.md", &text) };
    let mut list = Rows::new(&["kind", "what it is"]);
    kinds.iter().for_each(|kind| list.row([format!("[{kind}](#{kind})"), described(&parts[*kind])]));
    text.push_str(&list.end());
    let pieces = parts.keys().map(String::as_str).filter(|name| !kinds.contains(name));
    for name in kinds.iter().copied().chain(pieces) {
        text.push_str(&format!("## {name}\n\n{}\n\n", described(&parts[name])));
        text.push_str(&fields(&parts[name]));
    }
    Page::markdown("records.md", &text)
}

/// The name that a reference leads to.
fn target(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn described(schema: &Value) -> String {
    prose(schema["description"].as_str().unwrap_or_default()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The fields of a record or part, or the words of an enumeration.
fn fields(schema: &Value) -> String {
    if let Some(words) = schema["oneOf"].as_array() {
        let mut rows = Rows::new(&["value", "what it is"]);
        for word in words {
            let consts = word["enum"].as_array().cloned().unwrap_or_else(|| vec![word["const"].clone()]);
            consts.iter().filter_map(Value::as_str).for_each(|name| rows.row([code(name), described(word)]));
        }
        return rows.end();
    }
    let mut rows = Rows::new(&["field", "type", "what it is"]);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        rows.row([code(name), type_of(field), described(field)]);
    }
    rows.end()
}

/// A type in words: `number or null`, `list of RegionStatistics`.
fn type_of(schema: &Value) -> String {
    if let Some(name) = target(schema) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(any) = schema["anyOf"].as_array() {
        return any.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    if !schema["const"].is_null() {
        return code(&schema["const"].to_string());
    }
    let named = |name: &str| match name {
        "array" => format!("list of {}", type_of(&schema["items"])),
        "object" => format!("map to {}", type_of(&schema["additionalProperties"])),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => named(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(named).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    }
}
