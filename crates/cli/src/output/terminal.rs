//! The terminal that tables are shown on: its width, and whether it has colours.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use clap::ValueEnum;
use report::WIDTH_WITHOUT_TERMINAL;

/// When tables are coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

impl ColourChoice {
    /// Whether what is written to `stream` is coloured.
    pub(super) fn on(self, stream: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                stream.is_terminal()
                    && has_colours(std::env::var_os("NO_COLOR").as_deref(), std::env::var_os("TERM").as_deref())
            }
        }
    }
}

/// Whether a terminal is to be given colours (no-color.org: a variable that is there and not empty forbids them).
fn has_colours(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
}

/// Whether `error:` is painted on standard error: by the rule of tables, and by `--color` among the words of the command line, which
/// may be what is wrong.
pub fn paints_errors() -> bool {
    let words = std::env::args_os().take_while(|word| word != "--");
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let given = words.iter().enumerate().find_map(|(place, word)| match word.strip_prefix("--color")? {
        "" => words.get(place + 1).map(String::as_str),
        value => value.strip_prefix('='),
    });
    let choice = given.and_then(|value| ColourChoice::from_str(value, false).ok()).unwrap_or_default();
    choice.on(&io::stderr())
}

/// The longest line of what is told on standard error.
pub fn width_of_errors() -> usize {
    width(&io::stderr())
}

/// The longest line in characters: COLUMNS, or the terminal's width.
pub(super) fn width(stream: &(impl IsTerminal + AsFd)) -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let terminal = || terminal_size::terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    columns.filter(|&columns| columns > 0).or_else(terminal).unwrap_or(WIDTH_WITHOUT_TERMINAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_dumb_terminals_have_no_colours() {
        let of =
            |no_color: Option<&str>, term: Option<&str>| has_colours(no_color.map(OsStr::new), term.map(OsStr::new));
        assert!(
            of(None, None) && of(Some(""), Some("xterm")) && !of(Some("1"), Some("xterm")) && !of(None, Some("dumb"))
        );
        // A file is no terminal.
        let file = tempfile::tempfile().expect("a file");
        assert!(!ColourChoice::Auto.on(&file) && ColourChoice::Always.on(&file) && !ColourChoice::Never.on(&file));
    }
}
