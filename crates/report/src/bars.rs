//! Stacked bars as SVG documents.

use plotters::coord::ranged1d::SegmentValue;
use plotters::prelude::*;

use crate::PlotError;
use crate::plot::legend;

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
const FRAME: u32 = 320;
/// Labels are written upwards: this much of them is below the bars.
const LABELS: u32 = 240;
const HEIGHT: u32 = 720;

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
        let size = (FRAME + STEP * count as u32, HEIGHT);
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 18))
            .margin(16)
            .margin_right(180)
            .x_label_area_size(LABELS)
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
        for (part, name) in self.parts.iter().enumerate() {
            let colour = Palette99::pick(part).to_rgba();
            let rectangle = |(bar, (_, heights)): (usize, &(String, Vec<f64>))| {
                let below: f64 = heights.iter().take(part).sum();
                let height = heights.get(part).copied().filter(|&height| height > 0.0)?;
                let ends = [(SegmentValue::Exact(bar), below), (SegmentValue::Exact(bar + 1), below + height)];
                let mut rectangle = Rectangle::new(ends, colour.filled());
                rectangle.set_margin(0, 0, 8, 8);
                Some(rectangle)
            };
            let rectangles: Vec<_> = self.bars.iter().enumerate().filter_map(rectangle).collect();
            if !rectangles.is_empty() {
                let sign = move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled());
                chart.draw_series(rectangles)?.label(name).legend(sign);
            }
        }
        legend(&mut chart, SeriesLabelPosition::UpperRight)?;
        area.present()?;
        Ok(())
    }
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
