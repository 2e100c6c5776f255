//! The FLASH family as the explorer needs it. A protocol is a line in `protocols`.

mod codec;
mod fault;
mod protocols;

use std::fmt::Write;

use protocol::msi::{
    Agent, CacheLine, Collection, DirectoryState, Entry, Message, MessageKind, Msi as Copy, Place, Protocol, SetWork,
    SharingSet,
};
use units::NodeId;

pub use protocols::{PROTOCOLS, msi, msi_configurations};

use crate::directory::{Explored, Planted, View};

impl<S: SharingSet> Explored for Protocol<S> {
    const AGENT: &'static str = "n";

    /// A home keeps none of its own lines in a remote access cache, and collects acknowledgements as in the base
    /// protocol (`/IR`). A clustered invalidation goes to the first of its targets, so with clusters no two nodes are
    /// interchangeable.
    fn alike(&self, one: u8, other: u8) -> bool {
        let site = &self.context.site;
        let home_differs = self.remote_access_cache || self.context.variant.acknowledge_requester;
        let class = |node: u8| {
            let node = NodeId(node.into());
            (self.set.class(site, node), home_differs && node != site.home)
        };
        one == other || (self.context.variant.clustering.is_none() && class(one) == class(other))
    }

    /// A request waits for a replacement hint of its sender: see [`protocol::msi::Lane`].
    fn waits_for(&self, message: &Message, other: &Message) -> bool {
        let is_request = matches!(
            message.kind,
            MessageKind::Get | MessageKind::GetExclusive | MessageKind::Upgrade | MessageKind::Refill
        );
        is_request
            && other.kind == MessageKind::ReplacementHint
            && (other.line, other.requester) == (message.line, message.requester)
    }

    /// While a requester collects acknowledgements (`/IR`), copies whose invalidation is in flight may be old: this is
    /// the order that the variant relaxes, and nothing else.
    fn may_be_old(line: &View<'_, Self>) -> u32 {
        if !matches!(line.home().entry.state, DirectoryState::Collecting { .. }) {
            return 0;
        }
        let targets = line.messages().map(|message| match (message.kind, message.to) {
            (MessageKind::Invalidate, Agent::Node(node)) => 1 << node.0,
            (MessageKind::ClusterInvalidate, _) => message.targets as u32,
            _ => 0,
        });
        targets.fold(0, |nodes, target| nodes | target)
    }

    fn disagreement(&self, line: &View<'_, Self>) -> Option<String> {
        let entry = &line.home().entry;
        let copies = || line.caches().iter().map(|cache| cache.state).enumerate();
        let problem = match entry.state {
            DirectoryState::Clean => {
                let named = named(self, entry, line.store());
                if copies().any(|(node, copy)| copy == Copy::Shared && named >> node & 1 == 0) {
                    "a node has a copy that it does not include"
                } else if copies().any(|(_, copy)| copy == Copy::Dirty) {
                    "a node has a dirty copy"
                } else if !line.memory_is_latest() {
                    "the last store is lost"
                } else {
                    return None;
                }
            }
            DirectoryState::Dirty { owner } => {
                if copies().any(|(node, copy)| copy != Copy::Invalid && node != owner.index()) {
                    "a node other than the owner has a copy"
                } else if line.caches()[owner.index()].state != Copy::Dirty {
                    "the owner has no dirty copy"
                } else if !self.set.is_empty(&entry.sharers) {
                    "its sharing set is not empty"
                } else {
                    return None;
                }
            }
            DirectoryState::Forwarded { .. }
            | DirectoryState::Invalidating { .. }
            | DirectoryState::Collecting { .. }
            | DirectoryState::Evicting { .. } => "it is pending",
        };
        Some(problem.to_owned())
    }

    fn faults(&self) -> Vec<Planted<Self>> {
        fault::faults(self)
    }

    fn describe_cache(line: &CacheLine) -> String {
        let mut text = match line.state {
            Copy::Invalid => "I".to_owned(),
            Copy::Shared => "S".to_owned(),
            Copy::Dirty => "D".to_owned(),
        };
        if line.place == Place::RemoteAccessCache {
            text += " in RAC";
        }
        if let Some(request) = line.request {
            text += " ";
            text += request.kind.mnemonic();
            if request.nacked {
                text += " NACKed";
            }
            if request.invalidated {
                text += " invalidated";
            }
        }
        if line.collection != Collection::IDLE {
            let _infallible = write!(text, " collects {}", line.collection.balance);
        }
        if let Some(relay) = line.relay {
            let _infallible = write!(text, " relays {}", relay.acknowledgements);
        }
        text
    }

    fn describe_home(&self, line: &Self::HomeLine, store: &S::Store) -> String {
        use DirectoryState as D;
        let mut text = line.entry.state.mnemonic().to_owned();
        let _infallible = match line.entry.state {
            D::Clean => Ok(()),
            D::Dirty { owner } | D::Collecting { owner, .. } => write!(text, " {owner:?}"),
            D::Forwarded { owner, requester, .. } => write!(text, " {owner:?}>{requester:?}"),
            D::Invalidating { requester, acknowledgements, .. } => {
                write!(text, " for {requester:?} INVAL_ACK:{acknowledgements}")
            }
            D::Evicting { acknowledgements } => write!(text, " INVAL_ACK:{acknowledgements}"),
        };
        let mut sharers = Vec::new();
        let form = self.set.snapshot(&self.context.site, &line.entry.sharers, store, |node| sharers.push(node));
        let _infallible = write!(text, " {sharers:?}");
        if form > 0 {
            let _infallible = write!(text, "/{form}");
        }
        text
    }
}

/// Nodes that an invalidation would go to, one bit each.
fn named<S: SharingSet>(protocol: &Protocol<S>, entry: &Entry<S::Header>, store: &S::Store) -> u32 {
    let (mut header, mut store) = (entry.sharers, store.clone());
    let (mut named, mut work) = (0, SetWork::default());
    protocol.set.drain(&protocol.context.site, &mut header, &mut store, &mut work, |node, _| named |= 1 << node.0);
    named
}
