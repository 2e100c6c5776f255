//! Pages of the papers: every published table and figure beside the simulated one, from the golden record, with a plot.

use std::collections::BTreeMap;

use experiments::catalogue::{Entry, select};
use experiments::golden::GoldenRecord;
use experiments::published::{PublishedCell, PublishedTable};
use record::ReproductionRow;
use report::{Axis, ErrorSummary, Mark, Plot, Series};

use super::Page;
use super::markdown::{Rows, code, folded, prose};
use crate::failure::Failure;

/// The papers, by short name: what each is.
const PAPERS: [(&str, &str); 5] = [
    ("prestor", "L. Prestor's thesis (2001): the SGI Origin 2000, its protocol, microbenchmarks and profiler"),
    ("flash", "The FLASH dissertation: directory protocols, occupancy, schedulers, software bottlenecks"),
    ("seidl", "S. Seidl (1997): access times by random windows, and a fit of the memory hierarchy to them"),
    ("hexsel", "R. Hexsel and N. Topham: SCI rings, linked-list coherence, comparison with DASH"),
    ("lai", "A.-C. Lai and B. Falsafi (2000): clusters of SMPs, page migration and replication, R-NUMA"),
];

/// More rows than these are folded away.
const FOLDED: usize = 40;
/// A plot needs as many figures.
const LEAST: usize = 3;

/// The page that sums up all papers, a page for each, and their plots.
///
/// # Errors
/// When published figures or the record are wrong, which tests rule out.
pub fn pages() -> Result<Vec<Page>, Failure> {
    let golden = GoldenRecord::committed().map_err(Failure::run)?;
    let mut pages = vec![summary(&golden)?];
    for (paper, about) in PAPERS {
        let mut text = format!("# {}\n\n{}.\n\n", title(about), prose(about));
        text.push_str(&format!("`ccnuma reproduce {paper}` reruns all of it; `--quick` takes less data.\n\n"));
        for entry in select(paper).map_err(Failure::run)? {
            let published = entry.published().map_err(Failure::run)?;
            let of_table = |row: &&ReproductionRow| row.paper == published.paper && row.table == published.id;
            let rows: Vec<&ReproductionRow> = golden.figures.iter().filter(of_table).collect();
            text.push_str(&heading(entry, &published));
            if rows.is_empty() {
                text.push_str(&published_alone(entry, &published));
                continue;
            }
            text.push_str(&errors(&rows));
            if let Some(svg) = plot(&published, &rows) {
                let path = format!("papers/{}.svg", entry.name().replace('/', "-"));
                text.push_str(&format!("![Simulated over published figures of {}]({})\n\n", entry.name(), &path[7..]));
                pages.push(Page::svg(path, &svg));
            }
            text.push_str(&beside(&published, &rows));
        }
        pages.push(Page::markdown(format!("papers/{paper}.md"), &text));
    }
    Ok(pages)
}

/// The words before the colon.
fn title(about: &str) -> &str {
    about.split(':').next().unwrap_or(about)
}

/// The page of all papers: how far each table is from the published one.
fn summary(golden: &GoldenRecord) -> Result<Page, Failure> {
    let mut text = String::from("# The papers\n\n");
    text.push_str(
        "Every published table and figure that the simulated machines can be compared with, from the golden record ",
    );
    text.push_str(
        "that the repository holds to the last digit. Figures that a machine was calibrated on are marked, and their ",
    );
    text.push_str("error is that of a fit; all others are predictions.\n\n");
    let mut rows = Rows::new(&["paper", "what it is"]);
    PAPERS.iter().for_each(|(paper, about)| rows.row([format!("[{paper}](papers/{paper}.md)"), prose(about)]));
    text.push_str(&rows.end());
    text.push_str(
        "## How far they are from the published ones\n\nMedian and largest error, in percent, by kind of figure.\n\n",
    );
    text.push_str(&experiments::golden::accuracy(&golden.figures).map_err(Failure::run)?);
    Ok(Page::markdown("papers.md", &text))
}

fn heading(entry: &Entry, published: &PublishedTable) -> String {
    let page = published.page.map(|page| format!(", page {page}")).unwrap_or_default();
    let machine = published.machine.as_ref().map(|name| format!(" On `{name}`.")).unwrap_or_default();
    let place = format!("Section {}{page}.{machine} `ccnuma reproduce {}`", published.section, entry.name());
    format!("## {}: {}\n\n{place}\n\n", entry.name(), prose(&published.title))
}

/// How far a table's figures are from the published ones, in a sentence.
fn errors(rows: &[&ReproductionRow]) -> String {
    let summary = ErrorSummary::of("", rows.iter().copied());
    let mut text = match (summary.median_pct, summary.max_pct) {
        (Some(median), Some(largest)) => format!(
            "Of {} figures that can be compared the median error is {median:.1} %, the largest {largest:.1} %; the machine was calibrated on {} of them.",
            summary.compared, summary.calibrated
        ),
        _ => "None of its published figures is in this repository: ours are predictions.".to_owned(),
    };
    if summary.withheld > 0 && summary.compared > 0 {
        text.push_str(&format!(" {} more have no published figure in this repository.", summary.withheld));
    }
    text + "\n\n"
}

