//! Line plots as SVG documents.

use std::fmt;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::ink::{Ink, Shape};
use crate::legend::{self, Entry};

/// How the points of a series are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Joined by a line: what a run produced.
    Line,
    /// Separate circles: figures that were read from somewhere, such as published ones.
    Points,
}

/// A named sequence of points.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// `(x, y)` in the units that the axes name.
    pub points: Vec<(f64, f64)>,
    /// Joined or separate.
    pub mark: Mark,
    /// Which colour of the palette; two series that belong together share one.
    pub colour: usize,
}

/// What an axis measures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The quantity, with its unit if the ticks have none.
    pub label: String,
    /// Spaced by powers of two rather than evenly. Every value on such an axis must be positive.
    pub logarithmic: bool,
    /// What is written at the ticks.
    pub ticks: Ticks,
}

/// What is written at the ticks of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ticks {
    /// Numbers in the unit that the label names.
    Numbers,
    /// Sizes with units of their own, of values in bytes.
    Sizes,
}

impl Axis {
    /// An evenly spaced axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: false, ticks: Ticks::Numbers }
    }

    /// An axis spaced by powers of two.
    pub fn log2(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: true, ticks: Ticks::Numbers }
    }

    /// An axis of sizes in bytes, spaced by powers of two.
    pub fn sizes(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: true, ticks: Ticks::Sizes }
    }

    fn tick(&self, value: f64) -> String {
        match self.ticks {
            Ticks::Numbers => number(value),
            Ticks::Sizes => size(value),
        }
    }
}

/// Series over two axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// The line above the plot.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis, which starts at zero.
    pub y: Axis,
    /// What is drawn, the first at the back.
    pub series: Vec<Series>,
}

/// A plot that could not be drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlotError {
    /// No series has a point.
    Empty,
    /// A point on a logarithmic axis is zero or below.
    NotPositive,
    /// The drawing library refused, in its words.
    Drawing(String),
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("nothing to plot: no series has a point"),
            Self::NotPositive => f.write_str("a value on a logarithmic axis is not positive"),
            Self::Drawing(reason) => write!(f, "cannot draw the plot: {reason}"),
        }
    }
}

impl std::error::Error for PlotError {}

/// What the axes and their labels take.
const SIZE: (u32, u32) = (960, 600);
/// Lines with no more points than these show each as a dot.
const FEW: usize = 48;

impl Plot {
    /// Draws the plot.
    ///
    /// # Errors
    /// A plot without points, or a value that its axis cannot show.
    pub fn svg(&self) -> Result<String, PlotError> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        if points().next().is_none() {
            return Err(PlotError::Empty);
        }
        if points().any(|(x, y)| (self.x.logarithmic && *x <= 0.0) || (self.y.logarithmic && *y <= 0.0)) {
            return Err(PlotError::NotPositive);
        }
        let least = points().map(|p| p.0).fold(f64::INFINITY, f64::min);
        let most = points().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
        let most = if most > least { most } else { least + 1.0 };
        let top = points().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max).max(f64::MIN_POSITIVE) * 1.05;
        let bottom = points().map(|p| p.1).fold(0.0, f64::min);
        let lowest = points().map(|p| p.1).fold(f64::INFINITY, f64::min) / 1.05;
        let mut svg = String::new();
        let drawn = match (self.x.logarithmic, self.y.logarithmic) {
            (false, false) => self.draw(&mut svg, least..most, bottom..top),
            (true, false) => self.draw(&mut svg, (least..most).log_scale().base(2.0), bottom..top),
            (false, true) => self.draw(&mut svg, least..most, (lowest..top).log_scale().base(2.0)),
            (true, true) => {
                self.draw(&mut svg, (least..most).log_scale().base(2.0), (lowest..top).log_scale().base(2.0))
            }
        };
        drawn.map_err(|error| PlotError::Drawing(error.to_string()))?;
        Ok(svg)
    }

    fn draw<X, Y>(&self, svg: &mut String, x: X, y: Y) -> Result<(), Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let entries: Vec<Entry> = self.series.iter().map(Entry::of_series).collect();
        let area = SVGBackend::with_string(svg, (SIZE.0 + legend::width(&entries, SIZE.1), SIZE.1)).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(SIZE.0);
        let mut chart = ChartBuilder::on(&left)
            .caption(&self.title, ("sans-serif", 18))
            .margin(16)
            .margin_right(28)
            .x_label_area_size(48)
            .y_label_area_size(76)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.12))
            .x_labels(10)
            .y_labels(10)
            .x_label_formatter(&|value| self.x.tick(*value))
            .y_label_formatter(&|value| self.y.tick(*value))
            .label_style(("sans-serif", 13))
            .draw()?;
        for series in &self.series {
            let ink = Ink::of(series.colour);
            let points = || series.points.iter().copied();
            if series.mark == Mark::Points {
                let style = ink.colour.stroke_width(2);
                match ink.shape {
                    Shape::Circle => chart.draw_series(points().map(|point| Circle::new(point, 4, style)))?,
                    Shape::Triangle => chart.draw_series(points().map(|point| TriangleMarker::new(point, 5, style)))?,
                    Shape::Cross => chart.draw_series(points().map(|point| Cross::new(point, 4, style)))?,
                };
                continue;
            }
            match ink.dashes {
                None => chart.draw_series(LineSeries::new(points(), ink.colour.stroke_width(2)))?,
                Some((dash, gap)) => {
                    chart.draw_series(DashedLineSeries::new(points(), dash, gap, ink.colour.stroke_width(2)))?
                }
            };
            if series.points.len() <= FEW {
                chart.draw_series(points().map(|point| Circle::new(point, 2, ink.colour.filled())))?;
            }
        }
        legend::draw(&right, &entries)?;
        area.present()?;
        Ok(())
    }
}

