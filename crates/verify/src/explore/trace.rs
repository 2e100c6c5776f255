//! Counterexamples: a path from the initial state, replayed with the names of one concrete run.

use std::fmt;

use super::store::{StateId, StateStore};
use crate::model::{Model, Violation};

/// One step of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Description of the step.
    pub step: String,
    /// State after the step; empty if the step violated a property first.
    pub state: String,
}

/// A shortest run that violates a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The initial state.
    pub initial: String,
    /// Steps from the initial state.
    pub steps: Vec<TraceStep>,
    /// Violation at the end.
    pub violation: Violation,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} is broken: {}", self.violation.property.name(), self.violation.detail)?;
        writeln!(f, "{:>4}  {:<58}  {}", 0, "initial state", self.initial)?;
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:>4}  {:<58}  {}", index + 1, step.step, step.state)?;
        }
        Ok(())
    }
}

/// A trace under construction: the concrete state reached so far.
pub(super) struct Replay<M: Model> {
    state: M::State,
    initial: String,
    steps: Vec<TraceStep>,
}

/// Replays the path by which `to` was first reached. The stored states have lost the names of interchangeable parts, so
/// the replay starts from the initial state and takes, each time, a step to a state with the stored encoding.
pub(super) fn replay<M: Model>(model: &M, store: &StateStore, to: StateId) -> Replay<M> {
    let mut path = vec![to];
    while let Some(&last) = path.last() {
        let parent = store.parent(last);
        if parent == last {
            break;
        }
        path.push(parent);
    }
    let state = model.initial();
    let mut replay = Replay { initial: model.describe(&state), state, steps: Vec::new() };
    for &id in path.iter().rev().skip(1) {
        replay.step_to(model, store.get(id));
    }
    replay
}

impl<M: Model> Replay<M> {
    /// Takes a step to a state with this encoding.
    pub(super) fn step_to(&mut self, model: &M, encoding: &[u8]) {
        let mut taken = None;
        let mut candidate = Vec::new();
        model.steps(&self.state, &mut |step, result| {
            if taken.is_some() {
                return;
            }
            if let Ok(next) = result {
                candidate.clear();
                model.encode(&next, &mut candidate);
                if candidate == encoding {
                    taken = Some((step, next));
                }
            }
        });
        if let Some((step, next)) = taken {
            self.steps.push(TraceStep { step: step.to_string(), state: model.describe(&next) });
            self.state = next;
        }
    }

    /// Takes the step that violates a property, and returns the violation in the names of this run. `index` is the
    /// step's position among the steps of the stored state. This state is equal up to names, so the violating step may
    /// have another position, but there is one.
    pub(super) fn push_broken(&mut self, model: &M, index: usize) -> Option<Violation> {
        let mut broken = None;
        let mut place = 0;
        model.steps(&self.state, &mut |step, result| {
            if let Err(violation) = result
                && (broken.is_none() || place == index)
            {
                broken = Some((step.to_string(), violation));
            }
            place += 1;
        });
        let (step, violation) = broken?;
        self.steps.push(TraceStep { step, state: String::new() });
        Some(violation)
    }

    pub(super) fn finish(self, violation: Violation) -> Trace {
        Trace { initial: self.initial, steps: self.steps, violation }
    }
}
