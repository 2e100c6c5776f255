//! The parts of a diagram: where its curves or bars are, and what its legend shows.

use roxmltree::{Document, Node};

use crate::check::{Area, Text, checked, numbers, shape};

/// A diagram that has been checked.
pub struct Diagram<'s> {
    document: Document<'s>,
    pub texts: Vec<Text>,
}

impl<'s> Diagram<'s> {
    /// The parts of a diagram, which is checked.
    pub fn checked(name: &str, svg: &'s str) -> Self {
        let texts = checked(name, svg);
        Self { document: Document::parse(svg).expect("checked"), texts }
    }

    /// The texts on it.
    pub fn labels(&self) -> Vec<&str> {
        self.texts.iter().map(|text| text.text.as_str()).collect()
    }

    /// Where the curves or bars of a plot are: between its axes, and where the lines behind them are.
    pub fn plotted(&self) -> Area {
        const MESH: &str = "0.12";
        // Not the ticks.
        const LONG: f64 = 20.0;
        let is_axis = |node: Node<'_, '_>, area: Area| {
            let thin_and_black =
                node.attribute("stroke-width") == Some("1") && node.attribute("stroke") == Some("#000000");
            thin_and_black && (area.right - area.left).max(area.bottom - area.top) > LONG
        };
        let areas = self.document.descendants().filter_map(|node| Some((node, shape(node)?)));
        let lines = areas.filter(|&(node, area)| node.attribute("opacity") == Some(MESH) || is_axis(node, area));
        Area::around(lines.flat_map(|(_, area)| [(area.left, area.top), (area.right, area.bottom)]))
    }

    /// Samples before each name of the legend that is right of `plotted`: colours and kinds of the shapes there.
    pub fn samples(&self, plotted: Area) -> Vec<(String, String)> {
        let shapes: Vec<(Area, String)> =
            self.document.descendants().filter_map(|node| Some((shape(node)?, look(node)))).collect();
        let names = self.texts.iter().filter(|text| text.area.left > plotted.right);
        let sample = |name: &Text| {
            let Area { left, top, bottom, .. } = name.area;
            let before = Area { left: left - 36.0, top, right: left, bottom };
            let here = shapes.iter().filter(|(area, _)| before.left <= area.left && area.right <= left);
            here.filter(|(area, _)| area.top <= bottom && area.bottom >= top).map(|(_, look)| look.as_str()).collect()
        };
        names.map(|name| (name.text.clone(), sample(name))).collect()
    }
}

/// The colour of a shape and its outline.
fn look(node: Node<'_, '_>) -> String {
    let points = numbers(node.attribute("points").unwrap_or_default());
    let outline: Vec<f64> = points.iter().enumerate().map(|(place, number)| number - points[place % 2]).collect();
    let attribute = |name| node.attribute(name).unwrap_or("none");
    format!("{} {outline:?} {} {};", node.tag_name().name(), attribute("fill"), attribute("stroke"))
}
