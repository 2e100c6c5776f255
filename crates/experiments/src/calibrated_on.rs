//! Statements of which published figures a machine or a program was fitted to.
//!
//! A machine description has them in `calibrated_on`, a program where it is declared, an entry each in the form
//! `PAPER/TABLE [rows NAME, NAME ...] [columns NAME, NAME ...]`; without rows or columns, all of them.

use crate::published::{PublishedCell, PublishedTable};

/// Some figures of one published table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CalibratedOn {
    paper: String,
    table: String,
    /// Empty for all rows.
    rows: Vec<String>,
    /// Empty for all columns.
    columns: Vec<String>,
}

/// An entry of `calibrated_on` that names no published figure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{fitted}: calibrated_on = \"{entry}\": {problem}; accepted: PAPER/TABLE [rows A, B] [columns C, D]")]
pub struct CalibrationError {
    /// The machine or program that has the entry, as in `machine arctic`.
    pub fitted: String,
    /// The entry.
    pub entry: String,
    /// The fault of the entry.
    pub problem: String,
}

impl CalibratedOn {
    /// Reads an entry of the `calibrated_on` of what was `fitted`: `machine arctic`, `program apsi`.
    ///
    /// # Errors
    /// When the entry is not of the form above.
    pub fn parse(fitted: &str, entry: &str) -> Result<Self, CalibrationError> {
        let wrong = |problem: &str| CalibrationError {
            fitted: fitted.to_owned(),
            entry: entry.to_owned(),
            problem: problem.to_owned(),
        };
        let names = |list: &str| list.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>();
        let (rest, columns) = match entry.split_once(" columns ") {
            Some((rest, columns)) => (rest, names(columns)),
            None => (entry, Vec::new()),
        };
        let (rest, rows) = match rest.split_once(" rows ") {
            Some((rest, rows)) => (rest, names(rows)),
            None => (rest, Vec::new()),
        };
        if rows.iter().chain(&columns).any(String::is_empty) {
            return Err(wrong("a name in a list is empty"));
        }
        let (paper, table) = rest.trim().split_once('/').ok_or_else(|| wrong("there is no PAPER/TABLE"))?;
        if paper.is_empty() || table.is_empty() || table.contains(char::is_whitespace) {
            return Err(wrong("PAPER/TABLE is followed by something else than rows or columns"));
        }
        Ok(Self { paper: paper.to_owned(), table: table.to_owned(), rows, columns })
    }

    /// Whether the entry is about this table.
    pub fn concerns(&self, table: &PublishedTable) -> bool {
        self.paper == table.paper && self.table == table.id
    }

    /// Whether a figure of this table is one of those meant.
    pub fn covers(&self, table: &PublishedTable, cell: &PublishedCell) -> bool {
        let listed = |names: &[String], name: &str| names.is_empty() || names.iter().any(|listed| listed == name);
        self.concerns(table) && listed(&self.rows, &cell.row) && listed(&self.columns, &cell.column)
    }

    /// A row or column of the entry that the table does not have.
    pub fn unknown_name(&self, table: &PublishedTable) -> Option<&str> {
        let unknown_row = self.rows.iter().find(|row| table.cells.iter().all(|cell| cell.row != **row));
        let unknown_column = || self.columns.iter().find(|name| table.cells.iter().all(|cell| cell.column != **name));
        unknown_row.or_else(unknown_column).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_a_table_and_perhaps_rows_and_columns() {
        let entry = CalibratedOn::parse("m", "prestor/4.6 rows UOWN, SHRD columns restart READ").unwrap();
        assert_eq!((entry.paper.as_str(), entry.table.as_str()), ("prestor", "4.6"));
        assert_eq!(entry.rows, ["UOWN", "SHRD"]);
        assert_eq!(entry.columns, ["restart READ"]);
        let whole = CalibratedOn::parse("m", "prestor/figure-4.5").unwrap();
        assert!(whole.rows.is_empty() && whole.columns.is_empty());
    }

    #[test]
    fn a_malformed_entry_is_quoted() {
        for entry in ["4.6", "prestor/4.6 UOWN rows", "prestor/4.6 rows UOWN,", "/4.6"] {
            let error = CalibratedOn::parse("machine arctic", entry).unwrap_err().to_string();
            assert!(error.contains("machine arctic") && error.contains(entry), "{error}");
        }
    }
}
