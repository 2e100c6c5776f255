//! A scale of colours from low to high, for terminals and drawings.
//!
//! The colours are those of viridis (S. van der Walt and N. Smith, "A Better Default Colormap for Matplotlib", SciPy 2015): lightness
//! rises evenly, so that the order is seen without colour vision and in grey.

use plotters::style::RGBColor;

/// Viridis at even steps.
const SCALE: [(u8, u8, u8); 8] = [
    (68, 1, 84),
    (70, 50, 127),
    (54, 92, 141),
    (39, 127, 142),
    (31, 161, 135),
    (74, 194, 109),
    (159, 218, 58),
    (253, 231, 37),
];
/// The nearest colours to these in the palette of 256 that terminals have.
const TERMINAL: [u8; 8] = [53, 60, 24, 30, 36, 77, 149, 226];
/// The least of these steps on which black is better read than white.
const BLACK_FROM: usize = 4;
/// The same without colours: blocks that rise.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The step of a part of the range, which is from 0 to 1.
fn step(part: f64) -> usize {
    ((part.clamp(0.0, 1.0) * SCALE.len() as f64) as usize).min(SCALE.len() - 1)
}

/// Where `value` lies between `least` and `most`: 0 to 1, and 0 where both are equal.
pub(crate) fn part(value: f64, least: f64, most: f64) -> f64 {
    if most > least { (value - least) / (most - least) } else { 0.0 }
}

/// The escape sequence before a text of this heat.
pub(crate) fn escape(part: f64) -> String {
    let (step, ink) = (step(part), if step(part) >= BLACK_FROM { 16 } else { 231 });
    format!("\x1b[38;5;{ink};48;5;{}m", TERMINAL[step])
}

/// A block as high as the heat.
pub(crate) fn block(part: f64) -> char {
    BLOCKS[step(part)]
}

/// The colour in a drawing, between the steps.
pub(crate) fn colour(part: f64) -> RGBColor {
    let place = part.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let (low, rest) = ((place as usize).min(SCALE.len() - 2), place - (place as usize).min(SCALE.len() - 2) as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + rest * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (SCALE[low], SCALE[low + 1]);
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_range_are_the_ends_of_the_scale() {
        assert_eq!((block(0.0), block(1.0), block(0.5), block(7.0)), ('▁', '█', '▅', '█'));
        assert_eq!(colour(0.0), RGBColor(68, 1, 84));
        assert_eq!(colour(1.0), RGBColor(253, 231, 37));
        assert_eq!((part(5.0, 5.0, 5.0), part(7.5, 5.0, 10.0)), (0.0, 0.5));
        assert!(escape(0.0).contains("48;5;53") && escape(1.0).contains("48;5;226"));
    }

    #[test]
    fn lightness_rises() {
        let light = |part: f64| {
            let RGBColor(red, green, blue) = colour(part);
            0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue)
        };
        assert!((0..20).all(|step| light(f64::from(step) / 20.0) < light(f64::from(step + 1) / 20.0)));
    }
}
