//! A drawing of a computer: its nodes with their CPUs and memory, and the distances between them.

use std::collections::BTreeSet;
use std::fmt::Write;

use plotters::style::RGBColor;
use record::{TopologyPart, TopologyRow};

use crate::computer::list;
use crate::heat;
use crate::matrix::is_dark;
use crate::text::{BOLD, widest};
use crate::theme::{BLACK_ON_COLOUR, WHITE_ON_COLOUR, themed};

const MARGIN: usize = 20;
/// The height of a card, and the space between cards, and between a card's edge and what is written on it.
const CARD_HEIGHT: usize = 92;
const GAP: usize = 16;
const INSIDE: usize = 10;
/// The fewest cards beside each other, if there are as many: more if the matrix below is wider.
const CARDS_IN_A_ROW: usize = 4;
const CELL: (usize, usize) = (44, 24);
const LINE: usize = 18;
const FONT: f64 = 13.0;
/// Lists of CPUs that are longer are counted instead.
const LONGEST_LIST: usize = 32;

/// The line above the matrix.
const MATRIX: &str = "Distances announced by firmware (SLIT), from the node of a row to that of a column";

/// An SVG of the rows of a computer below a title: a card for each node, and the matrix of distances, darker for farther.
pub fn computer_drawing(title: &str, rows: &[TopologyRow]) -> String {
    let of = |part| rows.iter().filter(|row| row.part == part).collect::<Vec<_>>();
    let (nodes, distances) = (of(TopologyPart::Node), of(TopologyPart::Distance));
    let ids: BTreeSet<u32> = nodes.iter().map(|row| row.id).collect();
    let (matrix, above_matrix) = if ids.len() > 1 { (ids.len() + 1, 2 * LINE) } else { (0, 0) };
    let cards: Vec<[String; 4]> = nodes.iter().map(|node| lines(node)).collect();
    let words = cards.iter().flatten().map(String::as_str);
    let card = (bold_width(words) + 2 * INSIDE, CARD_HEIGHT);
    let in_a_row = (matrix * CELL.0 / (card.0 + GAP)).max(CARDS_IN_A_ROW).min(nodes.len().max(1));
    let cards_high = nodes.len().div_ceil(in_a_row) * (card.1 + GAP);
    let captions = bold_width([title].into_iter().chain((matrix > 0).then_some(MATRIX)));
    let width = 2 * MARGIN + (in_a_row * (card.0 + GAP) - GAP).max(matrix * CELL.0).max(captions);
    let top = MARGIN + 2 * LINE;
    let height = top + cards_high - GAP.min(cards_high) + above_matrix + matrix * CELL.1 + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"{FONT}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n"
    );
    text(&mut svg, MARGIN, MARGIN + LINE, title, BOLD_STYLE);
    for (number, (node, lines)) in nodes.iter().zip(&cards).enumerate() {
        let (column, line) = (number % in_a_row, number / in_a_row);
        let place = (MARGIN + column * (card.0 + GAP), top + line * (card.1 + GAP));
        // Memory without CPUs stands out: it is the far kind.
        let fill = if node.cpus.is_empty() { "#fdebd0" } else { "#e8f1fb" };
        draw_card(&mut svg, lines, fill, place, card);
    }
    if matrix > 0 {
        let line = top + cards_high + LINE;
        text(&mut svg, MARGIN, line, MATRIX, BOLD_STYLE);
        grid(&mut svg, &ids, &distances, line + LINE);
    }
    svg.push_str("</svg>\n");
    themed(svg)
}

const BOLD_STYLE: &str = "fill=\"#000000\" font-weight=\"bold\"";

/// The width of the widest of `texts`, if it is bold.
fn bold_width<'t>(texts: impl IntoIterator<Item = &'t str>) -> usize {
    (f64::from(widest(texts, FONT)) * BOLD).ceil() as usize
}

/// The lines of a node's card: its name, and what is known of it.
fn lines(node: &TopologyRow) -> [String; 4] {
    let mut cpus = list(&node.cpus);
    if cpus.len() > LONGEST_LIST {
        cpus = format!("{} CPUs", node.cpus.len());
    } else if !cpus.is_empty() {
        cpus.insert_str(0, "CPUs ");
    }
    let size = |kib: Option<u64>| match kib.unwrap_or(0) {
        kib if kib < 1 << 20 => format!("{} MiB", kib >> 10),
        kib => format!("{:.1} GiB", kib as f64 / f64::from(1 << 20)),
    };
    let memory = format!("{}, {} free", size(node.size_kib), size(node.free_kib));
    [node.at.clone(), node.class.clone().unwrap_or_default(), cpus, memory]
}

fn draw_card(svg: &mut String, lines: &[String], fill: &str, (x, y): (usize, usize), (width, height): (usize, usize)) {
    push(
        svg,
        format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{fill}\" stroke=\"#445\"/>\n"
        ),
    );
    for (number, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
        // Cards are light on dark screens, too.
        let style = if number == 0 { "fill=\"#010101\" font-weight=\"bold\"" } else { "fill=\"#010101\"" };
        text(svg, x + INSIDE, y + 20 + number * LINE, line, style);
    }
}

fn grid(svg: &mut String, ids: &BTreeSet<u32>, distances: &[&TopologyRow], top: usize) {
    let farthest = distances.iter().filter_map(|row| row.distance).max().unwrap_or(1).max(11);
    let place = |column: usize, line: usize| (MARGIN + column * CELL.0, top + line * CELL.1);
    for (number, id) in ids.iter().enumerate() {
        for (column, line) in [(number + 1, 0), (0, number + 1)] {
            let (x, y) = place(column, line);
            text(svg, x + CELL.0 / 2, y + 16, &id.to_string(), "fill=\"#000000\" text-anchor=\"middle\"");
        }
        let line = distances.iter().filter(|row| row.id == *id).enumerate();
        for (column, distance) in line.filter_map(|(column, row)| Some((column, row.distance?))) {
            let (x, y) = place(column + 1, number + 1);
            // From 10, a node's distance to itself, to the farthest.
            let colour = heat::colour(heat::part(f64::from(distance), 10.0, f64::from(farthest)));
            let RGBColor(red, green, blue) = colour;
            let ink = if is_dark(colour) { WHITE_ON_COLOUR } else { BLACK_ON_COLOUR };
            let (width, height) = CELL;
            push(
                svg,
                format_args!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#{red:02x}{green:02x}{blue:02x}\" \
                     stroke=\"#99a\"/>\n"
                ),
            );
            text(svg, x + width / 2, y + 16, &distance.to_string(), &format!("fill=\"{ink}\" text-anchor=\"middle\""));
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
