//! Litmus tests on a protocol: a model whose processors execute given programs instead of arbitrary accesses.
//!
//! A processor blocks until its access is performed; caches evict at any time, or not at all. The two lines are two
//! instances of the protocol's model of one line, connected only by the order of the programs. Contents are relative to
//! the last store, and every line is stored to at most once, so they determine whether a load returned 0 or 1.

mod program;

use std::collections::HashSet;
use std::fmt;

use protocol::Access;

use program::MAX_PROCESSORS;
pub use program::{Instruction, LINES, Litmus, Loads, Program};

use crate::config::Config;
use crate::explore::{Exploration, explore};
use crate::model::{Model, Property, Violation};

/// Effect of a step on a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intent {
    /// The processor of this number accesses the line.
    Access(usize, Access),
    /// A cache evicts the line.
    Evict,
    /// Neither.
    Other,
}

/// A model of one line whose processors can execute a program.
pub trait Programmable: Model {
    /// Effect of a step on a processor.
    fn intent(&self, step: Self::Step) -> Intent;

    /// Whether a processor's cache cannot accept an access now. If it can, and the model offers no step for a load, the
    /// load is a hit that changes nothing.
    fn is_blocked(&self, state: &Self::State, processor: usize) -> bool;

    /// Whether the access that a processor began last is outstanding.
    fn is_waiting(&self, state: &Self::State, processor: usize) -> bool;

    /// Whether a processor's copy is that of the last store.
    fn has_latest(&self, state: &Self::State, processor: usize) -> bool;
}

/// Memory consistency model of a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Consistency {
    /// Sequential consistency: every litmus test passes.
    Sequential,
    /// Relaxed consistency: litmus tests show the relaxation.
    Relaxed,
}

/// Configuration of the model of each line in a litmus test: processors keep their names.
pub fn config(litmus: &Litmus) -> Config {
    Config {
        accesses: vec![Access::Load, Access::Store],
        symmetry: false,
        ..Config::new(litmus.programs.len() as u16, 1)
    }
}

/// Explores every run of a litmus test on models that `model` creates.
pub fn run<M: Programmable>(litmus: &Litmus, model: impl Fn(&Config) -> M) -> Exploration {
    let config = config(litmus);
    explore(&Running::new(model(&config), litmus), config.state_limit)
}

/// A protocol that runs a litmus test.
pub struct Running<M> {
    model: M,
    programs: &'static [Program],
    evictions: bool,
    allowed: HashSet<Loads>,
}

/// The state of both lines and of the programs.
#[derive(Clone, Debug)]
pub struct RunningState<S> {
    lines: [S; LINES],
    stored: [bool; LINES],
    /// Next instruction of each processor.
    counters: [u8; MAX_PROCESSORS],
    /// Whether each processor's next instruction has begun.
    begun: [bool; MAX_PROCESSORS],
    loads: Loads,
}

/// A step of a litmus test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunningStep<T> {
    /// A load that hits.
    Hit {
        /// The processor.
        processor: usize,
        /// The line.
        line: usize,
    },
    /// A step of the protocol on one of the lines.
    Line {
        /// The line.
        line: usize,
        /// The step.
        step: T,
        /// Whether the step is an eviction, which is never required.
        evicts: bool,
    },
}

/// Names of the lines.
const NAMES: [char; LINES] = ['x', 'y'];

impl<T: fmt::Display> fmt::Display for RunningStep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit { processor, line } => write!(f, "{}: processor {processor} loads, a hit", NAMES[*line]),
            Self::Line { line, step, .. } => write!(f, "{}: {step}", NAMES[*line]),
        }
    }
}

impl<M: Programmable> Running<M> {
    /// Creates the model of a litmus test from a model made from [`config`].
    pub fn new(model: M, litmus: &Litmus) -> Self {
        Self { model, programs: litmus.programs, evictions: litmus.evictions, allowed: litmus.sequential_outcomes() }
    }

    fn instruction(&self, state: &RunningState<M::State>, processor: usize) -> Option<Instruction> {
        self.programs[processor].get(usize::from(state.counters[processor])).copied()
    }

    /// Applies a step on a line to the programs: accesses that it has performed have their results.
    fn performed(&self, mut after: RunningState<M::State>, line: usize) -> Result<RunningState<M::State>, Violation> {
        for processor in 0..self.programs.len() {
            let Some(instruction) = self.instruction(&after, processor) else { continue };
            let waits = self.model.is_waiting(&after.lines[line], processor);
            if after.begun[processor] && instruction.line == line && !waits {
                after = self.complete(after, processor, instruction)?;
            }
        }
        Ok(after)
    }

    /// Completes an instruction.
    fn complete(
        &self,
        mut after: RunningState<M::State>,
        processor: usize,
        Instruction { access, line }: Instruction,
    ) -> Result<RunningState<M::State>, Violation> {
        if access == Access::Store {
            after.stored[line] = true;
        } else {
            let value = after.stored[line] && self.model.has_latest(&after.lines[line], processor);
            after.loads = after.loads.with(processor, value);
        }
        after.counters[processor] += 1;
        after.begun[processor] = false;
        let ended = (0..self.programs.len()).all(|processor| self.instruction(&after, processor).is_none());
        if ended && !self.allowed.contains(&after.loads) {
            let detail = format!("result {} is not sequentially consistent", self.describe_loads(&after));
            return Err(Violation { property: Property::SequentialConsistency, detail });
        }
        Ok(after)
    }

