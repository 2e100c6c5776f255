//! Line plots as SVG documents.

use std::fmt;
use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::ink::{Fill, Ink};
use crate::legend::{self, Entry, Sample};
use crate::text::{self, LABEL, Title};
use crate::theme;

/// How the points of a series are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Joined by a line: what a run produced.
    Line,
    /// Separate signs: figures that were read from somewhere, such as published ones.
    Points,
}

/// A named sequence of points.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// `(x, y)` in the units that the axes name.
    pub points: Vec<(f64, f64)>,
    /// Joined or separate.
    pub mark: Mark,
    /// The number of its colour and sign; two series that belong together share one.
    pub colour: usize,
}

/// An axis: its quantity and its scale.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The quantity, with its unit if the ticks have none.
    pub label: String,
    /// Spaced by powers of two rather than evenly. Every value on such an axis must be positive.
    pub logarithmic: bool,
    /// The labels of the ticks.
    pub ticks: Ticks,
}

/// Kinds of labels at the ticks of an axis.
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

    /// The labels of `ticks`, which are in order.
    fn labels(&self, ticks: &[f64]) -> Vec<String> {
        let step = step(ticks);
        ticks.iter().map(|&value| self.label(value, step)).collect()
    }

    /// The label of a tick that is `step` or more from the next.
    fn label(&self, value: f64, step: f64) -> String {
        // Powers of two have all their digits, however far the next one is.
        let step = if self.logarithmic { value / 1000.0 } else { step };
        match self.ticks {
            Ticks::Numbers => number(value, step),
            Ticks::Sizes => size(value, step),
        }
    }

    /// How many ticks an axis of a length in pixels has: as many as have room for their labels beside each other, and none between whole
    /// numbers if it has only those.
    fn fitting(&self, axis: &impl Ranged<ValueType = f64>, whole: bool, length: u32) -> usize {
        let fits = |&count: &usize| {
            let ticks = axis.key_points(count);
            if whole && ticks.iter().any(|tick| tick.fract() != 0.0) {
                return false;
            }
            let labels = self.labels(&ticks);
            let ends = ticks.iter().zip(&labels).map(|(value, label)| {
                let (middle, half) = (axis.map(value, (0, length as i32)), text::width(label, LABEL) as i32 / 2);
                (middle - half, middle + half)
            });
            let ends: Vec<(i32, i32)> = ends.collect();
            ends.windows(2).all(|pair| pair[1].0 - pair[0].1 >= BETWEEN)
        };
        (2..=LABELS).rev().find(fits).unwrap_or(1)
    }
}

/// The least distance between two of `ticks`, which are in order.
fn step(ticks: &[f64]) -> f64 {
    ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
}

/// Series over two axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// The line above the plot.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis, which starts at zero if it is evenly spaced and nothing is below.
    pub y: Axis,
    /// The series, the first at the back.
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

/// The plot with its axes; the title stands above, the legend on the right.
const SIZE: (u32, u32) = (900, 560);
const MARGIN: u32 = 16;
/// Behind the plot, where the last label of the horizontal axis ends.
const BEHIND: u32 = 40;
/// The labels of the horizontal axis with its name; beside the labels of the vertical one, its name.
const BELOW: u32 = 48;
const BESIDE: u32 = 36;
/// As many labels as an axis has at most, and the least space between two of the horizontal axis.
const LABELS: usize = 10;
const BETWEEN: i32 = 10;
/// Length of the ticks.
pub(crate) const TICK: i32 = 5;
/// Lines of no more points than these have a sign at each, longer ones, if they need any, about as many as that at the least.
const FEW: usize = 48;
const SIGNS: usize = 12;

impl Plot {
    /// Draws the plot. Points that are not finite are gaps in their lines.
    ///
    /// # Errors
    /// A plot without points, or a value that its axis cannot show.
    pub fn svg(&self) -> Result<String, PlotError> {
        if self.points().next().is_none() {
            return Err(PlotError::Empty);
        }
        if self.points().any(|(x, y)| (self.x.logarithmic && x <= 0.0) || (self.y.logarithmic && y <= 0.0)) {
            return Err(PlotError::NotPositive);
        }
        let x = extent(self.points().map(|point| point.0));
        let y = extent(self.points().map(|point| point.1));
        // The lowest curve shall not lie on the axis.
        let y_octaves = || octaves(y.start / 1.02..y.end);
        let mut svg = String::new();
        let drawn = match (self.x.logarithmic, self.y.logarithmic) {
            (false, false) => self.draw(&mut svg, across(x), above_zero(y.clone())),
            (true, false) => self.draw(&mut svg, octaves(x).log_scale().base(2.0), above_zero(y.clone())),
            (false, true) => self.draw(&mut svg, across(x), y_octaves().log_scale().base(2.0)),
            (true, true) => self.draw(&mut svg, octaves(x).log_scale().base(2.0), y_octaves().log_scale().base(2.0)),
        };
        drawn.map_err(|error| PlotError::Drawing(error.to_string()))?;
        Ok(theme::themed(svg))
    }

