//! Code of a compiler that does not optimise: variables of functions live in memory, and more instructions issue.
//!
//! Programs of this crate state their shared references and the instructions of optimised code. Hexsel and Topham traced
//! code whose private references and instructions outnumber the shared references by far (Table 1). [`Code`] states both in
//! proportion to the program's own instructions; private references go to a frame of each thread on its own node, so that
//! caches, write-through and conflicts with shared data cost what the machine makes them cost.

mod thread;

pub use thread::{Frame, Unoptimised};

use crate::blocks::Blocks;
use crate::parameter::{Parameter, Settings, check_threads};
use crate::program::{RegionPlan, Shape, Wrong};
use crate::recording::{Record, RecordedRegion, Recording};
use crate::registry::{ProgramError, Workload};
use crate::thread::Thread;

/// Instructions and private references of a program's code, in proportion to the program's own instructions: those that it
/// states, and its shared references, each of which is an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// Instructions issued, all references included, for each 1000 of the program's own.
    pub instructions: u64,
    /// Private loads for each 1000 of the program's own instructions.
    pub private_loads: u64,
    /// Private stores for each 1000 of the program's own instructions.
    pub private_stores: u64,
    /// Loads of shared data for each 1000 of the program's own: code that keeps nothing in registers loads a value at each use.
    pub shared_loads: u64,
    /// Stores to shared data for each 1000 of the program's own, each but the first after a load: the code accumulates in memory.
    pub shared_stores: u64,
    /// Bytes of each thread's frame, which private references walk round.
    pub frame: u64,
}

/// The name of the thread frames among a program's regions.
const FRAMES: &str = "private frames";
/// Bytes in a word.
const WORD: usize = 8;

const fn parameter(name: &'static str, meaning: &'static str, default: u64, least: u64, most: u64) -> Parameter {
    Parameter { name, meaning, default, least, most, powers_of: None, below_threads: None }
}

impl Code {
    /// The parameters that every built-in program has.
    pub const PARAMETERS: [Parameter; 6] = [
        parameter("code_instructions", "Instructions issued per 1000 of the program", 1000, 1, 1_000_000),
        parameter("code_loads", "Private loads per 1000 instructions of the program", 0, 0, 1_000_000),
        parameter("code_stores", "Private stores per 1000 instructions of the program", 0, 0, 1_000_000),
        parameter("code_shared_loads", "Loads of shared data per 1000 of the program", 1000, 1000, 100_000),
        parameter("code_shared_stores", "Stores to shared data per 1000 of the program", 1000, 1000, 100_000),
        parameter("code_frame", "Size in bytes of each thread's private data", 512, 8, 1 << 20),
    ];

    /// The values of its parameters, in their order.
    pub fn values(&self) -> [u64; 6] {
        [self.instructions, self.private_loads, self.private_stores, self.shared_loads, self.shared_stores, self.frame]
    }

    /// The code with these values, and defaults for the rest.
    fn with(settings: &Settings) -> Self {
        let [instructions, private_loads, private_stores, shared_loads, shared_stores, frame] =
            Self::PARAMETERS.map(|parameter| settings.value(parameter.name, parameter.default));
        Self { instructions, private_loads, private_stores, shared_loads, shared_stores, frame }
    }

    /// Whether a program issues the stated instructions and references alone.
    pub fn is_plain(&self) -> bool {
        Self { frame: Self::default().frame, ..*self } == Self::default()
    }

    /// The threads' frames.
    fn frames(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, (self.frame as usize).div_ceil(WORD * shape.line_words))
    }
}

impl Default for Code {
    fn default() -> Self {
        Self::with(&Settings::default())
    }
}

/// A built-in program with its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// The program.
    pub program: Workload,
    /// Its code.
    pub code: Code,
}

impl From<Workload> for Compiled {
    fn from(program: Workload) -> Self {
        Self { program, code: Code::default() }
    }
}

impl Compiled {
    /// The program called `name` with these parameters of program and code, and defaults for the rest.
    ///
    /// # Errors
    /// When there is no such program, or it cannot have such parameters.
    pub fn new(name: &str, settings: &Settings) -> Result<Self, ProgramError> {
        let is_code = |name: &str| Code::PARAMETERS.iter().any(|parameter| parameter.name == name);
        let (of_code, of_program) = settings.split(is_code);
        let program = Workload::new(name, &of_program)?;
        of_code.check(program.name(), &Code::PARAMETERS)?;
        Ok(Self { program, code: Code::with(&of_code) })
    }

    /// Whether parameters that speak of threads can be had on so many.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check_threads(&self, threads: usize) -> Result<(), ProgramError> {
        Ok(check_threads(self.program.name(), self.program.parameters(), threads)?)
    }

    /// The parameters of the program, and those of its code unless that is plain, each with its value.
    pub fn parameters(&self) -> Vec<(&'static Parameter, u64)> {
        let of_code = Code::PARAMETERS.iter().zip(self.code.values()).filter(|_| !self.code.is_plain());
        self.program.parameters().into_iter().chain(of_code).collect()
    }

    /// As [`Workload::regions`], with the frames of threads at the end unless the code is plain.
    pub fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let mut regions = self.program.regions(shape);
        if !self.code.is_plain() {
            regions.push(self.code.frames(shape).plan(shape.homes.iter().copied()));
        }
        regions
    }

    /// As [`Workload::region_name`].
    pub fn region_name(&self, number: usize, count: usize) -> &'static str {
        if !self.code.is_plain() && number + 1 == count { FRAMES } else { self.program.region_name(number) }
    }

    /// As [`Workload::run`], recorded if there is a record. Programs are compiled twice for a kind of thread: as they are, and
    /// for all that may come between program and processor.
    pub fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T, record: Option<Record>) -> u64 {
        if self.code.is_plain() && record.is_none() {
            return self.program.run(shape, regions, thread);
        }
        let regions = RecordedRegion::of(regions, record.as_ref());
        let (own, frame) = match regions.split_last() {
            Some((frames, own)) if !self.code.is_plain() => {
                let first = self.code.frames(shape).word(thread.number(), 0);
                (own, Some(Frame { code: self.code, frames, first }))
            }
            _ => (&regions[..], None),
        };
        self.program.run(shape, own, &mut Unoptimised::new(&mut Recording::new(thread, record), frame))
    }

    /// As [`Workload::check`].
    ///
    /// # Errors
    /// The first wrong word.
    pub fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        self.program.check(shape, read)
    }
}
