//! Stacked bars as SVG documents.

use plotters::coord::ranged1d::SegmentValue;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::PlotError;
use crate::legend::{self, Entry};

/// Bars that are made of the same parts.
#[derive(Clone, PartialEq, Debug)]
pub struct StackedBars {
    /// The line above the bars.
    pub title: String,
    /// What the heights are.
    pub y: String,
    /// What the legend calls the parts, from the bottom up.
    pub parts: Vec<String>,
    /// What each bar is called, and how high its parts are.
    pub bars: Vec<(String, Vec<f64>)>,
}

/// Width of a bar with the space beside it, and of all that is not bars.
const STEP: u32 = 72;
const FRAME: u32 = 120;
/// Height of the bars with the title, and of the labels below them, which are written downwards, for each character.
const HEIGHT: u32 = 500;
const LETTER: u32 = 8;
const TITLE: u32 = 44;
/// A part's share of its bar, in percent, is written on it if it is at least so much of the highest bar.
const LEGIBLE: f64 = 0.035;

/// Colours of the parts, bottom up: neighbours differ in lightness, and the largest parts have their shares written on them.
const COLOURS: [RGBColor; 13] = [
    RGBColor(0, 114, 178),
    RGBColor(140, 205, 240),
    RGBColor(0, 120, 88),
    RGBColor(240, 200, 90),
    RGBColor(213, 94, 0),
    RGBColor(150, 215, 180),
    RGBColor(120, 40, 20),
    RGBColor(235, 150, 130),
    RGBColor(90, 50, 130),
    RGBColor(204, 165, 215),
    RGBColor(60, 60, 60),
    RGBColor(170, 170, 170),
    RGBColor(225, 225, 225),
];

impl StackedBars {
    /// Draws the bars. Parts that no bar has are not in the legend.
    ///
    /// # Errors
    /// Without a bar that is higher than nothing.
    pub fn svg(&self) -> Result<String, PlotError> {
        let top = self.bars.iter().map(|(_, parts)| parts.iter().sum::<f64>()).fold(0.0, f64::max);
        if top <= 0.0 {
            return Err(PlotError::Empty);
        }
        let mut svg = String::new();
        self.draw(&mut svg, top * 1.05).map_err(|error| PlotError::Drawing(error.to_string()))?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String, top: f64) -> Result<(), Box<dyn std::error::Error>> {
        let count = self.bars.len();
        let longest = self.bars.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) as u32;
        let (labels, wide) = (longest * LETTER + 16, FRAME + STEP * count as u32);
        let high = HEIGHT + labels;
        // The legend is in the order of the parts: the uppermost first.
        let shown =
            |part: usize| self.bars.iter().any(|(_, heights)| heights.get(part).is_some_and(|&height| height > 0.0));
        let used = (0..self.parts.len()).rev().filter(|&part| shown(part));
        let entries: Vec<Entry> = used.map(|part| Entry::of_part(&self.parts[part], colour(part))).collect();
        let area = SVGBackend::with_string(svg, (wide + legend::width(&entries, high), high)).into_drawing_area();
        area.fill(&WHITE)?;
        let (titled, below) = area.split_vertically(TITLE);
        titled.draw(&Text::new(self.title.clone(), (16, 16), ("sans-serif", 18)))?;
        let (left, right) = below.split_horizontally(wide);
        let mut chart = ChartBuilder::on(&left)
            .margin(16)
            .margin_top(4)
            .x_label_area_size(labels)
            .y_label_area_size(64)
            .build_cartesian_2d((0..count - 1).into_segmented(), 0.0..top)?;
        let label = |value: &SegmentValue<usize>| match value {
            SegmentValue::CenterOf(bar) => self.bars.get(*bar).map(|(name, _)| name.clone()).unwrap_or_default(),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(count)
            .y_desc(&self.y)
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.12))
            .x_label_formatter(&label)
            .x_label_style(("sans-serif", 12).into_font().transform(FontTransform::Rotate90))
            .label_style(("sans-serif", 13))
            .draw()?;
        for part in 0..self.parts.len() {
            let segments = || {
                self.bars.iter().enumerate().filter_map(move |(bar, (_, heights))| {
                    let below: f64 = heights.iter().take(part).sum();
                    let height = heights.get(part).copied().filter(|&height| height > 0.0)?;
                    Some((bar, below, height, 100.0 * height / heights.iter().sum::<f64>()))
                })
            };
            chart.draw_series(segments().map(|(bar, below, height, _)| {
                let ends = [(SegmentValue::Exact(bar), below), (SegmentValue::Exact(bar + 1), below + height)];
                let mut rectangle = Rectangle::new(ends, colour(part).filled());
                rectangle.set_margin(0, 0, 8, 8);
                rectangle
            }))?;
            let legible = segments().filter(|&(_, _, height, _)| height >= LEGIBLE * top);
            chart.draw_series(legible.map(|(bar, below, height, share)| {
                let ink = if is_dark(colour(part)) { WHITE } else { BLACK };
                let style = ("sans-serif", 11).into_font().color(&ink).pos(Pos::new(HPos::Center, VPos::Center));
                Text::new(format!("{share:.0}"), (SegmentValue::CenterOf(bar), below + height / 2.0), style)
            }))?;
        }
        legend::draw(&right, &entries)?;
        area.present()?;
        Ok(())
    }
}

/// The colour of a part.
fn colour(part: usize) -> RGBColor {
    COLOURS[part % COLOURS.len()]
}

/// Whether white is better read on a colour than black.
fn is_dark(RGBColor(red, green, blue): RGBColor) -> bool {
    0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue) < 140.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_name_their_parts_and_are_the_same_every_time() {
        let bars = StackedBars {
            title: "time".into(),
            y: "share".into(),
            parts: vec!["busy".into(), "stalled".into(), "never".into()],
            bars: vec![("one".into(), vec![0.5, 0.5, 0.0]), ("two".into(), vec![0.25, 0.0, 0.0])],
        };
        let svg = bars.svg().expect("two bars");
        for text in ["<svg", "time", "share", "one", "two", "busy", "stalled", "</svg>"] {
            assert!(svg.contains(text), "no {text} in {svg}");
        }
        assert!(!svg.contains("never"));
        assert_eq!(svg, bars.svg().expect("two bars"));
        // One rectangle for each part that is there, one for each in the legend, and three of frame and background.
        let single = StackedBars { bars: vec![("one".into(), vec![1.0, 0.0, 0.0])], ..bars.clone() };
        assert!(single.svg().expect("one bar").matches("<rect").count() < svg.matches("<rect").count());
        assert_eq!(StackedBars { bars: vec![], ..bars }.svg(), Err(PlotError::Empty));
    }
}
