//! The words of a cell's table, row and column: `cholesky 64 KB`, `greatest traffic`, `time 128 KB over 256 KB at 4`.

use super::figure::Figure;
use super::{CACHES, INFINITE, SIZES, programs};

/// The secondary cache of tables that name none, in KB (Table 1).
pub const USUAL_CACHE: u64 = 256;
/// The doubled clock of section 4, Processor Clock Speed.
pub const DOUBLED_MHZ: u64 = 200;

/// A program's run, and the figure that is read from it.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The figure.
    pub figure: Figure,
    /// The program.
    pub program: &'static str,
    /// Nodes of the ring.
    pub nodes: u16,
    /// The secondary cache, in KB.
    pub cache: u64,
    /// The processor's clock in MHz, if it is not the machine's own.
    pub clock: Option<u64>,
    /// Whether the program has the data of section 3 instead of Table 1.
    pub compared: bool,
    /// Whether it runs on DASH, on so many of its processors as the ring has nodes.
    pub on_dash: bool,
}

/// The choice from several points like one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extreme {
    /// The greatest figure of all rings of several nodes.
    Greatest,
    /// The greatest of those of so many nodes at most.
    GreatestBelow(u16),
    /// The least figure of all rings of several nodes.
    Least,
    /// The greatest difference between caches of any size on one ring.
    SpreadOfCaches,
}

/// Whether a figure is within limits is 1 if it is, else 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Test {
    /// The least that is.
    pub least: f64,
    /// The most that is.
    pub most: f64,
}

/// A cell: a point, and how its figure is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// The point.
    pub point: Point,
    /// The point that it is given relative to, if there is one: words after `over` change it.
    pub over: Option<Point>,
    /// The choice from several points like it, if there are several.
    pub extreme: Option<Extreme>,
    /// The limits that its figure is held against, if there are any.
    pub test: Option<Test>,
}

impl Cell {
    /// Reads the words of a table, a row and a column; `None` if one of them means nothing, or no program or figure is named.
    pub fn parse(groups: [&str; 3]) -> Option<Self> {
        let mut draft = Draft::default();
        let mut words = groups.iter().flat_map(|group| group.split([' ', ','])).filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let mut next = || words.next();
            match word {
                "compared" => draft.compared = true,
                "DASH" => draft.place.on_dash = true,
                "ring" => draft.place.on_dash = false,
                "over" => draft.before = Some(draft.place),
                "greatest" => draft.extreme = Some(Extreme::Greatest),
                "least" => draft.extreme = Some(Extreme::Least),
                "spread" => draft.extreme = Some(Extreme::SpreadOfCaches),
                "to" => draft.extreme = Some(Extreme::GreatestBelow(size(next()?)?)),
                "under" => draft.test = Some(Test { least: f64::NEG_INFINITY, most: next()?.parse().ok()? }),
                "from" => {
                    let [least, to, most] = std::array::from_fn(|_| words.next().unwrap_or_default());
                    let limits = least.parse().ok().zip(most.parse().ok()).filter(|_| to == "to");
                    draft.test = limits.map(|(least, most)| Test { least, most });
                    draft.test?;
                }
                "at" => draft.place.nodes = Some(size(next()?)?),
                "infinite" => draft.place.cache = Some(INFINITE),
                _ => match word.parse::<u64>() {
                    Ok(number) => match next()? {
                        "KB" if CACHES.contains(&number) => draft.place.cache = Some(number),
                        "MHz" if number == DOUBLED_MHZ => draft.place.clock = Some(number),
                        _ => return None,
                    },
                    Err(_) => match (programs::named(word), Figure::named(word)) {
                        (Some(program), _) => draft.program = Some(program),
                        (None, Some(figure)) => draft.figure = Some(figure),
                        (None, None) => return None,
                    },
                },
            }
        }
        draft.cell()
    }
}

/// The ring of cells that name none.
const LARGEST: u16 = SIZES[SIZES.len() - 1];

/// A size of rings.
fn size(word: &str) -> Option<u16> {
    word.parse().ok().filter(|nodes| SIZES.contains(nodes))
}

/// The part of a point that words have named so far.
#[derive(Clone, Copy, Default)]
struct Place {
    nodes: Option<u16>,
    cache: Option<u64>,
    clock: Option<u64>,
    on_dash: bool,
}

/// A cell of which some words have been read: the point at hand, and after `over` the one before it, too.
#[derive(Default)]
struct Draft {
    program: Option<&'static str>,
    figure: Option<Figure>,
    compared: bool,
    place: Place,
    before: Option<Place>,
    extreme: Option<Extreme>,
    test: Option<Test>,
}

impl Draft {
    fn cell(self) -> Option<Cell> {
        let (program, figure, compared) = (self.program?, self.figure?, self.compared);
        let point = |place: Place| Point {
            figure,
            program,
            nodes: place.nodes.unwrap_or(LARGEST),
            cache: place.cache.unwrap_or(USUAL_CACHE),
            clock: place.clock,
            compared,
            on_dash: place.on_dash,
        };
        let (own, over) = match self.before {
            // A ring that is named at the end is that of both.
            Some(first) => (Place { nodes: first.nodes.or(self.place.nodes), ..first }, Some(self.place)),
            None => (self.place, None),
        };
        Some(Cell { point: point(own), over: over.map(point), extreme: self.extreme, test: self.test })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_points_limits_and_extremes() {
        let cell = Cell::parse(["", "cholesky 64 KB", "time at 4"]).expect("words");
        let point = &cell.point;
        assert_eq!((point.program, point.figure, point.nodes, point.cache), ("cholesky", Figure::Time, 4, 64));
        let ratio = Cell::parse(["", "cholesky", "time 128 KB over 256 KB at 4 from 1.1 to 1.6"]).expect("words");
        let over = ratio.over.expect("another point");
        assert_eq!((ratio.point.cache, ratio.point.nodes, over.cache, over.nodes), (128, 4, 256, 4));
        assert_eq!(ratio.test, Some(Test { least: 1.1, most: 1.6 }));
        let share = Cell::parse(["", "mp3d", "busy at 8 over at 1 from 0.5 to 2"]).expect("words");
        let alone = share.over.expect("another point");
        assert_eq!((share.point.figure, share.point.nodes, alone.nodes), (Figure::Busy, 8, 1));
        assert_eq!(alone.figure, Figure::Busy);
        let ratio = Cell::parse(["compared", "cholesky", "speedup DASH over ring at 8"]).expect("words");
        let ring = ratio.over.expect("another point");
        assert_eq!((ratio.point.on_dash, ratio.point.nodes, ring.on_dash, ring.nodes), (true, 8, false, 8));
        let greatest = Cell::parse(["compared", "mp3d", "greatest traffic to 8"]).expect("words");
        assert_eq!((greatest.extreme, greatest.point.compared), (Some(Extreme::GreatestBelow(8)), true));
    }

    #[test]
    fn words_that_mean_nothing_are_none() {
        for words in ["time at 3", "time 96 KB", "time from 1 2", "swim time", "time", "cholesky traffic at"] {
            let row = if words.contains("swim") { "" } else { "cholesky" };
            assert_eq!(Cell::parse(["", row, words]).is_none(), words != "time", "{words}");
        }
        assert_eq!(Cell::parse(["", "cholesky", ""]), None);
    }
}
