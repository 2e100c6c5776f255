//! The explorer against two others: stateright, and a plain search without symmetry.

use std::collections::{HashSet, VecDeque};

use protocol::Access;
use protocol::msi::{CoarseVector, DynamicPointer, Hybrid, SharingSet, Variant};
use protocol::snoop::Protocol as Moesi;
use stateright::{Checker, Model as _};
use verify::{Alone, BusModel, Cluster, ClusterModel, Config, DirectoryModel, Model, explore, msi, origin};

fn small() -> Vec<Config> {
    let cached = Config { accesses: Config::CACHED_ACCESSES.to_vec(), ..Config::new(2, 1) };
    let stores = Config { accesses: vec![Access::Store], ..Config::new(3, 1) };
    let two_lines = Config { accesses: vec![Access::ReadPrefetch], ..Config::new(2, 2) };
    vec![Config { processors_per_node: 2, ..cached.clone() }, cached, stores, two_lines]
}

const COLLECTING: Variant = Variant { clustering: None, acknowledge_requester: true };
const LISTS: DynamicPointer = DynamicPointer { links: 1, search: 1 };
const HYBRID: Hybrid = Hybrid { neighbourhood: 2, pointers: 2, vectors: 1, all_shared: 4 };

/// Two and three caches with loads and stores, for protocols without other accesses.
fn smallest() -> Vec<Config> {
    let accesses = vec![Access::Load, Access::Store];
    vec![Config { accesses: accesses.clone(), ..Config::new(2, 1) }, Config { accesses, ..Config::new(3, 1) }]
}

/// Two nodes of one processor, and of two.
fn nodes() -> Vec<Config> {
    let two = smallest().remove(0);
    vec![Config { processors_per_node: 2, caches: 4, ..two.clone() }, two]
}

/// Nodes with a MOESI bus in a configuration, whose writes wait for acknowledgements.
fn of_cluster(config: &Config) -> ClusterModel<true> {
    ClusterModel::new(config, false)
}

/// Nodes with a MESI bus in a configuration, whose writes do not wait for acknowledgements.
fn of_dash(config: &Config) -> ClusterModel<false> {
    ClusterModel::new(config, true)
}

/// The Origin protocol in a configuration.
fn of_origin(config: &Config) -> DirectoryModel<protocol::origin::Protocol> {
    DirectoryModel::new(config, origin(config))
}

/// SCI in a configuration.
fn of_sci(config: &Config) -> DirectoryModel<protocol::sci::Protocol> {
    DirectoryModel::new(config, protocol::sci::Protocol)
}

/// A protocol of the FLASH family in a configuration.
fn of_flash<S: SharingSet>(
    config: &Config,
    set: S,
    variant: Variant,
    remote_access_cache: bool,
) -> DirectoryModel<protocol::msi::Protocol<S>> {
    DirectoryModel::new(config, msi(config, set, variant, remote_access_cache))
}

fn encoding<M: Model>(model: &M, state: &M::State) -> Vec<u8> {
    let mut bytes = Vec::new();
    model.encode(state, &mut bytes);
    bytes
}

/// The same model for stateright: a state is its canonical encoding, an action the state that it leads to.
struct ForStateright<M>(M);

impl<M: Model> stateright::Model for ForStateright<M> {
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

/// Explores a configuration with both.
fn counts_agree<M: Model + Send + 'static>(config: &Config, model: impl Fn(&Config) -> M) {
    let ours = explore(&model(config), config.state_limit);
    let theirs = ForStateright(model(config)).checker().spawn_bfs().join();
    theirs.assert_properties();
    assert_eq!(ours.states, theirs.unique_state_count(), "{config:?}");
    // Stateright also counts the initial state as generated.
    assert_eq!(ours.transitions + 1, theirs.state_count() as u64, "{config:?}");
    assert!(ours.counterexample.is_none());
}

#[test]
fn stateright_counts_the_same_states_and_steps() {
    small().iter().for_each(|config| counts_agree(config, of_origin));
    smallest().iter().for_each(|config| counts_agree(config, of_sci));
    smallest().iter().for_each(|config| counts_agree(config, BusModel::<Moesi, Alone>::new));
    smallest().iter().for_each(|config| counts_agree(config, BusModel::<Moesi, Cluster>::new));
    nodes().iter().for_each(|config| counts_agree(config, of_cluster));
    nodes().iter().for_each(|config| counts_agree(config, of_dash));
    for config in &smallest() {
        counts_agree(config, |config| of_flash(config, CoarseVector::coarse(2), Variant::default(), false));
        counts_agree(config, |config| of_flash(config, LISTS, COLLECTING, true));
    }
}

/// Every reachable state, with all names kept.
fn reachable<M: Model>(model: &M) -> HashSet<Vec<u8>> {
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

/// Explores a configuration with and without symmetry.
fn merges_exactly<M: Model>(config: &Config, model: impl Fn(&Config) -> M) {
    let named = model(&Config { symmetry: false, ..config.clone() });
    let symmetric = model(config);
    let all = reachable(&named);
    let classes: HashSet<_> = all.iter().map(|bytes| encoding(&symmetric, &named.decode(bytes))).collect();
    assert_eq!(classes.len(), explore(&symmetric, config.state_limit).states, "{config:?}");
    // A representative is one of the states of its class.
    assert!(classes.is_subset(&all), "{config:?}");
    assert_eq!(all.len(), explore(&named, config.state_limit).states, "{config:?}");
}

#[test]
fn symmetry_merges_exactly_the_states_that_differ_in_names() {
    small().iter().for_each(|config| merges_exactly(config, of_origin));
    smallest().iter().for_each(|config| merges_exactly(config, of_sci));
    smallest().iter().for_each(|config| merges_exactly(config, BusModel::<Moesi, Alone>::new));
    smallest().iter().for_each(|config| merges_exactly(config, BusModel::<Moesi, Cluster>::new));
    nodes().iter().chain(&smallest()).for_each(|config| merges_exactly(config, of_cluster));
    merges_exactly(&nodes()[0], of_dash);
    let two_lines = Config { lines: 2, ..smallest().remove(0) };
    for config in smallest().into_iter().chain([two_lines]) {
        merges_exactly(&config, |config| of_flash(config, CoarseVector::BIT_VECTOR, COLLECTING, false));
        merges_exactly(&config, |config| of_flash(config, CoarseVector::coarse(2), Variant::default(), false));
        merges_exactly(&config, |config| of_flash(config, HYBRID, Variant::default(), true));
    }
    // The lists of an ordered set differ by the order of their elements.
    merges_exactly(&smallest()[1], |config| of_flash(config, LISTS, Variant::default(), false));
}
