//! Layers of descriptions: parsing a file into keys with their origins, overlaying files, and checked lookup of keys.

use std::collections::{BTreeMap, HashSet};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::DescriptionError;
use super::error::{Entry, Origin};
use super::kind::{Kind, Raw, Rejected, quoted};

/// A value with its spelling and its origin.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) raw: Raw,
    /// The value as it stands in the file, for messages.
    pub(crate) shown: String,
    pub(crate) at: Origin,
}

impl Located {
    /// The value under its key, for a message.
    pub(crate) fn entry(&self, key: &str) -> Box<Entry> {
        Box::new(Entry { at: self.at.clone(), key: key.into(), value: self.shown.clone() })
    }
}

/// The keys of one file or machine name, with dots, and their values in the order of the file.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) file: String,
    /// Whether its keys have line numbers that a user can look up.
    has_lines: bool,
    pub(crate) keys: Vec<(String, Located)>,
}

/// The word that gives up an inherited table.
const NONE: &str = "none";

/// The rule of a key: its name and the values that it accepts.
pub(crate) struct KeyRule {
    /// `table.key`, or `key` at the top of the file.
    pub(crate) key: &'static str,
    /// The unit suffix of the key; empty if it has none.
    pub(crate) suffix: &'static str,
    /// The accepted values in words.
    pub(crate) accepted: String,
    /// The least and the greatest value of a range, or every alternative, as written in a file.
    pub(crate) extremes: Vec<String>,
    /// Whether the key is the name of a table that a description may lack, and gives up what is inherited of it.
    pub(crate) gives_up: bool,
}

impl KeyRule {
    /// The rule for a key with a value of `kind`.
    pub(crate) fn new(key: &'static str, kind: &impl Kind) -> Self {
        Self { key, suffix: kind.suffix(), accepted: kind.accepted(), extremes: kind.extremes(), gives_up: false }
    }

    /// The rule for the name of `table`, which a description may lack.
    pub(crate) fn giving_up(table: &'static str) -> Self {
        let accepted = format!("{}, or the table [{table}]", quoted(NONE));
        Self { key: table, suffix: "", accepted, extremes: Vec::new(), gives_up: true }
    }

    /// The table the key belongs to; empty at the top of the file.
    fn table(&self) -> &'static str {
        table_of(self.key)
    }
}

impl Layer {
    /// Reads the text of one file; `file` is its name in messages.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, DescriptionError> {
        let document = DeTable::parse(text).map_err(|error| {
            let line = line_of(text, error.span().map_or(0, |span| span.start));
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            DescriptionError::Syntax { at: Origin { file: file.into(), line: Some(line), comment: None }, message }
        })?;
        let mut layer = Self { file: file.into(), has_lines: true, keys: Vec::new() };
        layer.flatten("", document.get_ref(), text);
        layer.keys.sort_by_key(|(_, located)| located.at.line);
        Ok(layer)
    }

    /// Parses `text` as the layer of machine name `name`, whose keys have no lines.
    pub(crate) fn of_name(name: &str, text: &str) -> Result<Self, DescriptionError> {
        let mut layer = Self::parse(name, text)?;
        layer.has_lines = false;
        layer.keys.iter_mut().for_each(|(_, located)| located.at.line = None);
        Ok(layer)
    }

    /// The layer of key changes (`table.key`) from a machine name: each value is a number or a truth value if it parses
    /// as one, otherwise a string.
    pub(crate) fn of_changes<'c>(name: &str, changes: impl IntoIterator<Item = (&'c str, &'c str)>) -> Self {
        let at = Origin { file: name.into(), line: None, comment: None };
        let mut layer = Self { file: name.into(), has_lines: false, keys: Vec::new() };
        for (key, value) in changes {
            // Keys outside of tables take strings alone.
            let (raw, shown) = match number_or_flag(value).filter(|_| key.contains('.')) {
                Some(raw) => (raw, shown(value)),
                None => (Raw::Text(value.into()), shown(&quoted(value))),
            };
            let key: Vec<_> = key.splitn(2, '.').map(bare_or_quoted).collect();
            layer.keys.push((key.join("."), Located { raw, shown, at: at.clone() }));
        }
        layer
    }

    fn flatten(&mut self, prefix: &str, table: &DeTable<'_>, text: &str) {
        for (name, value) in table {
            let key = format!("{prefix}{}", bare_or_quoted(name.get_ref()));
            if let DeValue::Table(inner) = value.get_ref()
                && prefix.is_empty()
                && !inner.is_empty()
            {
                self.flatten(&format!("{key}."), inner, text);
                continue;
            }
            let (line, comment) = (line_of(text, name.span().start), comment_behind(text, value.span().end));
            let at = Origin { file: self.file.clone(), line: Some(line), comment };
            self.keys.push((key, Located { raw: raw(value), shown: shown(&text[value.span()]), at }));
        }
    }

    /// The value of a key of this file.
    pub(crate) fn get(&self, key: &str) -> Option<&Located> {
        self.keys.iter().find(|(name, _)| name == key).map(|(_, located)| located)
    }
}

