//! Directory protocols as models: caches with arbitrary accesses and evictions, an unordered network, and the handlers
//! of the protocol crate, the same that the timing simulator runs.
//!
//! The network is a multiset: any message in flight may arrive next, except as the protocol's own rule orders them
//! ([`Explored::waits_for`]), so every order that a real network produces is explored. Messages due at a cache (the
//! retry of a NACKed request, a deferred answer) may happen at any time. An exhausted store may reclaim any line that
//! has entries of it.

mod check;
mod codec;
mod fault;
mod names;
mod state;
mod step;
mod transition;

use protocol::Access;
use protocol::contract::{CacheSite, Started};
use units::{CpuId, LineAddr, NodeId};

pub use codec::{Codec, Reader, Writer};
pub use fault::{AtCaches, AtHome, Plant, Planted};
pub use names::Names;
pub use state::{JUST_STORED, LATEST, OVERTAKEN, STALE, State, View};
pub use step::{Step, verb};

use crate::config::{Config, Limits};
use crate::entry::Fault;
use crate::explore::{Exploration, explore};
use crate::litmus::{self, Intent, Litmus, Programmable};
use crate::model::{Model, Property, Violation};
use names::Words;

/// Most caches that a model can have.
pub const MAX_CACHES: usize = 4;
/// Most lines that a model can have.
pub const MAX_LINES: usize = 2;
/// Home of every line: node 0, since no protocol depends on the choice.
pub const HOME: NodeId = NodeId(0);

/// A directory protocol as the explorer needs it: its symmetry, its own rules and faults.
pub trait Explored: Codec {
    /// Word that names an agent in traces, before its number.
    const AGENT: &'static str = "cpu";
    /// Whether a congested home can leave messages to others, which [`Explored::is_backoff`] detects.
    const BACKS_OFF: bool = false;

    /// Node of a cache: interchangeable nodes keep their caches together.
    fn node(&self, cache: u8) -> u8 {
        cache
    }

    /// Whether two caches are interchangeable.
    fn alike(&self, _one: u8, _other: u8) -> bool {
        true
    }

    /// Whether a message waits for one that is also in flight: the order that the protocol needs of its network.
    fn waits_for(&self, _message: &Self::Message, _other: &Self::Message) -> bool {
        false
    }

    /// Whether a congested home has left messages to others.
    fn is_backoff(_work: &Self::HomeWork) -> bool {
        false
    }

    /// Caches whose copies may be older than the last store, a bit each: the order that the protocol relaxes.
    fn may_be_old(_line: &View<'_, Self>) -> u32 {
        0
    }

    /// Problem of a line on which nothing is outstanding: its home disagrees with the caches, or memory with both.
    fn disagreement(&self, line: &View<'_, Self>) -> Option<String>;

    /// Checks a property of the protocol's own after a message at the home; `before` is the line before.
    ///
    /// # Errors
    /// The violation.
    fn note(
        _notes: &mut Self::Notes,
        _before: &Self::HomeLine,
        _message: &Self::Message,
        _work: &Self::HomeWork,
    ) -> Result<(), Violation> {
        Ok(())
    }

    /// Faults that can be planted.
    fn faults(&self) -> Vec<Planted<Self>>;

    /// Description of a line at a cache, for traces.
    fn describe_cache(line: &Self::CacheLine) -> String;

    /// Description of a line at its home, for traces.
    fn describe_home(&self, line: &Self::HomeLine, store: &Self::Store) -> String;
}

/// Limits of a model of a directory protocol without processors that share a node.
pub const fn limits(accesses: &'static [Access]) -> Limits {
    Limits { caches: MAX_CACHES as u16, lines: MAX_LINES as u16, processors_per_node: 1, priority: 7, accesses }
}

/// Registers a directory protocol: its name, description, transition tables, limits, configurations and memory consistency, and its
/// parameters in a configuration.
#[macro_export]
macro_rules! directory_protocol {
    ($name:expr, $description:expr, $transitions:expr, $limits:expr, $configurations:expr, $consistency:expr, $parameters:expr $(,)?) => {
        $crate::Protocol {
            name: $name,
            description: $description,
            transitions: $transitions,
            limits: $limits,
            configurations: $configurations,
            consistency: $consistency,
            faults: || $crate::directory_faults(&($parameters)(&$crate::Config::new(3, 1))),
            explore: |config| $crate::explore_directory(config, ($parameters)(config)),
            litmus: |litmus| $crate::run_directory_litmus(litmus, $parameters),
        }
    };
}

/// Explores a configuration of a directory protocol with these parameters.
pub fn explore_directory<P: Explored>(config: &Config, parameters: P) -> Exploration {
    explore(&DirectoryModel::new(config, parameters), config.state_limit)
}

/// Runs a litmus test on a directory protocol.
pub fn run_directory_litmus<P: Explored>(litmus: &Litmus, parameters: impl Fn(&Config) -> P) -> Exploration {
    litmus::run(litmus, |config| DirectoryModel::new(config, parameters(config)))
}

/// Registry entries of the faults of a directory protocol.
pub fn directory_faults<P: Explored>(parameters: &P) -> Vec<Fault> {
    parameters.faults().into_iter().map(|Planted { name, breaks, config, .. }| Fault { name, breaks, config }).collect()
}

/// Model of one configuration of a directory protocol.
#[derive(Clone, Debug)]
pub struct DirectoryModel<P: Explored> {
    protocol: P,
    accesses: Vec<Access>,
    caches: usize,
    lines: usize,
    /// Every renaming under which states are equivalent, the identity first.
    renamings: Vec<Names>,
    plant: Option<Plant<P>>,
}

impl<P: Explored> DirectoryModel<P> {
    /// Creates the model of a checked configuration.
    pub fn new(config: &Config, protocol: P) -> Self {
        let (caches, lines) = (usize::from(config.caches), usize::from(config.lines));
        let renamings = if config.symmetry { names::renamings(&protocol, caches, lines) } else { vec![Names::SAME] };
        let planted = config.mutation.and_then(|name| protocol.faults().into_iter().find(|fault| fault.name == name));
        let plant = planted.map(|fault| fault.plant);
        Self { protocol, accesses: config.accesses.clone(), caches, lines, renamings, plant }
    }

