//! The programs by name.

use thiserror::Error;

use crate::loops::{Cg, Ge, Mmult, Paths, Stream};
use crate::parameter::{Declared, Parameter, ParameterError, Settings};
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::specomp::{Applu, Apsi, Art, Equake, Fma3d, Gafort, Mgrid, Swim, Wupwise};
use crate::splash::{Barnes, Cholesky, Fft, Fmm, Lu, Mp3d, Ocean, Radix, Raytrace, Water};
use crate::synthetic::{Counters, HotSpot, Migratory, Private, ProducerConsumer, Uniform, WideReadSharing};
use crate::thread::Thread;

/// Why there is no such program to run.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ProgramError {
    /// No program has this name.
    #[error("{name}: unknown program; accepted: {accepted}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The programs that there are.
        accepted: String,
    },
    /// It cannot have these parameters.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

macro_rules! programs {
    ($($type:ident),* $(,)?) => {
        /// Any of the programs.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Workload {
            $(#[doc = concat!("[`", stringify!($type), "`].")] $type($type),)*
        }

        impl Workload {
            /// Every program, with its defaults.
            pub fn all() -> Vec<Self> {
                let defaults = Settings::default();
                vec![$(Self::$type($type::with(&defaults)),)*]
            }

            /// The program called `name` with these parameters, and defaults for the rest.
            ///
            /// # Errors
            /// When there is no such program or it cannot have such parameters.
            pub fn new(name: &str, settings: &Settings) -> Result<Self, ProgramError> {
                $(if name == $type::NAME {
                    settings.check($type::NAME, $type::PARAMETERS)?;
                    settings.check_data($type::NAME, $type::TAKES)?;
                    return Ok(Self::$type($type::with(settings)));
                })*
                let accepted = [$($type::NAME),*].join(" ");
                Err(ProgramError::Unknown { name: name.to_owned(), accepted })
            }

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$type(_) => $type::NAME,)* }
            }

            /// Its purpose, in a line.
            pub fn summary(&self) -> &'static str {
                match self { $(Self::$type(_) => $type::SUMMARY,)* }
            }

            /// Its parameters, each with its value; with data in place of its own, their digest at the end.
            pub fn parameters(&self) -> Vec<(&'static Parameter, u64)> {
                let (parameters, values, data) = match self {
                    $(Self::$type(program) => ($type::PARAMETERS, program.values(), program.data()),)*
                };
                let data = data.map(|data| (data.kind().parameter(), data.number()));
                parameters.iter().zip(values).chain(data).collect()
            }

            /// The published figures that it was fitted to ([`Declared::CALIBRATED_ON`]): all others are predictions.
            pub fn calibrated_on(&self) -> &'static [&'static str] {
                match self { $(Self::$type(_) => $type::CALIBRATED_ON,)* }
            }

            /// [`Program::RACES`].
            pub fn races(&self) -> bool {
                match self { $(Self::$type(_) => $type::RACES,)* }
            }

            /// [`Program::dynamic`].
            pub fn dynamic(&self) -> bool {
                match self { $(Self::$type(program) => program.dynamic(),)* }
            }

            /// [`Program::regions`].
            pub fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
                match self { $(Self::$type(program) => program.regions(shape),)* }
            }

            /// [`Program::region_name`].
            pub fn region_name(&self, number: usize) -> &'static str {
                match self { $(Self::$type(program) => program.region_name(number),)* }
            }

            /// [`Program::run`].
            pub fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
                match self { $(Self::$type(program) => program.run(shape, regions, thread),)* }
            }

            /// [`Program::check`].
            ///
            /// # Errors
            /// The first wrong word.
            pub fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
                match self { $(Self::$type(program) => program.check(shape, read),)* }
            }
        }
    };
}

impl Workload {
    /// Every program, with those of the `values` whose parameters it has.
    ///
    /// # Errors
    /// When a program cannot have a value.
    pub fn all_with(values: &[(&'static str, u64)]) -> Result<Vec<Self>, ProgramError> {
        let with = |program: Self| {
            let has = |name: &str| program.parameters().iter().any(|(parameter, _)| parameter.name == name);
            let own = values.iter().filter(|(name, _)| has(name));
            let settings = own.fold(Settings::default(), |settings, &(name, value)| settings.with(name, value));
            Self::new(program.name(), &settings)
        };
        Self::all().into_iter().map(with).collect()
    }
}

// A new program is a line here.
programs! {
    Private,
    Migratory,
    ProducerConsumer,
    WideReadSharing,
    HotSpot,
    Uniform,
    Counters,
    Fft,
    Radix,
    Lu,
    Ocean,
    Water,
    Barnes,
    Mp3d,
    Cholesky,
    Raytrace,
    Fmm,
    Ge,
    Mmult,
    Paths,
    Stream,
    Cg,
    Swim,
    Mgrid,
    Wupwise,
    Applu,
    Apsi,
    Art,
    Equake,
    Fma3d,
    Gafort,
}
