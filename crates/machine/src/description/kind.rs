//! The kinds of values in a description: unit, range, parsing and writing.

use std::cmp::Ordering;
use std::fmt;

use units::{Bytes, Duration, Hertz, Length};

/// A value as written in the file, before its key's kind is applied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    Integer(i64),
    Float(f64),
    Text(String),
    Flag(bool),
    Texts(Vec<String>),
    /// A value that no key accepts (a date, a mixed array, an integer beyond 64 bits), as the TOML name of its type.
    Other(&'static str),
}

impl Raw {
    /// A table without keys.
    pub(crate) const EMPTY_TABLE: Self = Self::Other("an empty table");

    /// The TOML name of the value's type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a string",
            Self::Flag(_) => "a boolean",
            Self::Texts(_) => "an array of strings",
            Self::Other(name) => name,
        }
    }
}

/// The reason why a value does not match its key's kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rejected {
    /// The value has another TOML type.
    WrongType,
    /// The type is right, but the value is not, for this reason.
    Impossible(String),
}

/// The kind of one key's value.
pub(crate) trait Kind {
    /// The type of the value in memory.
    type Value;
    /// Converts the value for use in memory, or rejects it.
    fn read(&self, raw: &Raw) -> Result<Self::Value, Rejected>;
    /// The value as TOML; reading it again gives the same value.
    fn write(&self, value: &Self::Value) -> String;
    /// The accepted values in words, for the error message.
    fn accepted(&self) -> String;
    /// The least and the greatest value of a range, or every alternative, as TOML; empty for words that are checked
    /// elsewhere.
    fn extremes(&self) -> Vec<String>;
    /// The unit suffix of the key; empty for plain numbers and for words.
    fn suffix(&self) -> &'static str {
        ""
    }
}

/// A number with a unit, between two limits.
pub(crate) struct Quantity<V> {
    least: f64,
    most: f64,
    unit: &'static str,
    suffix: &'static str,
    from: fn(f64) -> V,
    to: fn(&V) -> f64,
}

/// A clock frequency in megahertz.
pub(crate) fn mhz(least: f64, most: f64) -> Quantity<Hertz> {
    Quantity { least, most, unit: "MHz", suffix: "_mhz", from: Hertz::from_mhz, to: |v| v.as_mhz() }
}

/// A time in nanoseconds, kept to the picosecond.
pub(crate) fn ns(least: f64, most: f64) -> Quantity<Duration> {
    Quantity { least, most, unit: "ns", suffix: "_ns", from: Duration::from_ns, to: |v| v.as_ns() }
}

/// A mean number of cycles of the clock of the part that the key belongs to.
pub(crate) fn mean_cycles(least: f64, most: f64) -> Quantity<f64> {
    Quantity { least, most, unit: "cycles", suffix: "_cycles", from: |number| number, to: |v| *v }
}

/// A signal's travelling time in nanoseconds a metre; in memory, the time for one metre.
pub(crate) fn ns_per_m(least: f64, most: f64) -> Quantity<Duration> {
    Quantity { least, most, unit: "ns/m", suffix: "_ns_per_m", from: Duration::from_ns, to: |v| v.as_ns() }
}

/// A length in metres, kept to the micrometre.
pub(crate) fn metres(least: f64, most: f64) -> Quantity<Length> {
    Quantity { least, most, unit: "m", suffix: "_m", from: Length::from_metres, to: |v| v.as_metres() }
}

/// A length in inches, kept to the micrometre.
pub(crate) fn inches(least: f64, most: f64) -> Quantity<Length> {
    Quantity { least, most, unit: "inches", suffix: "_inches", from: Length::from_inches, to: |v| v.as_inches() }
}

impl<V: PartialEq> Kind for Quantity<V> {
    type Value = V;

    fn read(&self, raw: &Raw) -> Result<V, Rejected> {
        let number = match *raw {
            Raw::Integer(whole) => whole as f64,
            Raw::Float(number) => number,
            _ => return Err(Rejected::WrongType),
        };
        in_range(number, self.least, self.most)?;
        Ok((self.from)(number))
    }

    /// The shortest decimal that reads back as the same value.
    fn write(&self, value: &V) -> String {
        let number = (self.to)(value);
        (0..17)
            .map(|digits| format!("{number:.digits$}"))
            .find(|text| text.parse().is_ok_and(|decimal| (self.from)(decimal) == *value))
            .unwrap_or_else(|| format!("{number:?}"))
    }

