//! The parameters of programs: declared once, with default, range and meaning.

use std::fmt;

use thiserror::Error;

use crate::data::{Data, DataKind};
use crate::matrix::Matrix;
use crate::scene::Scene;

/// A parameter of a program: a whole number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name, which is also the flag.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Its value unless another is given.
    pub default: u64,
    /// The smallest accepted value.
    pub least: u64,
    /// The largest accepted value.
    pub most: u64,
    /// If there is such a number: only its powers are accepted.
    pub powers_of: Option<u64>,
    /// If it says how many of a program's threads, or which: by how much the largest accepted value is below their number. The
    /// default is accepted on any number of threads.
    pub below_threads: Option<u64>,
}

/// Values for some of a program's parameters, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    values: Vec<(String, u64)>,
    /// Data of the user's, at most one of each kind.
    data: Vec<Data>,
}

impl Settings {
    /// Adds a value.
    pub fn set(&mut self, name: impl Into<String>, value: u64) -> &mut Self {
        self.values.push((name.into(), value));
        self
    }

    /// With a value more.
    pub fn with(mut self, name: impl Into<String>, value: u64) -> Self {
        self.set(name, value);
        self
    }

    /// With data for the program to work on, in place of those of the same kind.
    pub fn with_data(mut self, data: impl Into<Data>) -> Self {
        let data = data.into();
        self.data.retain(|other| other.kind() != data.kind());
        self.data.push(data);
        self
    }

    /// The matrix that the program is to work on.
    pub(crate) fn matrix(&self) -> Option<&'static Matrix> {
        self.data.iter().find_map(|data| if let Data::Matrix(matrix) = data { Some(*matrix) } else { None })
    }

    /// The scene that the program is to work on.
    pub(crate) fn scene(&self) -> Option<&'static Scene> {
        self.data.iter().find_map(|data| if let Data::Scene(scene) = data { Some(*scene) } else { None })
    }

    /// Those of its values whose names `is_first` accepts, and the others.
    pub(crate) fn split(&self, is_first: impl Fn(&str) -> bool) -> (Self, Self) {
        let (first, values) = self.values.iter().cloned().partition(|(name, _)| is_first(name));
        (Self { values: first, data: Vec::new() }, Self { values, data: self.data.clone() })
    }

    /// Whether every value belongs to a parameter of `program` and is in its range.
    pub(crate) fn check(&self, program: &'static str, parameters: &[Parameter]) -> Result<(), ParameterError> {
        for (name, value) in &self.values {
            let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
                let accepted = parameters.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(" ");
                return Err(ParameterError::Unknown { program, name: name.clone(), value: *value, accepted });
            };
            if !parameter.accepts(*value) {
                return Err(ParameterError::OutOfRange { program, value: *value, parameter: *parameter });
            }
        }
        Ok(())
    }

    /// The name of the first parameter, or kind of data, that has a value.
    pub fn first(&self) -> Option<&str> {
        let data = self.data.first().map(|data| data.kind().parameter().name);
        self.values.first().map(|(name, _)| name.as_str()).or(data)
    }

    /// Whether all data are of the kind that `program` takes.
    pub(crate) fn check_data(&self, program: &'static str, takes: Option<DataKind>) -> Result<(), ParameterError> {
        match self.data.iter().find(|data| takes != Some(data.kind())) {
            Some(data) => {
                let (problem, taker) = data.kind().use_of();
                let (flag, data) = (data.kind().parameter().name, data.name().to_owned());
                Err(ParameterError::NoData { program, flag, data, problem, taker })
            }
            None => Ok(()),
        }
    }

    /// The value of a parameter, of several the last; the default if there is none.
    pub(crate) fn value(&self, parameter: &str, default: u64) -> u64 {
        self.values.iter().rfind(|(name, _)| name == parameter).map_or(default, |&(_, value)| value)
    }
}

/// Why a program cannot have these parameters.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ParameterError {
    /// The program has no such parameter.
    #[error("--{name} {value}: {program} has no parameter --{name}; accepted: {accepted}")]
    Unknown {
        /// The program.
        program: &'static str,
        /// The parameter.
        name: String,
        /// Its value.
        value: u64,
        /// The parameters that there are.
        accepted: String,
    },
    /// The program works on no such data of the user's.
    #[error("--{flag} {data}: {program} {problem}; accepted: a program that does, as {taker}")]
    NoData {
        /// The program.
        program: &'static str,
        /// The flag of the data.
        flag: &'static str,
        /// The data.
        data: String,
        /// The refusal, in words: `factors no matrix`.
        problem: &'static str,
        /// A program that takes such data.
        taker: &'static str,
    },
    /// The value is too small or too large.
    #[error("--{} {value}: out of range for {program}; accepted: {}", .parameter.name, .parameter.range())]
    OutOfRange {
        /// The program.
        program: &'static str,
        /// The value.
        value: u64,
        /// The parameter.
        parameter: Parameter,
    },
    /// The program has too few threads for the value.
    #[error(
        "--{} {value}: out of range for {program} on {threads} thread{}; accepted: {}",
        .parameter.name,
        if *.threads == 1 { "" } else { "s" },
        .parameter.range_on(*.threads)
    )]
    BeyondThreads {
        /// The program.
        program: &'static str,
        /// The value.
        value: u64,
        /// The parameter.
        parameter: Parameter,
        /// How many threads there are.
        threads: usize,
    },
}

