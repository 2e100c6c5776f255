//! Published tables and figures, read from the files under `reference/`.

use std::collections::HashSet;
use std::fmt;

use record::Unit;
use serde::Deserialize;

/// The kind of a published figure, which decides with which others its error may be summarised.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// How long something takes.
    Latency,
    /// How much is moved in a time.
    Bandwidth,
    /// A small difference of two latencies: its relative error says little.
    Difference,
    /// A part in a hundred of something.
    Share,
    /// A quotient of two figures of one kind.
    Ratio,
    /// The shape of a topology or a curve: counts, sizes, steps.
    Structure,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Difference => "difference",
            Self::Share => "share",
            Self::Ratio => "ratio",
            Self::Structure => "structure",
        })
    }
}

/// One figure of a published table.
#[derive(Clone, PartialEq, Debug)]
pub struct PublishedCell {
    /// The row's name, such as `CEXM`.
    pub row: String,
    /// The column's name, such as `back-to-back READ`.
    pub column: String,
    /// The unit of the figure.
    pub unit: Unit,
    /// Its kind.
    pub kind: Kind,
    /// The figure; `None` where the source document withholds it.
    pub theirs: Option<f64>,
}

/// A table or figure of a paper.
#[derive(Clone, PartialEq, Debug)]
pub struct PublishedTable {
    /// The paper's short name, such as `prestor`.
    pub paper: String,
    /// `4.6` for Table 4.6, `figure-4.6` for Figure 4.6, `study-sharing` for a study of ours that no paper prints.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The printed page, where it is known.
    pub page: Option<u32>,
    /// The section that discusses it.
    pub section: String,
    /// The heading of its rows.
    pub row_heading: String,
    /// The machine description that stands for the measured system, when there is one for the whole table.
    pub machine: Option<String>,
    /// Its columns in order.
    pub columns: Vec<PublishedColumn>,
    /// Its figures, row by row; none if its rows come from a topology.
    pub cells: Vec<PublishedCell>,
}

/// A column of a published table.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedColumn {
    /// The column's name.
    pub name: String,
    /// The unit of its figures.
    pub unit: Unit,
    /// The kind of its figures.
    pub kind: Kind,
    /// Whether the text alone states its figures, beside the table or figure.
    #[serde(skip)]
    pub is_beside: bool,
}

