//! How tables are shown: the width of the terminal, the columns that are wanted, and whether colours are used.

use crate::table::Table;

/// How tables are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// The longest line in characters; `None` for no limit.
    width: Option<usize>,
    /// The columns that are wanted by name; all that fit if there are none.
    columns: Vec<String>,
    colour: bool,
}

/// The width of tables where there is no terminal: that of a wide terminal, which still fits a printed page.
pub const WIDTH_WITHOUT_TERMINAL: usize = 100;

impl View {
    /// Lines of at most `width` characters, without colours.
    pub fn of_width(width: usize) -> Self {
        // Less than this leaves no room for a name and a number.
        const LEAST: usize = 40;
        Self { width: Some(width.max(LEAST)), columns: Vec::new(), colour: false }
    }

    /// All columns on lines as long as they need, without colours.
    pub fn wide() -> Self {
        Self { width: None, columns: Vec::new(), colour: false }
    }

    /// The same, showing of each table only the columns that are in `columns`. Tables with none of them are shown as usual.
    #[must_use]
    pub fn with_columns(self, columns: &[String]) -> Self {
        Self { columns: columns.iter().map(|name| simple(name)).collect(), ..self }
    }

    /// The same with or without colours (ANSI escape sequences, 256 colours).
    #[must_use]
    pub fn coloured(self, colour: bool) -> Self {
        Self { colour, ..self }
    }

    /// The longest line in characters; `None` for no limit.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Whether colours are used.
    pub fn has_colour(&self) -> bool {
        self.colour
    }

    /// The first column that was selected and that none of `tables` has, and those that they have.
    pub fn unknown_column<'t>(&self, tables: impl IntoIterator<Item = &'t Table>) -> Option<(&str, String)> {
        let headings = tables.into_iter().flat_map(|table| table.columns.iter().map(|column| &column.heading));
        let mut known: Vec<String> = Vec::new();
        for name in headings.map(|heading| simple(heading)) {
            if !name.is_empty() && !known.contains(&name) {
                known.push(name);
            }
        }
        let unknown = self.columns.iter().find(|name| !known.contains(name))?;
        Some((unknown, known.join(", ")))
    }

    /// Whether the columns are selected by name.
    pub(crate) fn is_selection(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Whether a column is selected by its heading.
    pub(crate) fn selects(&self, heading: &str) -> bool {
        self.columns.contains(&simple(heading))
    }
}

impl Default for View {
    fn default() -> Self {
        Self::of_width(WIDTH_WITHOUT_TERMINAL)
    }
}

/// The name of a column as it is typed: lower case, with single hyphens for spaces.
pub(crate) fn simple(heading: &str) -> String {
    heading
        .to_lowercase()
        .split(|c: char| c.is_whitespace() || c == '-')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// `text` in lines of at most `width` characters, broken between words; words that are longer are broken anywhere. Lines after the
/// first are indented like the first.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let indent: String = text.chars().take_while(|c| *c == ' ').take(width / 2).collect();
    let room = width.saturating_sub(indent.len()).max(1);
    let (mut lines, mut line, mut length) = (Vec::new(), String::new(), 0);
    for word in text.split_whitespace() {
        let mut letters: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + letters.len() > room {
            lines.push(format!("{indent}{line}"));
            (line, length) = (String::new(), 0);
        }
        while letters.len() > room {
            let rest = letters.split_off(room);
            lines.push(format!("{indent}{}", letters.into_iter().collect::<String>()));
            letters = rest;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        length += letters.len();
        line.extend(letters);
    }
    if length > 0 || lines.is_empty() {
        lines.push(format!("{indent}{line}"));
    }
    lines
}

/// A message wrapped where `view` has a limit. Its further lines are indented. What stands in quotes or backquotes, such as a command,
/// is kept together where a line has room for it; words such as paths are never broken.
pub fn message(text: &str, view: &View) -> String {
    const INDENT: &str = "  ";
    let Some(width) = view.width.filter(|&width| text.chars().count() > width) else { return text.to_owned() };
    let (mut lines, mut line, mut length) = (Vec::new(), String::new(), 0);
    for piece in pieces(text, width - INDENT.len()) {
        let more = piece.chars().count();
        if !line.trim().is_empty() && length + 1 + more > width {
            lines.push(std::mem::replace(&mut line, INDENT.to_owned()).trim_end().to_owned());
            length = INDENT.len();
        } else if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        line.push_str(&piece);
        length += more;
    }
    lines.push(line);
    lines.join("\n")
}

/// The words of a message, those within one pair of quotes or backquotes together if they are no longer than `room`.
fn pieces(text: &str, room: usize) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let mut pieces = Vec::new();
    let mut first = 0;
    while first < words.len() {
        let open = |quote: char| words[first].matches(quote).count() % 2 == 1;
        let closing = ['`', '"'].into_iter().find(|&quote| open(quote)).and_then(|quote| {
            let closes = |word: &&str| word.matches(quote).count() % 2 == 1;
            Some(first + 1 + words[first + 1..].iter().position(closes)?)
        });
        let last = closing.unwrap_or(first);
        let together = words[first..=last].join(" ");
        let last = if together.chars().count() <= room { last } else { first };
        pieces.push(words[first..=last].join(" "));
        first = last + 1;
    }
    pieces
}

/// `text` wrapped where `view` has a limit, each line ended.
pub fn paragraph(text: &str, view: &View) -> String {
    let wrapped = |line: &str| match view.width {
        Some(width) if line.chars().count() > width => wrap(line, width),
        _ => vec![line.trim_end().to_owned()],
    };
    text.lines().flat_map(wrapped).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words_and_keeps_its_indentation() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(
            paragraph("a b\nc d e f g h i j k l m n o p q r s t u v w x", &View::of_width(40)).lines().count(),
            3
        );
        assert_eq!(paragraph("a b", &View::wide()), "a b\n");
    }

    #[test]
    fn messages_are_wrapped_and_keep_commands_and_paths_whole() {
        let view = View::of_width(40);
        assert_eq!(message("error: short", &view), "error: short");
        let long = "error: there is no such file; `ccnuma sim --list` tells what there is, and where it is";
        let lines =
            ["error: there is no such file;", "  `ccnuma sim --list` tells what there is,", "  and where it is"];
        assert_eq!(message(long, &View::of_width(42)), lines.join("\n"));
        assert_eq!(message(long, &View::wide()), long);
        let path = "/a/path/that/is/longer/than/any/line/of/this/terminal";
        let wrapped = message(&format!("error: {path}: cannot be read, as it is not there"), &view);
        assert_eq!(wrapped, format!("error:\n  {path}:\n  cannot be read, as it is not there"));
        // An apostrophe and a lonely quote hold nothing together, and two blanks in a row stay.
        let odd = "error: the name 'x  y is not \" known to anybody who is here";
        let unwrapped = message(odd, &view).split('\n').map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert_eq!(unwrapped.replace("   ", " "), odd);
    }

    #[test]
    fn columns_are_named_as_they_are_typed() {
        let view = View::wide().with_columns(&["L2-misses".into(), "miss ratio".into()]);
        assert!(view.selects("L2 misses") && view.selects("Miss\nratio") && !view.selects("L1 misses"));
        assert!(View::wide().with_columns(&[]).columns.is_empty());
        let tables = ["L2 misses", "miss ratio"].map(|heading| Table::new("", vec![crate::Column::text(heading)]));
        assert_eq!(view.unknown_column(&tables), None);
        assert_eq!(view.unknown_column(&tables[..1]), Some(("miss-ratio", "l2-misses".to_owned())));
    }
}