    fn site(&self, line: usize, cache: usize) -> CacheSite {
        CacheSite { cache: CpuId(cache as u16), line: LineAddr(line as u64), home: HOME }
    }
}

impl<P: Explored> Model for DirectoryModel<P> {
    type State = State<P>;
    type Step = Step<P>;

    fn initial(&self) -> State<P> {
        State::initial(&self.protocol)
    }

    fn steps(&self, state: &State<P>, visit: &mut dyn FnMut(Step<P>, Result<State<P>, Violation>)) {
        for line in 0..self.lines {
            for cache in 0..self.caches {
                self.cache_steps(state, line, cache, visit);
            }
        }
        self.deliveries(state, visit);
    }

    fn is_internal(&self, step: Step<P>) -> bool {
        !matches!(step, Step::Access { .. } | Step::Evict { .. })
    }

    /// Least encoding under the renamings that bring the fingerprints of caches into the least order: usually one.
    fn encode(&self, state: &State<P>, bytes: &mut Vec<u8>) {
        let mut best = Words::EMPTY;
        let mut candidates = self.candidates(state);
        self.words(state, &self.renamings[candidates.trailing_zeros() as usize], &mut best);
        candidates &= candidates - 1;
        let mut other = Words::EMPTY;
        while candidates != 0 {
            self.words(state, &self.renamings[candidates.trailing_zeros() as usize], &mut other);
            candidates &= candidates - 1;
            if other.as_slice() < best.as_slice() {
                best = other;
            }
        }
        best.as_slice().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }

    fn decode(&self, bytes: &[u8]) -> State<P> {
        let mut words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let mut next = || words.next().unwrap_or_default();
        let mut state = self.initial();
        for line in 0..self.lines {
            for cache in 0..self.caches {
                state.caches[line][cache] = P::unpack_cache(next());
            }
        }
        for line in 0..self.lines {
            let mut packed = [0; 2];
            packed[..P::HOME_WORDS].fill_with(&mut next);
            (state.homes[line], state.notes[line]) =
                self.protocol.unpack_home(packed, LineAddr(line as u64), &mut state.store);
        }
        words.for_each(|word| state.send(word));
        state
    }

    fn is_quiescent(&self, state: &State<P>) -> bool {
        (0..self.lines).all(|line| self.view(state, line).is_quiet())
    }

    fn describe(&self, state: &State<P>) -> String {
        state.describe(&self.protocol, self.caches, self.lines)
    }
}

impl<P: Explored> Programmable for DirectoryModel<P> {
    fn intent(&self, step: Step<P>) -> Intent {
        match step {
            Step::Access { cache, access, .. } => Intent::Access(cache, access),
            Step::Evict { .. } => Intent::Evict,
            Step::Due { .. } | Step::Deliver { .. } => Intent::Other,
        }
    }

    fn is_blocked(&self, state: &State<P>, processor: usize) -> bool {
        let (site, mut line) = (self.site(0, processor), state.caches[0][processor]);
        self.protocol.access(&site, &mut line, Access::Load, &mut |_| ()) == Started::Blocked
    }

    fn is_waiting(&self, state: &State<P>, processor: usize) -> bool {
        P::waiting(&state.caches[0][processor]).is_some()
    }

    fn has_latest(&self, state: &State<P>, processor: usize) -> bool {
        *P::contents(&mut { state.caches[0][processor] }) == LATEST
    }
}

/// Violation by a message that cannot be handled.
fn unexpected(detail: impl ToString) -> Violation {
    Violation { property: Property::ExpectedMessage, detail: detail.to_string() }
}
