//! Drawings in the colours of the reader's screen: light, or dark where the reader prefers that.

/// Ink on coloured areas, which is the same on light and dark screens. It differs from black and white, which are exchanged, in a bit.
pub(crate) const BLACK_ON_COLOUR: &str = "#010101";
pub(crate) const WHITE_ON_COLOUR: &str = "#FEFEFE";

/// Colours of drawings on a dark screen: paper and ink are exchanged, and colours too dark for dark paper are lighter.
const STYLE: &str = "<style>@media (prefers-color-scheme: dark) {\
rect[fill=\"#FFFFFF\"] { fill: #14181d }\
text[fill=\"#000000\"], circle[fill=\"#000000\"], polygon[fill=\"#000000\"], rect[fill=\"#000000\"] { fill: #e6e9ec }\
[stroke=\"#000000\"] { stroke: #e6e9ec }\
[fill=\"#0072B2\"] { fill: #3b9fe0 } [stroke=\"#0072B2\"] { stroke: #3b9fe0 }\
[fill=\"#3C3C3C\"] { fill: #707070 } [fill=\"#782814\"] { fill: #a8482c } [fill=\"#5A3282\"] { fill: #8a5cb8 }\
}</style>\n";

/// The document with the colours of dark screens in it.
pub(crate) fn themed(svg: String) -> String {
    match svg.find('>') {
        Some(end) if svg.starts_with("<svg") => {
            let (head, rest) = svg.split_at(end + 1);
            format!("{head}\n{STYLE}{}", rest.trim_start_matches('\n'))
        }
        _ => svg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_is_the_first_thing_in_a_drawing() {
        let svg = themed("<svg width=\"1\">\n<rect/></svg>".to_owned());
        let document = roxmltree::Document::parse(&svg).expect("XML");
        let first = document.root_element().first_element_child().expect("a child");
        assert!(first.has_tag_name("style") && svg.contains("prefers-color-scheme: dark"), "{svg}");
        assert_eq!(themed("no drawing".to_owned()), "no drawing");
    }
}