/// A number as short as it can be told apart from its neighbours on an axis.
fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value.fract() == 0.0 {
        format!("{value}")
    } else if magnitude >= 0.1 {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.3}")
    }
}

/// A size of so many bytes.
fn size(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(1024.0 * 1024.0 * 1024.0, "GiB"), (1024.0 * 1024.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
    let (scale, unit) = UNITS.into_iter().find(|(scale, _)| bytes >= *scale).unwrap_or((1.0, "B"));
    format!("{} {unit}", number(bytes / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(x: Axis, points: Vec<(f64, f64)>) -> Plot {
        let series = vec![Series { name: "ours <1>".into(), points, mark: Mark::Line, colour: 0 }];
        Plot { title: "Latency".into(), x, y: Axis::linear("latency (ns)"), series }
    }

    #[test]
    fn a_plot_names_its_axes_and_series_and_is_the_same_every_time() {
        let plot = plot(Axis::linear("hops"), vec![(0.0, 385.0), (1.0, 721.0)]);
        let svg = plot.svg().unwrap();
        for text in ["<svg", "Latency", "latency (ns)", "hops", "ours &lt;1&gt;", "</svg>"] {
            assert!(svg.contains(text), "no {text} in {svg}");
        }
        assert_eq!(svg, plot.svg().unwrap());
    }

    #[test]
    fn what_cannot_be_drawn_is_an_error() {
        assert_eq!(plot(Axis::linear("hops"), vec![]).svg(), Err(PlotError::Empty));
        assert_eq!(plot(Axis::log2("stride"), vec![(0.0, 1.0)]).svg(), Err(PlotError::NotPositive));
        assert!(plot(Axis::log2("stride"), vec![(8.0, 1.0)]).svg().is_ok());
    }

    #[test]
    fn sizes_have_units_and_numbers_have_none() {
        let of = |axis: Axis, value| axis.tick(value);
        assert_eq!(of(Axis::sizes("area"), 65536.0), "64 KiB");
        assert_eq!(of(Axis::sizes("area"), 4_194_304.0), "4 MiB");
        assert_eq!(of(Axis::sizes("stride"), 8.0), "8 B");
        assert_eq!(of(Axis::log2("area (KiB)"), 65536.0), "65536");
        assert_eq!(of(Axis::linear("x"), 0.5), "0.5");
        assert_eq!(of(Axis::linear("x"), 0.0625), "0.062");
        assert_eq!(of(Axis::linear("x"), 1000.0), "1000");
    }
}
