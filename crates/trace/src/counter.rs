//! Counters as a source has them: name, width, and what reading them means.

use serde::{Deserialize, Serialize};

use crate::ObjectKind;

/// Kind of a counter's register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "register")]
pub enum Register {
    /// Counts up, and from `2^width - 1` to 0 again; 64 bits never get there.
    Wrapping {
        /// Bits.
        width: u8,
    },
    /// Counts up and is cleared by reading. When one of a group would overflow, all of the group are halved: the proportions
    /// survive, the counts do not (Prestor 2001, 5.2.3).
    Halving {
        /// Bits.
        width: u8,
        /// Registers of an object with the same number are halved together.
        group: u16,
        /// The rate in hertz of the one that counts time, by which the others are scaled after a halving.
        clock: Option<u64>,
    },
    /// Not a count: a number that holds now, such as the CPU that a thread is on.
    Level,
}

/// A counter that all objects of a kind have.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Counter {
    /// Whose it is.
    pub of: ObjectKind,
    /// Its name in formulas and, after its kind and a dot, in columns: lower-case letters, digits and underscores.
    pub name: String,
    /// Its unit: `cycles`, `pages`, `bytes`, or nothing for events.
    pub unit: String,
    /// Its meaning, in one line.
    pub what: String,
    /// The kind of its register.
    #[serde(flatten)]
    pub register: Register,
    /// The most it can count in a second, if that is known. A register narrower than 64 bits needs it to be read in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_per_second: Option<f64>,
    /// Whether it shares its register with others in turns, so that its count can be an estimate.
    #[serde(default)]
    pub multiplexed: bool,
}

impl Counter {
    /// A counter of 64 bits.
    pub fn count(of: ObjectKind, name: &str, unit: &str, what: &str) -> Self {
        Self::with(of, name, unit, what, Register::Wrapping { width: 64 })
    }

    /// A number that holds now.
    pub fn level(of: ObjectKind, name: &str, unit: &str, what: &str) -> Self {
        Self::with(of, name, unit, what, Register::Level)
    }

    /// A counter with such a register.
    pub fn with(of: ObjectKind, name: &str, unit: &str, what: &str, register: Register) -> Self {
        let (name, unit, what) = (name.to_owned(), unit.to_owned(), what.to_owned());
        Self { of, name, unit, what, register, most_per_second: None, multiplexed: false }
    }

    /// The same, that counts at most `rate` a second.
    pub fn at_most(self, rate: f64) -> Self {
        Self { most_per_second: Some(rate), ..self }
    }

    /// The same, that shares its register with others.
    pub fn in_turns(self) -> Self {
        Self { multiplexed: true, ..self }
    }

    /// Its column in a trace: `node.busy`.
    pub fn column(&self) -> String {
        format!("{}.{}", self.of, self.name)
    }

    /// Whether it holds a number rather than counts.
    pub fn is_level(&self) -> bool {
        self.register == Register::Level
    }

    /// Whether a count can be an estimate.
    pub fn can_be_estimate(&self) -> bool {
        self.multiplexed || matches!(self.register, Register::Halving { .. })
    }

    /// `text` as a name that counters may have: other characters become underscores, capitals small.
    pub fn name_from(text: &str) -> String {
        let clean = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        let name: String = text.trim().chars().map(clean).collect();
        let name = name.trim_matches('_');
        let digit = name.starts_with(|c: char| c.is_ascii_digit());
        if digit || name.is_empty() { format!("e{name}") } else { name.to_owned() }
    }
}
