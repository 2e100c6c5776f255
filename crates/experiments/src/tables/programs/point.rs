//! The point of a cell, in the words of its row and its column: `swim`, `hybrid at 63`, `zero-overhead simulated tuned`.

use std::fmt;

use protocol::msi::SharingSet;
use protocol::msi::catalogue::{Named, Sizes, Visitor, resolve};

use sim::{Scheduling, SpaceSharing, TimeSharing};

use super::Figure;
use crate::ideal::Equation;

/// How the time on an ideal machine of the FLASH dissertation's section 5.5 is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ideal {
    /// By simulating the ideal machine.
    Simulated(Limit),
    /// By an equation, from the real machine's account.
    Accounted(Equation),
}

/// An ideal protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// No waiting for controllers, and no coherence actions in a miss's way.
    ZeroOverhead,
    /// All misses are local misses, too.
    AllLocal,
}

impl Limit {
    /// Its name, also in a machine's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ZeroOverhead => "zero-overhead",
            Self::AllLocal => "all-local",
        }
    }

    /// Both.
    pub const ALL: [Self; 2] = [Self::ZeroOverhead, Self::AllLocal];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }

    /// The equation that accounts for it.
    const fn equation(self) -> Equation {
        match self {
            Self::ZeroOverhead => Equation::ZeroOverhead,
            Self::AllLocal => Equation::AllLocal,
        }
    }
}

/// Equations with words of their own: the real machine's time as its account has it, and Equation 5.4 as printed.
const EQUATIONS: [(&str, Equation); 2] = [("base", Equation::Base), ("all-local-stall", Equation::AllLocalStall)];

/// A program's run, and what is read off it.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The figure that is read.
    pub figure: Figure,
    /// The program; none for the mean over all of a table.
    pub program: Option<String>,
    /// The directory protocol.
    pub protocol: String,
    /// Keys of the machine's description with values of their own.
    pub machine: Vec<(String, String)>,
    /// Which ideal machine takes the real one's place.
    pub ideal: Option<Ideal>,
    /// How many processors.
    pub cpus: u16,
    /// Parameters of the program with values of their own.
    pub parameters: Vec<(String, u64)>,
    /// The scheduler that decides where and when threads run; none if each has a processor of its own, undisturbed.
    pub scheduling: Option<Scheduling>,
    /// How many of the program run at once.
    pub processes: u16,
    /// Whether the program is as chapter 6 repairs it, if it has a fault.
    pub tuned: bool,
}

/// A cell: a point, and the one that it is given relative to, if there is one.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// The point.
    pub point: Point,
    /// The point that it is relative to.
    pub over: Option<Point>,
    /// Whether it says by how many percent the point takes less time than the other.
    pub faster: bool,
}

/// A word that means nothing, with the words around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownWord(pub String);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: no program, protocol, figure or key", self.0)
    }
}

/// The mean over all programs of a table.
const AVERAGE: &str = "average";
/// The word between a point and the one that it is relative to.
const OVER: &str = "over";
/// One outstanding transaction (section 5.5.5), and its key.
const ONE_TRANSACTION: (&str, &str) = ("1-OTT", "processor.outstanding_misses");
/// The scheduler that provides the policy, of time or of space, that words leave out: FLASH's best (section 4.2.2).
pub const PINNED: Scheduling = Scheduling { time: TimeSharing::Batch, space: SpaceSharing::PinnedTopDown };
/// Words without a meaning of their own.
const FILLERS: [&str; 3] = ["at", "of", "processors"];

impl Default for Point {
    /// The mean time on 63 processors under the protocol of section 5.5.
    fn default() -> Self {
        Self {
            figure: Figure::Time,
            program: None,
            protocol: "cv=2/LB".to_owned(),
            machine: Vec::new(),
            ideal: None,
            cpus: 63,
            parameters: Vec::new(),
            scheduling: None,
            processes: 1,
            tuned: false,
        }
    }
}

impl Point {
    /// Changes what `word` is about.
    fn apply(&mut self, word: &str, programs: &[&str]) -> Result<(), UnknownWord> {
        if let Ok(cpus) = word.parse() {
            self.cpus = cpus;
        } else if let Some(limit) = Limit::named(word) {
            self.ideal = Some(Ideal::Simulated(limit));
        } else if let Some((_, equation)) = EQUATIONS.into_iter().find(|(name, _)| *name == word) {
            self.ideal = Some(Ideal::Accounted(equation));
        } else if let Some(figure) = Figure::named(word) {
            self.figure = figure;
        } else if word == AVERAGE || programs.contains(&word) {
            self.program = (word != AVERAGE).then(|| word.to_owned());
        } else if let Some(time) = named(TimeSharing::ALL, word) {
            self.scheduling.get_or_insert(PINNED).time = time;
        } else if let Some(space) = named(SpaceSharing::ALL, word) {
            self.scheduling.get_or_insert(PINNED).space = space;
        } else if is_protocol(word) {
            word.clone_into(&mut self.protocol);
        } else {
            match (word, word.split_once('=')) {
                ("accounted", _) => match self.ideal {
                    Some(Ideal::Simulated(limit)) => self.ideal = Some(Ideal::Accounted(limit.equation())),
                    Some(Ideal::Accounted(_)) => {}
                    None => return Err(UnknownWord(word.to_owned())),
                },
                ("simulated", _) => {
                    let limit = Limit::ALL.into_iter().find(|limit| match self.ideal {
                        Some(Ideal::Simulated(own)) => own == *limit,
                        Some(Ideal::Accounted(equation)) => limit.equation() == equation,
                        None => false,
                    });
                    self.ideal = Some(Ideal::Simulated(limit.ok_or_else(|| UnknownWord(word.to_owned()))?));
                }
                ("two", _) => self.processes = 2,
                ("tuned", _) => self.tuned = true,
                ("untuned", _) => self.tuned = false,
                ("real", _) => self.ideal = None,
                ("unchanged", _) => self.machine.clear(),
                (word, _) if word == ONE_TRANSACTION.0 => self.change(ONE_TRANSACTION.1, "1"),
                (_, Some((key, value))) if key.contains('.') => self.change(key, value),
                (_, Some((key, value))) => {
                    let value = value.parse().map_err(|_| UnknownWord(word.to_owned()))?;
                    self.parameters.retain(|(other, _)| other != key);
                    self.parameters.push((key.to_owned(), value));
                }
                _ => return Err(UnknownWord(word.to_owned())),
            }
        }
        Ok(())
    }

