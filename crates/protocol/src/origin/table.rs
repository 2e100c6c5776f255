//! The home's transition table, read off the handler itself: what documentation prints cannot differ from what runs.

use units::{CpuId, LineAddr, NodeId};

use super::{
    DirectoryEntry, DirectoryState, Geometry, HomeContext, HomeWork, Message, MessageKind, Outbox, SharerVector, home,
};
use crate::{Agent, ProtocolError, Version};

/// One cell of the table: a message from one processor ("me") meets a directory entry.
#[derive(Clone, Debug)]
pub struct HomeCase {
    /// The entry before, as the sender sees it.
    pub situation: &'static str,
    /// The message.
    pub kind: MessageKind,
    /// Whether the home's output queue is nearly full.
    pub backoff: bool,
    /// What the home did and the entry after, or why this cannot happen.
    pub result: Result<HomeWork, ProtocolError>,
    /// The state after.
    pub next: DirectoryState,
    /// What was sent.
    pub sent: Outbox,
}

/// What reaches a home, in the order of the table's rows within a state.
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

/// Three processors, each on a node of its own: which is the third does not matter to any rule.
const GEOMETRY: Geometry = Geometry { nodes: 3, processors_per_node: 1, priority_limit: 0 };
const ME: CpuId = CpuId(0);
const OTHER: CpuId = CpuId(1);
const THIRD: CpuId = CpuId(2);
const HOME: NodeId = NodeId(0);
const LINE: LineAddr = LineAddr(0);

/// The situations that the handler tells apart, each by one representative entry.
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
        ("BUSYE, I shall be owner", entry(S::BusyExclusive, ME, OTHER)),
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

/// Every cell of the home's table: each situation, each message, and (where it makes a difference) backoff.
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
