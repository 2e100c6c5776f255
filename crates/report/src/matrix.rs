//! Matrices as heat maps: numbers or blocks on a terminal, and drawings.

use std::fmt::Write;

use plotters::style::RGBColor;

use crate::text::{BOLD, width};
use crate::{Cell, Column, PlotError, Table, Tone, View, heat, theme};

/// A value for each row and column, with a scale of heat from the least to the largest.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// The line above it.
    pub title: String,
    /// The heading of the rows.
    pub down: String,
    /// The heading of the columns.
    pub across: String,
    /// The unit of all values.
    pub unit: String,
    /// Digits after the point.
    pub digits: usize,
    /// The names of the rows.
    pub rows: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A line of values for each row; none where nothing was measured.
    pub values: Vec<Vec<Option<f64>>>,
    /// Under which conditions this was measured.
    pub note: String,
}

/// Between two columns of a table, and the block behind a number.
const GAP: usize = 2;
const BLOCK: usize = 1;
/// Matrices of more columns than this are maps of blocks, unless the terminal is wide enough.
const FEW: usize = 8;

impl Matrix {
    /// The least and the largest value.
    fn range(&self) -> (f64, f64) {
        let all = self.values.iter().flatten().flatten();
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &value| (least.min(value), most.max(value)))
    }

    fn number(&self, value: f64) -> String {
        format!("{value:.digits$}", digits = self.digits)
    }

    /// The name of the rows and those of all rows.
    fn names(&self) -> usize {
        self.rows.iter().map(|name| name.chars().count()).chain([self.down.chars().count()]).max().unwrap_or(0)
    }

    /// Whether the numbers of a row stand on one line.
    pub fn has_room_for_numbers(&self, view: &View) -> bool {
        let longest = self.values.iter().flatten().flatten().map(|&value| self.number(value).len()).max().unwrap_or(1);
        let needed = self.names() + self.columns.len() * (longest + BLOCK + GAP);
        self.columns.len() <= FEW || view.width().is_none_or(|width| needed <= width)
    }

    /// Whether the matrix can be shown at all: at least a block for each value.
    pub fn has_room(&self, view: &View) -> bool {
        let needed = self.names() + GAP + self.columns.len();
        self.has_room_for_numbers(view) || view.width().is_none_or(|width| needed <= width)
    }

    /// The matrix as a table: of numbers if they fit, else of a block for each value.
    pub fn table(&self, view: &View) -> Table {
        let (least, most) = self.range();
        let place = |value: f64| heat::part(value, least, most);
        let title = format!("{} ({})", self.title, self.unit);
        if self.has_room_for_numbers(view) {
            let heading = format!("{} \\ {}", self.down, self.across);
            let mut columns = vec![Column::text(heading)];
            columns.extend(self.columns.iter().map(|name| Column::number(name.as_str(), "")));
            let mut table = Table::new(title, columns);
            for (name, values) in self.rows.iter().zip(&self.values) {
                let cell = |value: &Option<f64>| match value {
                    Some(value) => Cell::new(self.number(*value), Tone::Heat(place(*value))),
                    None => "-".into(),
                };
                table.row([Cell::from(name.as_str())].into_iter().chain(values.iter().map(cell)));
            }
            table.note(self.note.as_str());
            return table;
        }
        let across = format!("{} {} to {}", self.across, self.first(), self.last());
        let mut table = Table::new(title, vec![Column::text(self.down.as_str()), Column::text(across)]);
        for (name, values) in self.rows.iter().zip(&self.values) {
            let blank = if view.has_colour() { " " } else { "" };
            let span = |value: &Option<f64>| match value {
                Some(value) => (blank.to_owned(), Tone::Heat(place(*value))),
                None => (" ".to_owned(), Tone::Plain),
            };
            table.row([Cell::from(name.as_str()), Cell::of_spans(values.iter().map(span).collect())]);
        }
        let scale = match view.has_colour() {
            true => "scale: dark".to_owned(),
            false => format!("scale: {}", heat::block(0.0)),
        };
        let end = if view.has_colour() { "bright".to_owned() } else { heat::block(1.0).to_string() };
        let (least, most) = (self.number(least), self.number(most));
        table.note(format!(
            "{scale} = {least} {unit}, {end} = {most} {unit}; --wide shows the numbers",
            unit = self.unit
        ));
        table.note(self.note.as_str());
        table
    }

    fn first(&self) -> &str {
        self.columns.first().map_or("", String::as_str)
    }

    fn last(&self) -> &str {
        self.columns.last().map_or("", String::as_str)
    }
}