    fn describe_loads(&self, state: &RunningState<M::State>) -> String {
        let each = (0..self.programs.len()).map(|processor| {
            let done = &self.programs[processor][..usize::from(state.counters[processor])];
            let loads: Vec<_> = done.iter().filter(|instruction| instruction.access == Access::Load).collect();
            let values = loads.iter().enumerate().map(|(index, load)| {
                let value = state.loads.0[processor] >> (loads.len() - 1 - index) & 1;
                format!("{}={value}", NAMES[load.line])
            });
            format!("P{processor}[{}]", values.collect::<Vec<_>>().join(" "))
        });
        each.collect::<Vec<_>>().join(" ")
    }
}

impl<M: Programmable> Model for Running<M> {
    type State = RunningState<M::State>;
    type Step = RunningStep<M::Step>;

    fn initial(&self) -> Self::State {
        RunningState {
            lines: std::array::from_fn(|_| self.model.initial()),
            stored: [false; LINES],
            counters: [0; MAX_PROCESSORS],
            begun: [false; MAX_PROCESSORS],
            loads: Loads::default(),
        }
    }

    fn steps(&self, state: &Self::State, visit: &mut impl FnMut(Self::Step, Result<Self::State, Violation>)) {
        for line in 0..LINES {
            // Processors that may begin an access to this line, and for which no step has been found yet.
            let mut hits: [Option<Instruction>; MAX_PROCESSORS] = std::array::from_fn(|processor| {
                let begun = state.begun[processor] || self.programs.len() <= processor;
                let next = if begun { None } else { self.instruction(state, processor) };
                next.filter(|next| next.line == line && !self.model.is_blocked(&state.lines[line], processor))
            });
            self.model.steps(&state.lines[line], &mut |step, result| {
                let mut begins = None;
                let intent = if self.model.is_internal(step) { Intent::Other } else { self.model.intent(step) };
                match intent {
                    Intent::Access(processor, access) => match hits[processor].take_if(|next| next.access == access) {
                        Some(_) => begins = Some(processor),
                        None => return,
                    },
                    Intent::Evict if !self.evictions => return,
                    Intent::Other if !self.model.is_internal(step) => return,
                    Intent::Evict | Intent::Other => {}
                }
                let after = result.and_then(|after| {
                    let mut next = state.clone();
                    next.lines[line] = after;
                    if let Some(processor) = begins {
                        next.begun[processor] = true;
                    }
                    self.performed(next, line)
                });
                visit(RunningStep::Line { line, step, evicts: intent == Intent::Evict }, after);
            });
            for (processor, hit) in hits.into_iter().enumerate() {
                if let Some(instruction) = hit.filter(|hit| hit.access == Access::Load) {
                    let after = self.complete(state.clone(), processor, instruction);
                    visit(RunningStep::Hit { processor, line }, after);
                }
            }
        }
    }

    fn is_internal(&self, step: Self::Step) -> bool {
        !matches!(step, RunningStep::Line { evicts: true, .. })
    }

    fn encode(&self, state: &Self::State, bytes: &mut Vec<u8>) {
        for processor in 0..self.programs.len() {
            let (counter, begun) = (state.counters[processor], u8::from(state.begun[processor]));
            bytes.push(counter << 4 | begun << 3 | state.loads.0[processor]);
        }
        bytes.push(state.stored.iter().fold(0, |stored, &line| stored << 1 | u8::from(line)));
        let length_at = bytes.len();
        bytes.extend_from_slice(&[0, 0]);
        self.model.encode(&state.lines[0], bytes);
        let length = (bytes.len() - length_at - 2) as u16;
        bytes[length_at..length_at + 2].copy_from_slice(&length.to_le_bytes());
        self.model.encode(&state.lines[1], bytes);
    }

    fn decode(&self, bytes: &[u8]) -> Self::State {
        let mut state = self.initial();
        let (programs, rest) = bytes.split_at(self.programs.len());
        for (processor, byte) in programs.iter().enumerate() {
            state.counters[processor] = byte >> 4;
            state.begun[processor] = byte >> 3 & 1 == 1;
            state.loads.0[processor] = byte & 7;
        }
        state.stored = [rest[0] >> 1 & 1 == 1, rest[0] & 1 == 1];
        let length = usize::from(u16::from_le_bytes([rest[1], rest[2]]));
        let (first, second) = rest[3..].split_at(length);
        state.lines = [self.model.decode(first), self.model.decode(second)];
        state
    }

    fn is_quiescent(&self, state: &Self::State) -> bool {
        let ended = (0..self.programs.len()).all(|processor| self.instruction(state, processor).is_none());
        ended && state.lines.iter().all(|line| self.model.is_quiescent(line))
    }

    fn describe(&self, state: &Self::State) -> String {
        let lines = (0..LINES).map(|line| format!("{}: {}", NAMES[line], self.model.describe(&state.lines[line])));
        format!("{} || {}", self.describe_loads(state), lines.collect::<Vec<_>>().join(" || "))
    }
}
