//! Tables as lines that fit.
//!
//! A table that is too wide first has its headings wrapped; then columns of detail are left out, the least important first, and the
//! closing line names them; then text is wrapped under its heading; and if even that is too wide, the columns go on in a block below,
//! behind the names of the rows.

use crate::heat;
use crate::table::{Align, Cell, Column, Table, Tone};
use crate::view::{View, simple, wrap};

/// Between two columns.
const GAP: usize = 2;
/// Text is wrapped to no less than this.
const NARROWEST: usize = 14;
/// Prose is wrapped to this before any column is left out.
const PROSE: usize = 30;
/// Headings of numbers are wrapped to no less than this.
const NARROW_HEADING: usize = 6;

/// The table as `view` has it.
pub(crate) fn shown(table: &Table, view: &View) -> String {
    let grid = Grid::new(table, view);
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    let wrapped = |text: &str| match view.width() {
        Some(width) if text.chars().count() > width => wrap(text, width),
        _ => vec![text.to_owned()],
    };
    if !table.title.is_empty() {
        wrapped(&table.title).iter().for_each(|title| line(title));
    }
    let chosen = grid.selected();
    let (kept, left_out) = grid.fitting(chosen);
    let widths = grid.widths(&kept);
    for (number, block) in grid.blocks(&kept, &widths).iter().enumerate() {
        if number > 0 {
            line("");
        }
        grid.lines(block).iter().for_each(|text| line(text));
    }
    table.notes.iter().flat_map(|note| note.lines()).flat_map(wrapped).for_each(|note| line(&note));
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|&place| simple(&table.columns[place].heading)).collect();
        let closing =
            format!("columns not shown: {} (--wide shows all, --columns A,B,... those named)", names.join(", "));
        wrapped(&closing).iter().for_each(|closing| line(closing));
    }
    text
}

/// A column of a block, and how wide it is.
type Placed = (usize, usize);

struct Grid<'t> {
    table: &'t Table,
    view: &'t View,
}

impl<'t> Grid<'t> {
    fn new(table: &'t Table, view: &'t View) -> Self {
        Self { table, view }
    }

    /// The columns that are wanted: those selected by name behind the one that names the rows, or all.
    fn selected(&self) -> Vec<usize> {
        let all: Vec<usize> = (0..self.table.columns.len()).collect();
        let selects = |place: &usize| self.view.selects(&self.table.columns[*place].heading);
        if !self.view.is_selection() || !all.iter().any(selects) {
            return all;
        }
        all.into_iter().filter(|place| *place < self.table.stub || selects(place)).collect()
    }

    /// The places in `columns` that are shown, and those that are left out for want of room.
    fn fitting(&self, columns: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
        let (Some(width), false) = (self.view.width(), self.view.is_selection()) else { return (columns, Vec::new()) };
        let (mut kept, mut left_out) = (columns, Vec::new());
        while self.total(&kept, Self::compact) > width {
            let rank = |place: &usize| self.table.columns[*place].rank;
            let Some(worst) = kept.iter().copied().filter(|place| rank(place) > 0).max_by_key(rank) else { break };
            kept.retain(|place| *place != worst);
            left_out.push(worst);
        }
        left_out.sort_unstable();
        (kept, left_out)
    }

    fn total(&self, columns: &[usize], of: impl Fn(&Self, usize) -> usize) -> usize {
        columns.iter().map(|&place| of(self, place)).sum::<usize>() + GAP * columns.len().saturating_sub(1)
    }

