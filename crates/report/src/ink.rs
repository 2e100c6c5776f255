//! Colours, dashes and signs that readers tell apart who do not see all colours.

use plotters::style::RGBColor;

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

/// Lengths of dashes and of the gaps between them, in pixels, for each further use of a colour.
const DASHES: [Option<(u32, u32)>; 4] = [None, Some((10, 5)), Some((3, 3)), Some((16, 4))];

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ink {
    /// The colour.
    pub(crate) colour: RGBColor,
    /// The dashes of its line; none if it is whole.
    pub(crate) dashes: Option<(u32, u32)>,
    /// What stands for its points.
    pub(crate) shape: Shape,
}

/// What stands for a point that belongs to no line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Circle,
    Triangle,
    Cross,
}

impl Ink {
    /// The ink of the series of a number: those of different numbers differ in colour, dashes or both up to twenty-eight.
    pub(crate) fn of(number: usize) -> Self {
        let colour = COLOURS[number % COLOURS.len()];
        let again = number / COLOURS.len();
        let shape = [Shape::Circle, Shape::Triangle, Shape::Cross][again % 3];
        Self { colour, dashes: DASHES[again % DASHES.len()], shape }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_inks_differ_as_are_promised() {
        let inks: Vec<Ink> = (0..28).map(Ink::of).collect();
        for (number, ink) in inks.iter().enumerate() {
            assert!(
                inks[..number].iter().all(|other| (other.colour, other.dashes) != (ink.colour, ink.dashes)),
                "{number}"
            );
        }
    }
}
