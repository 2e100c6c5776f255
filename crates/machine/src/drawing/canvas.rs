//! A page of SVG in three layers, and the style of everything on it.

use std::fmt::Write;

use units::{LinkId, NodeId};

use super::Load;
use crate::graph::{LinkClass, VirtualNetwork};

/// A position on the page, in pixels, downwards.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Point {
    /// The point moved by this offset, to the right and down.
    pub(super) fn offset(self, x: f64, y: f64) -> Self {
        Self { x: self.x + x, y: self.y + y }
    }
}

/// The drawing order: later layers cover earlier ones.
#[derive(Clone, Copy)]
pub(super) enum Layer {
    /// Outlines of modules and cubes.
    Ground,
    /// Links.
    Wires,
    /// Routers, nodes and text.
    Parts,
}

/// The kind of a box, which determines its style.
#[derive(Clone, Copy)]
pub(super) enum Look {
    Module,
    Router,
    Metarouter,
    /// FLASH's mesh router of a network.
    Mesh(VirtualNetwork),
    Node,
    Tile,
}

impl Look {
    /// Fill, outline, and corner radius.
    fn paint(self) -> (&'static str, &'static str, f64) {
        match self {
            Self::Module => ("#eef1f4", "#d3dae1", 12.0),
            Self::Router => ("#1f3b57", "#ffffff", 10.0),
            Self::Metarouter => ("#6d3f8c", "#ffffff", 10.0),
            Self::Mesh(network) => (hue(network), "#ffffff", 10.0),
            Self::Node => ("#fdebcb", "#d39a36", 4.0),
            Self::Tile => ("#ffffff", "#b9c4cf", 10.0),
        }
    }
}

/// The style of text.
#[derive(Clone, Copy)]
pub(super) enum Words {
    Title,
    Subtitle,
    /// Beside symbols and on tiles.
    Caption,
    /// On the box of a module.
    ModuleName,
    /// On routers.
    OnRouter,
    /// A node's number.
    NodeName,
    /// A node's processors.
    CpuNames,
}

impl Words {
    /// Size in pixels, weight and colour.
    fn paint(self) -> (f64, u32, &'static str) {
        match self {
            Self::Title => (26.0, 700, "#16202a"),
            Self::Subtitle => (15.0, 400, "#54616e"),
            Self::Caption | Self::ModuleName => (12.0, 400, "#45525e"),
            Self::OnRouter => (12.0, 700, "#ffffff"),
            Self::NodeName => (12.0, 700, "#5c4008"),
            Self::CpuNames => (9.0, 400, "#7b6230"),
        }
    }
}

/// The alignment of text relative to its position.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Centre,
}

/// The colour of the parts of a network with routers of its own.
fn hue(network: VirtualNetwork) -> &'static str {
    match network {
        VirtualNetwork::Request => "#2f6db3",
        VirtualNetwork::Reply => "#d2602f",
    }
}

/// The colour, width and dashes of a link.
pub(super) fn stroke(class: LinkClass) -> (&'static str, f64, &'static str) {
    match class {
        LinkClass::Node => ("#d39a36", 2.0, ""),
        LinkClass::Backplane => ("#23998b", 5.0, ""),
        LinkClass::ModuleCable => ("#2f6db3", 2.4, ""),
        LinkClass::RackCable => ("#62a8e0", 2.4, ""),
        LinkClass::CubeCable => ("#e06c47", 1.8, ""),
        LinkClass::Express => ("#c22f5b", 1.8, "8 6"),
        LinkClass::Metarouter => ("#9a6fbb", 1.3, ""),
        LinkClass::BetweenMetarouters => ("#6d3f8c", 2.6, ""),
        LinkClass::Cluster(network) => (hue(network), 1.4, ""),
        LinkClass::Metacube(network) => (hue(network), 3.4, ""),
        LinkClass::Ring | LinkClass::Mesh | LinkClass::Sci => ("#2f6db3", 2.4, ""),
        LinkClass::SciBetweenSwitches => ("#b3572f", 2.8, ""),
        LinkClass::Interface | LinkClass::Attachment | LinkClass::MemoryNode => ("#d39a36", 2.0, ""),
        LinkClass::OnDie => ("#23998b", 2.0, ""),
        LinkClass::BetweenSockets => ("#c22f5b", 3.0, ""),
    }
}

/// Minimum width of a link with a known load, and the additional width at full load.
const THIN: f64 = 2.5;
const THICKER: f64 = 3.0;

