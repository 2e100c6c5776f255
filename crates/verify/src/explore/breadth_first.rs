//! The search: level by level, so that the first counterexample is a shortest one.

use rayon::prelude::*;

use super::liveness;
use super::store::{StateId, StateStore};
use super::trace::{self, Trace};
use crate::model::{Model, Property, Violation};

/// States expanded between two insertions into the store: enough to keep every core busy, and few enough that the
/// waiting successors stay in cache.
const BATCH: usize = 16 << 10;
/// States that one task expands.
const CHUNK: usize = 512;

/// Most states: those that can be numbered, less those that one batch can add.
const MOST_STATES: usize = StateId::MAX as usize / 2;

/// Result of an exploration.
pub struct Exploration {
    /// Distinct states (up to symmetry).
    pub states: usize,
    /// Steps taken.
    pub transitions: u64,
    /// Steps from the initial state to the farthest one.
    pub depth: usize,
    /// Bytes held by the states and the graph at the end.
    pub memory: usize,
    /// Whether every reachable state was expanded; if not, there were more states than allowed, or a property is
    /// violated.
    pub complete: bool,
    /// A shortest violation of a property, if there is one.
    pub counterexample: Option<Trace>,
}

/// Reachable graph of the system's internal steps: the successors of state `n` are
/// `targets[offsets[n]..offsets[n + 1]]`. Steps of processors are omitted; no property needs them.
pub(super) struct Graph {
    offsets: Vec<u64>,
    pub(super) targets: Vec<StateId>,
}

impl Graph {
    pub(super) fn new() -> Self {
        Self { offsets: vec![0], targets: Vec::new() }
    }

    /// Ends the successors of one state.
    pub(super) fn close(&mut self) {
        self.offsets.push(self.targets.len() as u64);
    }

    /// Successors of a state.
    pub(super) fn successors(&self, id: StateId) -> &[StateId] {
        &self.targets[self.offsets[id as usize] as usize..self.offsets[id as usize + 1] as usize]
    }

    /// Memory held, in bytes.
    fn memory(&self) -> usize {
        self.offsets.capacity() * size_of::<u64>() + self.targets.capacity() * size_of::<StateId>()
    }
}

/// Explores every reachable state of `model` and checks every property, liveness last. The search stops beyond
/// `state_limit` states, which bounds its memory.
pub fn explore<M: Model>(model: &M, state_limit: usize) -> Exploration {
    let mut search = Search {
        model,
        store: StateStore::new(),
        graph: Graph::new(),
        transitions: 0,
        depth: 0,
        state_limit: state_limit.min(MOST_STATES),
    };
    let (complete, counterexample) = match search.run() {
        End::Complete => (true, liveness::check(model, &search.store, &search.graph)),
        End::TooManyStates => (false, None),
        End::Broken(broken) => (false, Some(search.trace_to(broken))),
    };
    Exploration {
        states: search.store.len(),
        transitions: search.transitions,
        depth: search.depth,
        memory: search.store.memory() + search.graph.memory(),
        complete,
        counterexample,
    }
}

/// End of a search.
enum End {
    Complete,
    TooManyStates,
    Broken(Broken),
}

/// A step out of a stored state that violates a property. `step` is its position among the steps; `None` if the state
/// itself is a deadlock.
struct Broken {
    from: StateId,
    step: Option<usize>,
    violation: Violation,
}

struct Search<'a, M: Model> {
    model: &'a M,
    store: StateStore,
    graph: Graph,
    transitions: u64,
    depth: usize,
    state_limit: usize,
}

/// Result of one task: the successors of consecutive states, in order.
#[derive(Default)]
struct Chunk {
    encodings: Vec<u8>,
    successors: Vec<Successor>,
    /// End of each state's successors in `successors`.
    ends: Vec<usize>,
    broken: Option<Broken>,
}

struct Successor {
    hash: u64,
    end: u32,
    internal: bool,
    known: Option<StateId>,
}

