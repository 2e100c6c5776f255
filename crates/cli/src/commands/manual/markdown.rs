//! Tables and fragments of Markdown.

/// A table under construction.
pub struct Rows {
    text: String,
}

impl Rows {
    /// A table with these headings.
    pub fn new(headings: &[&str]) -> Self {
        let rule = "---|".repeat(headings.len());
        Self { text: format!("| {} |\n|{rule}\n", headings.join(" | ")) }
    }

    /// Adds a row.
    pub fn row<C: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell_text(cell.as_ref())).collect();
        self.text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }

    /// The table, and an empty line.
    pub fn end(self) -> String {
        self.text + "\n"
    }
}

/// Text that stays in its cell.
fn cell_text(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Prose as it is: what Markdown or HTML would take for more is escaped, but for quoted code.
pub fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(number, part)| match number % 2 {
        0 => part.replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_").replace('[', "\\["),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Text as code, in a line.
pub fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Lines as a block of code, in the language of an information string.
pub fn block(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n\n", text.trim_end())
}

/// Text that is shown when its heading is clicked.
pub fn folded(heading: &str, text: &str) -> String {
    format!("<details><summary>{}</summary>\n\n{text}\n</details>\n\n", prose(heading))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_table() {
        let mut rows = Rows::new(&["a", "b"]);
        rows.row(["x | y", "two\nlines"]);
        assert_eq!(rows.end(), "| a | b |\n|---|---|\n| x \\| y | two lines |\n\n");
    }

    #[test]
    fn prose_is_escaped_and_code_is_not() {
        assert_eq!(prose("A_B of `X_Y` <FILE>"), "A\\_B of `X_Y` &lt;FILE>");
        assert_eq!(code("a`b"), "`` a`b ``");
    }
}
