//! Formulas: text to a tree, and a tree to steps for a stack.

use std::fmt;

/// A problem in a formula, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormulaError {
    /// The byte at which it is noticed.
    pub at: usize,
    /// The problem, and what is accepted.
    pub problem: String,
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at + 1, self.problem)
    }
}

impl std::error::Error for FormulaError {}

/// Whether `text` is a formula. Whether its names mean anything is found out when counters are there.
///
/// # Errors
/// Where it is not, and why.
pub fn check(text: &str) -> Result<(), FormulaError> {
    parse(text).map(|_| ())
}

/// A binary operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Min,
    Max,
}

impl Operator {
    /// The result; conditions are 1 or 0.
    pub(super) fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |condition: bool| f64::from(u8::from(condition));
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Equal => truth(a == b),
            Self::Unequal => truth(a != b),
            Self::Less => truth(a < b),
            Self::AtMost => truth(a <= b),
            Self::Greater => truth(a > b),
            Self::AtLeast => truth(a >= b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }

    /// How tightly it binds; all bind to the left.
    fn power(self) -> u8 {
        match self {
            Self::Equal | Self::Unequal | Self::Less | Self::AtMost | Self::Greater | Self::AtLeast => 1,
            Self::Add | Self::Subtract => 2,
            Self::Multiply | Self::Divide => 3,
            Self::Min | Self::Max => 4,
        }
    }
}

/// A formula as a tree.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tree {
    Number(f64),
    /// `busy`, `node.busy`.
    Name(String),
    Seconds,
    /// The most that a counter can count in the interval.
    Capacity(String),
    Negative(Box<Tree>),
    Binary(Operator, Box<Tree>, Box<Tree>),
    If(Box<[Tree; 3]>),
}

/// How deep formulas may be nested: more is a mistake, or somebody's attempt at our stack.
const DEEPEST: usize = 64;

