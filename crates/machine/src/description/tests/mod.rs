//! Tests of descriptions: the built-in ones, rejected ones with their messages, and lossless writing.

mod inheritance;
mod network;
mod published;
mod refusals;
mod writing;

use std::collections::BTreeMap;

use super::{Description, load, parse};

fn loaded(name: &str) -> Description {
    match load(name) {
        Ok(description) => description,
        Err(error) => panic!("{error}"),
    }
}

/// The message for `text`, a file called `my.toml`.
fn refusal(text: &str) -> String {
    match parse("my.toml", text) {
        Ok(_) => panic!("{text} was accepted"),
        Err(error) => error.to_string(),
    }
}

/// The values of a description by their keys, as in a file.
fn keys_of(description: &Description) -> BTreeMap<String, toml::Value> {
    let file: toml::Table = description.to_toml().parse().expect("what was written is TOML");
    let mut keys = BTreeMap::new();
    for (key, value) in file {
        match value {
            toml::Value::Table(table) => {
                keys.extend(table.into_iter().map(|(of, value)| (format!("{key}.{of}"), value)))
            }
            value => drop(keys.insert(key, value)),
        }
    }
    keys
}