/// The comment on the rest of the line at `end`, without its sign.
fn comment_behind(text: &str, end: usize) -> Option<String> {
    let comment = text[end..].lines().next()?.trim().strip_prefix('#')?.trim();
    (!comment.is_empty()).then(|| comment.to_owned())
}

/// The table that a key belongs to; empty at the top of the file.
fn table_of(key: &str) -> &str {
    key.split_once('.').map_or("", |(table, _)| table)
}

/// A key in TOML spelling, always on one line.
fn bare_or_quoted(name: &str) -> String {
    let bare = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !name.is_empty() && name.chars().all(bare) { name.into() } else { format!("{name:?}") }
}

/// The line, counted from 1, of the byte at `offset`.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The number or truth value that `text` is, if it is nothing else.
fn number_or_flag(text: &str) -> Option<Raw> {
    let document = format!("value = {text}");
    let parsed = DeTable::parse(&document).ok().filter(|_| !text.contains(['#', '\n']))?;
    let read = parsed.get_ref().get("value").map(raw);
    read.filter(|raw| matches!(raw, Raw::Integer(_) | Raw::Float(_) | Raw::Flag(_)))
}

/// The value on one line, abbreviated if it is long.
fn shown(source: &str) -> String {
    const MOST: usize = 60;
    let line = source.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST { line } else { line.chars().take(MOST).chain("...".chars()).collect() }
}

fn raw(value: &Spanned<DeValue<'_>>) -> Raw {
    match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
            .map_or(Raw::Other("an integer beyond 64 bits"), Raw::Integer),
        DeValue::Float(number) => number.as_str().parse().map_or(Raw::Other("an unreadable float"), Raw::Float),
        DeValue::Boolean(flag) => Raw::Flag(*flag),
        DeValue::Datetime(_) => Raw::Other("a date or time"),
        DeValue::Table(table) if table.is_empty() => Raw::EMPTY_TABLE,
        DeValue::Table(_) => Raw::Other("a table"),
        DeValue::Array(elements) => elements
            .iter()
            .map(|element| element.get_ref().as_str().map(String::from))
            .collect::<Option<Vec<_>>>()
            .map_or(Raw::Other("an array not only of strings"), Raw::Texts),
    }
}

/// The overlaid layers of a description, the inheriting one on top.
pub(crate) struct Resolver {
    rules: Vec<KeyRule>,
    keys: BTreeMap<String, Located>,
    /// The layer that sets each key, counted from the last ancestor.
    depths: BTreeMap<String, usize>,
    /// Every `calibrated_on` of the inheritance, the ancestors' first.
    pub(crate) calibrated_on: Vec<String>,
    /// The origin of the top file.
    top: Origin,
}

impl Resolver {
    /// Overlays `layers` (the top one first, each followed by the one that it inherits), and rejects keys without a
    /// rule.
    pub(crate) fn new(layers: Vec<Layer>, rules: Vec<KeyRule>) -> Result<Self, DescriptionError> {
        let place =
            |layer: &Layer| Origin { file: layer.file.clone(), line: layer.has_lines.then_some(1), comment: None };
        let top = layers.first().map_or_else(|| Origin { file: String::new(), line: None, comment: None }, place);
        let (keys, depths) = Default::default();
        let mut resolver = Self { rules, keys, depths, calibrated_on: Vec::new(), top };
        for (depth, layer) in layers.iter().rev().enumerate() {
            resolver.add(layer, depth)?;
        }
        let mut seen = HashSet::new();
        resolver.calibrated_on.retain(|entry| seen.insert(entry.clone()));
        Ok(resolver)
    }

    fn add(&mut self, layer: &Layer, depth: usize) -> Result<(), DescriptionError> {
        for (key, located) in &layer.keys {
            let empty_table = located.raw == Raw::EMPTY_TABLE && self.rules.iter().any(|rule| rule.table() == key);
            if empty_table {
                continue;
            }
            let Some(rule) = self.rules.iter().find(|rule| rule.key == *key) else {
                return Err(self.unknown(key, located));
            };
            if rule.gives_up {
                match &located.raw {
                    Raw::Text(word) if word == NONE => {}
                    _ => return Err(wrong_type(key, located, &rule.accepted)),
                }
                self.keys.retain(|inherited, _| table_of(inherited) != key);
                continue;
            }
            if rule.key == "calibrated_on" {
                let Raw::Texts(entries) = &located.raw else {
                    return Err(wrong_type(key, located, &rule.accepted));
                };
                self.calibrated_on.extend_from_slice(entries);
            }
            self.keys.insert(key.clone(), located.clone());
            self.depths.insert(key.clone(), depth);
        }
        Ok(())
    }

