//! Transition tables of the MSI protocol, derived from the handlers: the documented tables cannot differ from the
//! running code.

use units::{LineAddr, NodeId};

use super::cache_line::{Access, CacheLine, Msi, Request};
use super::{
    Agent, CoarseHeader, CoarseVector, DirectoryState, Entry, HomeContext, HomeOutcome, Message, MessageKind,
    NodeContext, NodeOutcome, Site, Transaction, Variant, WrittenBack, home, receive,
};
use crate::{ProtocolError, Version};

/// The transition tables as Markdown, which the test `msi` of this crate derives from the handlers and holds current.
pub const TRANSITIONS: &str = include_str!("../../TRANSITIONS-msi.md");

const ME: NodeId = NodeId(0);
const OTHER: NodeId = NodeId(1);
const THIRD: NodeId = NodeId(2);
const LINE: LineAddr = LineAddr(0);
const SITE: Site = Site { home: NodeId(3), nodes: 4 };

/// A cell of the home's table: a message from one node ("me") meets a directory entry.
#[derive(Clone, Debug)]
pub struct HomeCase {
    /// Directory entry before, from the sender's point of view.
    pub situation: &'static str,
    /// Message type.
    pub kind: MessageKind,
    /// Transaction, or the reason why the message cannot arrive.
    pub result: Result<Transaction, ProtocolError>,
    /// Messages sent.
    pub sent: Vec<MessageKind>,
    /// Directory state after.
    pub next: DirectoryState,
}

/// Cells of the home's table, for a bit vector with replacement hints. Acknowledgement to requester (`/IR`) changes the
/// cells in which a store finds other sharers: see `acknowledge_requester`.
pub fn home_cases(acknowledge_requester: bool) -> impl Iterator<Item = HomeCase> {
    let for_homes = |kind: &&MessageKind| {
        !matches!(
            kind,
            MessageKind::Put
                | MessageKind::PutExclusive
                | MessageKind::UpgradeAcknowledge
                | MessageKind::Nack
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

/// Situations that the handler distinguishes, each with one representative entry.
fn situations() -> Vec<(&'static str, Entry<CoarseHeader>)> {
    use DirectoryState as D;
    let shared = |vector| Entry { state: D::Clean, sharers: CoarseHeader { vector, local: false } };
    let entry = |state| Entry { state, sharers: CoarseHeader::default() };
    let forwarded =
        |owner, requester, exclusive, written_back| entry(D::Forwarded { owner, requester, exclusive, written_back });
    let invalidating = |acknowledgements| entry(D::Invalidating { requester: OTHER, acknowledgements, upgrade: false });
    vec![
        ("CLEAN, no sharer", shared(0)),
        ("CLEAN, I share", shared(0b001)),
        ("CLEAN, others share", shared(0b110)),
        ("CLEAN, others and I share", shared(0b111)),
        ("DIRTY, I own", entry(D::Dirty { owner: ME })),
        ("DIRTY, another owns", entry(D::Dirty { owner: OTHER })),
        ("FORWARDED to me, shared", forwarded(ME, OTHER, false, WrittenBack::No)),
        ("FORWARDED to me, exclusive", forwarded(ME, OTHER, true, WrittenBack::No)),
        ("FORWARDED to me, I wrote back", forwarded(ME, OTHER, true, WrittenBack::ByOwner)),
        ("FORWARDED to me, the new owner wrote back", forwarded(ME, OTHER, true, WrittenBack::ByRequester)),
        ("FORWARDED for me, exclusive", forwarded(OTHER, ME, true, WrittenBack::No)),
        ("FORWARDED, others", forwarded(OTHER, THIRD, false, WrittenBack::No)),
        ("INVALIDATING, several outstanding", invalidating(2)),
        ("INVALIDATING, one outstanding", invalidating(1)),
        ("COLLECTING, I collect", entry(D::Collecting { owner: ME, written_back: false })),
        ("COLLECTING, I collect and wrote back", entry(D::Collecting { owner: ME, written_back: true })),
        ("EVICTING, several outstanding", entry(D::Evicting { acknowledgements: 2 })),
        ("EVICTING, one outstanding", entry(D::Evicting { acknowledgements: 1 })),
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
        HomeOutcome::Done(work) => work.transaction,
        HomeOutcome::StoreExhausted => unreachable!("a bit vector has no store"),
    });
    HomeCase { situation, kind, result, sent, next: entry.state }
}

/// Node that a message names: reports of an owner name the requester, all other messages their sender.
fn report_is_for(state: DirectoryState, kind: MessageKind) -> NodeId {
    match (state, kind) {
        (
            DirectoryState::Forwarded { requester, .. },
            MessageKind::SharingWriteback | MessageKind::OwnershipTransfer | MessageKind::ForwardNack,
        ) => requester,
        _ => ME,
    }
}

/// A cell of a node's table: a message meets a line.
#[derive(Clone, Debug)]
pub struct NodeCase {
    /// Line before.
    pub situation: &'static str,
    /// Message type.
    pub kind: MessageKind,
    /// Outcome, or the reason why the message cannot arrive.
    pub result: Result<NodeOutcome, ProtocolError>,
    /// Messages sent.
    pub sent: Vec<MessageKind>,
    /// Line after.
    pub next: CacheLine,
}

/// Cells of a node's table.
pub fn node_cases() -> impl Iterator<Item = NodeCase> {
    let line = |state, request: Option<(Access, MessageKind)>| {
        let request = request.map(|(access, kind)| Request { access, kind, invalidated: false, nacked: false });
        CacheLine { state, request, ..CacheLine::INVALID }
    };
    let mut overtaken = line(Msi::Invalid, Some((Access::Load, MessageKind::Get)));
    overtaken.request = overtaken.request.map(|request| Request { invalidated: true, ..request });
    let situations = [
        ("INVALID", line(Msi::Invalid, None)),
        ("SHARED", line(Msi::Shared, None)),
        ("DIRTY", line(Msi::Dirty, None)),
        ("INVALID, GET sent", line(Msi::Invalid, Some((Access::Load, MessageKind::Get)))),
        ("INVALID, GET sent, INVAL received", overtaken),
        ("INVALID, GETX sent", line(Msi::Invalid, Some((Access::Store, MessageKind::GetExclusive)))),
        ("SHARED, UPGRADE sent", line(Msi::Shared, Some((Access::Store, MessageKind::Upgrade)))),
        ("INVALID, UPGRADE sent", line(Msi::Invalid, Some((Access::Store, MessageKind::Upgrade)))),
        ("INVALID, REFILL sent", line(Msi::Invalid, Some((Access::Store, MessageKind::Refill)))),
    ];
    let kinds = [
        MessageKind::Put,
        MessageKind::PutExclusive,
        MessageKind::UpgradeAcknowledge,
        MessageKind::Nack,
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