    fn accepted(&self) -> String {
        format!("a number of {} from {} to {}", self.unit, self.least, self.most)
    }

    fn extremes(&self) -> Vec<String> {
        vec![self.least.to_string(), self.most.to_string()]
    }

    fn suffix(&self) -> &'static str {
        self.suffix
    }
}

/// A whole number of things or of clock cycles, between two limits.
pub(crate) struct Whole {
    least: u32,
    most: u32,
    what: &'static str,
    suffix: &'static str,
}

/// A number of things.
pub(crate) fn count(least: u32, most: u32) -> Whole {
    Whole { least, most, what: "a whole number", suffix: "" }
}

/// A number of cycles of the clock of the part that the key belongs to.
pub(crate) fn cycles(least: u32, most: u32) -> Whole {
    Whole { least, most, what: "a whole number of cycles", suffix: "_cycles" }
}

impl Kind for Whole {
    type Value = u32;

    fn read(&self, raw: &Raw) -> Result<u32, Rejected> {
        let Raw::Integer(whole) = *raw else { return Err(Rejected::WrongType) };
        in_range(whole, i64::from(self.least), i64::from(self.most))?;
        u32::try_from(whole).map_err(|_| Rejected::Impossible("it does not fit in 32 bits".into()))
    }

    fn write(&self, value: &u32) -> String {
        value.to_string()
    }

    fn accepted(&self) -> String {
        if self.least == self.most {
            return self.least.to_string();
        }
        format!("{} from {} to {}", self.what, self.least, self.most)
    }

    fn extremes(&self) -> Vec<String> {
        vec![self.least.to_string(), self.most.to_string()]
    }

    fn suffix(&self) -> &'static str {
        self.suffix
    }
}

/// A size in a unit that is a power of two.
pub(crate) struct Size {
    power_of_two: bool,
    least: u64,
    most: u64,
    unit: &'static str,
    suffix: &'static str,
    bytes_per_unit: u64,
    /// The number of parts into which the smallest unit may be divided, as in `size_mib = 0.0625`.
    parts: u64,
}

/// A size in bytes, a power of two.
pub(crate) fn bytes(least: u64, most: u64) -> Size {
    Size { power_of_two: true, least, most, unit: "bytes", suffix: "_bytes", bytes_per_unit: 1, parts: 1 }
}

/// A size in kibibytes, a power of two.
pub(crate) fn kib(least: u64, most: u64) -> Size {
    Size { power_of_two: true, least, most, unit: "KiB", suffix: "_kib", bytes_per_unit: 1 << 10, parts: 1 }
}

/// A size in mebibytes, a power of two.
pub(crate) fn mib(least: u64, most: u64) -> Size {
    Size { power_of_two: true, least, most, unit: "MiB", suffix: "_mib", bytes_per_unit: 1 << 20, parts: 1 }
}

/// As [`mib`], or down to `1 / parts` of a mebibyte, a power of two.
pub(crate) fn mib_or_part(parts: u64, most: u64) -> Size {
    Size { parts, ..mib(1, most) }
}

/// The capacity of a cache in kibibytes: its sets, not its bytes, must be a power of two.
pub(crate) fn cache_kib(least: u64, most: u64) -> Size {
    Size { power_of_two: false, ..kib(least, most) }
}

/// The capacity of a cache in mebibytes, down to `1 / parts` of one; its sets must be a power of two.
pub(crate) fn cache_mib(parts: u64, most: u64) -> Size {
    Size { power_of_two: false, ..mib_or_part(parts, most) }
}

/// Any size in bytes.
pub(crate) fn whole_bytes(least: u64, most: u64) -> Size {
    Size { power_of_two: false, ..bytes(least, most) }
}

impl Kind for Size {
    type Value = Bytes;

    fn read(&self, raw: &Raw) -> Result<Bytes, Rejected> {
        let least = self.least as f64 / self.parts as f64;
        let units = match *raw {
            Raw::Integer(whole) => whole as f64,
            Raw::Float(part) if self.parts > 1 => part,
            _ => return Err(Rejected::WrongType),
        };
        in_range(units, least, self.most as f64)?;
        let bytes = units * self.bytes_per_unit as f64;
        // Zero, where it is in range, stands for none.
        let power_of_two = bytes.fract() == 0.0 && (bytes == 0.0 || (bytes as u64).is_power_of_two());
        if self.power_of_two && !power_of_two {
            return Err(Rejected::Impossible("it is not a power of two".into()));
        }
        if bytes.fract() != 0.0 {
            return Err(Rejected::Impossible("it is not a whole number of bytes".into()));
        }
        Ok(Bytes(bytes as u64))
    }

