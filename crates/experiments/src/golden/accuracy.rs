//! Tables of accuracy, from the golden record: by paper in the README, by published table in the manual.

use record::ReproductionRow;
use report::ErrorSummary;

use super::{GoldenError, table};
use crate::catalogue::ENTRIES;
use crate::published::{Kind, PublishedTable};

/// The lines of the README between which the table stands.
const BEGIN: &str = "<!-- accuracy: from golden/figures.csv, by `cargo run --release -p ccnuma-experiments --example golden -- --readme` -->";
const END: &str = "<!-- end of accuracy -->";

/// Kinds of figures whose relative errors say something, as columns.
const KINDS: [(&str, &[Kind]); 3] =
    [("latency", &[Kind::Latency]), ("bandwidth", &[Kind::Bandwidth]), ("ratio, share", &[Kind::Ratio, Kind::Share])];

/// A figure and its kind.
type Figure<'r> = (&'r ReproductionRow, Kind);

/// How far the `figures` of each published table are from it, as a table in Markdown: by kind, median and largest error.
///
/// # Errors
/// When a file of published figures is wrong.
pub fn accuracy(figures: &[ReproductionRow]) -> Result<String, GoldenError> {
    let mut text = heading();
    let mut all = Vec::new();
    for entry in ENTRIES {
        let published = entry.published()?;
        let own = own_figures(figures, &published);
        text.push_str(&line(&entry.name(), &published.title, &own).unwrap_or_default());
        all.extend(own);
    }
    text.push_str(&line("all", "", &all).unwrap_or_default());
    Ok(text)
}

/// The same by paper, each in a line.
///
/// # Errors
/// As [`accuracy`].
pub fn accuracy_by_paper(figures: &[ReproductionRow]) -> Result<String, GoldenError> {
    let mut papers: Vec<(String, usize, Vec<Figure<'_>>)> = Vec::new();
    for entry in ENTRIES {
        let published = entry.published()?;
        let own = own_figures(figures, &published);
        let tables = usize::from(!own.is_empty());
        match papers.iter_mut().find(|(paper, ..)| *paper == published.paper) {
            Some((_, count, known)) => {
                *count += tables;
                known.extend(own);
            }
            None => papers.push((published.paper, tables, own)),
        }
    }
    let lines = papers.iter().filter_map(|(paper, tables, own)| {
        let plural = if *tables == 1 { "" } else { "s" };
        line(paper, &format!("{tables} table{plural} or figure{plural}"), own)
    });
    Ok(heading() + &lines.collect::<String>())
}

fn heading() -> String {
    let mut text = String::from("| | | calibrated |");
    KINDS.iter().for_each(|(name, _)| text.push_str(&format!(" {name}, % |")));
    text.push_str("\n|---|---|---|---|---|---|\n");
    text
}

/// The figures of a published table, with their kinds.
fn own_figures<'r>(figures: &'r [ReproductionRow], published: &PublishedTable) -> Vec<Figure<'r>> {
    let name = format!("{}/{}", published.paper, published.id);
    figures.iter().filter(|row| table(row) == name).filter_map(|row| Some((row, kind(published, row)?))).collect()
}

/// The `readme` with the table of `accuracy` in its place.
///
/// # Errors
/// When it has no place for them.
pub fn with_accuracy(readme: &str, accuracy: &str) -> Result<String, GoldenError> {
    let (before, rest) = readme.split_once(BEGIN).ok_or(GoldenError::NoPlace(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or(GoldenError::NoPlace(END))?;
    Ok(format!("{before}{BEGIN}\n{accuracy}{END}{after}"))
}

/// The kind of a figure of a table.
fn kind(published: &PublishedTable, row: &ReproductionRow) -> Option<Kind> {
    let cell = published.cells.iter().find(|cell| cell.row == row.row && cell.column == row.column);
    cell.map(|cell| cell.kind)
}

/// A line of the table; none if nothing can be compared.
fn line(name: &str, title: &str, figures: &[Figure<'_>]) -> Option<String> {
    let of = |kinds: &[Kind]| {
        let rows = figures.iter().filter(|(_, kind)| kinds.contains(kind)).map(|(row, _)| *row);
        ErrorSummary::of(name, rows)
    };
    let summaries = KINDS.map(|(_, kinds)| of(kinds));
    let count = |of: fn(&ErrorSummary) -> usize| summaries.iter().map(of).sum::<usize>();
    let (compared, calibrated) = (count(|summary| summary.compared), count(|summary| summary.calibrated));
    if compared == 0 {
        return None;
    }
    let errors = summaries.iter().map(|summary| match (summary.median_pct, summary.max_pct) {
        (Some(median), Some(max)) => format!(" {median:.1}, {max:.1} |"),
        _ => " |".to_owned(),
    });
    Some(format!("| {name} | {title} | {calibrated} of {compared} |{}\n", errors.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use record::Unit;

    use super::*;

    fn row(row: &str, column: &str, theirs: Option<f64>, ours: f64, calibrated: bool) -> ReproductionRow {
        ReproductionRow {
            paper: "prestor".into(),
            table: "4.6".into(),
            row: row.into(),
            column: column.into(),
            unit: Unit::Nanoseconds,
            theirs,
            ours: Some(ours),
            error_pct: ReproductionRow::error_of(theirs, Some(ours)),
            calibrated,
        }
    }

    #[test]
    fn errors_are_summed_up_by_table_and_kind() {
        let figures = [
            row("UOWN", "back-to-back READ", Some(100.0), 101.0, true),
            row("UOWN", "restart READ", Some(100.0), 97.0, false),
            row("UOWN", "bandwidth READ", Some(100.0), 90.0, true),
            row("SHRD", "bandwidth READ", None, 90.0, false),
        ];
        let text = accuracy(&figures).expect("the catalogue is right");
        let lines: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(lines[0], "| prestor/4.6 | Local results, R10K 195/130/4 | 2 of 3 | 2.0, 3.0 | 10.0, 10.0 | |");
        assert_eq!((lines.len(), lines[1]), (2, "| all |  | 2 of 3 | 2.0, 3.0 | 10.0, 10.0 | |"));
        let text = accuracy_by_paper(&figures).expect("the catalogue is right");
        let lines: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(lines, ["| prestor | 1 table or figure | 2 of 3 | 2.0, 3.0 | 10.0, 10.0 | |"]);
    }

    #[test]
    fn tables_go_where_their_lines_are() {
        let readme = format!("# A\n{BEGIN}\nold\n{END}\nrest\n");
        let new = with_accuracy(&readme, "new\n").expect("a place");
        assert_eq!(new, format!("# A\n{BEGIN}\nnew\n{END}\nrest\n"));
        assert_eq!(with_accuracy(&new, "new\n").expect("a place"), new);
        assert!(with_accuracy("# A\n", "new\n").is_err());
    }
}