    /// The points that can be drawn.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.series.iter().flat_map(Series::finite)
    }

    fn draw<X, Y>(&self, svg: &mut String, x: X, y: Y) -> Result<(), Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64> + Clone,
        Y: AsRangedCoord<Value = f64> + Clone,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let drawn: Vec<&Series> = self.series.iter().filter(|series| series.finite().next().is_some()).collect();
        let entries: Vec<Entry> = drawn.iter().map(|series| series.entry()).collect();
        let width = SIZE.0 + legend::width(&entries, SIZE.1);
        let title = Title::new(&self.title, width - 2 * MARGIN);
        let top = MARGIN + title.height();
        let area = SVGBackend::with_string(svg, (width, top + SIZE.1)).into_drawing_area();
        area.fill(&WHITE)?;
        title.draw(&area, (MARGIN as i32, MARGIN as i32))?;
        let (left, right) = area.split_vertically(top).1.split_horizontally(SIZE.0);
        let (x_axis, y_axis) = (X::CoordDescType::from(x.clone()), Y::CoordDescType::from(y.clone()));
        let y_ticks = y_axis.key_points(LABELS);
        let y_labels = self.y.labels(&y_ticks);
        let beside = BESIDE + text::widest(y_labels.iter().map(String::as_str), LABEL);
        let whole = self.points().all(|(x, _)| x.fract() == 0.0);
        let labels = self.x.fitting(&x_axis, whole, (SIZE.0 - MARGIN - BEHIND).saturating_sub(beside));
        let (x_step, y_step) = (step(&x_axis.key_points(labels)), step(&y_ticks));
        let mut chart = ChartBuilder::on(&left)
            .margin(MARGIN)
            .margin_right(BEHIND)
            .x_label_area_size(BELOW)
            .y_label_area_size(beside)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .x_labels(labels)
            .y_labels(LABELS)
            .x_label_formatter(&|value| self.x.label(*value, x_step))
            .y_label_formatter(&|value| self.y.label(*value, y_step))
            .label_style(text::font(LABEL))
            .set_all_tick_mark_size(TICK)
            .draw()?;
        for series in drawn {
            let ink = Ink::of(series.colour);
            if series.mark == Mark::Line {
                for part in series.points.split(|&point| !is_finite(point)) {
                    chart.draw_series(LineSeries::new(part.iter().copied(), ink.colour.stroke_width(2)))?;
                }
            }
            let fill = if series.mark == Mark::Line { Fill::Filled } else { Fill::Hollow };
            for point in series.signs() {
                ink.sign(&area, chart.backend_coord(&point), fill)?;
            }
        }
        legend::draw(&right, &entries)?;
        area.present()?;
        Ok(())
    }
}

impl Series {
    fn finite(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().copied().filter(|&point| is_finite(point))
    }

    /// Whether it is a line too long for a sign at each of its points.
    fn is_long(&self) -> bool {
        self.mark == Mark::Line && self.points.len() > FEW
    }

    fn entry(&self) -> Entry {
        let ink = Ink::of(self.colour);
        let sample = match self.mark {
            Mark::Line => Sample::Line(ink, self.signs().next().is_some()),
            Mark::Points => Sample::Point(ink),
        };
        Entry { name: self.name.clone(), sample }
    }

    /// The points at which signs are drawn: of a long line those that no line joins, and some if its colour is not its own.
    fn signs(&self) -> impl Iterator<Item = (f64, f64)> {
        let step = self.points.len() / SIGNS;
        let is_gap = move |place: Option<usize>| {
            place.and_then(|place| self.points.get(place)).is_none_or(|&point| !is_finite(point))
        };
        let signed = move |place: usize| {
            !self.is_long()
                || Ink::needs_sign(self.colour) && place % step == step / 2
                || is_gap(place.checked_sub(1)) && is_gap(place.checked_add(1))
        };
        let finite = self.points.iter().copied().enumerate().filter(|&(_, point)| is_finite(point));
        finite.filter(move |&(place, _)| signed(place)).map(|(_, point)| point)
    }
}

fn is_finite((x, y): (f64, f64)) -> bool {
    x.is_finite() && y.is_finite()
}

/// The least and the largest of `values`.
fn extent(values: impl Iterator<Item = f64>) -> Range<f64> {
    values.fold(f64::INFINITY..f64::NEG_INFINITY, |range, value| range.start.min(value)..range.end.max(value))
}

/// An evenly spaced horizontal axis: from the first value, or from zero if that is not far, to the last.
fn across(Range { start, end }: Range<f64>) -> Range<f64> {
    let first = if start > 0.0 && start < 0.2 * end { 0.0 } else { start };
    if end > first { first..end } else { first - 0.5..end + 0.5 }
}

