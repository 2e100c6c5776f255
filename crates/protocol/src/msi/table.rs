//! The MSI protocol's transition tables, read off the handlers themselves: what documentation prints cannot differ from what
//! runs.

use units::{LineAddr, NodeId};

use super::cache_line::{Access, CacheLine, Msi, Request};
use super::{
    Agent, CoarseHeader, CoarseVector, DirectoryState, Entry, Handled, HomeContext, Message, MessageKind, NodeContext,
    NodeOutcome, Site, Transaction, Variant, WrittenBack, home, receive,
};
use crate::{ProtocolError, Version};

const ME: NodeId = NodeId(0);
const OTHER: NodeId = NodeId(1);
const THIRD: NodeId = NodeId(2);
const LINE: LineAddr = LineAddr(0);
const SITE: Site = Site { home: NodeId(3), nodes: 4 };

/// One cell of the home's table: a message from one node ("me") meets a directory entry.
#[derive(Clone, Debug)]
pub struct HomeCase {
    /// The entry before, as the sender sees it.
    pub situation: &'static str,
    /// The message.
    pub kind: MessageKind,
    /// What it was, or why this cannot happen.
    pub result: Result<Transaction, ProtocolError>,
    /// What was sent.
    pub sent: Vec<MessageKind>,
    /// The state after.
    pub next: DirectoryState,
}

/// The home's table, with a bit vector that takes hints. With acknowledgement to requester (`/IR`), two cells differ: see
/// `acknowledge_requester`.
pub fn home_cases(acknowledge_requester: bool) -> impl Iterator<Item = HomeCase> {
    let for_homes = |kind: &&MessageKind| {
        !matches!(
            kind,
            MessageKind::Put
                | MessageKind::PutExclusive
                | MessageKind::UpgradeAcknowledge
                | MessageKind::NegativeAcknowledge
                | MessageKind::ForwardGet
                | MessageKind::ForwardGetExclusive
                | MessageKind::Invalidate
                | MessageKind::ClusterInvalidate
                | MessageKind::ClusterInvalidateAcknowledge
        )
    };
    situations().into_iter().flat_map(move |(situation, entry)| {
        let kinds = MessageKind::ALL.iter().filter(for_homes);
        kinds.map(move |&kind| at_home(situation, entry, kind, acknowledge_requester))
    })
}

/// The situations that the handler tells apart, each by one representative entry.
fn situations() -> Vec<(&'static str, Entry<CoarseHeader>)> {
    use DirectoryState as D;
    let shared = |vector| Entry { state: D::Clean, sharers: CoarseHeader { vector, local: false } };
    let entry = |state| Entry { state, sharers: CoarseHeader::default() };
    let forwarded =
        |owner, requester, exclusive, written_back| entry(D::Forwarded { owner, requester, exclusive, written_back });
    let invalidating = |acknowledgements| entry(D::Invalidating { requester: OTHER, acknowledgements, upgrade: false });
    vec![
        ("CLEAN, nobody shares", shared(0)),
        ("CLEAN, I share", shared(0b001)),
        ("CLEAN, others share", shared(0b110)),
        ("CLEAN, others and I share", shared(0b111)),
        ("DIRTY, I own", entry(D::Dirty { owner: ME })),
        ("DIRTY, another owns", entry(D::Dirty { owner: OTHER })),
        ("FORWARDED to me to share", forwarded(ME, OTHER, false, WrittenBack::No)),
        ("FORWARDED to me for the line", forwarded(ME, OTHER, true, WrittenBack::No)),
        ("FORWARDED to me, who wrote back", forwarded(ME, OTHER, true, WrittenBack::ByOwner)),
        ("FORWARDED to me, the new owner wrote back", forwarded(ME, OTHER, true, WrittenBack::ByRequester)),
        ("FORWARDED for me, the line", forwarded(OTHER, ME, true, WrittenBack::No)),
        ("FORWARDED, others", forwarded(OTHER, THIRD, false, WrittenBack::No)),
        ("INVALIDATING, several to come", invalidating(2)),
        ("INVALIDATING, one to come", invalidating(1)),
        ("COLLECTING, I do", entry(D::Collecting { owner: ME, written_back: false })),
        ("COLLECTING, I do and wrote back", entry(D::Collecting { owner: ME, written_back: true })),
        ("EVICTING, several to come", entry(D::Evicting { acknowledgements: 2 })),
        ("EVICTING, one to come", entry(D::Evicting { acknowledgements: 1 })),
    ]
}