    fn column(&self, place: usize) -> &'t Column {
        &self.table.columns[place]
    }

    /// The widest cell of a column.
    fn cells(&self, place: usize) -> usize {
        let length = |row: &Vec<Cell>| row.get(place).map_or(0, |cell| self.length(cell));
        self.table.rows.iter().map(length).max().unwrap_or(0)
    }

    fn length(&self, cell: &Cell) -> usize {
        // Without colours, the block that stands for one.
        let of = |(text, tone): &(String, Tone)| {
            text.chars().count() + usize::from(matches!(tone, Tone::Heat(_)) && !self.view.has_colour())
        };
        cell.spans.iter().map(of).sum()
    }

    /// The longest word of a column whose words are not divided.
    fn longest_word(&self, place: usize) -> usize {
        let texts = self.table.rows.iter().filter_map(|row| row.get(place)).flat_map(|cell| &cell.spans);
        let words = texts.flat_map(|(text, _)| text.split_whitespace()).map(|word| word.chars().count());
        if self.column(place).whole_words { words.max().unwrap_or(0) } else { 0 }
    }

    fn unit(&self, place: usize) -> usize {
        let unit = self.column(place).unit.chars().count();
        if unit > 0 { unit + 2 } else { 0 }
    }

    /// The width without anything wrapped.
    fn natural(&self, place: usize) -> usize {
        let heading = self.column(place).heading.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        heading.max(self.unit(place)).max(self.cells(place))
    }

    /// The width with the heading wrapped.
    fn compact(&self, place: usize) -> usize {
        let natural = self.natural(place);
        let longest = longest_piece(&self.column(place).heading);
        let cells = self.cells(place);
        let cells = if self.column(place).prose { cells.min(PROSE) } else { cells };
        cells.max(longest).max(self.unit(place)).max(NARROW_HEADING.min(natural))
    }

    /// The widths of `columns`: as they are if that fits, else with headings and then text wrapped.
    fn widths(&self, columns: &[usize]) -> Vec<Placed> {
        let natural = |place: usize| (place, self.natural(place));
        let Some(width) = self.view.width() else { return columns.iter().copied().map(natural).collect() };
        if self.total(columns, Self::natural) <= width {
            return columns.iter().copied().map(natural).collect();
        }
        let narrow = |place: usize| if self.column(place).prose { self.natural(place) } else { self.compact(place) };
        let mut placed: Vec<Placed> = columns.iter().map(|&place| (place, narrow(place))).collect();
        loop {
            let total = placed.iter().map(|(_, width)| width).sum::<usize>() + GAP * placed.len().saturating_sub(1);
            let excess = total.saturating_sub(width);
            let least =
                |place: usize| NARROWEST.max(longest_piece(&self.column(place).heading)).max(self.longest_word(place));
            let is_text = |(place, _): &&mut Placed| self.column(*place).align == Align::Left;
            let wide = placed.iter_mut().filter(is_text).filter(|(place, width)| *width > least(*place));
            let Some(widest) = wide.max_by_key(|(_, width)| *width) else { break };
            if excess == 0 {
                break;
            }
            // A step at a time, so that several wide columns share what is to be saved.
            widest.1 = widest.1.saturating_sub(excess.min(4)).max(least(widest.0));
        }
        placed
    }

    /// The blocks in which the columns stand: one if they fit.
    fn blocks(&self, columns: &[usize], placed: &[Placed]) -> Vec<Vec<Placed>> {
        let Some(width) = self.view.width() else { return vec![placed.to_vec()] };
        let stub = self.table.stub.min(columns.len());
        let (names, rest) = placed.split_at(placed.iter().take_while(|(place, _)| *place < stub).count());
        let mut blocks = vec![names.to_vec()];
        let size = |block: &[Placed]| block.iter().map(|(_, width)| width + GAP).sum::<usize>();
        for &column in rest {
            if blocks.last().is_some_and(|last| size(last) + column.1 > width && last.len() > names.len()) {
                blocks.push(names.to_vec());
            }
            if let Some(last) = blocks.last_mut() {
                last.push(column);
            }
        }
        blocks
    }

    /// The heading and the rows of a block.
    fn lines(&self, block: &[Placed]) -> Vec<String> {
        let mut lines = self.heading(block);
        for row in &self.table.rows {
            let cell =
                |place: usize, width: usize| row.get(place).map_or_else(Vec::new, |cell| self.wrapped(cell, width));
            let cells: Vec<Vec<Cell>> = block.iter().map(|&(place, width)| cell(place, width)).collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0).max(1) {
                let blank = Cell::default();
                let texts = block.iter().zip(&cells).map(|(&(place, width), cell)| {
                    self.padded(cell.get(line).unwrap_or(&blank), width, self.column(place).align)
                });
                lines.push(texts.collect::<Vec<_>>().join(&" ".repeat(GAP)));
            }
        }
        lines
    }

    /// The headings, which end on the same line, and the units below them.
    fn heading(&self, block: &[Placed]) -> Vec<String> {
        let wrapped = |&(place, width): &Placed| -> Vec<String> {
            let lines = self.column(place).heading.lines().flat_map(|line| wrap_heading(line, width));
            lines.filter(|line| !line.is_empty()).collect()
        };
        let headings: Vec<Vec<String>> = block.iter().map(wrapped).collect();
        let high = headings.iter().map(Vec::len).max().unwrap_or(0);
        let joined = |texts: Vec<String>| texts.join(&" ".repeat(GAP));
        let aligned = |text: &str, &(place, width): &Placed| match self.column(place).align {
            Align::Left => format!("{text:<width$}"),
            Align::Right => format!("{text:>width$}"),
        };
        let line = |line: usize| {
            let text = |(lines, placed): (&Vec<String>, &Placed)| {
                let text = (line + lines.len()).checked_sub(high).and_then(|place| lines.get(place));
                aligned(text.map_or("", String::as_str), placed)
            };
            joined(headings.iter().zip(block).map(text).collect())
        };
        let mut lines: Vec<String> = (0..high).map(line).collect();
        if block.iter().any(|&(place, _)| !self.column(place).unit.is_empty()) {
            let unit = |placed: &Placed| {
                let unit = &self.column(placed.0).unit;
                aligned(&if unit.is_empty() { String::new() } else { format!("({unit})") }, placed)
            };
            lines.push(joined(block.iter().map(unit).collect()));
        }
        lines
    }

    /// A cell on lines of a width. Only text of one tone is wrapped.
    fn wrapped(&self, cell: &Cell, width: usize) -> Vec<Cell> {
        match cell.spans.as_slice() {
            [(text, tone)] if self.length(cell) > width => {
                wrap(text, width).into_iter().map(|line| Cell::new(line, *tone)).collect()
            }
            _ => vec![cell.clone()],
        }
    }

    fn padded(&self, cell: &Cell, width: usize, align: Align) -> String {
        let blank = " ".repeat(width.saturating_sub(self.length(cell)));
        let text: String = cell.spans.iter().map(|(text, tone)| self.painted(text, *tone)).collect();
        match align {
            Align::Left => text + &blank,
            Align::Right => blank + &text,
        }
    }

    /// A text in its tone: by an escape sequence, or by a block where there are no colours.
    fn painted(&self, text: &str, tone: Tone) -> String {
        match (tone, self.view.has_colour()) {
            (Tone::Plain, _) | (Tone::Bad | Tone::Doubtful | Tone::Good, false) => text.to_owned(),
            (Tone::Heat(part), false) => format!("{text}{}", heat::block(part)),
            (Tone::Heat(part), true) => format!("{}{text}\x1b[0m", heat::escape(part)),
            (Tone::Bad, true) => format!("\x1b[31m{text}\x1b[0m"),
            (Tone::Doubtful, true) => format!("\x1b[33m{text}\x1b[0m"),
            (Tone::Good, true) => format!("\x1b[32m{text}\x1b[0m"),
        }
    }
}

