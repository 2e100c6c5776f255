//! Transition tables of the protocol between nodes, derived from the handlers: the documented tables cannot differ from
//! the running code.

use units::{LineAddr, NodeId};

use super::{
    DirectoryState, Entry, HomeOutcome, Intervention, Lane, Line, Message, MessageKind, NodeOutcome, Protocol, Request,
    Site, home,
};
use crate::snoop::Rights;
use crate::{Agent, ProtocolError, Version};

/// The transition tables as Markdown, which the test `cluster` of this crate derives from the handlers and holds current.
pub const TRANSITIONS: &str = include_str!("../../TRANSITIONS-cluster.md");

const ME: NodeId = NodeId(0);
const OTHER: NodeId = NodeId(1);
const HOME: NodeId = NodeId(2);
const LINE: LineAddr = LineAddr(0);

/// A cell of the home's table: a message from one node ("me") meets a directory entry.
#[derive(Clone, Debug)]
pub struct HomeCase {
    /// Directory entry before, from the sender's point of view.
    pub situation: &'static str,
    /// Message type.
    pub kind: MessageKind,
    /// Outcome, or the reason why the message cannot arrive.
    pub result: Result<HomeOutcome, ProtocolError>,
    /// Messages sent.
    pub sent: Vec<MessageKind>,
    /// Directory state after.
    pub next: DirectoryState,
}

/// Cells of the home's table. The home's own node ("at home") is granted the right to write by a `READ` if it is alone, and poisons
/// lines.
pub fn home_cases() -> impl Iterator<Item = HomeCase> {
    let entry = |state| Entry { state, ..Entry::uncached(HOME) };
    let shared = |sharers| Entry { sharers, ..entry(DirectoryState::Shared) };
    let mine = entry(DirectoryState::Owned { owner: ME });
    let forwarded = |exclusive| entry(DirectoryState::Forwarded { owner: OTHER, requester: ME, exclusive });
    let situations = [
        ("SHARED, no sharer", HOME, shared(0)),
        ("SHARED, no sharer, at home", ME, shared(0)),
        ("SHARED, I share", HOME, shared(0b01)),
        ("SHARED, another shares", HOME, shared(0b10)),
        ("SHARED, another and I share", HOME, shared(0b11)),
        ("OWNED by me", HOME, mine),
        ("OWNED by me, at home", ME, mine),
        ("OWNED by the home, poisoned", HOME, Entry { poisoned: true, ..Entry::uncached(HOME) }),
        ("OWNED by another", HOME, entry(DirectoryState::Owned { owner: OTHER })),
        ("FORWARDED for me, to read", HOME, forwarded(false)),
        ("FORWARDED for me, to write", HOME, forwarded(true)),
    ];
    let for_homes = |kind: &&MessageKind| {
        kind.lane() == Lane::Request || matches!(kind, MessageKind::SharingWriteback | MessageKind::OwnershipTransfer)
    };
    situations.into_iter().flat_map(move |(situation, at, entry)| {
        MessageKind::ALL.iter().filter(for_homes).map(move |&kind| at_home(situation, at, entry, kind))
    })
}

fn at_home(situation: &'static str, at: NodeId, mut entry: Entry, kind: MessageKind) -> HomeCase {
    let message = Message::new(kind, LINE, Agent::Home(at), ME);
    let mut sent = Vec::new();
    let result = home(&mut entry, at, &mut Version(0), &message, &mut |message| sent.push(message.kind));
    HomeCase { situation, kind, result, sent, next: entry.state }
}

/// A cell of a device's table: a message meets a line.
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
    pub next: Line,
}

/// Cells of a device's table. Grants announce one acknowledgement if they announce any.
pub fn node_cases(early_grant: bool) -> impl Iterator<Item = NodeCase> {
    let line = |rights| Line { rights, ..Line::ABSENT };
    let requested = |rights, kind, invalidated| {
        let wanted = if kind == MessageKind::Read { Rights::Read } else { Rights::Write };
        Line { wanted: Some(wanted), request: Some(Request { kind, invalidated }), ..line(rights) }
    };
    let announced = |rights| {
        let mut line = Line { wanted: (!early_grant).then_some(Rights::Write), ..line(rights) };
        (line.collection.announced, line.collection.balance) = (true, 1);
        line
    };
    let situations = [
        ("no right", line(Rights::None)),
        ("may read", line(Rights::Read)),
        ("may write", line(Rights::Write)),
        ("may read, replacing", Line { intervention: Some(Intervention::Replace), ..line(Rights::Read) }),
        ("may write, replacing", Line { intervention: Some(Intervention::Replace), ..line(Rights::Write) }),
        ("WB sent", Line { writeback: Some(Version(0)), ..line(Rights::None) }),
        ("READ sent", requested(Rights::None, MessageKind::Read, false)),
        ("READ sent, INVAL received", requested(Rights::None, MessageKind::Read, true)),
        ("READX sent", requested(Rights::None, MessageKind::ReadExclusive, false)),
        ("may read, UPGRADE sent", requested(Rights::Read, MessageKind::Upgrade, false)),
        ("UPGRADE sent", requested(Rights::None, MessageKind::Upgrade, false)),
        ("may write, POISON_READ sent", requested(Rights::Write, MessageKind::PoisonRead, false)),
        ("one INVAL_ACK outstanding", announced(if early_grant { Rights::Write } else { Rights::None })),
    ];
    let for_nodes = |kind: &&MessageKind| {
        kind.lane() != Lane::Request && !matches!(kind, MessageKind::SharingWriteback | MessageKind::OwnershipTransfer)
    };
    situations.into_iter().flat_map(move |(situation, line)| {
        MessageKind::ALL.iter().filter(for_nodes).map(move |&kind| at_node(situation, line, kind, early_grant))
    })
}

fn at_node(situation: &'static str, mut line: Line, kind: MessageKind, early_grant: bool) -> NodeCase {
    let site = Site { node: ME, line: LINE, home: HOME };
    let requester = if kind.lane() == Lane::Intervention { OTHER } else { ME };
    let announces = matches!(kind, MessageKind::DataExclusive | MessageKind::UpgradeAcknowledge);
    let message = Message::new(kind, LINE, Agent::Interface(ME), requester).with_acknowledgements(announces.into());
    let mut sent = Vec::new();
    let protocol = Protocol { early_grant };
    let mut send = |message: Message| sent.push(message.kind);
    let result = line.receive(&protocol, &site, &mut Version(0), &message, &mut send);
    NodeCase { situation, kind, result, sent, next: line }
}