fn at_home(
    situation: &'static str,
    mut entry: Entry<CoarseHeader>,
    kind: MessageKind,
    acknowledge_requester: bool,
) -> HomeCase {
    let context = HomeContext { site: SITE, variant: Variant { clustering: None, acknowledge_requester } };
    let message = Message::new(kind, LINE, Agent::Home(SITE.home), report_is_for(entry.state, kind));
    let (mut memory, mut sent) = (Version(0), Vec::new());
    let set = CoarseVector::PRECISE_BIT_VECTOR;
    let handled =
        home(&set, &mut entry, &mut (), &mut memory, &message, &context, &mut |message, _| sent.push(message.kind));
    let result = handled.map(|handled| match handled {
        Handled::Done(work) => work.transaction,
        Handled::StoreExhausted => unreachable!("a bit vector has no store"),
    });
    HomeCase { situation, kind, result, sent, next: entry.state }
}

/// Reports of an owner name the requester that they are about; everything else names its sender.
fn report_is_for(state: DirectoryState, kind: MessageKind) -> NodeId {
    match (state, kind) {
        (
            DirectoryState::Forwarded { requester, .. },
            MessageKind::SharingWriteback | MessageKind::OwnershipTransfer | MessageKind::ForwardNegativeAcknowledge,
        ) => requester,
        _ => ME,
    }
}

/// One cell of a node's table: a message meets a line.
#[derive(Clone, Debug)]
pub struct NodeCase {
    /// The line before.
    pub situation: &'static str,
    /// The message.
    pub kind: MessageKind,
    /// What it did, or why this cannot happen.
    pub result: Result<NodeOutcome, ProtocolError>,
    /// What was sent.
    pub sent: Vec<MessageKind>,
    /// The line after.
    pub next: CacheLine,
}

/// A node's table.
pub fn node_cases() -> impl Iterator<Item = NodeCase> {
    let line = |state, request: Option<(Access, MessageKind)>| {
        let request = request.map(|(access, kind)| Request { access, kind, invalidated: false, refused: false });
        CacheLine { state, request, ..CacheLine::INVALID }
    };
    let mut overtaken = line(Msi::Invalid, Some((Access::Load, MessageKind::Get)));
    overtaken.request = overtaken.request.map(|request| Request { invalidated: true, ..request });
    let situations = [
        ("INVALID", line(Msi::Invalid, None)),
        ("SHARED", line(Msi::Shared, None)),
        ("DIRTY", line(Msi::Dirty, None)),
        ("INVALID, GET sent", line(Msi::Invalid, Some((Access::Load, MessageKind::Get)))),
        ("INVALID, GET sent and INVAL come", overtaken),
        ("INVALID, GETX sent", line(Msi::Invalid, Some((Access::Store, MessageKind::GetExclusive)))),
        ("SHARED, UPGRADE sent", line(Msi::Shared, Some((Access::Store, MessageKind::Upgrade)))),
        ("INVALID, UPGRADE sent", line(Msi::Invalid, Some((Access::Store, MessageKind::Upgrade)))),
        ("INVALID, REFILL sent", line(Msi::Invalid, Some((Access::Store, MessageKind::Refill)))),
    ];
    let kinds = [
        MessageKind::Put,
        MessageKind::PutExclusive,
        MessageKind::UpgradeAcknowledge,
        MessageKind::NegativeAcknowledge,
        MessageKind::ForwardGet,
        MessageKind::ForwardGetExclusive,
        MessageKind::Invalidate,
    ];
    situations
        .into_iter()
        .flat_map(move |(situation, line)| kinds.into_iter().map(move |kind| at_node(situation, line, kind)))
}

fn at_node(situation: &'static str, mut line: CacheLine, kind: MessageKind) -> NodeCase {
    let context = NodeContext { node: ME, home: SITE.home, replacement_hints: true, remote_access_cache: false };
    let message = Message::new(kind, LINE, Agent::Node(ME), OTHER).collected_by(Agent::Home(SITE.home));
    let mut sent = Vec::new();
    let result = receive(&mut line, &context, &message, &mut |message| sent.push(message.kind));
    NodeCase { situation, kind, result, sent, next: line }
}
