//! A table for the terminal: headings with units, text to the left and numbers to the right.

use std::fmt;

use comfy_table::{Cell, CellAlignment, ContentArrangement, presets};

/// How the cells of a column are aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A heading and the alignment of what stands under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    heading: String,
    align: Align,
}

impl Column {
    /// A column of text.
    pub fn text(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), align: Align::Left }
    }

    /// A column of numbers in `unit`, which is printed under the heading unless it is empty.
    pub fn number(heading: impl Into<String>, unit: &str) -> Self {
        let mut heading = heading.into();
        if !unit.is_empty() {
            heading.push_str(&format!("\n({unit})"));
        }
        Self { heading, align: Align::Right }
    }
}

/// Rows of already formatted cells under headings, with a title above and notes below.
///
/// ```
/// use report::{Column, Table};
/// let mut table = Table::new("Latency", vec![Column::text("state"), Column::number("READ", "ns")]);
/// table.row(["UOWN".into(), "384".into()]);
/// assert!(table.to_string().contains("UOWN"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Table {
    /// An empty table. No title line is printed for an empty `title`.
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row; missing cells at its end stay blank.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a line under the table.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// True when no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never wrapped to the terminal's width: the same run must print the same bytes wherever it goes.
        let mut grid = comfy_table::Table::new();
        grid.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let aligned = |text: &str, align| {
            Cell::new(text).set_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            })
        };
        grid.set_header(self.columns.iter().map(|column| aligned(&column.heading, column.align)));
        for row in &self.rows {
            let blank = String::new();
            let cells = self.columns.iter().enumerate();
            grid.add_row(cells.map(|(i, column)| aligned(row.get(i).unwrap_or(&blank), column.align)));
        }
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        for line in grid.lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_in_the_same_column_and_lines_have_no_trailing_blanks() {
        let mut table = Table::new("T", vec![Column::text("state"), Column::number("READ", "ns")]);
        table.row(["UOWN".into(), "384".into()]);
        table.row(["DEXD".into(), "1083.5".into()]);
        table.note("a note");
        let text = table.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "T");
        assert_eq!(lines[3].len(), lines[4].len(), "{text}");
        assert!(lines[3].ends_with("   384"), "{text}");
        assert!(lines.iter().all(|line| line.trim_end() == *line), "{text}");
        assert_eq!(*lines.last().unwrap(), "a note");
    }

    #[test]
    fn a_short_row_leaves_the_rest_blank() {
        let mut table = Table::new("", vec![Column::text("a"), Column::text("b")]);
        table.row(["x".into()]);
        assert!(table.to_string().ends_with("x\n"));
        assert!(!table.is_empty());
    }
}
