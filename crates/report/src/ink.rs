//! Colours and signs that readers tell apart who do not see all colours.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

/// The palette of Okabe and Ito ("Color Universal Design", 2008), the yellow left out, which is faint on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

/// The signs, one for each use of a colour.
const SHAPES: [Shape; 5] = [Shape::Disc, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Cross];

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ink {
    /// The colour.
    pub(crate) colour: RGBColor,
    /// The sign at its points.
    pub(crate) shape: Shape,
}

/// The sign at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Disc,
    Square,
    Triangle,
    Diamond,
    Cross,
}

/// Whether a sign is filled: those of lines are, those of separate points are not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fill {
    Filled,
    Hollow,
}

impl Ink {
    /// The ink of the series of a number: those of the first thirty-five differ in colour, sign or both.
    pub(crate) fn of(number: usize) -> Self {
        Self { colour: COLOURS[number % COLOURS.len()], shape: SHAPES[number / COLOURS.len() % SHAPES.len()] }
    }

    /// Whether another series may have the same colour, so that the sign is needed.
    pub(crate) fn needs_sign(number: usize) -> bool {
        number >= COLOURS.len()
    }

    /// Draws the sign at a place.
    pub(crate) fn sign<B: DrawingBackend>(
        self,
        area: &DrawingArea<B, Shift>,
        (x, y): (i32, i32),
        fill: Fill,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let filled = fill == Fill::Filled;
        let line = self.colour.stroke_width(if filled { 1 } else { 2 });
        let corners: &[(i32, i32)] = match self.shape {
            Shape::Disc => {
                let style = if filled { self.colour.filled() } else { line };
                return area.draw(&Circle::new((x, y), if filled { 3 } else { 4 }, style));
            }
            Shape::Cross => {
                return area.draw(&Cross::new((x, y), 3, self.colour.stroke_width(2)));
            }
            Shape::Square => &[(-3, -3), (3, -3), (3, 3), (-3, 3)],
            Shape::Triangle => &[(0, -5), (4, 3), (-4, 3)],
            Shape::Diamond => &[(0, -5), (4, 0), (0, 5), (-4, 0)],
        };
        let mut outline: Vec<(i32, i32)> = corners.iter().map(|(right, down)| (x + right, y + down)).collect();
        if filled {
            return area.draw(&Polygon::new(outline, self.colour.filled()));
        }
        outline.push(outline[0]);
        area.draw(&PathElement::new(outline, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_inks_differ_as_are_promised() {
        let inks: Vec<Ink> = (0..35).map(Ink::of).collect();
        for (number, ink) in inks.iter().enumerate() {
            assert!(inks[..number].iter().all(|other| other != ink), "{number}");
        }
        assert!(!Ink::needs_sign(6) && Ink::needs_sign(7));
    }
}
