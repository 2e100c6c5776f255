//! Requirements of every drawing: its text and shapes lie inside it, and no text covers another.

use roxmltree::{Document, Node};

/// Advances of the printable ASCII characters of DejaVu Sans, in thousandths of the font's size: the widest font that common
/// systems take for `sans-serif`.
const ADVANCES: [u16; 95] = include!("../../assets/advances.in");
/// How much wider bold text is.
const BOLD: f64 = 1.12;
/// The heights of capitals above the line and of letters below it, and that of an `ex`, in parts of the font's size.
const ABOVE: f64 = 0.73;
const BELOW: f64 = 0.21;
const EX: f64 = 0.547;

/// A rectangle, in the drawing's units, downward.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub fn around(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        const INFINITE: f64 = f64::INFINITY;
        let none = Self { left: INFINITE, top: INFINITE, right: -INFINITE, bottom: -INFINITE };
        points.into_iter().fold(none, |area, (x, y)| Self {
            left: area.left.min(x),
            top: area.top.min(y),
            right: area.right.max(x),
            bottom: area.bottom.max(y),
        })
    }

    fn holds(self, other: Self) -> bool {
        self.left <= other.left && self.top <= other.top && self.right >= other.right && self.bottom >= other.bottom
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// A piece of text and the area that it covers.
#[derive(Clone, Debug)]
pub struct Text {
    pub text: String,
    pub area: Area,
}

/// The text of a drawing, which is checked.
///
/// # Panics
/// When it is no XML, when something lies outside its view box, or text covers other text.
pub fn checked(name: &str, svg: &str) -> Vec<Text> {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}"));
    let view: Vec<f64> = numbers(document.root_element().attribute("viewBox").unwrap_or_default());
    let [left, top, width, height] = view[..] else { panic!("{name}: no view box") };
    let page = Area { left, top, right: left + width, bottom: top + height };
    let texts: Vec<Text> = document.descendants().filter(|node| node.has_tag_name("text")).map(text).collect();
    for (number, text) in texts.iter().enumerate() {
        assert!(page.holds(text.area), "{name}: `{}` at {:?} is cut off by {page:?}", text.text, text.area);
        for other in &texts[..number] {
            assert!(!text.area.overlaps(other.area), "{name}: `{}` covers `{}`", text.text, other.text);
        }
    }
    for node in document.descendants() {
        if let Some(area) = shape(node) {
            assert!(page.holds(area), "{name}: {:?} of {area:?} is cut off by {page:?}", node.tag_name().name());
        }
    }
    texts
}

pub fn numbers(text: &str) -> Vec<f64> {
    text.split([' ', ',']).filter_map(|number| number.parse().ok()).collect()
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).and_then(|value| value.parse().ok()).unwrap_or(0.0)
}

/// The area of a shape; none for what is no shape, and for paths, whose curves have points that they do not pass.
pub fn shape(node: Node<'_, '_>) -> Option<Area> {
    let of = |name| number(node, name);
    match node.tag_name().name() {
        // The background may say that it is as large as the page.
        "rect" if node.attribute("width") == Some("100%") => None,
        "rect" => Some(Area::around([(of("x"), of("y")), (of("x") + of("width"), of("y") + of("height"))])),
        "line" => Some(Area::around([(of("x1"), of("y1")), (of("x2"), of("y2"))])),
        "circle" => {
            let (x, y, radius) = (of("cx"), of("cy"), of("r"));
            Some(Area::around([(x - radius, y - radius), (x + radius, y + radius)]))
        }
        "polyline" | "polygon" => {
            let points = numbers(node.attribute("points").unwrap_or_default());
            Some(Area::around(points.chunks_exact(2).map(|pair| (pair[0], pair[1]))))
        }
        _ => None,
    }
}

/// An attribute of a node, or of the nearest node around it that has one.
fn inherited<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.ancestors().find_map(|ancestor| ancestor.attribute(name))
}

fn text(node: Node<'_, '_>) -> Text {
    let text = node.text().unwrap_or_default().trim().to_owned();
    let size: f64 = inherited(node, "font-size").and_then(|size| size.parse().ok()).unwrap_or(16.0);
    let bold = matches!(inherited(node, "font-weight"), Some("bold" | "700"));
    let advance = |character: char| {
        let place = (character as usize).checked_sub(' ' as usize);
        place.and_then(|place| ADVANCES.get(place)).map_or(1.0, |&advance| f64::from(advance) / 1000.0)
    };
    let width = text.chars().map(advance).sum::<f64>() * size * if bold { BOLD } else { 1.0 };
    let (x, y) = (number(node, "x"), number(node, "y"));
    let dy = node.attribute("dy").unwrap_or_default();
    let scaled = |end, unit: f64| dy.strip_suffix(end)?.parse().ok().map(|number: f64| number * unit * size);
    let line = y + scaled("em", 1.0).or_else(|| scaled("ex", EX)).unwrap_or(0.0);
    let left = match inherited(node, "text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    let turn = node.attribute("transform").and_then(|transform| transform.strip_prefix("rotate("));
    let degrees = turn.and_then(|turn| numbers(turn).first().copied()).unwrap_or(0.0);
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let turned = |(corner_x, corner_y): (f64, f64)| {
        let (right, down) = (corner_x - x, corner_y - y);
        (x + right * cosine - down * sine, y + right * sine + down * cosine)
    };
    let corners = [left, left + width].map(|x| [(x, line - ABOVE * size), (x, line + BELOW * size)]);
    Text { text, area: Area::around(corners.into_iter().flatten().map(turned)) }
}
