//! Stacked bars as SVG documents.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::PlotError;
use crate::legend::{self, Entry, Sample};
use crate::matrix::is_dark;
use crate::plot::{TICK, number};
use crate::text::{self, LABEL, Title};
use crate::theme;

/// Bars that are made of the same parts. They lie, so that long names can be read.
#[derive(Clone, PartialEq, Debug)]
pub struct StackedBars {
    /// The line above the bars.
    pub title: String,
    /// The quantity of the lengths.
    pub axis: String,
    /// The names of the parts in the legend, from the left.
    pub parts: Vec<String>,
    /// The name of each bar, and how long its parts are.
    pub bars: Vec<(String, Vec<f64>)>,
}

/// Length of the longest bar with the space behind it, from bar to bar, and the thickness of a bar.
const LENGTH: u32 = 760;
const STEP: u32 = 26;
const THICKNESS: i32 = 20;
const MARGIN: u32 = 16;
/// Between a name and its bar, behind the axis, whose last label may end there, and below the bars for the labels and the axis' name.
const GAP: u32 = 8;
const BEHIND: u32 = 32;
const BELOW: u32 = 48;
/// As many labels as the axis has at most.
const LABELS: usize = 10;
/// Size of the shares that are written on parts.
const SHARE: f64 = 10.0;

/// Colours of the parts from the left: neighbours differ in lightness, and the largest parts have their shares written on them.
const COLOURS: [RGBColor; 14] = [
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
    RGBColor(110, 90, 20),
    RGBColor(215, 205, 150),
    RGBColor(60, 60, 60),
    RGBColor(225, 225, 225),
];

impl StackedBars {
    /// Draws the bars. Parts that no bar has are not in the legend.
    ///
    /// # Errors
    /// Without a bar that is longer than nothing.
    pub fn svg(&self) -> Result<String, PlotError> {
        let longest = self.bars.iter().map(|(_, parts)| parts.iter().sum::<f64>()).fold(0.0, f64::max);
        if longest <= 0.0 {
            return Err(PlotError::Empty);
        }
        let mut svg = String::new();
        self.draw(&mut svg, longest * 1.02).map_err(|error| PlotError::Drawing(error.to_string()))?;
        Ok(theme::themed(svg))
    }

    fn draw(&self, svg: &mut String, most: f64) -> Result<(), Box<dyn std::error::Error>> {
        let entries = self.entries();
        let names = text::widest(self.bars.iter().map(|(name, _)| name.as_str()), LABEL);
        let before = MARGIN + names + GAP;
        let bars = STEP * self.bars.len() as u32;
        let high = (bars + BELOW + MARGIN).max(legend::height(&entries));
        let wide = before + LENGTH + BEHIND + legend::width(&entries, high);
        let title = Title::new(&self.title, wide - 2 * MARGIN);
        let top = 2 * MARGIN + title.height();
        let area = SVGBackend::with_string(svg, (wide, top + high)).into_drawing_area();
        area.fill(&WHITE)?;
        title.draw(&area, (MARGIN as i32, MARGIN as i32))?;
        let (left, right) = area.split_vertically(top).1.split_horizontally(before + LENGTH + BEHIND);
        let (axes, _) = left.split_vertically(bars + BELOW);
        let mut chart = ChartBuilder::on(&axes)
            .margin_left(before)
            .margin_right(BEHIND)
            .x_label_area_size(BELOW)
            .build_cartesian_2d(0.0..most, 0.0..1.0)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .x_desc(&self.axis)
            .x_labels(LABELS)
            .x_label_formatter(&|value| number(*value, most / LABELS as f64))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .label_style(text::font(LABEL))
            .set_all_tick_mark_size(TICK)
            .draw()?;
        let name = text::style(LABEL, BLACK, HPos::Right, VPos::Center);
        for ((label, parts), above) in self.bars.iter().zip((0..).step_by(STEP as usize)) {
            let middle = (top + above + STEP / 2) as i32;
            area.draw(&Text::new(label.as_str(), ((before - GAP) as i32, middle), name.clone()))?;
            let place = |length: f64| chart.backend_coord(&(length, 0.0)).0;
            self.bar(&area, parts, middle, place)?;
        }
        legend::draw(&right, &entries)?;
        area.present()?;
        Ok(())
    }

    /// Draws a bar, and on its parts, where there is room, their shares in percent.
    fn bar(
        &self,
        area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
        parts: &[f64],
        middle: i32,
        place: impl Fn(f64) -> i32,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let whole: f64 = parts.iter().sum();
        let mut begin = 0.0;
        for (part, &length) in parts.iter().enumerate() {
            let (from, to) = (place(begin), place(begin + length));
            begin += length;
            if to <= from {
                continue;
            }
            let colour = colour(part);
            let corners = [(from, middle - THICKNESS / 2), (to, middle + THICKNESS / 2)];
            area.draw(&Rectangle::new(corners, colour.filled()))?;
            let share = format!("{:.0}", 100.0 * length / whole);
            if to - from >= text::width(&share, SHARE) as i32 + 4 {
                // On coloured areas: not exchanged on dark screens.
                let ink = if is_dark(colour) { RGBColor(254, 254, 254) } else { RGBColor(1, 1, 1) };
                let style = text::style(SHARE, ink, HPos::Center, VPos::Center);
                area.draw(&Text::new(share, ((from + to) / 2, middle), style))?;
            }
        }
        Ok(())
    }

    fn entries(&self) -> Vec<Entry> {
        let shown =
            |part: &usize| self.bars.iter().any(|(_, lengths)| lengths.get(*part).is_some_and(|&length| length > 0.0));
        let entry = |part: usize| Entry { name: self.parts[part].clone(), sample: Sample::Box(colour(part)) };
        (0..self.parts.len()).filter(shown).map(entry).collect()
    }
}

/// The colour of a part.
pub(crate) fn colour(part: usize) -> RGBColor {
    COLOURS[part % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_name_their_parts_and_are_the_same_every_time() {
        let bars = StackedBars {
            title: "time".into(),
            axis: "share".into(),
            parts: vec!["busy".into(), "stalled".into(), "never".into()],
            bars: vec![("one".into(), vec![0.5, 0.5, 0.0]), ("two".into(), vec![0.25, 0.0, 0.0])],
        };
        let svg = bars.svg().expect("two bars");
        for text in ["<svg", "time", "share", "one", "two", "busy", "stalled", "</svg>"] {
            assert!(svg.contains(text), "no {text} in {svg}");
        }
        assert!(!svg.contains("never"));
        assert_eq!(svg, bars.svg().expect("two bars"));
        // One rectangle for each part that is there, one for each in the legend, and the background.
        assert_eq!(svg.matches("<rect").count(), 3 + 2 + 1);
        assert_eq!(StackedBars { bars: vec![], ..bars }.svg(), Err(PlotError::Empty));
    }
}
