//! Eventual completion: from every reachable state, quiescence can be reached by internal steps alone.
//!
//! Under strong fairness (a step that is possible infinitely often is taken infinitely often) this means that every
//! outstanding transaction completes. A set of states that internal steps can cycle in but not leave, such as an
//! endless exchange of NACKs and retries, violates the property. Without fairness no protocol with NACKs could have it.

use super::breadth_first::Graph;
use super::store::{StateId, StateStore};
use super::trace::{self, Trace};
use crate::model::{Model, Property, Violation};

/// Checks the property: returns the trace to a state nearest to the initial one from which quiescence cannot be
/// reached, if there is one.
pub(super) fn check<M: Model>(model: &M, store: &StateStore, graph: &Graph) -> Option<Trace> {
    let quiescent = |id| model.is_quiescent(&model.decode(store.get(id)));
    let stuck = first_stuck(store.len(), graph, quiescent)?;
    let trace = trace::replay(model, store, stuck);
    Some(trace.finish(Violation {
        property: Property::EventualCompletion,
        detail: "from the last state on, no sequence of internal steps completes everything outstanding".into(),
    }))
}

/// First state from which no quiescent state is reachable.
///
/// The set of the other states grows until it is complete. States are visited in the reverse of the order in which they
/// were found, so that a pass propagates along most paths at once, and no reverse graph is needed.
fn first_stuck(states: usize, graph: &Graph, quiescent: impl Fn(StateId) -> bool) -> Option<StateId> {
    let mut completes: Vec<bool> = (0..states as StateId).map(quiescent).collect();
    let mut grown = true;
    while grown {
        grown = false;
        for id in (0..states).rev() {
            if !completes[id] && graph.successors(id as StateId).iter().any(|&next| completes[next as usize]) {
                completes[id] = true;
                grown = true;
            }
        }
    }
    completes.iter().position(|&completes| !completes).map(|id| id as StateId)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(successors: &[&[StateId]]) -> Graph {
        let mut graph = Graph::new();
        for targets in successors {
            graph.targets.extend_from_slice(targets);
            graph.close();
        }
        graph
    }

    #[test]
    fn finds_the_loop_that_cannot_be_left() {
        // State 0 is quiescent, state 1 returns to it, and states 2 and 3 are a cycle.
        let looping = graph(&[&[], &[0, 2], &[3], &[2]]);
        assert_eq!(first_stuck(4, &looping, |id| id == 0), Some(2));
        // With a way out of the cycle, however rarely taken, everything completes.
        let leaving = graph(&[&[], &[0, 2], &[3], &[2, 1]]);
        assert_eq!(first_stuck(4, &leaving, |id| id == 0), None);
    }
}
