//! Documents in Markdown on a terminal: headings, paragraphs, lists, and tables in aligned columns.

use crate::{Column, Table, View, paragraph};

/// Text for a terminal from `markdown`, no wider than `view` has it, each line ended. Headings, paragraphs, items of lists (`- `) and tables
/// are known; the quotes of code are left out.
pub fn document(markdown: &str, view: &View) -> String {
    let text = markdown.replace('`', "");
    let mut blocks = Vec::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        let kind = Kind::of(line);
        let mut block = vec![line];
        while let Some(next) = rest.next_if(|next| kind.goes_on(Kind::of(next))) {
            block.push(next);
        }
        match kind {
            Kind::Blank => {}
            Kind::Heading => blocks.push(format!("{}\n", line.trim_start_matches('#').trim())),
            Kind::Row => blocks.push(table(&block).shown(view)),
            Kind::Item => blocks.push(paragraph(&block.join("\n"), view)),
            Kind::Text => blocks.push(paragraph(&block.join(" "), view)),
        }
    }
    blocks.join("\n")
}

/// Kind of the block that a line is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Heading,
    Row,
    Item,
    Text,
}

impl Kind {
    fn of(line: &str) -> Self {
        match line {
            _ if line.trim().is_empty() => Self::Blank,
            _ if line.starts_with('#') => Self::Heading,
            _ if line.starts_with('|') => Self::Row,
            _ if line.starts_with("- ") => Self::Item,
            _ => Self::Text,
        }
    }

    /// Whether a line of this kind and the next are one block.
    fn goes_on(self, next: Self) -> bool {
        self == next && self != Self::Heading
    }
}

/// A table of Markdown, whose second line is the rule under the headings.
fn table(lines: &[&str]) -> Table {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let headings = lines.first().map(|line| cells(line)).unwrap_or_default();
    // The first two name a row of many: a state and a message, or whatever stands in their place.
    let names = if headings.len() > 3 { 2 } else { 1 };
    let columns = headings.into_iter().map(|heading| Column::prose(heading).of_whole_words()).collect();
    let mut table = Table::new("", columns).named_by(names);
    lines.iter().skip(2).for_each(|line| table.row(cells(line)));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_text_lists_and_tables_are_shown() {
        let markdown = "# Home\n\nOne paragraph\nof `GET`.\n\n| state | message |\n|---|---|\n| SHRD by others | GET |\n| EXCL | PUT |\n\n## Never\n\n- one\n- two\n";
        let shown = "Home\n\nOne paragraph of GET.\n\nstate           message\nSHRD by others  GET\nEXCL            PUT\n\nNever\n\n- one\n- two\n";
        assert_eq!(document(markdown, &View::of_width(60)), shown);
    }

    /// No word is divided; where columns go on below, state and message are repeated.
    #[test]
    fn wide_tables_go_on_below() {
        let markdown = "| situation | message | transaction | next state |\n|---|---|---|---|\n| SHRD by others | READ | \
                        BackoffInterventionExclusive | EXCL |\n";
        let shown = document(markdown, &View::of_width(56));
        let words: Vec<&str> = shown.split_whitespace().collect();
        assert!(words.contains(&"BackoffInterventionExclusive") && shown.matches("READ").count() == 2, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 56), "{shown}");
    }

    #[test]
    fn long_lines_are_wrapped() {
        let shown = document("word word word word word word word word word word\n", &View::of_width(40));
        assert_eq!(shown, "word word word word word word word word\nword word\n");
    }
}
