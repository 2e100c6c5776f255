//! Pictures of fixed data, as they were last looked at: a change of how something is drawn is a difference to be reviewed.
//!
//! `INSTA_UPDATE=always cargo test -p ccnuma-report --test pictures` takes the new ones; look at each in a browser before it is
//! committed.

mod data;

use report::html::page;
use report::{Axis, Mark, Plot, Series};

/// Compares a drawing with the one that was reviewed.
macro_rules! reviewed {
    ($name:literal, $svg:expr) => {
        insta::assert_binary_snapshot!(concat!($name, ".svg"), $svg.into_bytes());
    };
}

fn drawn(plot: &Plot) -> String {
    plot.svg().expect("points to draw")
}

#[test]
fn latency_by_area() {
    reviewed!("latency-by-area", drawn(&report::area_curves(&data::areas()).expect("areas")));
}

#[test]
fn latency_against_load() {
    reviewed!("latency-against-load", drawn(&report::load_curves(&data::loads()).expect("loads")));
}

#[test]
fn where_the_time_went() {
    reviewed!("where-the-time-went", report::time_bars(&data::runs()).svg().expect("bars"));
}

#[test]
fn one_bar() {
    reviewed!("one-bar", report::time_bars(&data::runs()[..1]).svg().expect("a bar"));
}

#[test]
fn a_computer_of_eight_nodes() {
    reviewed!("computer", report::computer_drawing(&data::computer(8)));
}

#[test]
fn a_computer_of_one_node() {
    reviewed!("computer-small", report::computer_drawing(&data::computer(1)));
}

/// More lines than colours, with long names, over sizes.
#[test]
fn many_curves() {
    let curve = |number: usize| Series {
        name: format!("{} KiB arrays of a long name", 16 << number),
        points: (0..12).map(|step| (f64::from(8 << step), 2.0 + (number * step) as f64 * 1.5)).collect(),
        mark: Mark::Line,
        colour: number,
    };
    let series = (0..20).map(curve).collect();
    let title = "A diagram with more lines than there are colours".to_owned();
    reviewed!("many-curves", drawn(&Plot { title, x: Axis::sizes("stride"), y: Axis::log2("time (ns)"), series }));
}

/// Figures of ours as lines, published ones as signs, among them a series of one point, and values below zero.
#[test]
fn ours_beside_theirs() {
    let series = |name: &str, mark, colour, values: &[f64]| Series {
        name: name.to_owned(),
        points: values.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect(),
        mark,
        colour,
    };
    let series = vec![
        series("back-to-back READ", Mark::Line, 0, &[384.0, 721.0, 835.0, 949.0]),
        series("back-to-back READ, published", Mark::Points, 0, &[385.0, 715.0, 830.0, 960.0]),
        series("difference", Mark::Line, 1, &[-1.0, 6.0, 5.0, -11.0]),
        series("a single one", Mark::Line, 2, &[500.0]),
    ];
    let title = "Table 4.11: remote latency by distance".to_owned();
    reviewed!(
        "ours-beside-theirs",
        drawn(&Plot { title, x: Axis::linear("hops"), y: Axis::linear("latency (ns)"), series })
    );
}

/// A page without the library that draws in it, which is not ours.
#[test]
fn a_page_about_a_trace_of_linux() {
    let trace = data::trace();
    let whole = page(&data::about(&trace)).expect("a page");
    let library = include_str!("../../assets/uPlot.iife.min.js");
    assert!(whole.contains(library));
    reviewed_page(&whole.replace(library, "/* uPlot */"));
}

fn reviewed_page(text: &str) {
    insta::assert_binary_snapshot!("page.html", text.as_bytes().to_vec());
}
