//! What series and parts are called, beside a drawing rather than on it.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

use crate::ink::{Ink, Shape};
use crate::plot::{Mark, Series};

/// A line of a legend.
pub(crate) struct Entry {
    name: String,
    sample: Sample,
}

/// What stands before a name.
enum Sample {
    Line(Ink),
    Point(Ink),
    Box(RGBColor),
}

impl Entry {
    /// The entry of a series.
    pub(crate) fn of_series(series: &Series) -> Self {
        let ink = Ink::of(series.colour);
        let sample = if series.mark == Mark::Line { Sample::Line(ink) } else { Sample::Point(ink) };
        Self { name: series.name.clone(), sample }
    }

    /// The entry of a part of bars.
    pub(crate) fn of_part(name: &str, colour: RGBColor) -> Self {
        Self { name: name.to_owned(), sample: Sample::Box(colour) }
    }
}

const FONT: u32 = 13;
/// From line to line, and above the first and below the last.
const LINE: u32 = 20;
const ABOVE: u32 = 48;
/// What stands before a name takes so much, and the space behind one.
const BEFORE: u32 = 36;
const BEHIND: u32 = 20;

/// How many lines of a height there is room for.
fn lines(height: u32) -> usize {
    (height.saturating_sub(2 * ABOVE) / LINE).max(1) as usize
}

/// The width of a column: letters without serifs are about 0.58 of their size wide, digits and capitals more.
fn column(entries: &[Entry]) -> u32 {
    let longest = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0) as u32;
    BEFORE + longest * FONT * 60 / 100 + BEHIND
}

/// The width of a legend of a height, in pixels.
pub(crate) fn width(entries: &[Entry], height: u32) -> u32 {
    column(entries) * entries.len().div_ceil(lines(height)).max(1) as u32
}

/// Draws the legend, in as many columns as it needs.
pub(crate) fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    entries: &[Entry],
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let (_, height) = area.dim_in_pixel();
    for (number, entry) in entries.iter().enumerate() {
        let (place, line) = (number / lines(height), number % lines(height));
        let x = (place as u32 * column(entries)) as i32;
        let y = (ABOVE + line as u32 * LINE) as i32;
        match &entry.sample {
            Sample::Line(ink) => {
                let mut from = x;
                let (dash, gap) = ink.dashes.unwrap_or((28, 0));
                while from < x + 28 {
                    let to = (from + dash as i32).min(x + 28);
                    area.draw(&PathElement::new(vec![(from, y), (to, y)], ink.colour.stroke_width(2)))?;
                    from = to + gap.max(1) as i32;
                }
            }
            Sample::Point(ink) => {
                let (place, style) = ((x + 14, y), ink.colour.stroke_width(2));
                match ink.shape {
                    Shape::Circle => area.draw(&Circle::new(place, 4, style))?,
                    Shape::Triangle => area.draw(&TriangleMarker::new(place, 5, style))?,
                    Shape::Cross => area.draw(&Cross::new(place, 4, style))?,
                }
            }
            Sample::Box(colour) => area.draw(&Rectangle::new([(x + 8, y - 7), (x + 24, y + 7)], colour.filled()))?,
        }
        area.draw(&Text::new(entry.name.clone(), (x + BEFORE as i32, y - 6), ("sans-serif", FONT)))?;
    }
    Ok(())
}