/// A file under `reference/` that does not say what a published table must.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct PublishedError {
    /// The file, from the repository's root.
    pub file: String,
    /// The fault of the file.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    paper: String,
    table: Option<String>,
    figure: Option<String>,
    study: Option<String>,
    title: String,
    page: Option<u32>,
    section: String,
    row_heading: String,
    machine: Option<String>,
    #[serde(default)]
    columns: Vec<PublishedColumn>,
    #[serde(default)]
    rows: Vec<FileRow>,
    #[serde(default)]
    facts: Vec<Fact>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    name: String,
    values: Vec<FileValue>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FileValue {
    Figure(f64),
    /// `"-"`: the table leaves the cell empty. `"?"`: the source document withholds it.
    Mark(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    row: String,
    column: String,
    unit: Unit,
    kind: Kind,
    value: f64,
}

impl PublishedTable {
    /// Reads the text of one file; `file` is what errors call it.
    ///
    /// # Errors
    /// Broken TOML, unknown keys, a row whose length is not that of the columns, an unknown mark, or a figure that
    /// occurs twice.
    pub fn parse(file: &str, text: &str) -> Result<Self, PublishedError> {
        let wrong = |reason: String| PublishedError { file: file.to_owned(), reason };
        let parsed: File = toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        let id = match (&parsed.table, &parsed.figure, &parsed.study) {
            (Some(table), None, None) => table.clone(),
            (None, Some(figure), None) => format!("figure-{figure}"),
            (None, None, Some(study)) => format!("study-{study}"),
            _ => return Err(wrong("exactly one of `table`, `figure` and `study` must be given".to_owned())),
        };
        let cells = cells(&parsed).map_err(wrong)?;
        if let Some(cell) = cells.iter().find(|cell| parsed.study.is_some() && cell.theirs.is_some()) {
            return Err(wrong(format!("row {}, column {}: a study has no published figures", cell.row, cell.column)));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = cells.iter().find(|cell| !seen.insert((&cell.row, &cell.column))) {
            return Err(wrong(format!("row {} has column {} twice", twice.row, twice.column)));
        }
        let mut columns = parsed.columns;
        for fact in &parsed.facts {
            if columns.iter().all(|column| column.name != fact.column) {
                let name = fact.column.clone();
                columns.push(PublishedColumn { name, unit: fact.unit, kind: fact.kind, is_beside: true });
            }
        }
        Ok(Self {
            paper: parsed.paper,
            id,
            title: parsed.title,
            page: parsed.page,
            section: parsed.section,
            row_heading: parsed.row_heading,
            machine: parsed.machine,
            columns,
            cells,
        })
    }

    /// The same columns with `rows` and without any published figure.
    pub fn blank(&self, rows: &[String]) -> Vec<PublishedCell> {
        let cell = |row: &String, column: &PublishedColumn| PublishedCell {
            row: row.clone(),
            column: column.name.clone(),
            unit: column.unit,
            kind: column.kind,
            theirs: None,
        };
        rows.iter().flat_map(|row| self.columns.iter().map(move |column| cell(row, column))).collect()
    }
}

fn cells(file: &File) -> Result<Vec<PublishedCell>, String> {
    let mut cells = Vec::new();
    for row in &file.rows {
        if row.values.len() != file.columns.len() {
            return Err(format!("row {} has {} values for {} columns", row.name, row.values.len(), file.columns.len()));
        }
        for (value, column) in row.values.iter().zip(&file.columns) {
            let theirs = match value {
                FileValue::Figure(figure) => Some(*figure),
                FileValue::Mark(mark) if mark == "?" => None,
                FileValue::Mark(mark) if mark == "-" => continue,
                FileValue::Mark(mark) => {
                    return Err(format!(
                        "row {}, column {}: {mark:?} is neither a figure, \"-\" nor \"?\"",
                        row.name, column.name
                    ));
                }
            };
            let (row, column_name) = (row.name.clone(), column.name.clone());
            cells.push(PublishedCell { row, column: column_name, unit: column.unit, kind: column.kind, theirs });
        }
    }
    cells.extend(file.facts.iter().map(|fact| PublishedCell {
        row: fact.row.clone(),
        column: fact.column.clone(),
        unit: fact.unit,
        kind: fact.kind,
        theirs: Some(fact.value),
    }));
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "paper = \"p\"\ntable = \"1\"\ntitle = \"t\"\nsection = \"s\"\nrow_heading = \"r\"\n";

    fn parse(body: &str) -> Result<PublishedTable, String> {
        PublishedTable::parse("reference/p/1.toml", &format!("{HEAD}{body}")).map_err(|error| error.to_string())
    }

    const COLUMNS: &str = r#"columns = [{ name = "a", unit = "ns", kind = "latency" }, { name = "b", unit = "MB/s", kind = "bandwidth" }]"#;

    #[test]
    fn blank_cells_do_not_exist_and_withheld_ones_have_no_figure() {
        let table = parse(&format!(
            "{COLUMNS}\nrows = [{{ name = \"x\", values = [7, \"-\"] }}, {{ name = \"y\", values = [\"?\", 2.5] }}]"
        ));
        let table = table.unwrap();
        let seen: Vec<_> = table.cells.iter().map(|c| (c.row.as_str(), c.column.as_str(), c.theirs)).collect();
        assert_eq!(seen, [("x", "a", Some(7.0)), ("y", "a", None), ("y", "b", Some(2.5))]);
        assert_eq!(table.columns.len(), 2);
    }

    #[test]
    fn an_open_table_takes_its_rows_from_elsewhere() {
        let cells = parse(COLUMNS).unwrap().blank(&["1".into(), "0".into()]);
        let seen: Vec<_> = cells.iter().map(|c| (c.row.as_str(), c.column.as_str(), c.theirs)).collect();
        assert_eq!(seen, [("1", "a", None), ("1", "b", None), ("0", "a", None), ("0", "b", None)]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let short = parse(&format!("{COLUMNS}\nrows = [{{ name = \"x\", values = [7] }}]")).unwrap_err();
        assert!(short.contains("reference/p/1.toml: row x has 1 values for 2 columns"), "{short}");
        let mark = parse(&format!("{COLUMNS}\nrows = [{{ name = \"x\", values = [7, \"n/a\"] }}]")).unwrap_err();
        assert!(mark.contains("\"n/a\" is neither"), "{mark}");
        let twice = parse(&format!(
            "{COLUMNS}\nrows = [{{ name = \"x\", values = [7, 1] }}, {{ name = \"x\", values = [7, 1] }}]"
        ));
        assert!(twice.unwrap_err().contains("row x has column a twice"));
        assert!(parse("colums = []").unwrap_err().contains("colums"));
        assert!(parse("figure = \"1\"").unwrap_err().contains("exactly one of"));
        let study = format!(
            "{}study = \"s\"\n{COLUMNS}\nrows = [{{ name = \"x\", values = [7, 1] }}]",
            HEAD.replace("table = \"1\"\n", "")
        );
        let error = PublishedTable::parse("f", &study).unwrap_err().to_string();
        assert!(error.contains("a study has no published figures"), "{error}");
    }
}
