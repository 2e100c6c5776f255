//! Litmus tests on a protocol: a model whose processors execute given programs instead of arbitrary accesses.
//!
//! A processor performs its accesses in its [`Order`]; caches evict at any time, or not at all. The two lines are two
//! instances of the protocol's model of one line, connected only by the order of the programs. Contents are relative to
//! the last store, and every line is stored to at most once, so they determine whether a load returned 0 or 1.

mod order;
mod program;

use std::collections::HashSet;
use std::fmt;

use protocol::Access;

pub use order::Order;
use order::Way;
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
    order: Order,
    /// Order whose results are allowed, and these.
    allowed: (Order, HashSet<Loads>),
}

/// The state of both lines and of the programs.
#[derive(Clone, Debug)]
pub struct RunningState<S> {
    lines: [S; LINES],
    stored: [bool; LINES],
    /// Instructions that each processor has performed, a bit each.
    performed: [u8; MAX_PROCESSORS],
    /// Instructions that each processor has begun by an access, a bit each: at most one for each line.
    begun: [u8; MAX_PROCESSORS],
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
    /// A load that returns the processor's own store, which is not performed yet.
    Forwarded {
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
            Self::Forwarded { processor, line } => {
                write!(f, "{}: processor {processor} loads its own store", NAMES[*line])
            }
            Self::Line { line, step, .. } => write!(f, "{}: {step}", NAMES[*line]),
        }
    }
}

impl<M: Programmable> Running<M> {
    /// Creates the model of a litmus test from a model made from [`config`].
    pub fn new(model: M, litmus: &Litmus) -> Self {
        Self {
            model,
            programs: litmus.programs,
            evictions: litmus.evictions,
            order: litmus.order,
            allowed: (litmus.allowed, litmus.outcomes()),
        }
    }