/// The longest piece of a heading, which is broken between words and after hyphens.
fn longest_piece(heading: &str) -> usize {
    let pieces = heading.split_whitespace().flat_map(|word| word.split_inclusive('-'));
    pieces.map(|piece| piece.chars().count()).max().unwrap_or(0)
}

/// A heading on lines of at most `width` characters, unless a piece is longer.
fn wrap_heading(heading: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in heading.split_whitespace() {
        for (number, piece) in word.split_inclusive('-').enumerate() {
            let between = if number == 0 { " " } else { "" };
            match lines.last_mut() {
                Some(line) if line.chars().count() + between.len() + piece.chars().count() <= width => {
                    line.push_str(between);
                    line.push_str(piece);
                }
                _ => lines.push(piece.to_owned()),
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(table: &Table, width: usize) -> Vec<String> {
        let text = table.shown(&View::of_width(width));
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn numbers_end_in_the_same_column_and_lines_have_no_trailing_blanks() {
        let mut table = Table::new("T", vec![Column::text("state"), Column::number("READ", "ns")]);
        table.row(["UOWN", "384"]);
        table.row(["DEXD", "1083.5"]);
        table.note("a note");
        let text = table.to_string();
        assert_eq!(text, "T\nstate    READ\n         (ns)\nUOWN      384\nDEXD   1083.5\na note\n");
        assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
    }

    #[test]
    fn a_short_row_leaves_the_rest_blank() {
        let mut table = Table::new("", vec![Column::text("a"), Column::text("b")]);
        table.row(["x"]);
        assert!(table.to_string().ends_with("x\n"));
        assert!(!table.is_empty());
    }

    #[test]
    fn headings_are_wrapped_before_a_column_is_left_out() {
        let columns = (0..6).map(|_| Column::number("seconds of waiting", "us").detail(1)).collect();
        let mut table = Table::new("", columns);
        table.row((0..6).map(|number| number.to_string()));
        assert_eq!(lines(&table, 120).len(), 3);
        let narrow = lines(&table, 60);
        assert_eq!(narrow.len(), 5, "{narrow:#?}");
        assert!(narrow[0].contains("seconds") && narrow[3].contains("(us)") && !narrow[4].contains("not shown"));
    }

    #[test]
    fn the_least_important_columns_are_left_out_and_named() {
        let mut columns = vec![Column::text("program"), Column::number("time", "us")];
        columns.extend((1..=4).map(|rank| Column::number(format!("column number{rank}"), "").detail(rank)));
        let mut table = Table::new("", columns);
        table.row(["fft", "1234567890", "12345678901", "12345678901", "12345678901", "12345678901"]);
        let narrow = lines(&table, 48);
        assert!(narrow[0].contains("number1") == narrow[1].contains("number1") || narrow[1].contains("number1"));
        let closing = narrow[narrow.len() - 3..].join(" ");
        assert!(closing.contains("columns not shown: column-number3, column-number4 (--wide"), "{narrow:#?}");
        let wide = table.shown(&View::wide());
        assert!(wide.contains("number4") && !wide.contains("not shown"));
        let selected = table.shown(&View::of_width(40).with_columns(&["column-number4".into()]));
        assert!(
            selected.contains("number4") && selected.contains("program") && !selected.contains("time"),
            "{selected}"
        );
        let others = table.shown(&View::of_width(120).with_columns(&["unknown".into()]));
        assert!(others.contains("time"), "a table without the column is shown as usual: {others}");
    }

    #[test]
    fn text_is_wrapped_under_its_heading() {
        let mut table = Table::new("", vec![Column::number("n", ""), Column::text("what it is"), Column::text("unit")]);
        table.row(["1", "a text that is much longer than there is room for in a narrow terminal", "ns"]);
        let narrow = lines(&table, 40);
        assert!(narrow.len() > 2 && narrow[1].ends_with("ns"), "{narrow:#?}");
        assert!(narrow[2].starts_with("   ") && narrow[2].trim_start().starts_with(char::is_alphabetic), "{narrow:#?}");
    }

    #[test]
    fn columns_that_are_all_important_go_on_below() {
        let mut columns = vec![Column::text("CPU")];
        columns.extend((0..12).map(|cpu| Column::number(cpu.to_string(), "ns")));
        let mut table = Table::new("", columns);
        table.row(std::iter::once("0".to_owned()).chain((0..12).map(|_| "1234.5".to_owned())));
        let narrow = lines(&table, 50);
        assert_eq!(narrow.iter().filter(|line| line.starts_with("CPU")).count(), 3, "{narrow:#?}");
        assert_eq!(narrow.iter().filter(|line| line.contains("1234.5")).count(), 3, "{narrow:#?}");
    }

    #[test]
    fn colours_are_used_only_where_they_are_wanted() {
        let mut table = Table::new("", vec![Column::text("a"), Column::number("b", "")]);
        table.row([Cell::new("x", Tone::Bad), Cell::new("7", Tone::Heat(1.0))]);
        assert_eq!(table.shown(&View::wide()), "a   b\nx  7█\n");
        let coloured = table.shown(&View::wide().coloured(true));
        assert!(coloured.contains("\x1b[31mx\x1b[0m") && coloured.contains("48;5;226m7\x1b[0m"), "{coloured:?}");
    }
}