/// An evenly spaced vertical axis: from zero, or below it, with space beyond the outermost values.
fn above_zero(Range { start, end }: Range<f64>) -> Range<f64> {
    let (bottom, top) = (1.05 * start.min(0.0), 1.05 * end.max(0.0));
    if top > bottom { bottom..top } else { bottom..bottom + 1.0 }
}

/// An axis from a power of two to another that is at least four times as large: on shorter ones the library's labels are none of
/// powers of two.
fn octaves(Range { start, end }: Range<f64>) -> Range<f64> {
    let (first, last) = (start.log2().floor(), end.log2().ceil());
    let (first, last) = if last - first < 2.0 { (first - 1.0, first + 2.0) } else { (first, last) };
    // A first label that is exactly at the end would be lost by rounding.
    const BEYOND: f64 = 1e-9;
    first.exp2() * (1.0 - BEYOND)..last.exp2() * (1.0 + BEYOND)
}

/// A number with as many digits as tell it apart from one that is `step` away.
pub(crate) fn number(value: f64, step: f64) -> String {
    if value.fract() == 0.0 {
        return format!("{value}");
    }
    /// More digits than these are of no use, as where a tick is alone.
    const MOST: f64 = 15.0;
    let places = (1.0 - step.log10()).ceil().clamp(0.0, MOST) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A size of so many bytes.
fn size(bytes: f64, step: f64) -> String {
    const UNITS: [(u32, &str); 5] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];
    let (power, unit) = UNITS.into_iter().find(|&(power, _)| bytes >= f64::from(power).exp2()).unwrap_or((0, "B"));
    let scale = f64::from(power).exp2();
    format!("{} {unit}", number(bytes / scale, step / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(x: Axis, points: Vec<(f64, f64)>) -> Plot {
        let series = vec![Series { name: "simulated <1>".into(), points, mark: Mark::Line, colour: 0 }];
        Plot { title: "Latency".into(), x, y: Axis::linear("latency (ns)"), series }
    }

    #[test]
    fn a_plot_names_its_axes_and_series_and_is_the_same_every_time() {
        let plot = plot(Axis::linear("hops"), vec![(0.0, 385.0), (1.0, 721.0)]);
        let svg = plot.svg().unwrap();
        for text in ["<svg", "Latency", "latency (ns)", "hops", "simulated &lt;1&gt;", "</svg>"] {
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
    fn samples_between_gaps_are_drawn() {
        let gap = (0.5, f64::NAN);
        let svg = |points| plot(Axis::linear("ms"), points).svg();
        assert_eq!(svg(vec![gap; 3]), Err(PlotError::Empty));
        let lonely = svg(vec![(0.0, 1.0), gap, (1.0, 2.0), gap]).unwrap();
        assert_eq!(lonely.matches("<circle").count(), 3, "both, and that of the legend: {lonely}");
        // Long lines have signs only where there is nothing else to see.
        let long = |place: u32| if place % 100 == 50 { (f64::from(place), 1.0) } else { gap };
        let joined = |place: u32| (f64::from(place), 1.0);
        assert_eq!(svg((0..500).map(long).collect()).unwrap().matches("<circle").count(), 5 + 1);
        assert_eq!(svg((0..500).map(joined).collect()).unwrap().matches("<circle").count(), 0);
    }

    #[test]
    fn axes_hold_what_is_drawn() {
        assert_eq!(across(2.0..2.0), 1.5..2.5);
        assert_eq!((across(1.0..64.0), across(20.0..64.0)), (0.0..64.0, 20.0..64.0));
        assert_eq!(above_zero(0.0..0.0), 0.0..1.0);
        assert_eq!(above_zero(-2.0..4.0), -2.1..4.2);
        let powers = octaves(1.2..118.0);
        assert!(powers.contains(&1.0) && powers.contains(&128.0) && !powers.contains(&0.9) && !powers.contains(&129.0));
        assert!(octaves(8.0..8.0).contains(&4.0) && octaves(8.0..8.0).contains(&32.0));
    }

    #[test]
    fn sizes_have_units_and_numbers_have_none() {
        let of = |axis: Axis, value| axis.label(value, 0.1);
        assert_eq!(of(Axis::sizes("area"), 65536.0), "64 KiB");
        assert_eq!(of(Axis::sizes("area"), 4_194_304.0), "4 MiB");
        assert_eq!(of(Axis::sizes("stride"), 8.0), "8 B");
        assert_eq!(of(Axis::log2("area (KiB)"), 65536.0), "65536");
        assert_eq!(of(Axis::linear("x"), 0.5), "0.5");
        assert_eq!(of(Axis::log2("x"), 0.0625), "0.0625");
        assert_eq!(of(Axis::sizes("x"), 1536.0), "1.5 KiB");
        assert_eq!(of(Axis::linear("x"), 0.1 + 0.2), "0.3");
        assert_eq!(Axis::linear("x").labels(&[123456.78, 123456.79, 123456.8]), ["123456.78", "123456.79", "123456.8"]);
        assert_eq!(of(Axis::linear("x"), 1000.0), "1000");
    }
}
