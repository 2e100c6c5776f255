//! The explorer against two others: stateright, and a plain search without symmetry.

use std::collections::{HashSet, VecDeque};

use protocol::Access;
use stateright::{Checker, Model as _};
use verify::{Config, Model, Origin, explore};

fn small() -> Vec<Config> {
    let cached = Config { accesses: Config::CACHED_ACCESSES.to_vec(), ..Config::new(2, 1) };
    let stores = Config { accesses: vec![Access::Store], ..Config::new(3, 1) };
    let two_lines = Config { accesses: vec![Access::ReadPrefetch], ..Config::new(2, 2) };
    vec![Config { processors_per_node: 2, ..cached.clone() }, cached, stores, two_lines]
}

fn encoding(model: &Origin, state: &verify::State) -> Vec<u8> {
    let mut bytes = Vec::new();
    model.encode(state, &mut bytes);
    bytes
}

/// The same model for stateright: a state is its canonical encoding, an action the state that it leads to.
struct ForStateright(Origin);

impl stateright::Model for ForStateright {
    type State = Vec<u8>;
    type Action = Vec<u8>;

    fn init_states(&self) -> Vec<Self::State> {
        vec![encoding(&self.0, &self.0.initial())]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        self.0.steps(&self.0.decode(state), &mut |_, result| {
            if let Ok(next) = result {
                actions.push(encoding(&self.0, &next));
            }
        });
    }

    fn next_state(&self, _: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(action)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        vec![stateright::Property::always("no step breaks a property", |model: &Self, state: &Vec<u8>| {
            let mut good = true;
            model.0.steps(&model.0.decode(state), &mut |_, result| good &= result.is_ok());
            good
        })]
    }
}

#[test]
fn stateright_counts_the_same_states_and_steps() {
    for config in small() {
        let ours = explore(&Origin::new(&config), config.state_limit);
        let theirs = ForStateright(Origin::new(&config)).checker().spawn_bfs().join();
        theirs.assert_properties();
        assert_eq!(ours.states, theirs.unique_state_count(), "{config:?}");
        // Stateright also counts the initial state as generated.
        assert_eq!(ours.transitions + 1, theirs.state_count() as u64, "{config:?}");
        assert!(ours.counterexample.is_none());
    }
}

/// Every reachable state with all names kept.
fn reachable(model: &Origin) -> HashSet<Vec<u8>> {
    let first = encoding(model, &model.initial());
    let mut seen = HashSet::from([first.clone()]);
    let mut waiting = VecDeque::from([first]);
    while let Some(bytes) = waiting.pop_front() {
        model.steps(&model.decode(&bytes), &mut |step, result| {
            let next = encoding(model, &result.unwrap_or_else(|violation| panic!("{step}: {violation:?}")));
            if seen.insert(next.clone()) {
                waiting.push_back(next);
            }
        });
    }
    seen
}

#[test]
fn symmetry_merges_exactly_the_states_that_differ_in_names() {
    for config in small() {
        let named = Origin::new(&Config { symmetry: false, ..config.clone() });
        let symmetric = Origin::new(&config);
        let all = reachable(&named);
        let classes: HashSet<_> = all.iter().map(|bytes| encoding(&symmetric, &named.decode(bytes))).collect();
        assert_eq!(classes.len(), explore(&symmetric, config.state_limit).states, "{config:?}");
        // A representative is one of the states that it stands for.
        assert!(classes.is_subset(&all), "{config:?}");
        assert_eq!(all.len(), explore(&named, config.state_limit).states, "{config:?}");
    }
}