/// Parses a whole formula.
pub(super) fn parse(text: &str) -> Result<Tree, FormulaError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let tree = parser.expression(0)?;
    parser.blanks();
    match parser.rest() {
        "" => Ok(tree),
        _ => Err(parser.error("an operator or the end is expected")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn error(&self, problem: impl Into<String>) -> FormulaError {
        FormulaError { at: self.at, problem: problem.into() }
    }

    /// Whether `symbol` comes next, which is taken then.
    fn takes(&mut self, symbol: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(symbol);
        self.at += if found { symbol.len() } else { 0 };
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), FormulaError> {
        if self.takes(symbol) { Ok(()) } else { Err(self.error(format!("`{symbol}` is expected"))) }
    }

    /// The operator that comes next, if it binds more tightly than `power`.
    fn operator(&mut self, power: u8) -> Option<Operator> {
        use Operator::{Add, AtLeast, AtMost, Divide, Equal, Greater, Less, Multiply, Subtract, Unequal};
        // Longer ones first.
        let symbols = [
            ("==", Equal),
            ("!=", Unequal),
            ("<=", AtMost),
            (">=", AtLeast),
            ("<", Less),
            (">", Greater),
            ("+", Add),
            ("-", Subtract),
            ("*", Multiply),
            ("/", Divide),
        ];
        self.blanks();
        let (symbol, operator) = symbols.into_iter().find(|(symbol, _)| self.rest().starts_with(symbol))?;
        if operator.power() <= power {
            return None;
        }
        self.at += symbol.len();
        Some(operator)
    }

    fn expression(&mut self, power: u8) -> Result<Tree, FormulaError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(format!("nested more than {DEEPEST} deep")));
        }
        let mut left = self.operand()?;
        while let Some(operator) = self.operator(power) {
            let right = self.expression(operator.power())?;
            left = Tree::Binary(operator, Box::new(left), Box::new(right));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Result<Tree, FormulaError> {
        self.blanks();
        match self.rest().chars().next() {
            Some('(') => {
                self.at += 1;
                let inner = self.expression(0)?;
                self.expect(")").map(|()| inner)
            }
            Some('-') => {
                self.at += 1;
                // Binds as tightly as a product: -a / b is (-a) / b, which is the same.
                Ok(Tree::Negative(Box::new(self.expression(Operator::Multiply.power())?)))
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.named(),
            _ => Err(self.error("a number, a name, `-` or `(` is expected")),
        }
    }

    fn number(&mut self) -> Result<Tree, FormulaError> {
        let rest = self.rest();
        let exponent = |i: usize| matches!(rest.as_bytes()[i - 1], b'e' | b'E');
        let part = |(i, c): (usize, char)| {
            c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || (i > 0 && matches!(c, '+' | '-') && exponent(i))
        };
        let end = rest.char_indices().find(|&at| !part(at)).map_or(rest.len(), |(i, _)| i);
        let number: f64 = rest[..end].parse().map_err(|_| self.error(format!("`{}` is not a number", &rest[..end])))?;
        self.at += end;
        Ok(Tree::Number(number))
    }

    fn name(&mut self) -> &'a str {
        self.blanks();
        let rest = self.rest();
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn named(&mut self) -> Result<Tree, FormulaError> {
        let start = self.at;
        let name = self.name();
        if !self.takes("(") {
            return Ok(if name == "seconds" { Tree::Seconds } else { Tree::Name(name.to_owned()) });
        }
        if name == "capacity" {
            let counter = self.name().to_owned();
            return match counter.is_empty() {
                true => Err(self.error("the name of a counter is expected")),
                false => self.expect(")").map(|()| Tree::Capacity(counter)),
            };
        }
        let mut arguments = vec![self.expression(0)?];
        while self.takes(",") {
            arguments.push(self.expression(0)?);
        }
        self.expect(")")?;
        let count = arguments.len();
        call(name, arguments).ok_or_else(|| FormulaError {
            at: start,
            problem: format!(
                "`{name}` with {count} arguments: unknown function; accepted: rate(x), percent(part, whole), \
                 capacity(counter), min(a, b), max(a, b), if(condition, then, else)"
            ),
        })
    }
}

/// The tree of a function of these arguments.
fn call(name: &str, arguments: Vec<Tree>) -> Option<Tree> {
    let binary = |operator, a, b| Tree::Binary(operator, Box::new(a), Box::new(b));
    let mut arguments = arguments.into_iter();
    let tree = match (name, arguments.len()) {
        ("rate", 1) => binary(Operator::Divide, arguments.next()?, Tree::Seconds),
        ("percent", 2) => {
            let share = binary(Operator::Divide, arguments.next()?, arguments.next()?);
            binary(Operator::Multiply, Tree::Number(100.0), share)
        }
        ("min", 2) => binary(Operator::Min, arguments.next()?, arguments.next()?),
        ("max", 2) => binary(Operator::Max, arguments.next()?, arguments.next()?),
        ("if", 3) => Tree::If(Box::new([arguments.next()?, arguments.next()?, arguments.next()?])),
        _ => return None,
    };
    Some(tree)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(tree: &Tree) -> f64 {
        match tree {
            Tree::Number(number) => *number,
            Tree::Name(_) | Tree::Capacity(_) => 7.0,
            Tree::Seconds => 2.0,
            Tree::Negative(inner) => -value(inner),
            Tree::Binary(operator, a, b) => operator.apply(value(a), value(b)),
            Tree::If(parts) => value(&parts[if value(&parts[0]) != 0.0 { 1 } else { 2 }]),
        }
    }

    #[test]
    fn operators_bind_as_everybody_expects() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 4 - 3", 3.0),
            ("16 / 4 / 2", 2.0),
            ("-2 + 5", 3.0),
            ("2 * -3 + 1", -5.0),
            ("1 + 1 == 2", 1.0),
            ("if(3 < 2, 10, 20) + 1", 21.0),
            ("rate(node.busy)", 3.5),
            ("percent(1, 4)", 25.0),
            ("max(min(1, 2), 0.5) * 1e3", 1000.0),
            ("1.5e-1 * 2", 0.3),
            ("capacity(busy)", 7.0),
        ] {
            assert_eq!(value(&parse(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, at, said) in [
            ("", 0, "a number"),
            ("1 +", 3, "a number"),
            ("(1", 2, "`)`"),
            ("1 2", 2, "operator"),
            ("percent(1)", 0, "accepted"),
            ("sin(1)", 0, "accepted"),
            ("1..2", 0, "not a number"),
            ("capacity()", 9, "counter"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.problem.contains(said), "{text}: {error}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&"-".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn anything_is_a_formula_or_an_error(text in "[-+*/<>=!(),. a-z0-9_é]{0,60}") {
            let _either = parse(&text);
        }
    }
}