const MARGIN: usize = 20;
const FONT: f64 = 12.0;
const LINE: usize = 18;
/// A cell with its number, and one without: of matrices with more columns than [`NUMBERED`].
const CELL: (usize, usize) = (46, 24);
const SMALL: usize = 12;
const NUMBERED: usize = 32;
/// The bar of the scale.
const BAR: usize = 14;
const STEPS: usize = 32;

impl Matrix {
    /// The matrix as an SVG document, with its axes named and its scale beside it.
    ///
    /// # Errors
    /// When it has no value.
    pub fn svg(&self) -> Result<String, PlotError> {
        let (least, most) = self.range();
        if !least.is_finite() {
            return Err(PlotError::Empty);
        }
        let numbered = self.columns.len() <= NUMBERED;
        let (cell_width, cell_height) = if numbered { CELL } else { (SMALL, SMALL) };
        let names = self.rows.iter().map(|name| width(name, FONT)).max().unwrap_or(0) as usize;
        // The name of the rows stands upright.
        let left = MARGIN + LINE + names + 8;
        let top = MARGIN + 3 * LINE + 4;
        let (grid_width, grid_height) = (cell_width * self.columns.len(), cell_height * self.rows.len());
        let scale = left + grid_width + MARGIN;
        let bar_height = grid_height.max(6 * LINE);
        let labels = [least, most].map(|value| format!("{} {}", self.number(value), self.unit));
        let label = labels.iter().map(|label| width(label, FONT)).max().unwrap_or(0) as usize;
        let title = (f64::from(width(&self.title, FONT)) * BOLD).ceil() as usize;
        let across = width(&self.across, FONT) as usize;
        let wide = (scale + BAR + 6 + label + MARGIN).max(title + 2 * MARGIN).max(left + across + MARGIN);
        let down = width(&self.down, FONT) as usize;
        let high = top + bar_height.max(down) + MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
             font-family=\"sans-serif\" font-size=\"{FONT}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n"
        );
        let mut pen = Pen { svg: &mut svg };
        pen.text(MARGIN, MARGIN + 12, &self.title, "fill=\"#000000\" font-weight=\"bold\"");
        pen.text(left, MARGIN + LINE + 12, &self.across, "fill=\"#000000\"");
        pen.upright(MARGIN + 10, top + down, &self.down);
        let every = if numbered { 1 } else { self.columns.len().div_ceil(16) };
        for (number, name) in self.columns.iter().enumerate().filter(|(number, _)| number % every == 0) {
            let x = left + number * cell_width + cell_width / 2;
            pen.text(x, top - 6, name, "fill=\"#000000\" text-anchor=\"middle\"");
        }
        for (number, (name, values)) in self.rows.iter().zip(&self.values).enumerate() {
            let y = top + number * cell_height;
            if number % every == 0 {
                pen.text(left - 8, y + cell_height / 2 + 4, name, "fill=\"#000000\" text-anchor=\"end\"");
            }
            for (column, value) in values.iter().enumerate().filter_map(|(column, value)| Some((column, (*value)?))) {
                let x = left + column * cell_width;
                let colour = heat::colour(heat::part(value, least, most));
                let shown = self.number(value);
                let about =
                    format!("{} {name}, {} {}: {shown} {}", self.down, self.across, self.columns[column], self.unit);
                pen.cell((x, y), (cell_width, cell_height), colour, Some(&about));
                if numbered {
                    let ink = if is_dark(colour) { theme::WHITE_ON_COLOUR } else { theme::BLACK_ON_COLOUR };
                    let style = format!("fill=\"{ink}\" text-anchor=\"middle\"");
                    pen.text(x + cell_width / 2, y + cell_height / 2 + 4, &shown, &style);
                }
            }
        }
        for step in 0..STEPS {
            let part = 1.0 - step as f64 / (STEPS - 1) as f64;
            let (from, to) = (bar_height * step / STEPS, bar_height * (step + 1) / STEPS);
            pen.cell((scale, top + from), (BAR, to - from), heat::colour(part), None);
        }
        pen.text(scale + BAR + 6, top + 10, &labels[1], "fill=\"#000000\"");
        pen.text(scale + BAR + 6, top + bar_height - 2, &labels[0], "fill=\"#000000\"");
        svg.push_str("</svg>\n");
        Ok(theme::themed(svg))
    }
}

