//! The MSI protocol as a model: processors with arbitrary accesses and evictions, a network that orders only requests
//! behind hints, and the handlers of the protocol crate, the same that the timing simulator runs.
//!
//! Any message in flight may arrive next, except a request whose sender has a replacement hint in flight: see
//! [`protocol::msi::Lane`]. A NACKed request may be retried at any time. An exhausted store may reclaim any line that
//! holds entries of it.

mod bits;
mod check;
mod describe;
mod fault;
mod protocols;
mod state;
mod step;
mod transition;
mod version;

use protocol::Access;
use protocol::msi::{self, HomeContext, NodeContext, SharingSet, Site, Variant};
use units::{LineAddr, NodeId};

pub use fault::msi_faults;
pub use protocols::{PROTOCOLS, explore_msi, msi_litmus, msi_protocol};
pub use step::MsiStep;

use crate::config::Config;
use crate::litmus::{Intent, Programmable};
use crate::model::{Model, Violation};
use crate::permutations::permutations;
use fault::Mutation;
use state::{
    HomeLine, MAX_CACHES, MAX_LINES, Names, State, pack_cache, pack_message, pack_set, pack_state, unpack_cache,
    unpack_set, unpack_state,
};

/// Words of the largest state.
const MAX_WORDS: usize = MAX_LINES * (MAX_CACHES + 2) + 40;

/// Model of one configuration with one sharing set.
#[derive(Clone, Debug)]
pub struct Msi<S> {
    config: Config,
    set: S,
    context: HomeContext,
    remote_access_cache: bool,
    mutation: Option<Mutation>,
    names: Vec<Names>,
}

impl<S: SharingSet> Msi<S> {
    /// Creates the model of a checked configuration.
    pub fn new(config: &Config, set: S, variant: Variant, remote_access_cache: bool) -> Self {
        let site = Site { home: NodeId(0), nodes: config.caches };
        let context = HomeContext { site, variant };
        let mutation = config.mutation.and_then(Mutation::named);
        let mut model = Self { config: config.clone(), set, context, remote_access_cache, mutation, names: vec![] };
        model.names = if config.symmetry { model.renamings() } else { vec![Names::SAME] };
        model
    }

    fn caches(&self) -> usize {
        usize::from(self.config.caches)
    }

    fn lines(&self) -> usize {
        usize::from(self.config.lines)
    }

    fn node_context(&self, node: NodeId) -> NodeContext {
        NodeContext {
            node,
            home: self.context.site.home,
            replacement_hints: self.set.replacement_hints(),
            remote_access_cache: self.remote_access_cache,
        }
    }

    /// Symmetry class of a node: nodes of one class are interchangeable.
    fn class(&self, node: u8) -> (u16, u16, bool) {
        let cluster = self.context.variant.clustering.map_or(0, |clustering| u16::from(node) / clustering.nodes);
        let node = NodeId(node.into());
        // A home keeps none of its own lines in a remote access cache, and collects acknowledgements as in the base
        // protocol (`/IR`).
        let home_differs = self.remote_access_cache || self.context.variant.acknowledge_requester;
        let is_other = home_differs && node != self.context.site.home;
        (self.set.class(&self.context.site, node), cluster, is_other)
    }

    /// Every permutation of interchangeable nodes and lines, the identity first. A clustered invalidation goes to the
    /// first of its targets, so with clusters no two nodes are interchangeable.
    fn renamings(&self) -> Vec<Names> {
        let mut renamings = Vec::new();
        for lines in permutations(self.lines()) {
            for nodes in permutations(self.caches()) {
                let moved = nodes.iter().enumerate().any(|(old, &new)| old != usize::from(new));
                let alike = |(old, &new): (usize, &u8)| self.class(old as u8) == self.class(new);
                if !nodes.iter().enumerate().all(alike) || (moved && self.context.variant.clustering.is_some()) {
                    continue;
                }
                let mut names = Names::SAME;
                names.nodes[..nodes.len()].copy_from_slice(&nodes);
                names.lines[..lines.len()].copy_from_slice(&lines);
                renamings.push(names);
            }
        }
        renamings
    }

    /// Words of the caches under new names: the first part of the encoding.
    fn cache_words(&self, state: &State<S>, names: &Names, words: &mut Words) {
        words.length = self.lines() * self.caches();
        for line in 0..self.lines() {
            for node in 0..self.caches() {
                let at = usize::from(names.lines[line]) * self.caches() + usize::from(names.nodes[node]);
                words.words[at] = pack_cache(&state.caches[line][node], names);
            }
        }
    }

