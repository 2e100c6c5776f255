//! Invalidation of a sharing set: one message per sharer, or one per cluster.

use units::{LineAddr, NodeId};

use super::{Agent, Entry, HeaderUse, HomeContext, Message, MessageKind, SetWork, SharingSet};

/// Invalidations sent to a sharing set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Invalidations {
    /// Nodes to be invalidated (a node that the set lists twice counts twice, unless clusters are used).
    pub nodes: u16,
    /// Messages sent, each of which returns one acknowledgement.
    pub messages: u16,
    /// Whether the set included the requester, which keeps its copy.
    pub requester_named: bool,
}

impl Invalidations {
    /// No invalidations.
    pub const NONE: Self = Self { nodes: 0, messages: 0, requester_named: false };
}

/// Invalidates all nodes of a sharing set except the requester, and empties the set. A reclaimed line has no requester:
/// its messages name their target instead.
#[expect(clippy::too_many_arguments, reason = "the parts of a home, borrowed one by one")]
#[inline]
pub(super) fn invalidate<S: SharingSet>(
    set: &S,
    entry: &mut Entry<S::Header>,
    store: &mut S::Store,
    line: LineAddr,
    requester: Option<NodeId>,
    collector: Agent,
    context: &HomeContext,
    work: &mut SetWork,
    send: &mut impl FnMut(Message, &SetWork),
) -> Invalidations {
    let mut sent = Invalidations::NONE;
    work.format_checks += set.format_checks(HeaderUse::Sharers);
    let message =
        |kind, node| Message::new(kind, line, Agent::Node(node), requester.unwrap_or(node)).collected_by(collector);
    let Some(clustering) = context.variant.clustering else {
        set.drain(&context.site, &mut entry.sharers, store, work, |node, work| {
            if Some(node) == requester {
                sent.requester_named = true;
            } else {
                send(message(MessageKind::Invalidate, node), work);
                sent.nodes += 1;
                sent.messages += 1;
            }
        });
        return sent;
    };
    let mut targets = 0u64;
    set.drain(&context.site, &mut entry.sharers, store, work, |node, _| {
        if Some(node) == requester {
            sent.requester_named = true;
        } else {
            targets |= 1 << node.0;
        }
    });
    sent.nodes = targets.count_ones() as u16;
    let together = sent.nodes > clustering.threshold;
    while targets != 0 {
        let first = targets.trailing_zeros() as u16;
        let span = if together { clustering.nodes - first % clustering.nodes } else { 1 };
        let cluster = targets & (u64::MAX >> (64 - span)) << first;
        targets &= !cluster;
        let invalidation = match cluster.count_ones() {
            1 => message(MessageKind::Invalidate, NodeId(first)),
            _ => message(MessageKind::ClusterInvalidate, NodeId(first)).with_targets(cluster),
        };
        send(invalidation, work);
        sent.messages += 1;
    }
    sent
}
