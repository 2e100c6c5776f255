//! Tables: headings with units, text to the left and numbers to the right. [`crate::layout`] fits them to a [`View`].

use std::fmt;

use crate::layout;
use crate::view::View;

/// How the cells of a column are aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A heading, and what becomes of the cells under it where the table does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub(crate) heading: String,
    pub(crate) unit: String,
    pub(crate) align: Align,
    /// Zero for a column that is always shown; of the others the highest is left out first.
    pub(crate) rank: u8,
    /// Whether the cells are sentences, which are wrapped rather than that a column is left out.
    pub(crate) prose: bool,
    /// Whether words are never divided.
    pub(crate) whole_words: bool,
}

impl Column {
    /// A column of text, which is wrapped under its heading where it has to be.
    pub fn text(heading: impl Into<String>) -> Self {
        Self {
            heading: heading.into(),
            unit: String::new(),
            align: Align::Left,
            rank: 0,
            prose: false,
            whole_words: false,
        }
    }

    /// A column of sentences, which is wrapped before any other column is left out.
    pub fn prose(heading: impl Into<String>) -> Self {
        Self { prose: true, ..Self::text(heading) }
    }

    /// The same column, of which no word is divided, however little room there is.
    #[must_use]
    pub fn of_whole_words(self) -> Self {
        Self { whole_words: true, ..self }
    }

    /// A column of numbers in `unit`, which is printed under the heading unless it is empty.
    pub fn number(heading: impl Into<String>, unit: &str) -> Self {
        Self { unit: unit.to_owned(), align: Align::Right, ..Self::text(heading) }
    }

    /// A column that is left out of a table that does not fit: those of the highest rank first.
    #[must_use]
    pub fn detail(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
}

/// How a piece of text looks where there are colours.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Tone {
    /// Like all other text.
    #[default]
    Plain,
    /// A failure, or a value that is far off.
    Bad,
    /// A value that deserves a look.
    Doubtful,
    /// A value that is as it should be.
    Good,
    /// A place on a scale from 0 to 1: a background colour, or a block of that height behind the text.
    Heat(f64),
}

/// Text of one tone after another.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cell {
    pub(crate) spans: Vec<(String, Tone)>,
}

impl Cell {
    /// A text of a tone.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { spans: vec![(text.into(), tone)] }
    }

    /// Texts of several tones after another.
    pub fn of_spans(spans: Vec<(String, Tone)>) -> Self {
        Self { spans }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// Rows of already formatted cells under headings, with a title above and notes below.
///
/// ```
/// use report::{Column, Table, View};
/// let mut table = Table::new("Latency", vec![Column::text("state"), Column::number("READ", "ns")]);
/// table.row(["UOWN", "384"]);
/// assert!(table.shown(&View::of_width(80)).contains("UOWN"));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) notes: Vec<String>,
    /// How many columns are repeated where the others go on below.
    pub(crate) stub: usize,
}

impl Table {
    /// An empty table. No title line is printed for an empty `title`.
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { title: title.into(), columns, rows: Vec::new(), notes: Vec::new(), stub: 1 }
    }

    /// The same with the first `count` columns naming the rows: they are repeated where the others go on below. It is one otherwise.
    #[must_use]
    pub fn named_by(self, count: usize) -> Self {
        Self { stub: count, ..self }
    }

    /// Adds a row; missing cells at its end stay blank.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a line under the table.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// True when no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as `view` has it, each line ended.
    pub fn shown(&self, view: &View) -> String {
        layout::shown(self, view)
    }
}

/// All columns, however wide: see [`Table::shown`] for what fits.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(&View::wide()))
    }
}