    fn write(&self, value: &Bytes) -> String {
        (value.0 as f64 / self.bytes_per_unit as f64).to_string()
    }

    fn accepted(&self) -> String {
        if self.power_of_two && self.least == 0 {
            return format!("0 or a power of two up to {} {}", self.most, self.unit);
        }
        let what = match (self.power_of_two, self.parts) {
            (true, _) => "a power of two",
            (false, 1) => "a whole number",
            (false, _) => "a number",
        };
        format!("{what} from {} to {} {}", self.least as f64 / self.parts as f64, self.most, self.unit)
    }

    fn extremes(&self) -> Vec<String> {
        vec![(self.least as f64 / self.parts as f64).to_string(), self.most.to_string()]
    }

    fn suffix(&self) -> &'static str {
        self.suffix
    }
}

/// Any string; it is checked elsewhere.
pub(crate) struct Text;

impl Kind for Text {
    type Value = String;

    fn read(&self, raw: &Raw) -> Result<String, Rejected> {
        let Raw::Text(text) = raw else { return Err(Rejected::WrongType) };
        Ok(text.clone())
    }

    fn write(&self, value: &String) -> String {
        quoted(value)
    }

    fn accepted(&self) -> String {
        "a string".into()
    }

    fn extremes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Lines of text; what they say is checked elsewhere.
pub(crate) struct Texts;

impl Kind for Texts {
    type Value = Vec<String>;

    fn read(&self, raw: &Raw) -> Result<Vec<String>, Rejected> {
        let Raw::Texts(lines) = raw else { return Err(Rejected::WrongType) };
        Ok(lines.clone())
    }

    fn write(&self, value: &Vec<String>) -> String {
        let lines: Vec<_> = value.iter().map(|line| quoted(line)).collect();
        format!("[{}]", lines.join(", "))
    }

    fn accepted(&self) -> String {
        "an array of strings".into()
    }

    fn extremes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Yes or no.
pub(crate) struct Flag;

impl Kind for Flag {
    type Value = bool;

    fn read(&self, raw: &Raw) -> Result<bool, Rejected> {
        let Raw::Flag(flag) = *raw else { return Err(Rejected::WrongType) };
        Ok(flag)
    }

    fn write(&self, value: &bool) -> String {
        value.to_string()
    }

    fn accepted(&self) -> String {
        "true or false".into()
    }

    fn extremes(&self) -> Vec<String> {
        vec!["true".into(), "false".into()]
    }
}

/// A set of alternatives, each with the word that stands for it in a file.
pub(crate) trait Alternatives: Copy + PartialEq + Sized + 'static {
    /// Every alternative and its word.
    const WORDS: &'static [(Self, &'static str)];

    /// The word that stands for this alternative.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(value, _)| *value == self).map_or("", |(_, word)| word)
    }
}

/// One of a fixed set of words.
pub(crate) struct Choice<E>(std::marker::PhantomData<E>);

/// One of the words of `E`.
pub(crate) fn choice<E: Alternatives>() -> Choice<E> {
    Choice(std::marker::PhantomData)
}

impl<E: Alternatives> Kind for Choice<E> {
    type Value = E;

    fn read(&self, raw: &Raw) -> Result<E, Rejected> {
        let Raw::Text(text) = raw else { return Err(Rejected::WrongType) };
        let found = E::WORDS.iter().find(|(_, word)| word == text);
        found.map(|(value, _)| *value).ok_or_else(|| Rejected::Impossible("it is not one of the alternatives".into()))
    }

    fn write(&self, value: &E) -> String {
        quoted(value.word())
    }

    fn accepted(&self) -> String {
        self.extremes().join(" or ")
    }

    fn extremes(&self) -> Vec<String> {
        E::WORDS.iter().map(|(_, word)| quoted(word)).collect()
    }
}

/// A TOML basic string: what TOML must escape is escaped.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Whether `number` lies from `least` to `most`, with what is wrong if it does not.
fn in_range<N: PartialOrd + fmt::Display>(number: N, least: N, most: N) -> Result<(), Rejected> {
    if number < least {
        return Err(Rejected::Impossible(format!("it is less than {least}")));
    }
    match number.partial_cmp(&most) {
        None => Err(Rejected::Impossible("it is not a number".into())),
        Some(Ordering::Greater) => Err(Rejected::Impossible(format!("it is more than {most}"))),
        Some(_) => Ok(()),
    }
}
