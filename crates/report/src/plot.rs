//! Line plots as SVG documents.

use std::fmt;

use plotters::coord::CoordTranslate;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

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
    /// The quantity with its unit.
    pub label: String,
    /// Spaced by powers of two rather than evenly. Every value on such an axis must be positive.
    pub logarithmic: bool,
}

impl Axis {
    /// An evenly spaced axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: false }
    }

    /// An axis spaced by powers of two.
    pub fn log2(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: true }
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

const SIZE: (u32, u32) = (960, 600);

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
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 18))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(64)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.12))
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .label_style(("sans-serif", 13))
            .draw()?;
        for series in &self.series {
            let colour = Palette99::pick(series.colour).to_rgba();
            let points = series.points.iter().copied();
            let drawn = match series.mark {
                Mark::Line => chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?,
                Mark::Points => chart.draw_series(points.map(|point| Circle::new(point, 4, colour.stroke_width(1))))?,
            };
            let mark = series.mark;
            drawn.label(&series.name).legend(move |(x, y)| match mark {
                Mark::Line => PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2)).into_dyn(),
                Mark::Points => Circle::new((x + 9, y), 4, colour.stroke_width(1)).into_dyn(),
            });
        }
        legend(&mut chart, SeriesLabelPosition::UpperLeft)?;
        area.present()?;
        Ok(())
    }
}

/// Draws what series are called, in a box.
pub(crate) fn legend<'a, B: DrawingBackend + 'a, C: CoordTranslate>(
    chart: &mut ChartContext<'a, B, C>,
    at: SeriesLabelPosition,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    chart
        .configure_series_labels()
        .position(at)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.25))
        .label_font(("sans-serif", 13))
        .draw()
}

/// A tick label without a fraction where there is none: sizes on logarithmic axes are powers of two.
fn short(value: f64) -> String {
    const SCALES: [(f64, &str); 2] = [(1024.0 * 1024.0, "Mi"), (1024.0, "Ki")];
    for (scale, prefix) in SCALES {
        if value >= scale && value % scale == 0.0 {
            return format!("{}{prefix}", value / scale);
        }
    }
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") }
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
    fn powers_of_two_have_short_labels() {
        assert_eq!(short(32768.0), "32Ki");
        assert_eq!(short(4194304.0), "4Mi");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(1000.0), "1000");
    }
}