    /// Remaining words of the encoding: directory and messages.
    fn other_words(&self, state: &State<S>, names: &Names, words: &mut Words) {
        let first = words.length;
        for line in 0..self.lines() {
            let home = &state.homes[line];
            let at = first + usize::from(names.lines[line]) * 2;
            words.words[at] = pack_state(home.entry.state, home.memory, names);
            words.words[at + 1] = pack_set(&self.set, &self.context.site, &home.entry.sharers, &state.store, names);
        }
        words.length += 2 * self.lines();
        let first_message = words.length;
        for &word in state.messages() {
            words.words[words.length] = pack_message(&state::unpack_message(word), names);
            words.length += 1;
        }
        words.words[first_message..words.length].sort_unstable();
    }
}

/// An encoding under construction.
#[derive(Clone, Copy)]
struct Words {
    words: [u32; MAX_WORDS],
    length: usize,
}

impl Words {
    const EMPTY: Self = Self { words: [0; MAX_WORDS], length: 0 };

    fn as_slice(&self) -> &[u32] {
        &self.words[..self.length]
    }
}

impl<S: SharingSet> Model for Msi<S> {
    type State = State<S>;
    type Step = MsiStep;

    fn initial(&self) -> State<S> {
        State::initial(&self.set, version::LATEST)
    }

    fn steps(&self, state: &State<S>, visit: &mut impl FnMut(MsiStep, Result<State<S>, Violation>)) {
        for line in 0..self.lines() {
            for node in 0..self.caches() {
                self.node_steps(state, line, NodeId(node as u16), visit);
            }
        }
        self.deliveries(state, visit);
    }

    fn is_internal(&self, step: MsiStep) -> bool {
        matches!(step, MsiStep::Retry { .. } | MsiStep::Deliver { .. })
    }

    /// Least encoding under all names; only names that minimise the caches' part are tried on the rest.
    fn encode(&self, state: &State<S>, bytes: &mut Vec<u8>) {
        let mut best = Words::EMPTY;
        let mut candidate = Words::EMPTY;
        for (index, names) in self.names.iter().enumerate() {
            self.cache_words(state, names, &mut candidate);
            let caches = candidate.length;
            if index > 0 && candidate.as_slice() > &best.words[..caches] {
                continue;
            }
            self.other_words(state, names, &mut candidate);
            if index == 0 || candidate.as_slice() < best.as_slice() {
                best = candidate;
            }
        }
        best.as_slice().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }

    fn decode(&self, bytes: &[u8]) -> State<S> {
        let mut words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let mut next = || words.next().unwrap_or_default();
        let mut state = self.initial();
        for line in 0..self.lines() {
            for node in 0..self.caches() {
                state.caches[line][node] = unpack_cache(next());
            }
        }
        for line in 0..self.lines() {
            let (directory, memory) = unpack_state(next());
            let address = LineAddr(line as u64);
            let mut home = HomeLine { memory, ..state.homes[line] };
            home.entry.state = directory;
            home.entry.sharers = unpack_set(&self.set, &self.context.site, address, next(), &mut state.store);
            state.homes[line] = home;
        }
        words.for_each(|word| state.send(word));
        state
    }

    fn is_quiescent(&self, state: &State<S>) -> bool {
        (0..self.lines()).all(|line| self.line_is_quiet(state, line))
    }

    fn describe(&self, state: &State<S>) -> String {
        self.describe_state(state)
    }
}

impl<S: SharingSet> Programmable for Msi<S> {
    fn intent(&self, step: MsiStep) -> Intent {
        match step {
            MsiStep::Access { node, access: msi::Access::Load, .. } => Intent::Access(node.index(), Access::Load),
            MsiStep::Access { node, access: msi::Access::Store, .. } => Intent::Access(node.index(), Access::Store),
            MsiStep::Evict { .. } | MsiStep::EvictFromNode { .. } => Intent::Evict,
            MsiStep::Retry { .. } | MsiStep::Deliver { .. } => Intent::Other,
        }
    }

    fn is_blocked(&self, state: &State<S>, processor: usize) -> bool {
        state.caches[0][processor].request.is_some()
    }

    fn is_waiting(&self, state: &State<S>, processor: usize) -> bool {
        state.caches[0][processor].request.is_some()
    }

    fn has_latest(&self, state: &State<S>, processor: usize) -> bool {
        state.caches[0][processor].version == version::LATEST
    }
}