/// Published and simulated figures in the published form: a cell has `simulated / published (error)`.
fn beside(published: &PublishedTable, rows: &[&ReproductionRow]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    let mut lines: Vec<(&str, BTreeMap<&str, String>)> = Vec::new();
    for row in rows {
        if !columns.contains(&row.column.as_str()) {
            columns.push(&row.column);
        }
        let cell = compared(row);
        match lines.iter_mut().find(|(name, _)| *name == row.row) {
            Some((_, cells)) => drop(cells.insert(&row.column, cell)),
            None => lines.push((&row.row, [(row.column.as_str(), cell)].into())),
        }
    }
    let unit = |column: &str| rows.iter().find(|row| row.column == column).map(|row| row.unit.to_string());
    let headings: Vec<String> = [published.row_heading.clone()]
        .into_iter()
        .chain(columns.iter().map(|column| format!("{column} ({})", unit(column).unwrap_or_default())))
        .collect();
    let mut table = Rows::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    for (name, cells) in &lines {
        let of = |column: &&str| cells.get(column).cloned().unwrap_or_default();
        table.row([prose(name)].into_iter().chain(columns.iter().map(of)));
    }
    let legend = "Simulated / published (error); * the machine was calibrated on it.\n\n";
    if lines.len() > FOLDED {
        return folded(&format!("{} figures in {} rows", rows.len(), lines.len()), &format!("{legend}{}", table.end()));
    }
    format!("{legend}{}", table.end())
}

fn compared(row: &ReproductionRow) -> String {
    let number = |value: f64| match value.abs() {
        large if large >= 1000.0 => format!("{value:.0}"),
        large if large >= 10.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    let mark = if row.calibrated { "\\*" } else { "" };
    match (row.ours, row.theirs) {
        (Some(ours), Some(theirs)) => {
            let error = row.error_pct.map(|error| format!(" ({error:+.1} %{mark})")).unwrap_or_default();
            format!("{} / {}{error}", number(ours), number(theirs))
        }
        (Some(ours), None) => number(ours),
        (None, Some(theirs)) => format!("- / {}", number(theirs)),
        (None, None) => String::new(),
    }
}

/// The published figures where the record has no simulated ones: running the programs takes minutes to hours.
fn published_alone(entry: &Entry, published: &PublishedTable) -> String {
    let cells: Vec<&PublishedCell> = published.cells.iter().filter(|cell| cell.theirs.is_some()).collect();
    let mut text = format!(
        "Its simulation runs programs for minutes to hours and is not part of the golden record: {} compares.\n\n",
        code(&format!("ccnuma reproduce {} --quick", entry.name()))
    );
    if cells.is_empty() {
        return text;
    }
    let mut table = Rows::new(&[published.row_heading.as_str(), "column", "published", "unit"]);
    for cell in &cells {
        let value = cell.theirs.map(|value| value.to_string()).unwrap_or_default();
        table.row([prose(&cell.row), prose(&cell.column), value, cell.unit.to_string()]);
    }
    text.push_str(&folded(&format!("{} published figures", cells.len()), &table.end()));
    text
}

/// Simulated over published figures of the most common unit, calibrated ones and predictions apart; `None` for too few.
fn plot(published: &PublishedTable, rows: &[&ReproductionRow]) -> Option<String> {
    let pair = |row: &&ReproductionRow| {
        Some((row.theirs.filter(|&value| value > 0.0)?, row.ours.filter(|&value| value > 0.0)?))
    };
    let mut by_unit: BTreeMap<String, Vec<&ReproductionRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| pair(row).is_some()) {
        by_unit.entry(row.unit.to_string()).or_default().push(row);
    }
    let (unit, drawn) =
        by_unit.into_iter().max_by_key(|(_, drawn)| drawn.len()).filter(|(_, drawn)| drawn.len() >= LEAST)?;
    let points = |calibrated| {
        let own = drawn.iter().filter(|row| row.calibrated == calibrated);
        own.filter_map(pair).collect::<Vec<_>>()
    };
    let values = || drawn.iter().filter_map(pair).flat_map(|(theirs, ours)| [theirs, ours]);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let series = |name: &str, points, mark, colour| Series { name: name.to_owned(), points, mark, colour };
    let axis = |label: String| if most / least > 20.0 { Axis::log2(label) } else { Axis::linear(label) };
    let plot = Plot {
        title: format!("{} {}: {}", published.paper, published.id, published.title),
        x: axis(format!("published ({unit})")),
        y: axis(format!("simulated ({unit})")),
        series: vec![
            series("equal", vec![(least, least), (most, most)], Mark::Line, 4),
            series("calibrated on", points(true), Mark::Points, 0),
            series("predictions", points(false), Mark::Points, 1),
        ],
    };
    plot.svg().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_has_a_page_with_all_its_tables() {
        let pages = pages().expect("the record is right");
        let entries = select("").expect("all");
        for entry in entries {
            let (paper, _) =
                entry.name().split_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("PAPER/TABLE");
            let page = pages.iter().find(|page| page.path == format!("papers/{paper}.md"));
            let heading = format!("\n## {}: ", entry.name());
            assert!(page.is_some_and(|page| page.text.contains(&heading)), "{}", entry.name());
        }
        let svg = pages.iter().find(|page| page.path == "papers/prestor-4.6.svg").expect("a plot");
        assert!(svg.text.contains("<svg") && svg.text.contains("simulated (ns)"));
    }

    #[test]
    fn a_cell_has_both_figures_and_the_error() {
        let golden = GoldenRecord::committed().expect("right");
        let of = |row: &&ReproductionRow| row.table == "4.6" && row.column == "back-to-back READ" && row.row == "UOWN";
        let row = golden.figures.iter().find(of).expect("it is there");
        let cell = compared(row);
        assert!(cell.contains(" / 476 (-0.") && cell.ends_with(" %\\*)"), "{cell}");
    }
}