    /// The error for an unknown key: one without its unit, a misspelt one, or another.
    fn unknown(&self, key: &str, located: &Located) -> DescriptionError {
        let entry = located.entry(key);
        let with_unit = |rule: &&KeyRule| !rule.suffix.is_empty() && rule.key.strip_suffix(rule.suffix) == Some(key);
        if let Some(rule) = self.rules.iter().find(with_unit) {
            let (intended, accepted) = (rule.key.into(), rule.accepted.clone());
            return DescriptionError::MissingUnit { entry, intended, accepted };
        }
        let table = table_of(key);
        let of_table = self.rules.iter().filter(|rule| rule.table() == table);
        let mut accepted: Vec<_> = of_table.map(|rule| rule.key).collect();
        if table.is_empty() || accepted.is_empty() {
            accepted.push(if accepted.is_empty() { "the tables" } else { "and the tables" });
            accepted.extend(self.rules.iter().map(KeyRule::table).filter(|table| !table.is_empty()));
            accepted.dedup();
        }
        let nearest = input::nearest(key, self.rules.iter().map(|rule| rule.key)).map(str::to_owned);
        DescriptionError::UnknownKey { entry, nearest, accepted: accepted.join(" ") }
    }

    /// The value of `key`, checked.
    pub(crate) fn value<K: Kind>(&self, key: &str, kind: &K) -> Result<K::Value, DescriptionError> {
        let Some(located) = self.keys.get(key) else {
            return Err(DescriptionError::Missing { at: self.top.clone(), key: key.into(), accepted: kind.accepted() });
        };
        kind.read(&located.raw).map_err(|rejected| match rejected {
            Rejected::WrongType => wrong_type(key, located, &kind.accepted()),
            Rejected::Impossible(reason) => {
                DescriptionError::Impossible { entry: located.entry(key), reason, accepted: kind.accepted() }
            }
        })
    }

    /// The value of `key`, checked; `default` if no file gives it.
    pub(crate) fn value_or<K: Kind>(
        &self,
        key: &str,
        kind: &K,
        default: K::Value,
    ) -> Result<K::Value, DescriptionError> {
        if self.keys.contains_key(key) { self.value(key, kind) } else { Ok(default) }
    }

    /// Whether any file gives a key of `table`.
    pub(crate) fn has_table(&self, table: &str) -> bool {
        self.keys.keys().any(|key| table_of(key) == table)
    }

    /// The error for a value that contradicts another one.
    pub(crate) fn impossible(&self, key: &str, reason: String, accepted: String) -> DescriptionError {
        let missing = || Entry { at: self.top.clone(), key: key.into(), value: "(missing)".into() };
        let entry = self.keys.get(key).map_or_else(|| Box::new(missing()), |located| located.entry(key));
        DescriptionError::Impossible { entry, reason, accepted }
    }

    /// Rejects any key in `table`, which is unused because of `decided` (the key `kind` and its value); `needed` is the key
    /// and value that would use it. Keys of an ancestor of the file that sets `kind` are left behind: that file has chosen
    /// another kind than they were for.
    pub(crate) fn refuse_table(
        &self,
        table: &str,
        kind: &str,
        decided: &str,
        needed: &str,
    ) -> Result<(), DescriptionError> {
        let chosen = self.depths.get(kind);
        let mut keys = self.depths.iter().filter(|&(_, depth)| Some(depth) >= chosen).map(|(key, _)| key);
        let Some(key) = keys.find(|key| key.split_once('.').is_some_and(|(its, _)| its == table)) else {
            return Ok(());
        };
        Err(self.impossible(key, format!("no effect with {decided}"), format!("[{table}] with {needed}")))
    }

    /// The string of a top-level key, if it is present.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, DescriptionError> {
        match self.keys.get(key) {
            None => Ok(None),
            Some(Located { raw: Raw::Text(text), .. }) => Ok(Some(text.clone())),
            Some(located) => Err(wrong_type(key, located, "a string")),
        }
    }

    /// The origin of each key's value.
    pub(crate) fn origins(&self) -> BTreeMap<String, Origin> {
        self.keys.iter().map(|(key, located)| (key.clone(), located.at.clone())).collect()
    }
}

pub(crate) fn wrong_type(key: &str, located: &Located, accepted: &str) -> DescriptionError {
    let found = located.raw.type_name();
    DescriptionError::WrongType { entry: located.entry(key), found, accepted: accepted.into() }
}

/// Writes a resolved description as TOML.
pub(crate) struct Writer<'o> {
    /// The file so far.
    pub(crate) text: String,
    /// The origin of each key, written beside it as a comment, with that which stands there; may be empty.
    pub(crate) origins: &'o BTreeMap<String, Origin>,
}

impl Writer<'_> {
    /// Begins a table.
    pub(crate) fn table(&mut self, name: &str) {
        self.text.push_str(&format!("\n[{name}]\n"));
    }

    /// Writes one key of `table` (empty at the top of the file).
    pub(crate) fn value(&mut self, table: &str, key: &str, value: &str) {
        let full = if table.is_empty() { key.to_string() } else { format!("{table}.{key}") };
        let line = format!("{key} = {value}");
        match self.origins.get(&full) {
            Some(origin) => {
                let comment = origin.comment.as_ref().map_or_else(String::new, |comment| format!(": {comment}"));
                self.text.push_str(&format!("{line:<48} # {origin}{comment}\n"));
            }
            None => self.text.push_str(&format!("{line}\n")),
        }
    }
}
