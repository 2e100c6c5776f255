//! The values of a description that is being written, each with its origin in words.

use std::fmt::Write;

use machine::{Description, DescriptionError};

/// A value of a table.
#[derive(Clone, PartialEq, Debug)]
struct Entry {
    table: &'static str,
    key: String,
    value: String,
    source: String,
}

/// The values of a description, by table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Values {
    title: String,
    family: &'static str,
    entries: Vec<Entry>,
}

/// The tables whose values could be measured or announced. Defaults of theirs are written out, so that all that was assumed is seen.
const TABLES: [&str; 14] = [
    "topology",
    "processor",
    "latency",
    "l1",
    "l2",
    "tlb",
    "prefetch",
    "server",
    "l3_slice",
    "home",
    "socket_link",
    "memory_link",
    "banks",
    "memory",
];

impl Values {
    /// No values but those of `family`.
    pub(super) fn new(title: String, family: &'static str) -> Self {
        Self { title, family, entries: Vec::new() }
    }

    /// Sets a value as a file spells it, with its origin.
    pub(super) fn set(&mut self, table: &'static str, key: &str, value: impl ToString, source: impl Into<String>) {
        debug_assert!(TABLES.contains(&table), "[{table}] would not be written");
        let (value, source) = (value.to_string(), source.into());
        match self.entries.iter_mut().find(|entry| (entry.table, entry.key.as_str()) == (table, key)) {
            Some(entry) => (entry.value, entry.source) = (value, source),
            None => self.entries.push(Entry { table, key: key.to_owned(), value, source }),
        }
    }

    /// A number that has been set.
    pub(super) fn number(&self, (table, key): (&str, &str)) -> Option<f64> {
        let entry = self.entries.iter().find(|entry| (entry.table, entry.key.as_str()) == (table, key))?;
        entry.value.parse().ok()
    }

    /// Has the file name every value of the family that nothing has replaced, as a default.
    ///
    /// # Errors
    /// When what has been set so far is no description.
    pub(super) fn name_defaults(&mut self, file: &str) -> Result<(), DescriptionError> {
        let whole: toml::Table = self.described(file)?.to_toml().parse().unwrap_or_default();
        for table in TABLES {
            let Some(toml::Value::Table(keys)) = whole.get(table) else { continue };
            for (key, value) in keys {
                if !self.entries.iter().any(|entry| (entry.table, &entry.key) == (table, key)) {
                    let source = format!("default: {}", self.family);
                    self.entries.push(Entry { table, key: key.clone(), value: value.to_string(), source });
                }
            }
        }
        Ok(())
    }

    /// The machine that the values describe.
    ///
    /// # Errors
    /// When they contradict each other.
    pub(super) fn described(&self, file: &str) -> Result<Description, DescriptionError> {
        Ok(machine::parse(file, &self.text(""))?.description)
    }

    /// The text of the description, below a heading of comments.
    pub(super) fn text(&self, heading: &str) -> String {
        let mut text = format!("{heading}title = {:?}\ninherit = \"{}\"\n", self.title, self.family);
        for table in TABLES {
            let of_table: Vec<&Entry> = self.entries.iter().filter(|entry| entry.table == table).collect();
            if !of_table.is_empty() {
                let _infallible = writeln!(text, "\n[{table}]");
            }
            for Entry { key, value, source, .. } in of_table {
                let assignment = format!("{key} = {value}");
                // A comment behind a value of several lines stands above it.
                let _infallible = match assignment.contains('\n') {
                    true => writeln!(text, "# {source}\n{assignment}"),
                    false => writeln!(text, "{assignment:<34} # {source}"),
                };
            }
        }
        text
    }
}