impl<M: Model> Search<'_, M> {
    fn run(&mut self) -> End {
        let mut encoding = Vec::new();
        self.model.encode(&self.model.initial(), &mut encoding);
        self.store.insert(StateStore::hash(&encoding), &encoding, None);
        let (mut next, mut level_end) = (0, 1);
        while next < self.store.len() {
            if next == level_end {
                self.depth += 1;
                level_end = self.store.len();
            }
            let batch_end = level_end.min(next + BATCH);
            let starts: Vec<usize> = (next..batch_end).step_by(CHUNK).collect();
            let chunks: Vec<Chunk> =
                starts.into_par_iter().map(|start| self.expand(start..batch_end.min(start + CHUNK))).collect();
            for (index, chunk) in chunks.into_iter().enumerate() {
                self.absorb(next + index * CHUNK, &chunk);
                if let Some(broken) = chunk.broken {
                    return End::Broken(broken);
                }
            }
            if self.store.len() > self.state_limit {
                return End::TooManyStates;
            }
            next = batch_end;
        }
        End::Complete
    }

    /// Expands all states of a range. It only reads the store, so tasks do not wait for each other.
    fn expand(&self, range: std::ops::Range<usize>) -> Chunk {
        let mut chunk = Chunk::default();
        for id in range {
            let id = id as StateId;
            let state = self.model.decode(self.store.get(id));
            let (mut steps, mut internal_steps) = (0, 0);
            self.model.steps(&state, &mut |step, result| {
                let internal = self.model.is_internal(step);
                match result {
                    Ok(successor) => self.record(&successor, internal, &mut chunk),
                    Err(violation) if chunk.broken.is_none() => {
                        chunk.broken = Some(Broken { from: id, step: Some(steps), violation });
                    }
                    Err(_) => {}
                }
                steps += 1;
                internal_steps += usize::from(internal);
            });
            if internal_steps == 0 && chunk.broken.is_none() && !self.model.is_quiescent(&state) {
                let violation = Violation {
                    property: Property::DeadlockFreedom,
                    detail: "something is outstanding, and no internal step is possible".into(),
                };
                chunk.broken = Some(Broken { from: id, step: None, violation });
            }
            chunk.ends.push(chunk.successors.len());
            if chunk.broken.is_some() {
                break;
            }
        }
        chunk
    }

    fn record(&self, successor: &M::State, internal: bool, chunk: &mut Chunk) {
        let start = chunk.encodings.len();
        self.model.encode(successor, &mut chunk.encodings);
        let encoding = &chunk.encodings[start..];
        let hash = StateStore::hash(encoding);
        let known = self.store.find(hash, encoding);
        if known.is_some() {
            chunk.encodings.truncate(start);
        }
        let end = chunk.encodings.len() as u32;
        chunk.successors.push(Successor { hash, end, internal, known });
    }

    /// Stores the result of a task, in order: state numbers do not depend on the number of cores.
    fn absorb(&mut self, first: usize, chunk: &Chunk) {
        self.transitions += chunk.successors.len() as u64;
        let (mut from, mut start) = (0, 0);
        for (source, &to) in chunk.ends.iter().enumerate() {
            for successor in &chunk.successors[from..to] {
                let end = successor.end as usize;
                let id = successor.known.unwrap_or_else(|| {
                    let encoding = &chunk.encodings[start..end];
                    self.store.insert(successor.hash, encoding, Some((first + source) as StateId)).0
                });
                start = end;
                if successor.internal {
                    self.graph.targets.push(id);
                }
            }
            self.graph.close();
            from = to;
        }
    }

    fn trace_to(&self, broken: Broken) -> Trace {
        let mut replay = trace::replay(self.model, &self.store, broken.from);
        let renamed = broken.step.and_then(|step| replay.push_broken(self.model, step));
        replay.finish(renamed.unwrap_or(broken.violation))
    }
}
