//! Drawings of fixed data. Each is checked for text that is cut off or covered, and compared with what was last looked at: a change of
//! how something is drawn is a difference to be reviewed.
//!
//! `INSTA_UPDATE=always cargo test --workspace --test pictures` takes the new ones; look at each in a browser before it is
//! committed.

mod check;
mod data;
mod diagram;

use std::collections::BTreeSet;

use check::checked;
use diagram::Diagram;
use report::html::page;
use report::{Axis, Mark, Plot, Series};

/// Compares a drawing with the one that was reviewed.
macro_rules! reviewed {
    ($name:literal, $svg:expr) => {
        insta::assert_binary_snapshot!(concat!($name, ".svg"), $svg.into_bytes());
    };
}

/// The drawing of a plot, of which no text lies on the curves, and each name of the legend has a sample of its own.
fn drawn(plot: &Plot) -> String {
    let svg = plot.svg().expect("points to draw");
    let diagram = Diagram::checked(&plot.title, &svg);
    let plotted = diagram.plotted();
    for text in &diagram.texts {
        assert!(!text.area.overlaps(plotted), "{}: `{}` lies on the curves", plot.title, text.text);
    }
    let samples = diagram.samples(plotted);
    let names: Vec<&str> = samples.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, plot.series.iter().map(|series| series.name.as_str()).collect::<Vec<_>>());
    distinct(&samples);
    svg
}

fn distinct(samples: &[(String, String)]) {
    let mut seen = BTreeSet::new();
    for (name, sample) in samples {
        assert!(!sample.is_empty(), "`{name}` has no sample");
        assert!(seen.insert(sample), "`{name}` looks like another: {sample}");
    }
}

/// The drawing of bars, on which nothing is written but shares.
fn bars(name: &str, bars: &report::StackedBars) -> String {
    let svg = bars.svg().expect("bars");
    let diagram = Diagram::checked(name, &svg);
    let plotted = diagram.plotted();
    for text in diagram.texts.iter().filter(|text| text.area.overlaps(plotted)) {
        assert!(text.text.parse::<u32>().is_ok_and(|share| share <= 100), "{name}: `{}` lies on the bars", text.text);
    }
    distinct(&diagram.samples(plotted));
    for (label, _) in &bars.bars {
        assert!(diagram.texts.iter().any(|text| text.text == *label), "{name}: no `{label}`");
    }
    svg
}

fn series(name: &str, mark: Mark, colour: usize, values: &[f64]) -> Series {
    let points = values.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect();
    Series { name: name.to_owned(), points, mark, colour }
}

#[test]
fn latency_by_area() {
    let svg = drawn(&report::area_curves(&data::areas()).expect("areas"));
    let diagram = Diagram::checked("latency by area", &svg);
    for label in ["4 KiB", "1 GiB", "1", "128"] {
        assert!(diagram.labels().contains(&label), "both ends of both axes are labelled: {:?}", diagram.labels());
    }
    reviewed!("latency-by-area", svg);
}

#[test]
fn latency_against_load() {
    reviewed!("latency-against-load", drawn(&report::load_curves(&data::loads()).expect("loads")));
}

#[test]
fn where_the_time_went() {
    reviewed!("where-the-time-went", bars("bars", &report::time_bars(&data::runs())));
}

#[test]
fn one_bar() {
    reviewed!("one-bar", bars("one bar", &report::time_bars(&data::runs()[..1])));
}

#[test]
fn bars_of_many_runs_have_room() {
    let mut runs = data::runs();
    let names = (0..64).map(|number| format!("a program with a very long name, number {number}"));
    let many: Vec<_> = names
        .flat_map(|program| {
            runs.iter_mut()
                .map(move |run| record::SimulationRow { program: program.clone(), ..run.clone() })
                .collect::<Vec<_>>()
        })
        .collect();
    bars("many bars", &report::time_bars(&many));
}

#[test]
fn a_computer_of_eight_nodes() {
    let svg = report::computer_drawing("a computer of some nodes", &data::computer(8));
    checked("eight nodes", &svg);
    reviewed!("computer", svg);
}

#[test]
fn a_computer_of_one_node() {
    let svg = report::computer_drawing("a computer of some nodes", &data::computer(1));
    checked("one node", &svg);
    reviewed!("computer-small", svg);
}

#[test]
fn computers_of_any_size_have_room() {
    for nodes in [2, 3, 5, 16, 64] {
        checked("nodes", &report::computer_drawing("a computer of some nodes", &data::computer(nodes)));
    }
}

/// As many lines as a node of today has processors, with long names, over sizes.
#[test]
fn many_curves() {
    let curve = |number: usize| Series {
        name: format!("{} KiB arrays of a long name", 16 + number),
        points: (0..8).map(|step| (f64::from(8 << step), 2.0 + (number * step) as f64 * 1.5)).collect(),
        mark: Mark::Line,
        colour: number,
    };
    let series = (0..32).map(curve).collect();
    let title = "A diagram with more lines than there are colours".to_owned();
    reviewed!("many-curves", drawn(&Plot { title, x: Axis::sizes("stride"), y: Axis::log2("time (ns)"), series }));
}

