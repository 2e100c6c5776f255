//! Transition table of the home, derived from the handler: the documented table cannot differ from the running code.

use units::{CpuId, LineAddr, NodeId};

use super::{
    DirectoryEntry, DirectoryState, Geometry, HomeContext, HomeWork, Message, MessageKind, Outbox, SharerVector, home,
};
use crate::{Agent, ProtocolError, Version};

/// The transition tables as Markdown, which the test `origin` of this crate derives from the handlers and holds current.
pub const TRANSITIONS: &str = include_str!("../../TRANSITIONS-origin.md");

/// A cell of the table: a message from one processor ("me") meets a directory entry.
#[derive(Clone, Debug)]
pub struct HomeCase {
    /// Directory entry before, from the sender's point of view.
    pub situation: &'static str,
    /// Message type.
    pub kind: MessageKind,
    /// Whether the home's output queue is nearly full.
    pub backoff: bool,
    /// Work done, or the reason why the message cannot arrive.
    pub result: Result<HomeWork, ProtocolError>,
    /// Directory state after.
    pub next: DirectoryState,
    /// Messages sent.
    pub sent: Outbox,
}

/// Message types that a home receives, in the order of the table's rows within a state.
const KINDS: [MessageKind; 10] = [
    MessageKind::Read,
    MessageKind::ReadShared,
    MessageKind::ReadExclusive,
    MessageKind::Upgrade,
    MessageKind::UncachedRead,
    MessageKind::PoisonRead,
    MessageKind::Writeback,
    MessageKind::Transfer,
    MessageKind::SharingWriteback,
    MessageKind::SharingTransfer,
];

/// Three processors, each on a node of its own; no rule depends on the choice of the third.
const GEOMETRY: Geometry = Geometry { nodes: 3, processors_per_node: 1, priority_limit: 0 };
const ME: CpuId = CpuId(0);
const OTHER: CpuId = CpuId(1);
const THIRD: CpuId = CpuId(2);
const HOME: NodeId = NodeId(0);
const LINE: LineAddr = LineAddr(0);

/// Situations that the handler distinguishes, each with one representative entry.
fn situations() -> [(&'static str, DirectoryEntry); 12] {
    use DirectoryState as S;
    let other_shares = SharerVector::single(NodeId(OTHER.0));
    [
        ("UOWN", entry(S::Unowned, ME, ME)),
        ("POIS", entry(S::Poisoned, ME, ME)),
        ("SHRD", shared(other_shares.with(NodeId(ME.0)))),
        ("SHRD by others", shared(other_shares)),
        ("EXCL me", entry(S::Exclusive, ME, ME)),
        ("EXCL other", entry(S::Exclusive, OTHER, ME)),
        ("BUSYS, I was owner", entry(S::BusyShared, OTHER, ME)),
        ("BUSYS, others", entry(S::BusyShared, OTHER, THIRD)),
        ("BUSYE, I was owner", entry(S::BusyExclusive, OTHER, ME)),
        ("BUSYE, I become owner", entry(S::BusyExclusive, ME, OTHER)),
        ("BUSYE, others", entry(S::BusyExclusive, OTHER, THIRD)),
        ("WAIT", entry(S::Wait, OTHER, ME)),
    ]
}

const fn entry(state: DirectoryState, owner: CpuId, former: CpuId) -> DirectoryEntry {
    DirectoryEntry { state, owner, former, ..DirectoryEntry::UNOWNED }
}

const fn shared(sharers: SharerVector) -> DirectoryEntry {
    DirectoryEntry { state: DirectoryState::Shared, sharers, ..DirectoryEntry::UNOWNED }
}

/// Cells of the home's table: each situation, each message type, and (if it makes a difference) backoff.
pub fn home_cases() -> impl Iterator<Item = HomeCase> {
    situations().into_iter().flat_map(|(situation, entry)| {
        KINDS.into_iter().flat_map(move |kind| {
            let plain = run(situation, entry, kind, false);
            let backed_off = run(situation, entry, kind, true);
            let differs = plain.sent.as_slice() != backed_off.sent.as_slice();
            std::iter::once(plain).chain(differs.then_some(backed_off))
        })
    })
}

fn run(situation: &'static str, mut entry: DirectoryEntry, kind: MessageKind, backoff: bool) -> HomeCase {
    let message = Message::new(kind, LINE, Agent::Home(HOME), ME);
    let context = HomeContext { node: HOME, geometry: GEOMETRY, output_queue_nearly_full: backoff };
    let (mut memory, mut sent) = (Version::default(), Outbox::new());
    let result = home(&mut entry, &mut memory, &message, &context, &mut sent);
    HomeCase { situation, kind, backoff, result, next: entry.state, sent }
}
