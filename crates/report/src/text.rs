//! Text in drawings: how wide it is, so that no label is cut off or covers another.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Size of labels and of titles, in pixels.
pub(crate) const LABEL: f64 = 12.0;
pub(crate) const TITLE: f64 = 16.0;
/// From line to line of a title.
const TITLE_LINE: usize = 22;

/// Advances of the printable ASCII characters in thousandths of the font's size, from the metrics of DejaVu Sans: the widest font
/// that common systems take for `sans-serif`, so that text is never wider than expected.
const ADVANCES: [u16; 95] = include!("../assets/advances.in");
/// How much wider bold text is.
pub(crate) const BOLD: f64 = 1.12;
/// The advance of any other character: that of an em.
const OTHER: u16 = 1000;

/// The font of a size in pixels. The library writes sizes divided by 1.24 into the document.
pub(crate) fn font(size: f64) -> FontDesc<'static> {
    ("sans-serif", size * 1.24).into_font()
}

/// Text of a size and a colour, and which of its points is put to a place.
pub(crate) fn style(size: f64, colour: RGBColor, across: HPos, down: VPos) -> TextStyle<'static> {
    font(size).color(&colour).pos(Pos::new(across, down))
}

/// The width of a line of text of a size, in pixels.
pub(crate) fn width(text: &str, size: f64) -> u32 {
    let advance = |character: char| {
        let place = (character as usize).checked_sub(' ' as usize);
        place.and_then(|place| ADVANCES.get(place)).copied().unwrap_or(OTHER)
    };
    let thousandths: u32 = text.chars().map(|character| u32::from(advance(character))).sum();
    (f64::from(thousandths) / 1000.0 * size).ceil() as u32
}

/// The width of the widest of `texts`.
pub(crate) fn widest<'t>(texts: impl IntoIterator<Item = &'t str>, size: f64) -> u32 {
    texts.into_iter().map(|text| width(text, size)).max().unwrap_or(0)
}

/// A title above a drawing, on as many lines as it needs.
pub(crate) struct Title {
    lines: Vec<String>,
}

impl Title {
    /// A title that is no wider than `most` pixels, unless a single word is.
    pub(crate) fn new(title: &str, most: u32) -> Self {
        let mut lines: Vec<String> = Vec::new();
        for word in title.split_whitespace() {
            match lines.last_mut() {
                Some(line) if width(&format!("{line} {word}"), TITLE) <= most => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        Self { lines }
    }

    /// Draws it below and to the right of a place.
    pub(crate) fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        (x, y): (i32, i32),
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let style = style(TITLE, BLACK, HPos::Left, VPos::Top);
        for (line, below) in self.lines.iter().zip((0..).step_by(TITLE_LINE)) {
            area.draw(&Text::new(line.as_str(), (x, y + below), style.clone()))?;
        }
        Ok(())
    }

    /// The height of all lines, in pixels.
    pub(crate) fn height(&self) -> u32 {
        (self.lines.len() * TITLE_LINE) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_are_wider_than_narrow_ones() {
        assert_eq!(width("", 10.0), 0);
        assert_eq!(width("@", 10.0), 10);
        assert!(width("MMMM", 12.0) > 3 * width("illi", 12.0) / 2 && width("µ", 10.0) == 10);
        assert_eq!(widest(["i", "mm", "m"], 10.0), width("mm", 10.0));
    }

    #[test]
    fn titles_are_broken_between_words() {
        let title = Title::new("a title of several words", width("a title of", TITLE));
        assert_eq!(title.lines, ["a title of", "several", "words"]);
        assert_eq!(title.height(), 66);
        assert_eq!(Title::new("", 100).height(), 0);
    }
}