/// Figures of ours as lines, published ones as signs, among them a series of one point, and values below zero.
#[test]
fn ours_beside_theirs() {
    let series = vec![
        series("back-to-back READ", Mark::Line, 0, &[384.0, 721.0, 835.0, 949.0]),
        series("back-to-back READ, published", Mark::Points, 0, &[385.0, 715.0, 830.0, 960.0]),
        series("difference", Mark::Line, 1, &[-1.0, 6.0, 5.0, -11.0]),
        series("a single one", Mark::Line, 2, &[500.0]),
    ];
    let title = "Table 4.11: remote latency by distance".to_owned();
    let svg = drawn(&Plot { title, x: Axis::linear("hops"), y: Axis::linear("latency (ns)"), series });
    assert!(!Diagram::checked("hops", &svg).labels().contains(&"0.5"), "there are no half hops");
    reviewed!("ours-beside-theirs", svg);
}

/// Long lines with gaps, between which there are single samples; and a title that is wider than the drawing.
#[test]
fn gaps() {
    let wave = |number: usize| (number as f64 / 40.0).sin() * 40.0 + 50.0;
    let whole: Vec<f64> = (0..200).map(wave).collect();
    let seldom: Vec<f64> = (0..200).map(|n| if n % 20 == 0 { wave(n) / 2.0 } else { f64::NAN }).collect();
    let parts: Vec<f64> = (0..200).map(|n| if n % 50 < 30 { wave(n) / 4.0 } else { f64::NAN }).collect();
    let series = vec![
        series("all of the time", Mark::Line, 0, &whole),
        series("seldom", Mark::Line, 1, &seldom),
        series("now and then", Mark::Line, 2, &parts),
        series("of a colour that there is twice", Mark::Line, 7, &parts.iter().map(|y| y + 8.0).collect::<Vec<_>>()),
    ];
    let title = "Utilisation of the memory of a node over time while a program transposes a matrix with and without an order of \
                 its rows that spreads accesses over all nodes"
        .to_owned();
    reviewed!("gaps", drawn(&Plot { title, x: Axis::linear("time (ms)"), y: Axis::linear("utilisation (%)"), series }));
}

/// Between every two processors of two sockets, and of so many that there is no room for numbers.
#[test]
fn heat_maps() {
    for (name, processors) in [("heat map", 8), ("large heat map", 64)] {
        let matrices = report::matrices(&data::cores(processors));
        assert_eq!(matrices.len(), 1);
        let svg = matrices[0].1.svg().expect("values");
        let texts = checked(name, &svg);
        for label in ["requester CPU", "owner CPU", "35.0 ns"] {
            assert!(texts.iter().any(|text| text.text == label), "{name}: no `{label}`");
        }
        if processors == 8 {
            reviewed!("heat-map", svg);
        } else {
            reviewed!("heat-map-large", svg);
        }
    }
}

#[test]
fn axes_of_any_extent_have_room_for_their_labels() {
    let axes = [Axis::linear("x"), Axis::log2("x"), Axis::sizes("x")];
    let ends = [
        (1.0, 1.0),
        (1e-9, 3e-9),
        (0.001, 70_000.0),
        (1.0, 1e9),
        (123_456.7, 123_456.8),
        (4096.0, (1u64 << 40) as f64),
    ];
    for (x, y) in axes.iter().flat_map(|x| axes[..2].iter().map(move |y| (x, y))) {
        for (first, last) in ends {
            let points = vec![(first, first), (last, last)];
            let series = vec![Series { name: "one".into(), points, mark: Mark::Line, colour: 0 }];
            drawn(&Plot { title: format!("{first} to {last}"), x: x.clone(), y: y.clone(), series });
        }
    }
}

/// The page's own markup and the samples in it, without styles and scripts.
#[test]
fn a_page_about_a_trace_of_linux() {
    let trace = data::trace(3);
    let mut rest = page(&data::about(&trace)).expect("a page");
    for (begin, end) in [("<style>", "</style>"), ("<script nonce", "</script>")] {
        while let Some(from) = rest.find(begin) {
            let to = rest[from..].find(end).expect("an end") + from + end.len();
            rest.replace_range(from..to, "");
        }
    }
    // Between two CPUs there is nothing; between two times on a CPU there is their mean.
    assert_eq!(rest.matches("\"steps\":true").count(), 1);
    // A line for each plot and each of its lines.
    let rest = rest.replace("{\"kind\"", "\n{\"kind\"").replace("{\"name\"", "\n{\"name\"");
    insta::assert_binary_snapshot!("page.html", rest.into_bytes());
}
