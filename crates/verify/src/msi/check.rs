//! Safety properties of the MSI model.

use protocol::msi::{Agent, DirectoryState, MessageKind, Msi as Copy, SetWork, SharingSet};

use super::Msi;
use super::state::{MAX_CACHES, State};
use super::version::LATEST;
use crate::model::{Property, Violation};

impl<S: SharingSet> Msi<S> {
    /// Checks the properties of a line that hold in every state, with anything outstanding.
    ///
    /// A load could hit any valid copy at any time, so "every load returns the last store" is equivalent to "every
    /// valid copy holds the last store". While a requester collects acknowledgements (`/IR`), copies whose invalidation
    /// is in flight are exempt: this is the order that the variant relaxes, and nothing else.
    pub(super) fn check_line(&self, state: &State<S>, line: usize) -> Result<(), Violation> {
        let collecting = matches!(state.homes[line].entry.state, DirectoryState::Collecting { .. });
        let invalidated = if collecting { invalidated(state, line) } else { 0 };
        let (mut owners, mut sharers) = (0, 0);
        for node in (0..self.caches()).filter(|node| invalidated >> node & 1 == 0) {
            let cache = &state.caches[line][node];
            match cache.state {
                Copy::Invalid => continue,
                Copy::Shared => sharers += 1,
                Copy::Dirty => owners += 1,
            }
            if cache.version != LATEST {
                let detail = format!("n{node} has a copy of line {line} that is older than the last store");
                return Err(Violation { property: Property::LatestValue, detail });
            }
        }
        if owners > 1 || (owners == 1 && sharers > 0) {
            let detail = format!("line {line} has {owners} dirty and {sharers} shared copies");
            return Err(Violation { property: Property::SingleWriter, detail });
        }
        if self.line_is_quiet(state, line) { self.check_directory(state, line) } else { Ok(()) }
    }

    /// Checks that the store entries held by lines are those in use.
    pub(super) fn check_store(&self, state: &State<S>) -> Result<(), Violation> {
        let homes = &state.homes[..self.lines()];
        let held: u32 = homes.iter().map(|home| self.set.entries_held(&home.entry.sharers, &state.store)).sum();
        let in_use = self.set.entries_in_use(&state.store);
        if held == in_use {
            return Ok(());
        }
        let detail = format!("{in_use} entries of the store are in use, and the lines have {held}");
        Err(Violation { property: Property::StoreAccounting, detail })
    }

    /// Whether nothing is outstanding on a line.
    pub(super) fn line_is_quiet(&self, state: &State<S>, line: usize) -> bool {
        state.caches[line].iter().all(protocol::msi::CacheLine::is_quiet) && state.messages_on(line).next().is_none()
    }

    /// Checks that the directory entry of a quiet line agrees with the caches and memory.
    fn check_directory(&self, state: &State<S>, line: usize) -> Result<(), Violation> {
        let home = &state.homes[line];
        let copies = || (0..self.caches()).map(|node| (node, state.caches[line][node].state));
        let memory_latest = home.memory == LATEST;
        let problem = match home.entry.state {
            DirectoryState::Clean => {
                let named = self.named(state, line);
                if copies().any(|(node, copy)| copy == Copy::Shared && named >> node & 1 == 0) {
                    Some("a node has a copy that it does not include")
                } else if copies().any(|(_, copy)| copy == Copy::Dirty) {
                    Some("a node has a dirty copy")
                } else if !memory_latest {
                    Some("the last store is lost")
                } else {
                    None
                }
            }
            DirectoryState::Dirty { owner } => {
                if copies().any(|(node, copy)| copy != Copy::Invalid && node != owner.index()) {
                    Some("a node other than the owner has a copy")
                } else if state.caches[line][owner.index()].state != Copy::Dirty {
                    Some("the owner has no dirty copy")
                } else if !self.set.is_empty(&home.entry.sharers) {
                    Some("its sharing set is not empty")
                } else {
                    None
                }
            }
            DirectoryState::Forwarded { .. }
            | DirectoryState::Invalidating { .. }
            | DirectoryState::Collecting { .. }
            | DirectoryState::Evicting { .. } => Some("it is pending"),
        };
        problem.map_or(Ok(()), |problem| {
            let state = home.entry.state.mnemonic();
            let detail =
                format!("nothing is outstanding on line {line}, its directory entry is {state}, and {problem}");
            Err(Violation { property: Property::DirectoryAgreement, detail })
        })
    }

    /// Nodes that an invalidation would go to, one bit each.
    fn named(&self, state: &State<S>, line: usize) -> u32 {
        let (mut header, mut store) = (state.homes[line].entry.sharers, state.store.clone());
        let mut named = 0;
        let mut work = SetWork::default();
        self.set.drain(&self.context.site, &mut header, &mut store, &mut work, |node, _| named |= 1 << node.0);
        named
    }
}

/// Nodes that have an invalidation in flight to them, one bit each.
fn invalidated<S: SharingSet>(state: &State<S>, line: usize) -> u32 {
    let targets = state.messages_on(line).map(|message| match (message.kind, message.to) {
        (MessageKind::Invalidate, Agent::Node(node)) => 1 << node.0,
        (MessageKind::ClusterInvalidate, _) => message.targets as u32 & ((1 << MAX_CACHES) - 1),
        _ => 0,
    });
    targets.fold(0, |nodes, target| nodes | target)
}