/// Whether white is better read on a colour than black.
pub(crate) fn is_dark(RGBColor(red, green, blue): RGBColor) -> bool {
    0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue) < 140.0
}

struct Pen<'s> {
    svg: &'s mut String,
}

impl Pen<'_> {
    fn text(&mut self, x: usize, y: usize, line: &str, style: &str) {
        self.push(format_args!("<text x=\"{x}\" y=\"{y}\" {style}>{}</text>\n", escaped(line)));
    }

    fn upright(&mut self, x: usize, y: usize, line: &str) {
        let line = escaped(line);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" fill=\"#000000\" transform=\"rotate(-90, {x}, {y})\">{line}</text>\n"
        ));
    }

    fn cell(&mut self, (x, y): (usize, usize), (width, height): (usize, usize), colour: RGBColor, about: Option<&str>) {
        let RGBColor(red, green, blue) = colour;
        let about = about.map_or_else(String::new, |about| format!("<title>{}</title>", escaped(about)));
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#{red:02x}{green:02x}{blue:02x}\">{about}</rect>\n"
        ));
    }

    fn push(&mut self, markup: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _infallible = self.svg.write_fmt(markup);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(size: u32) -> Matrix {
        let names: Vec<String> = (0..size).map(|name| name.to_string()).collect();
        let value = |row: u32, column: u32| (row != column).then(|| 100.0 + f64::from(row + column));
        Matrix {
            title: "Latency".into(),
            down: "requester CPU".into(),
            across: "owner CPU".into(),
            unit: "ns".into(),
            digits: 1,
            rows: names.clone(),
            columns: names,
            values: (0..size).map(|row| (0..size).map(|column| value(row, column)).collect()).collect(),
            note: "a note".into(),
        }
    }

    #[test]
    fn numbers_are_shown_where_there_is_room_and_blocks_where_not() {
        let numbers = square(4).table(&View::of_width(80)).shown(&View::of_width(80));
        assert!(
            numbers.contains("Latency (ns)") && numbers.contains("101.0▁") && numbers.contains("105.0█"),
            "{numbers}"
        );
        let view = View::of_width(80);
        let map = square(40).table(&view).shown(&view);
        assert!(map.contains("owner CPU 0 to 39") && map.contains("scale: ▁ = 101.0 ns, █ = 177.0 ns"), "{map}");
        assert!(map.lines().all(|line| line.chars().count() <= 80), "{map}");
        let coloured = view.coloured(true);
        let map = square(40).table(&coloured).shown(&coloured);
        assert_eq!(map.matches("\x1b[38;5;").count(), 40 * 39);
        assert!(!square(90).has_room(&View::of_width(80)) && square(90).has_room(&View::wide()));
    }

    #[test]
    fn drawings_have_a_cell_for_each_value_and_a_scale() {
        for size in [2, 40] {
            let svg = square(size).svg().expect("values");
            let document = roxmltree::Document::parse(&svg).expect("XML");
            let titles = document.descendants().filter(|node| node.has_tag_name("title")).count();
            assert_eq!(titles as u32, size * (size - 1));
            for text in ["Latency", "requester CPU", "owner CPU", "101.0 ns"] {
                assert!(document.descendants().any(|node| node.text() == Some(text)), "no {text}");
            }
        }
        let none = Matrix { values: vec![vec![None]], ..square(1) };
        assert_eq!(none.svg(), Err(PlotError::Empty));
    }
}