/// The colours of idle nodes, of idle links, which are thin and must be seen on white, and of what is never idle.
const IDLE_NODE: [f64; 3] = [253.0, 236.0, 222.0];
const IDLE_LINK: [f64; 3] = [196.0, 196.0, 196.0];
const BUSY: [f64; 3] = [168.0, 12.0, 22.0];
/// From this load in percent on, white is better read on a node than black.
const DARK: f64 = 60.0;

/// The colour of a load in percent, between that of what is idle and deep red.
fn heat(idle: [f64; 3], percent: f64) -> String {
    let share = (percent / 100.0).clamp(0.0, 1.0);
    let channel = |number: usize| (idle[number] + (BUSY[number] - idle[number]) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}

/// The end of an element, with its load as a tooltip.
fn told(percent: f64, element: &str) -> String {
    format!("><title>{percent:.1} %</title></{element}>")
}

/// The page in progress.
pub(super) struct Canvas {
    layers: [String; 3],
    load: Load,
    /// The node or link that is being drawn.
    node: Option<NodeId>,
    link: Option<LinkId>,
    least: Point,
    most: Point,
}

impl Canvas {
    pub(super) fn new(load: Load) -> Self {
        let (least, most) = (f64::INFINITY, f64::NEG_INFINITY);
        let (layers, node, link) = Default::default();
        Self { layers, load, node, link, least: Point { x: least, y: least }, most: Point { x: most, y: most } }
    }

    /// The lower left corner of everything drawn.
    pub(super) fn bottom_left(&self) -> Point {
        Point { x: self.least.x, y: self.most.y }
    }

    /// The upper left corner of everything drawn.
    pub(super) fn top_left(&self) -> Point {
        self.least
    }

    /// The width of everything drawn.
    pub(super) fn width(&self) -> f64 {
        self.most.x - self.least.x
    }

    fn include(&mut self, at: Point) {
        self.least = Point { x: self.least.x.min(at.x), y: self.least.y.min(at.y) };
        self.most = Point { x: self.most.x.max(at.x), y: self.most.y.max(at.y) };
    }

    fn put(&mut self, layer: Layer, element: std::fmt::Arguments<'_>) {
        // Writing to a string is infallible.
        let _ = writeln!(self.layers[layer as usize], "{element}");
    }

    /// Attributes the elements that follow to a node, or to none.
    pub(super) fn at_node(&mut self, node: Option<NodeId>) {
        self.node = node;
    }

    /// Attributes the elements that follow to a link, or to none.
    pub(super) fn at_link(&mut self, link: Option<LinkId>) {
        self.link = link;
    }

    /// The load of the node that is being drawn, if it is known.
    fn load_of_node(&self) -> Option<f64> {
        self.node.and_then(|node| self.load.nodes.get(&node).copied())
    }

    /// Whether the load of any part is known.
    pub(super) fn has_load(&self) -> bool {
        !self.load.nodes.is_empty() || !self.load.links.is_empty()
    }

    /// A sign of a load in percent: a box in its colour.
    pub(super) fn load_sign(&mut self, centre: Point, width: f64, height: f64, percent: f64) {
        let (left, top, fill) = (centre.x - width / 2.0, centre.y - height / 2.0, heat(IDLE_NODE, percent));
        self.include(Point { x: left, y: top });
        self.include(Point { x: left + width, y: top + height });
        self.put(
            Layer::Parts,
            format_args!(r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#),
        );
    }

    /// A box around `centre`.
    pub(super) fn block(&mut self, layer: Layer, look: Look, centre: Point, width: f64, height: f64) {
        let (fill, outline, radius) = look.paint();
        let load = self.load_of_node();
        let fill = load.map_or_else(|| fill.to_owned(), |load| heat(IDLE_NODE, load));
        let end = load.map_or_else(|| "/>".to_owned(), |load| told(load, "rect"));
        let (left, top) = (centre.x - width / 2.0, centre.y - height / 2.0);
        self.include(Point { x: left, y: top });
        self.include(Point { x: left + width, y: top + height });
        self.put(
            layer,
            format_args!(
                r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" rx="{radius}" fill="{fill}" stroke="{outline}"{end}"#
            ),
        );
    }

    /// A dot.
    pub(super) fn dot(&mut self, centre: Point, radius: f64) {
        let (fill, ..) = Look::Router.paint();
        let Point { x, y } = centre;
        self.put(Layer::Parts, format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{fill}"/>"#));
    }

    /// A straight link.
    pub(super) fn wire(&mut self, layer: Layer, class: LinkClass, from: Point, to: Point) {
        self.path(layer, class, format_args!("M{:.1} {:.1} L{:.1} {:.1}", from.x, from.y, to.x, to.y));
    }

    /// A curved link that leaves `points[0]` towards `points[1]` and reaches `points[3]` from `points[2]`.
    pub(super) fn curve(&mut self, class: LinkClass, points: [Point; 4]) {
        let [from, leaving, reaching, to] = points;
        // The middle of a Bezier curve, the point of its largest deflection if it bends to one side.
        let middle = |ends: f64, handles: f64| (ends + 3.0 * handles) / 8.0;
        self.include(Point {
            x: middle(from.x + to.x, leaving.x + reaching.x),
            y: middle(from.y + to.y, leaving.y + reaching.y),
        });
        self.path(
            Layer::Wires,
            class,
            format_args!(
                "M{:.1} {:.1} C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
                from.x, from.y, leaving.x, leaving.y, reaching.x, reaching.y, to.x, to.y
            ),
        );
    }

    /// A link that is straight from `start` to `points[0]` and continues as in [`Canvas::curve`].
    pub(super) fn path_through(&mut self, class: LinkClass, start: Point, points: [Point; 4]) {
        let [from, leaving, reaching, to] = points;
        self.path(
            Layer::Wires,
            class,
            format_args!(
                "M{:.1} {:.1} L{:.1} {:.1} C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
                start.x, start.y, from.x, from.y, leaving.x, leaving.y, reaching.x, reaching.y, to.x, to.y
            ),
        );
    }

    fn path(&mut self, layer: Layer, class: LinkClass, route: std::fmt::Arguments<'_>) {
        let (colour, width, dashes) = stroke(class);
        let load = self.link.and_then(|link| self.load.links.get(&link).copied());
        let (colour, width) = load.map_or_else(
            || (colour.to_owned(), width),
            |load| (heat(IDLE_LINK, load), width.max(THIN) + THICKER * load / 100.0),
        );
        let end = load.map_or_else(|| "/>".to_owned(), |load| told(load, "path"));
        let dashes = if dashes.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dashes}""#) };
        self.put(
            layer,
            format_args!(
                r#"<path d="{route}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="round"{dashes}{end}"#
            ),
        );
    }

    /// Text whose middle line is at `at`.
    pub(super) fn words(&mut self, words: Words, align: Align, at: Point, text: &str) {
        let (size, weight, colour) = words.paint();
        let colour = match self.load_of_node() {
            Some(load) if load >= DARK => "#ffffff",
            Some(_) => "#16202a",
            None => colour,
        };
        let (anchor, left) = match align {
            Align::Left => ("start", 0.0),
            Align::Centre => ("middle", 0.5),
        };
        // Names in DejaVu Sans, the widest of the fonts, are on average no more than so much of their size wide.
        let average = if weight > 400 { 0.72 } else { 0.64 };
        let width = text.chars().count() as f64 * size * average;
        self.include(at.offset(-width * left, -size / 2.0));
        self.include(at.offset(width * (1.0 - left), size / 2.0));
        let Point { x, y } = at.offset(0.0, size * 0.35);
        // Module names cover the links behind them.
        let halo = match words {
            Words::ModuleName => r##" stroke="#eef1f4" stroke-width="4" stroke-linejoin="round" paint-order="stroke""##,
            _ => "",
        };
        self.put(
            Layer::Parts,
            format_args!(
                r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}"{halo}>{}</text>"#,
                escaped(text)
            ),
        );
    }

    /// The complete page as a document, titled `name` for screen readers.
    pub(super) fn finish(self, name: &str) -> String {
        const MARGIN: f64 = 28.0;
        let (left, top) = (self.least.x - MARGIN, self.least.y - MARGIN);
        let (width, height) = (self.most.x - self.least.x + 2.0 * MARGIN, self.most.y - self.least.y + 2.0 * MARGIN);
        let [ground, wires, parts] = self.layers;
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0}" height="{height:.0}" viewBox="{left:.1} {top:.1} {width:.1} {height:.1}" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif">
<title>{}</title>
<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="#ffffff"/>
{ground}{wires}{parts}</svg>
"##,
            escaped(name)
        )
    }
}

/// The text with XML markup characters escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