    /// Gives a key of the machine's description a value.
    fn change(&mut self, key: &str, value: &str) {
        self.machine.retain(|(other, _)| other != key);
        self.machine.push((key.to_owned(), value.to_owned()));
    }
}

impl Cell {
    /// Reads the words of a table, a row and a column, each group of which may be over something: what is over is like the whole
    /// but for the words after `over`.
    ///
    /// # Errors
    /// A word that means nothing.
    pub fn parse(groups: [&str; 3], programs: &[&str]) -> Result<Self, UnknownWord> {
        let (mut own, mut others, mut faster, mut is_over) = (Vec::new(), Vec::new(), false, false);
        for group in groups {
            let mut target = &mut own;
            for word in group.split([' ', ',']).filter(|word| !word.is_empty() && !FILLERS.contains(word)) {
                match word {
                    OVER => (target, is_over) = (&mut others, true),
                    "faster" => faster = true,
                    _ => target.push(word),
                }
            }
        }
        let mut point = Point::default();
        own.into_iter().try_for_each(|word| point.apply(word, programs))?;
        let over = is_over.then(|| {
            let mut other = point.clone();
            others.into_iter().try_for_each(|word| other.apply(word, programs)).map(|()| other)
        });
        Ok(Self { point, over: over.transpose()?, faster })
    }
}

/// The policy of this name.
fn named<T, const N: usize>(all: [(T, &'static str); N], word: &str) -> Option<T> {
    all.into_iter().find(|(_, name)| *name == word).map(|(policy, _)| policy)
}

/// Whether there is a directory protocol of this name.
fn is_protocol(name: &str) -> bool {
    struct Any;
    impl Visitor for Any {
        type Output = ();
        fn visit<S: SharingSet>(self, _: S, _: Named) {}
    }
    // Any sizes do: it is about the name alone.
    resolve(name, Sizes { nodes: 1, links: 1, vectors: 1 }, Any).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAMS: [&str; 2] = ["swim", "apsi"];

    fn parse(groups: [&str; 3]) -> Cell {
        Cell::parse(groups, &PROGRAMS).expect("words that mean something")
    }

    #[test]
    fn words_change_what_they_are_about() {
        let plain = parse(["efficiency", "swim", "hybrid at 8"]);
        let expected = Point {
            figure: Figure::Efficiency,
            program: Some("swim".into()),
            protocol: "hybrid".into(),
            cpus: 8,
            ..Point::default()
        };
        assert_eq!(plain, Cell { point: expected, over: None, faster: false });
        let ideal = parse(["", "16", "average time all-local accounted 1-OTT tuned=2"]).point;
        assert_eq!(ideal.ideal, Some(Ideal::Accounted(Equation::AllLocal)));
        let both = parse(["zero-overhead accounted", "swim", "simulated"]).point;
        assert_eq!(both.ideal, Some(Ideal::Simulated(Limit::ZeroOverhead)));
        assert_eq!((ideal.cpus, ideal.program), (16, None));
        assert_eq!(ideal.machine, [("processor.outstanding_misses".to_owned(), "1".to_owned())]);
        assert_eq!(ideal.parameters, [("tuned".to_owned(), 2)]);
    }

    #[test]
    fn what_is_over_differs_in_the_words_after_it() {
        let cell = parse(["time over cv=2", "swim", "hybrid at 8"]);
        let over = cell.over.expect("something");
        assert_eq!((cell.point.protocol.as_str(), over.protocol.as_str()), ("hybrid", "cv=2"));
        assert_eq!((over.cpus, over.program), (8, cell.point.program));
        assert!(parse(["", "apsi", "faster hybrid over dynamic-pointer"]).faster);
    }

    #[test]
    fn a_word_that_means_nothing_is_named() {
        for word in ["hybird", "accounted", "simulated", "tuned=much", "gafort"] {
            let error = Cell::parse(["", "swim", word], &PROGRAMS).expect_err(word);
            assert!(error.to_string().starts_with(word), "{error}");
        }
    }
}