impl Parameter {
    /// Whether it may have a value.
    pub fn accepts(&self, value: u64) -> bool {
        let is_power = |base| value.checked_ilog(base).is_some_and(|exponent| base.pow(exponent) == value);
        (self.least..=self.most).contains(&value) && self.powers_of.is_none_or(is_power)
    }

    /// Whether it may have a value that it [`accepts`](Self::accepts) in a program of so many threads.
    fn accepts_on(&self, threads: usize, value: u64) -> bool {
        value == self.default || self.most_on(threads).is_none_or(|most| value <= most)
    }

    /// The largest value in a program of so many threads, if that depends on them.
    fn most_on(&self, threads: usize) -> Option<u64> {
        self.below_threads.map(|less| (threads as u64).saturating_sub(less).min(self.most))
    }

    /// The accepted values in a program of so many threads, in words.
    fn range_on(&self, threads: usize) -> String {
        let most = self.most_on(threads).unwrap_or(self.most);
        let range = if most > self.least { format!("{} to {most}", self.least) } else { most.to_string() };
        if self.default > most { format!("{range}, and the default, {}", self.default) } else { range }
    }

    /// The accepted values, in words.
    pub fn range(&self) -> impl fmt::Display + use<> {
        let Self { least, most, .. } = self;
        self.powers_of
            .map_or_else(|| format!("{least} to {most}"), |base| format!("{least} to {most}, powers of {base}"))
    }
}

/// Whether the values of a program's parameters can be had on so many threads.
pub(crate) fn check_threads<'a>(
    program: &'static str,
    parameters: impl IntoIterator<Item = (&'a Parameter, u64)>,
    threads: usize,
) -> Result<(), ParameterError> {
    let mut parameters = parameters.into_iter();
    match parameters.find(|(parameter, value)| !parameter.accepts_on(threads, *value)) {
        Some((&parameter, value)) => Err(ParameterError::BeyondThreads { program, value, parameter, threads }),
        None => Ok(()),
    }
}

/// Facts about a program that are known before it is made.
pub trait Declared: Sized {
    /// The name by which it is found.
    const NAME: &'static str;
    /// Its purpose, in a line.
    const SUMMARY: &'static str;
    /// Its parameters.
    const PARAMETERS: &'static [Parameter];
    /// The published figures to which constants of the program were fitted, as a machine's `calibrated_on` lists them:
    /// `PAPER/TABLE [rows A, B] [columns C, D]`.
    const CALIBRATED_ON: &'static [&'static str];

    /// The program with these values, which have been checked, and defaults for the rest.
    fn with(settings: &Settings) -> Self;

    /// The values of its parameters, in their order.
    fn values(&self) -> Vec<u64>;

    /// The kind of data that it can work on in place of its own.
    const TAKES: Option<DataKind> = None;

    /// The data that it works on in place of its own.
    fn data(&self) -> Option<Data> {
        None
    }
}

/// Declares a program: the structure of its parameters, with default and range, and what is known of it by name. `powers of`
/// a number after a range narrows it to those, `within threads - N` to at most so many less than the program has threads. `fitted
/// to` lists the published figures that decided constants of the program. `of` a kind of data lets it work on such data in place of
/// its own.
macro_rules! program {
    ($(#[$doc:meta])* $type:ident is $name:literal: $summary:literal $(, fitted to [$($figure:literal),*])? $(, of $data:ident: $kind:ident)? {
        $(
            #[doc = $meaning:literal]
            $field:ident: $default:expr, $least:literal to $most:expr
                $(, powers of $base:literal)? $(, within threads - $less:literal)?;
        )*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $type {
            $(#[doc = $meaning] pub $field: u64,)*
            $(
                /// Data in place of the program's own.
                pub $data: Option<&'static $crate::$kind>,
            )?
        }

        impl $crate::Declared for $type {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const CALIBRATED_ON: &'static [&'static str] = &[$($($figure),*)?];
            const PARAMETERS: &'static [$crate::Parameter] = &[$($crate::Parameter {
                name: stringify!($field),
                meaning: $meaning.trim_ascii(),
                default: $default,
                least: $least,
                most: $most,
                powers_of: { const BASE: &[u64] = &[$($base)?]; BASE.first().copied() },
                below_threads: { const LESS: &[u64] = &[$($less)?]; LESS.first().copied() },
            },)*];

            fn with(settings: &$crate::Settings) -> Self {
                Self {
                    $($field: settings.value(stringify!($field), $default),)*
                    $($data: settings.$data(),)?
                }
            }

            fn values(&self) -> Vec<u64> {
                vec![$(self.$field,)*]
            }

            $(
                const TAKES: Option<$crate::DataKind> = Some($crate::DataKind::$kind);

                fn data(&self) -> Option<$crate::Data> {
                    self.$data.map($crate::Data::$kind)
                }
            )?
        }
    };
}

pub(crate) use program;