    /// Instructions of a processor that are neither performed nor begun and may be now, with the way.
    fn ready(
        &self,
        state: &RunningState<M::State>,
        processor: usize,
    ) -> impl Iterator<Item = (usize, Instruction, Way)> + use<'_, M> {
        let (program, performed, begun) =
            (self.programs[processor], state.performed[processor], state.begun[processor]);
        let order = self.order;
        program.iter().enumerate().filter_map(move |(index, &instruction)| {
            let waits = (performed | begun) >> index & 1 == 0;
            let way = if waits { order.way(program, performed, index) } else { None };
            way.map(|way| (index, instruction, way))
        })
    }

    /// Whether every processor has performed its program.
    fn has_ended(&self, state: &RunningState<M::State>) -> bool {
        let all =
            |(processor, program): (usize, &Program)| state.performed[processor].count_ones() as usize == program.len();
        self.programs.iter().enumerate().all(all)
    }

    /// Applies a step on a line to the programs: accesses that it has performed have their results.
    fn performed(&self, mut after: RunningState<M::State>, line: usize) -> Result<RunningState<M::State>, Violation> {
        for (processor, program) in self.programs.iter().enumerate() {
            let waits = self.model.is_waiting(&after.lines[line], processor);
            let begun = (0..program.len())
                .find(|&index| after.begun[processor] >> index & 1 == 1 && program[index].line == line);
            if let Some(index) = begun.filter(|_| !waits) {
                after.begun[processor] &= !(1 << index);
                after = self.complete(after, processor, index, Way::Access)?;
            }
        }
        Ok(after)
    }

    /// Completes an instruction.
    fn complete(
        &self,
        mut after: RunningState<M::State>,
        processor: usize,
        index: usize,
        way: Way,
    ) -> Result<RunningState<M::State>, Violation> {
        let program = self.programs[processor];
        let Instruction { access, line } = program[index];
        if access == Access::Store {
            after.stored[line] = true;
        } else {
            let latest = after.stored[line] && self.model.has_latest(&after.lines[line], processor);
            after.loads = after.loads.with(program, processor, index, way == Way::Forwarded || latest);
        }
        after.performed[processor] |= 1 << index;
        if self.has_ended(&after) && !self.allowed.1.contains(&after.loads) {
            let (property, rule) = match self.allowed.0 {
                Order::Sequential => (Property::SequentialConsistency, "sequentially consistent"),
                Order::Tso => (Property::ProcessorOrder, "allowed by x86-TSO"),
                Order::Arm => (Property::ProcessorOrder, "allowed by Arm's memory model"),
            };
            let detail = format!("result {} is not {rule}", self.describe_loads(&after));
            return Err(Violation { property, detail });
        }
        Ok(after)
    }

    fn describe_loads(&self, state: &RunningState<M::State>) -> String {
        let each = self.programs.iter().enumerate().map(|(processor, program)| {
            let loads = program.iter().enumerate().filter(|(_, instruction)| instruction.access == Access::Load);
            let count = loads.clone().count();
            let values = loads.enumerate().filter(|(_, (index, _))| state.performed[processor] >> index & 1 == 1);
            let values = values.map(|(position, (_, load))| {
                format!("{}={}", NAMES[load.line], state.loads.0[processor] >> (count - 1 - position) & 1)
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
            performed: [0; MAX_PROCESSORS],
            begun: [0; MAX_PROCESSORS],
            loads: Loads::default(),
        }
    }

    fn steps(&self, state: &Self::State, visit: &mut dyn FnMut(Self::Step, Result<Self::State, Violation>)) {
        for line in 0..LINES {
            // Instructions that processors may begin by an access to this line, and for which no step has been found yet.
            let mut hits: [Option<(usize, Instruction)>; MAX_PROCESSORS] = std::array::from_fn(|processor| {
                if self.programs.len() <= processor || self.model.is_blocked(&state.lines[line], processor) {
                    return None;
                }
                let mut ready = self.ready(state, processor);
                let access = ready.find(|&(_, next, way)| next.line == line && way == Way::Access);
                access.map(|(index, next, _)| (index, next))
            });
            self.model.steps(&state.lines[line], &mut |step, result| {
                let mut begins = None;
                let intent = if self.model.is_internal(step) { Intent::Other } else { self.model.intent(step) };
                match intent {
                    Intent::Access(processor, access) => {
                        match hits[processor].take_if(|(_, next)| next.access == access) {
                            Some((index, _)) => begins = Some((processor, index)),
                            None => return,
                        }
                    }
                    Intent::Evict if !self.evictions => return,
                    Intent::Other if !self.model.is_internal(step) => return,
                    Intent::Evict | Intent::Other => {}
                }
                let after = result.and_then(|after| {
                    let mut next = state.clone();
                    next.lines[line] = after;
                    if let Some((processor, index)) = begins {
                        next.begun[processor] |= 1 << index;
                    }
                    self.performed(next, line)
                });
                visit(RunningStep::Line { line, step, evicts: intent == Intent::Evict }, after);
            });
            for (processor, hit) in hits.into_iter().enumerate() {
                if let Some((index, _)) = hit.filter(|(_, hit)| hit.access == Access::Load) {
                    let after = self.complete(state.clone(), processor, index, Way::Access);
                    visit(RunningStep::Hit { processor, line }, after);
                }
            }
        }
        for processor in 0..self.programs.len() {
            for (index, Instruction { line, .. }, _) in
                self.ready(state, processor).filter(|&(_, _, way)| way == Way::Forwarded)
            {
                let after = self.complete(state.clone(), processor, index, Way::Forwarded);
                visit(RunningStep::Forwarded { processor, line }, after);
            }
        }
    }

    fn is_internal(&self, step: Self::Step) -> bool {
        !matches!(step, RunningStep::Line { evicts: true, .. })
    }

    fn encode(&self, state: &Self::State, bytes: &mut Vec<u8>) {
        for processor in 0..self.programs.len() {
            bytes.extend_from_slice(&[
                state.begun[processor] << 4 | state.performed[processor],
                state.loads.0[processor],
            ]);
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
        let (programs, rest) = bytes.split_at(2 * self.programs.len());
        for (processor, &[work, loads]) in programs.as_chunks::<2>().0.iter().enumerate() {
            (state.performed[processor], state.begun[processor]) = (work & 15, work >> 4);
            state.loads.0[processor] = loads;
        }
        state.stored = [rest[0] >> 1 & 1 == 1, rest[0] & 1 == 1];
        let length = usize::from(u16::from_le_bytes([rest[1], rest[2]]));
        let (first, second) = rest[3..].split_at(length);
        state.lines = [self.model.decode(first), self.model.decode(second)];
        state
    }

    fn is_quiescent(&self, state: &Self::State) -> bool {
        self.has_ended(state) && state.lines.iter().all(|line| self.model.is_quiescent(line))
    }

    fn describe(&self, state: &Self::State) -> String {
        let lines = (0..LINES).map(|line| format!("{}: {}", NAMES[line], self.model.describe(&state.lines[line])));
        format!("{} || {}", self.describe_loads(state), lines.collect::<Vec<_>>().join(" || "))
    }
}
