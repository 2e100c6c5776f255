//! Programs that simulations run: built-in ones, and recorded ones.

use std::path::Path;
use std::sync::Arc;

use workloads::{
    Compiled, Parameter, ProgramError, Record, RecordedRegion, Recording, RegionPlan, Replay, ReplayError, Settings,
    Shape, Workload, Wrong,
};

use crate::memory::SharedRegion;
use crate::thread::SimulatedThread;

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub enum ExecutableError {
    /// There is no such program, or it cannot have such parameters.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A trace of references cannot be read or replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Neither a program nor a file has this name.
    #[error(
        "{name}: unknown program, and no trace of references; accepted: {accepted}; a file of `ccnuma sim --record`, a drmemtrace file or \
         folder, lackey's output; a program of your own after --"
    )]
    Nothing {
        /// The name asked for.
        name: String,
        /// The programs that there are.
        accepted: String,
    },
    /// A trace of references is to be another than was recorded.
    #[error("--{flag}: {name} is replayed as it was recorded; accepted: with programs alone")]
    Recorded {
        /// The trace.
        name: String,
        /// What is to be otherwise.
        flag: String,
    },
}

/// A program that can be run.
#[derive(Clone, Debug)]
pub enum Executable {
    /// A built-in program.
    BuiltIn(Compiled),
    /// A trace of references.
    Replay(Arc<Replay>),
}

impl From<Compiled> for Executable {
    fn from(program: Compiled) -> Self {
        Self::BuiltIn(program)
    }
}

impl From<Workload> for Executable {
    fn from(program: Workload) -> Self {
        Compiled::from(program).into()
    }
}

impl Executable {
    /// The built-in program called `name` with these parameters, or else the trace in the file or folder of that name.
    ///
    /// # Errors
    /// When there is neither, the program cannot have such parameters, or the trace cannot be read.
    pub fn named(name: &str, settings: &Settings) -> Result<Self, ExecutableError> {
        let path = Path::new(name);
        match Compiled::new(name, settings) {
            Err(ProgramError::Unknown { .. }) if path.exists() => {
                if let Some(flag) = settings.first() {
                    return Err(ExecutableError::Recorded { name: name.to_owned(), flag: flag.to_owned() });
                }
                let source = references::open(path).map_err(workloads::ReplayError::from)?;
                Ok(Self::Replay(Arc::new(Replay::new(source)?)))
            }
            Err(ProgramError::Unknown { name, accepted }) => Err(ExecutableError::Nothing { name, accepted }),
            found => Ok(Self::BuiltIn(found?)),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::BuiltIn(compiled) => compiled.program.name(),
            Self::Replay(replay) => replay.name(),
        }
    }

    /// Its parameters, each with its value.
    pub fn parameters(&self) -> Vec<(&'static Parameter, u64)> {
        match self {
            Self::BuiltIn(compiled) => compiled.parameters(),
            Self::Replay(_) => Vec::new(),
        }
    }

    /// Whether parameters that speak of threads can be had on so many.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check_threads(&self, threads: usize) -> Result<(), ExecutableError> {
        match self {
            Self::BuiltIn(compiled) => Ok(compiled.check_threads(threads)?),
            Self::Replay(_) => Ok(()),
        }
    }

    /// How many threads it has, if that is not for the user to say.
    pub fn threads(&self) -> Option<usize> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Replay(replay) => Some(replay.threads()),
        }
    }

    /// Remarks to know before believing the results, a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let Self::Replay(replay) = self else { return Vec::new() };
        let source = replay.source();
        let warnings = source.warnings().iter().map(ToString::to_string);
        let lost = source.header().lost.iter().map(|lost| format!("{}: the trace has lost {lost}", replay.name()));
        warnings.chain(lost).collect()
    }

    /// As [`Workload::region_name`], of one of `count` regions.
    pub fn region_name(&self, number: usize, count: usize) -> &str {
        match self {
            Self::BuiltIn(compiled) => compiled.region_name(number, count),
            Self::Replay(_) => "memory",
        }
    }

    /// The shared memory that it wants.
    pub fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        match self {
            Self::BuiltIn(compiled) => compiled.regions(shape),
            Self::Replay(replay) => replay.regions(shape),
        }
    }

    /// Runs one thread, recorded if there is a record. Returns how many loads gave what they must not give. Programs are compiled
    /// here for simulated threads: this takes no other.
    pub fn run(
        &self,
        shape: &Shape,
        regions: &[SharedRegion],
        thread: &mut SimulatedThread<'_, '_>,
        record: Option<Record>,
    ) -> u64 {
        match self {
            Self::BuiltIn(compiled) => compiled.run(shape, regions, thread, record),
            Self::Replay(replay) if record.is_none() => replay.run(shape, regions, thread),
            Self::Replay(replay) => {
                let recorded = RecordedRegion::of(regions, record.as_ref());
                replay.run(shape, &recorded, &mut Recording::new(thread, record))
            }
        }
    }

    /// Whether its code has private references.
    pub fn has_private_references(&self) -> bool {
        match self {
            Self::BuiltIn(compiled) => !compiled.code.is_plain(),
            Self::Replay(_) => false,
        }
    }

    /// Whether a trace could be read to its end in the latest run.
    ///
    /// # Errors
    /// Why it could not.
    pub fn read_to_the_end(&self) -> Result<(), ExecutableError> {
        match self {
            Self::BuiltIn(_) => Ok(()),
            Self::Replay(replay) => replay.take_failure().map_or(Ok(()), |error| Err(ReplayError::from(error).into())),
        }
    }

    /// Checks the memory that the program left behind. A trace has no values to check.
    ///
    /// # Errors
    /// The first wrong word.
    pub fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        match self {
            Self::BuiltIn(compiled) => compiled.check(shape, read),
            Self::Replay(_) => Ok(()),
        }
    }
}
