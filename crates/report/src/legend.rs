//! Names of series and parts, beside a drawing rather than on it.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::ink::{Fill, Ink};
use crate::text::{self, LABEL};

/// A line of a legend.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) sample: Sample,
}

/// The sample before a name.
pub(crate) enum Sample {
    /// A line, with the sign that its points have, if they have one.
    Line(Ink, bool),
    /// The sign of separate points.
    Point(Ink),
    /// A part of bars.
    Box(RGBColor),
}

/// From line to line, and above the first and below the last.
const LINE: u32 = 20;
const ABOVE: u32 = 20;
/// The sample before a name, the space between both, and that behind a name.
const SAMPLE: i32 = 28;
const GAP: u32 = 8;
const BEHIND: u32 = 20;

/// How many lines of a height there is room for.
fn lines(height: u32) -> usize {
    (height.saturating_sub(2 * ABOVE) / LINE + 1) as usize
}

fn column(entries: &[Entry]) -> u32 {
    SAMPLE as u32 + GAP + text::widest(entries.iter().map(|entry| entry.name.as_str()), LABEL) + BEHIND
}

/// The width of a legend of a height, in pixels.
pub(crate) fn width(entries: &[Entry], height: u32) -> u32 {
    column(entries) * entries.len().div_ceil(lines(height)) as u32
}

/// The height of a legend of a single column, in pixels.
pub(crate) fn height(entries: &[Entry]) -> u32 {
    2 * ABOVE + LINE * (entries.len() as u32).saturating_sub(1)
}

/// Draws the legend, in as many columns as it needs.
pub(crate) fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    entries: &[Entry],
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let (_, height) = area.dim_in_pixel();
    let words = text::style(LABEL, BLACK, HPos::Left, VPos::Center);
    for (number, entry) in entries.iter().enumerate() {
        let (place, line) = (number / lines(height), number % lines(height));
        let x = (place as u32 * column(entries)) as i32;
        let y = (ABOVE + line as u32 * LINE) as i32;
        let middle = (x + SAMPLE / 2, y);
        match entry.sample {
            Sample::Line(ink, signed) => {
                area.draw(&PathElement::new(vec![(x, y), (x + SAMPLE, y)], ink.colour.stroke_width(2)))?;
                if signed {
                    ink.sign(area, middle, Fill::Filled)?;
                }
            }
            Sample::Point(ink) => ink.sign(area, middle, Fill::Hollow)?,
            Sample::Box(colour) => area.draw(&Rectangle::new([(x + 8, y - 7), (x + 24, y + 7)], colour.filled()))?,
        }
        area.draw(&Text::new(entry.name.as_str(), (x + SAMPLE + GAP as i32, y), words.clone()))?;
    }
    Ok(())
}
