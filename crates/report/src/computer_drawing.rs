//! A drawing of a computer: its nodes with their CPUs and memory, and the distances between them.

use std::collections::BTreeSet;
use std::fmt::Write;

use record::{TopologyPart, TopologyRow};

use crate::computer::list;

const MARGIN: usize = 20;
const CARD: (usize, usize) = (230, 92);
const GAP: usize = 16;
const CARDS_IN_A_ROW: usize = 4;
const CELL: (usize, usize) = (44, 24);
const LINE: usize = 18;
/// How many characters of a CPU list a card holds.
const CARD_TEXT: usize = 32;

/// An SVG of the rows of a computer: a card for each node, and below the matrix of distances, darker for farther.
pub fn computer_drawing(rows: &[TopologyRow]) -> String {
    let of = |part| rows.iter().filter(|row| row.part == part).collect::<Vec<_>>();
    let (nodes, distances) = (of(TopologyPart::Node), of(TopologyPart::Distance));
    let cards_high = nodes.len().div_ceil(CARDS_IN_A_ROW) * (CARD.1 + GAP);
    let cards_wide = nodes.len().clamp(1, CARDS_IN_A_ROW) * (CARD.0 + GAP);
    let ids: BTreeSet<u32> = nodes.iter().map(|row| row.id).collect();
    let matrix = if ids.len() > 1 { ids.len() + 1 } else { 0 };
    let title = if matrix > 0 { 2 * LINE } else { 0 };
    let width = 2 * MARGIN + cards_wide.max(matrix * CELL.0);
    let height = 2 * MARGIN + cards_high + title + matrix * CELL.1;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (number, node) in nodes.iter().enumerate() {
        let (column, line) = (number % CARDS_IN_A_ROW, number / CARDS_IN_A_ROW);
        card(&mut svg, node, MARGIN + column * (CARD.0 + GAP), MARGIN + line * (CARD.1 + GAP));
    }
    if matrix > 0 {
        let top = MARGIN + cards_high + LINE;
        text(&mut svg, MARGIN, top, "Distances by firmware's table (SLIT)", "font-weight=\"bold\"");
        grid(&mut svg, &ids, &distances, top + LINE);
    }
    svg.push_str("</svg>\n");
    svg
}

fn card(svg: &mut String, node: &TopologyRow, x: usize, y: usize) {
    // Memory without CPUs stands out: it is the far kind.
    let fill = if node.cpus.is_empty() { "#fdebd0" } else { "#e8f1fb" };
    let (width, height) = CARD;
    push(
        svg,
        format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{fill}\" stroke=\"#445\"/>\n"
        ),
    );
    let mut cpus = list(&node.cpus);
    if cpus.len() > CARD_TEXT {
        cpus = format!("{} CPUs", node.cpus.len());
    } else if !cpus.is_empty() {
        cpus.insert_str(0, "CPUs ");
    }
    let mib = |kib: Option<u64>| kib.unwrap_or(0) >> 10;
    let memory = format!("{} MiB, {} free", mib(node.size_kib), mib(node.free_kib));
    let lines = [node.class.clone().unwrap_or_default(), cpus, memory];
    text(svg, x + 10, y + 20, &node.at, "font-weight=\"bold\"");
    for (number, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
        text(svg, x + 10, y + 20 + (number + 1) * LINE, line, "");
    }
}

fn grid(svg: &mut String, ids: &BTreeSet<u32>, distances: &[&TopologyRow], top: usize) {
    let farthest = distances.iter().filter_map(|row| row.distance).max().unwrap_or(1).max(11);
    let place = |column: usize, line: usize| (MARGIN + column * CELL.0, top + line * CELL.1);
    for (number, id) in ids.iter().enumerate() {
        for (column, line) in [(number + 1, 0), (0, number + 1)] {
            let (x, y) = place(column, line);
            text(svg, x + 10, y + 16, &id.to_string(), "fill=\"#445\"");
        }
        let line = distances.iter().filter(|row| row.id == *id).enumerate();
        for (column, distance) in line.filter_map(|(column, row)| Some((column, row.distance?))) {
            let (x, y) = place(column + 1, number + 1);
            // From white at 10, a node's distance to itself, to a dark blue at the farthest.
            let shade = 255 - 150 * distance.saturating_sub(10) / (farthest - 10);
            let (width, height) = CELL;
            push(
                svg,
                format_args!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"rgb({shade},{shade},255)\" \
                     stroke=\"#99a\"/>\n"
                ),
            );
            text(svg, x + 10, y + 16, &distance.to_string(), "");
        }
    }
}

fn text(svg: &mut String, x: usize, y: usize, line: &str, style: &str) {
    let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    push(svg, format_args!("<text x=\"{x}\" y=\"{y}\" {style}>{escaped}</text>\n"));
}

fn push(svg: &mut String, markup: std::fmt::Arguments<'_>) {
    svg.write_fmt(markup).expect("a String takes everything");
}
